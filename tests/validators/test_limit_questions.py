"""Queries with operators: every planted defect is found and named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retgen import run, validate
from tests.validators.limit_run import Row, Spoilt, numbered, relist

RECIPE = """\
name: r
family: limit
params:
  pattern: factorial
  docs: 300
  attributes_per_doc: 20
  answer_sizes: [1, 4]
  queries_per_cell: 5
"""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    (folder / "r.yaml").write_text(RECIPE)
    return run(folder / "r.yaml", out=folder / "run").path


class Planted(Spoilt):
    """A copy of a good run, to be spoilt."""

    def query(self, operator: str, answers: int = 4) -> Row:
        return next(
            q
            for q in self.queries
            if (q["metadata"]["operator"], q["metadata"]["answers"]) == (operator, answers)
        )

    def judged(self, query: Row, score: int) -> Row:
        """The first document with this score."""
        doc_id = next(
            q["corpus-id"]
            for q in self.qrels
            if (q["query-id"], q["score"]) == (query["_id"], score)
        )
        return next(d for d in self.corpus if d["_id"] == doc_id)

    def exchange(self, document: Row, old: int, new: int | None = None) -> None:
        """In the words and in the metadata, so that only the qrels are wrong.

        `new`: by default an attribute that no query asks for, and the document has not.
        """
        texts = {number: text for d in self.corpus for text, number in numbered(d)}
        held = {a for q in self.queries for a in q["metadata"]["attributes"]}
        held.update(document["metadata"]["attributes"])
        new = next(number for number in texts if number not in held) if new is None else new
        pairs = numbered(document)
        relist(
            document, [(texts[new], new) if number == old else (t, number) for t, number in pairs]
        )


@pytest.fixture
def planted(good: Path, tmp_path: Path) -> Planted:
    return Planted(good, tmp_path)


def test_the_good_set_is_good(good: Path) -> None:
    validation = validate(good)
    assert (validation.ok, validation.proven, validation.findings) == (True, 200, [])


def test_a_violator_passed_off_as_an_answer(planted: Planted) -> None:
    query = planted.query("and-not")
    query_id, violator = query["_id"], planted.judged(query, 0)["_id"]
    for row in planted.qrels:
        if (row["query-id"], row["corpus-id"]) == (query_id, violator):
            row["score"] = 1
    found = planted.found()
    for rule, message in (
        (
            "qrels",
            f"qrels says that document {violator} is relevant to query {query_id}, but its text "
            "does not hold what the query asks for",
        ),
        (
            "hard-negatives",
            f"document {violator} is a hard negative of query {query_id} but is not judged 0",
        ),
    ):
        assert (f"limit-proof/{rule}", [query_id, violator], message) in found


def test_an_answer_that_takes_up_what_is_ruled_out(planted: Planted) -> None:
    query = planted.query("and-and-not")
    document = planted.judged(query, 1)
    held = document["metadata"]["attributes"]
    asked = {a for q in planted.queries for a in q["metadata"]["attributes"]}
    planted.exchange(
        document, next(a for a in held if a not in asked), query["metadata"]["attributes"][2]
    )
    query_id, doc_id = query["_id"], document["_id"]
    found = planted.found()
    assert [one for rule, *one in found if rule == "limit-proof/qrels"] == [
        [
            [query_id, doc_id],
            f"qrels says that document {doc_id} is relevant to query {query_id}, but its text does "
            "not hold what the query asks for",
        ]
    ]
    assert {
        f"query {query_id}: 3 documents answer it, its metadata says 4",
        "queries of 'and-and-not' with 4 answers: 4, the recipe says 5",
        "queries of 'and-and-not' with 3 answers: 1, the recipe says 0",
    } <= {message for *_, message in found}


def test_something_less_in_the_way(planted: Planted) -> None:
    """A document that held only what is ruled out: no qrel changes, and the factorial does."""
    query = planted.query("and-not")
    wanted, ruled_out = query["metadata"]["attributes"]
    document = next(
        d
        for d in planted.corpus
        if ruled_out in d["metadata"]["attributes"] and wanted not in d["metadata"]["attributes"]
    )
    planted.exchange(document, ruled_out)
    [(rule, ids, message)] = planted.found()
    assert (rule, message) == (
        "limit-proof/factorial",
        f"query {query['_id']}: of its attributes 3 documents hold {ruled_out} only, not 4",
    )
    assert (ids[0], len(ids)) == (query["_id"], 4)


def test_a_thing_that_nobody_likes(planted: Planted) -> None:
    """The only answer to "A or B" held both: without B it answers, and B is asked for in vain."""
    query = planted.query("or", 1)
    planted.exchange(planted.judged(query, 1), query["metadata"]["attributes"][1])
    message = f"query {query['_id']}: its only answer does not hold all that it asks for"
    assert planted.found() == [("limit-proof/factorial", [query["_id"]], message)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("operator", "or", "its metadata gives the operator 'or', its words say 'and'"),
        ("answers", None, "4 documents answer it, its metadata says None"),
        ("hard_negatives", 7, "8 documents are its hard negatives, its metadata says 7"),
    ],
)
def test_metadata_that_say_something_else(
    planted: Planted, key: str, value: Any, message: str
) -> None:
    query = planted.query("and")
    query["metadata"][key] = value
    rule = "limit-proof/hard-negatives" if key == "hard_negatives" else "limit-proof/query"
    assert (rule, [query["_id"]], f"query {query['_id']}: {message}") in planted.found()
