"""The proof of ladders: whatever is altered in a finished set is found and named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retgen import run, validate
from tests.conftest import read_jsonl
from tests.shared import altered, sample

Row = dict[str, Any]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four ladders."""
    folder = tmp_path_factory.mktemp("run") / "ladders"
    return run("multiconir_legal", out=folder, limit=4).path


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half of them, for what is altered in one ladder: each alteration validates the whole set."""
    folder = tmp_path_factory.mktemp("run") / "two"
    return run("multiconir_legal", out=folder, limit=2).path


def messages(path: Path) -> list[str]:
    return [one.message for one in validate(path).findings if one.rule.startswith("ladder-proof")]


@pytest.mark.slow
def test_a_finished_set_is_proven(finished: Path) -> None:
    validation = validate(finished)
    assert (validation.ok, validation.errors, validation.findings) == (True, 0, [])
    assert (validation.proven, validation.judged) == (4 * 20 * 20, 0)
    documents = read_jsonl(finished / "dataset" / "corpus.jsonl")
    assert sorted(len(row["metadata"]["broken"]) for row in documents) == sorted(
        4 * [*range(11), *[1] * 9]
    )


CORPUS, QUERIES, QRELS, GRADED = (
    f"dataset/{name}.jsonl" for name in ("corpus", "queries", "qrels", "qrels_graded")
)


def at(rows: list[Row], broken: int) -> Row:
    """The first document with so many broken conditions."""
    return next(row for row in rows if len(row["metadata"]["broken"]) == broken)


def swapped(text: str) -> str:
    first, _, rest = text.partition(". ")
    return f"{rest} {first}."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "text"),
    sample(
        [
            (
                CORPUS,
                lambda rows: at(rows, 3).update(text=at(rows, 3)["text"].replace("e", "ee", 1)),
                "its text is not made of the sentences of its ladder, or of their rewrites",
            ),
            (
                CORPUS,
                lambda rows: at(rows, 3).update(text=at(rows, 3)["text"].rpartition(". ")[0] + "."),
                "its text does not hold one sentence for every condition",
            ),
            (
                CORPUS,
                lambda rows: at(rows, 0).update(text=swapped(at(rows, 0)["text"])),
                "the sentences of its documents do not stand in one order",
            ),
            (
                CORPUS,
                lambda rows: at(rows, 2)["metadata"].update(broken=[1, 9]),
                "are broken in its text, so broken and orders of its metadata are ",
            ),
            (
                CORPUS,
                lambda rows: at(rows, 2)["metadata"].update(ladder="none"),
                "its metadata does not name a ladder of the run, broken conditions and orders",
            ),
            (
                CORPUS,
                lambda rows: rows.remove(at(rows, 5)),
                "does not break one condition more at each of ten rungs",
            ),
            (
                CORPUS,
                lambda rows: at(rows, 3).update(title=at(rows, 0)["text"]),
                "it has a title, which no rung has",
            ),
            (CORPUS, lambda rows: rows.append(at(rows, 4)), "two of its documents break the same"),
            (
                QUERIES,
                lambda rows: rows[0]["metadata"].update(conditions=1.0),
                "its metadata does not name a ladder of the run, a style and a number",
            ),
            (
                QUERIES,
                lambda rows: rows[-1].update(text="I am looking for nothing."),
                "it is not the descriptive query for the first 10 conditions of legal-",
            ),
            (
                QUERIES,
                lambda rows: rows.append(rows[0] | {"_id": "q0000000"}),
                "q0000000: another query asks the same",
            ),
            (QUERIES, lambda rows: rows.pop(), "its queries are not two styles of 1 to 10"),
            (QUERIES, lambda rows: rows[4].update(_id="q0000000"), "1 queries have no qrels"),
            (
                QRELS,
                lambda rows: rows.insert(0, rows[-1]),
                "its qrels do not stand together, or it is not among the queries",
            ),
            (QRELS, lambda rows: rows.insert(0, rows[0]), "judged twice in the qrels"),
            (QRELS, lambda rows: rows[7].update(score=1 - rows[7]["score"]), "the words say "),
            (QRELS, lambda rows: rows[7].update(score=rows[7]["score"] + 1e-9), "the words say "),
            (GRADED, lambda rows: rows[7].update(score=rows[7]["score"] + 1), "the grade is "),
            (GRADED, lambda rows: rows.pop(7), "the grade is not judged, the words say "),
            (
                QRELS,
                lambda rows: rows[7].update({"corpus-id": rows[-1]["corpus-id"]}),
                "the words say not judged",
            ),
            (
                "sources/ladders.jsonl",
                lambda rows: rows[0]["rewrites"].__setitem__(2, rows[0]["sentences"][2]),
                "two of its sentences and rewrites are the same",
            ),
            (
                "sources/documents.jsonl",
                lambda rows: rows[0].update(text="Another text. " + rows[0]["text"][:300]),
                "it does not hold a sentence of its ladder: ",
            ),
            (
                "sources/documents.jsonl",
                lambda rows: rows.pop(0),
                "it is not there, and there is a ladder of it",
            ),
        ]
    ),
)
def test_what_is_altered_is_named(
    two: Path, tmp_path: Path, name: str, change: Callable[[list[Row]], Any], text: str
) -> None:
    result = messages(altered(two, tmp_path, name, change))
    assert any(text in message for message in result), result[:5]


def test_grades_that_are_not_there(two: Path, tmp_path: Path) -> None:
    """One message, not one a label."""
    copy = shutil.copytree(two, tmp_path / "without")
    (copy / GRADED).unlink()
    assert messages(copy) == [
        "there is no table qrels_graded, which says how many of a query's conditions a document "
        "meets"
    ]


def test_documents_in_the_order_of_their_rungs(finished: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> None:
        rows.sort(key=lambda row: (row["metadata"]["ladder"], len(row["metadata"]["broken"])))

    findings = validate(altered(finished, tmp_path, CORPUS, change)).findings
    messages = [one.message for one in findings if one.rule == "order-leak"]
    assert messages == [
        "the place of a document among those of its ladder tells its rung (p = 3e-16); shuffle them"
    ]


def test_what_sentences_mean_is_read(two: Path, tmp_path: Path) -> None:
    """A sentence and its rewrite that change places are no longer what their condition asks for."""

    def change(rows: list[Row]) -> None:
        one = rows[0]
        one["sentences"][4], one["rewrites"][4] = one["rewrites"][4], one["sentences"][4]

    result = messages(altered(two, tmp_path, "sources/ladders.jsonl", change))
    assert any("ladder legal-00001: condition 5 asks [" in message for message in result)
