"""MultiConIR's published files: scored as the ladders that they are."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from retgen.errors import DatasetError
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.search.mteb_tasks import dataset_folder
from tests.conftest import Gen
from tests.evaluation.tasks.multiconir.made import COUNT, document, query, write_ladders

QUERIES = [f"Query{n}" for n in range(1, COUNT + 1)]
NAMES = [*QUERIES, "Positive", *(f"HN{n}" for n in range(1, COUNT + 1))]
LADDERS = range(4)


def row_of(ladder: int, filler: str = "") -> list[str]:
    documents = [document(ladder, range(1, k + 1)) + filler for k in range(COUNT + 1)]
    return [*(query(ladder, n, "instruction") for n in range(1, COUNT + 1)), *documents]


def write(path: Path, names: list[str], rows: list[list[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([names, *rows])


@pytest.fixture
def published(tmp_path: Path) -> Path:
    folder = tmp_path / "datasets"
    write(folder / "Task1/Houses_Task1.csv", NAMES, [row_of(i) for i in LADDERS])
    long = [["other", *row_of(i, " The grass is green." * 90)[9:]] for i in reversed(LADDERS)]
    write(folder / "Task4/Houses_512.csv", ["Domain", "Query10", *NAMES[10:]], long)
    return folder


@pytest.mark.slow
def test_they_score_as_the_same_ladders_do(published: Path, tmp_path: Path) -> None:
    """As a set that another writer makes of the same texts, in our layout."""
    ours = write_ladders(tmp_path / "ours", len(LADDERS))
    results = [
        evaluate(path, models=["bm25-paper"], out=tmp_path / f"out-{path.name}").to_json()
        for path in (published, ours)
    ]
    one, other = (result["results"][0]["ladders"] for result in results)
    assert (one["ladders"], one["domains"]) == (4, ["Houses"])
    assert one["task1"]["instruction"] == other["task1"]["instruction"]
    assert one["task2"]["instruction"] == other["task2"]["instruction"]
    assert list(one["task4"]) == ["512"]
    assert "descriptive" not in one["task1"]


@pytest.mark.slow
def test_they_are_read_once(published: Path, gen: Gen) -> None:
    first = dataset_folder(published)
    assert (first.name, dataset_folder(published)) == ("datasets", first)
    done = gen("eval", published, "--model", "bm25-paper", "-q")
    assert done.returncode == 0, done.stderr
    write(published / "Task1/Houses_Task1.csv", NAMES, [row_of(1)])
    assert dataset_folder(published) != first


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda p: write(p, NAMES[1:], []),
            "is no table of MultiConIR: it has no column Query1. Its columns: Query2, Query3, ",
        ),
        (lambda p: write(p, NAMES[:10], []), "it has no column Positive, HN1. Its columns: Query1"),
        (lambda p: write(p, NAMES, [[*row_of(0)[:-1], " "]]), "row 1 has nothing in HN10"),
        (lambda p: p.write_bytes(b"Query1\n\xff\xfe"), "is no CSV file in UTF-8 ("),
    ],
)
def test_what_is_no_table(
    published: Path, gen: Gen, spoil: Callable[[Path], None], message: str
) -> None:
    file = published / "Task1/Houses_Task1.csv"
    spoil(file)
    with pytest.raises(DatasetError) as caught:
        dataset_folder(published)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)
    done = gen("eval", published, "--model", "bm25")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
