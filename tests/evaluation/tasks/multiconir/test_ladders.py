"""Ladders as they are read, and what cannot be one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.data import open_dataset
from retgen.errors import DatasetError
from retgen.evaluation.tasks import task_of
from retgen.evaluation.tasks.multiconir import Ladders
from retgen.evaluation.tasks.multiconir.ladders import load_ladders
from retgen.search.collection import load
from tests.conftest import read_jsonl
from tests.evaluation.tasks.multiconir.made import FILLER, document, query, write_ladders


def rewrite(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_ladder_is_read_whole(tmp_path: Path) -> None:
    path = write_ladders(tmp_path, 3)
    assert isinstance(task_of(open_dataset(path)), Ladders)
    ladders, notes = load_ladders(load(path))
    assert notes == []
    assert [one.ladder_id for one in ladders] == ["houses-00", "houses-01", "houses-02"]
    one = ladders[2]
    assert (one.domain, one.conditions) == ("houses", 10)
    assert list(one.queries) == ["instruction", "descriptive"]
    assert one.queries["descriptive"][4] == query(2, 5, "descriptive")
    assert one.texts == tuple(document(2, range(1, n + 1)) for n in range(11))
    padded = one.padded[512]["descriptive"]
    assert (padded.query, padded.corpus) == (query(2, 10, "descriptive"), "512")
    assert len(padded.texts) == 11
    assert padded.texts[0] == FILLER + document(2)


def test_without_the_table_of_task_4(tmp_path: Path) -> None:
    assert load_ladders(load(write_ladders(tmp_path, 1, tables=False)))[1] == [
        "there is no tables/task4_512.jsonl, so Task 4 (length) is not measured",
    ]


def test_parquet_holds_the_same(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = write_ladders(tmp_path / "jsonl", 2)
    other = tmp_path / "parquet"
    for file in path.rglob("*.jsonl"):
        place = other / file.relative_to(path).with_suffix(".parquet")
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(read_jsonl(file)), place)
    assert load_ladders(load(other)) == load_ladders(load(path))


@pytest.mark.parametrize(
    ("table", "left_out", "message"),
    [
        (
            "corpus",
            "houses-01-d4",
            "documents of 1, 2, 3, 5, 6, 7, 8, 9, 10 conditions, not of 1, 2, 3, ...",
        ),
        ("corpus", "houses-01-d0", "no positive document"),
        ("corpus", "houses-01-d10", "other queries or fewer documents than most"),
        (
            "queries",
            "houses-01-i7",
            "queries (instruction) of 1, 2, 3, 4, 5, 6, 8, 9, 10 conditions, not of 1, 2, 3, ...",
        ),
    ],
)
def test_a_ladder_that_lacks_something(
    tmp_path: Path, table: str, left_out: str, message: str
) -> None:
    path = write_ladders(tmp_path, 3)
    file = path / f"{table}.jsonl"
    rewrite(file, [row for row in read_jsonl(file) if row["_id"] != left_out])
    with pytest.raises(DatasetError) as error:
        load_ladders(load(path))
    assert str(error.value) == (
        f"{path}: ladder houses-01 has {message}; `gen validate` says what is missing"
    )


def test_a_table_that_lacks_a_column(tmp_path: Path) -> None:
    path = write_ladders(tmp_path, 2)
    file = path / "tables" / "task4_512.jsonl"
    rows = read_jsonl(file)
    del rows[2]["Query10"]
    rewrite(file, rows)
    with pytest.raises(DatasetError) as error:
        load_ladders(load(path))
    assert str(error.value) == f"{file}: the row of houses-01 lacks Query10, Positive or HN1"
