"""Queries with operators: every planted defect is found and named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from retgen import run, validate
from tests.conftest import read_jsonl

Rows = list[dict[str, Any]]
Found = tuple[str, list[str], str]

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


class Planted:
    """A copy of a good run, to be spoilt."""

    def __init__(self, good: Path, folder: Path) -> None:
        self.path = shutil.copytree(good, folder / "run")
        data = self.path / "dataset"
        self.files = {name: data / f"{name}.jsonl" for name in ("corpus", "queries", "qrels")}
        self.corpus, self.queries, self.qrels = map(read_jsonl, self.files.values())

    def query(self, operator: str, answers: int = 4, begins: str = "Who likes ") -> dict[str, Any]:
        return next(
            q
            for q in self.queries
            if (q["metadata"]["operator"], q["metadata"]["answers"]) == (operator, answers)
            and q["text"].startswith(begins)
        )

    def document(self, doc_id: str) -> dict[str, Any]:
        return next(d for d in self.corpus if d["_id"] == doc_id)

    def judged(self, query: dict[str, Any], score: int) -> list[str]:
        return [
            q["corpus-id"]
            for q in self.qrels
            if (q["query-id"], q["score"]) == (query["_id"], score)
        ]

    def name(self, number: int) -> str:
        for document in self.corpus:
            if number in document["metadata"]["attributes"]:
                place = document["metadata"]["attributes"].index(number)
                return listed(document)[place]
        raise KeyError(number)

    def exchange(self, document: dict[str, Any], old: int, new: int) -> None:
        """In the words and in the metadata, so that only the qrels are wrong."""
        numbers = document["metadata"]["attributes"]
        things = listed(document)
        things[numbers.index(old)] = self.name(new)
        numbers[numbers.index(old)] = new
        head = document["text"].partition(" likes ")[0]
        document["text"] = f"{head} likes {', '.join(things[:-1])} and {things[-1]}."

    def filler(self, document: dict[str, Any]) -> int:
        """An attribute of the document that no query asks for."""
        asked = {a for q in self.queries for a in q["metadata"]["attributes"]}
        return next(a for a in document["metadata"]["attributes"] if a not in asked)

    def found(self) -> list[Found]:
        for path, rows in zip(
            self.files.values(), (self.corpus, self.queries, self.qrels), strict=True
        ):
            path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
        return [
            (f.rule, one["ids"], one["message"])
            for f in validate(self.path).findings
            if f.severity == "error" and f.rule not in ("manifest", "regenerated")
            for one in f.folded or [{"ids": f.ids, "message": f.message}]
        ]


def listed(document: dict[str, Any]) -> list[str]:
    text = document["text"].removesuffix(".").partition(" likes ")[2]
    return str(text).replace(" and ", ", ").split(", ")


@pytest.fixture
def planted(good: Path, tmp_path: Path) -> Planted:
    return Planted(good, tmp_path)


def test_the_good_set_is_good(good: Path, planted: Planted) -> None:
    validation = validate(good)
    assert (validation.ok, validation.proven, validation.findings) == (True, 200, [])
    assert planted.found() == []
    assert (len(planted.corpus), len(planted.queries), len(planted.qrels)) == (300, 40, 200)


def test_a_violator_passed_off_as_an_answer(planted: Planted) -> None:
    query = planted.query("and-not")
    violator = planted.judged(query, 0)[0]
    for row in planted.qrels:
        if (row["query-id"], row["corpus-id"]) == (query["_id"], violator):
            row["score"] = 1
    found = planted.found()
    both = [query["_id"], violator]
    assert (
        "limit-proof/qrels",
        both,
        f"qrels says that document {violator} is relevant to query "
        f"{query['_id']}, but its text does not hold what the query asks for",
    ) in found
    assert (
        "limit-proof/hard-negatives",
        both,
        f"document {violator} is a hard negative of query {query['_id']} but is not judged 0",
    ) in found


def test_an_answer_that_takes_up_what_is_ruled_out(planted: Planted) -> None:
    query = planted.query("and-and-not")
    document = planted.document(planted.judged(query, 1)[0])
    ruled_out = query["metadata"]["attributes"][2]
    planted.exchange(document, planted.filler(document), ruled_out)
    query_id, doc_id = query["_id"], document["_id"]
    found = planted.found()
    assert [f for f in found if f[0] == "limit-proof/qrels"] == [
        (
            "limit-proof/qrels",
            [query_id, doc_id],
            f"qrels says that document {doc_id} is relevant to query {query_id}, but its text does "
            "not hold what the query asks for",
        )
    ]
    assert (
        "limit-proof/query",
        [query_id],
        f"query {query_id}: 3 documents answer it, its metadata says 4",
    ) in found
    assert (
        "limit-proof/factorial",
        [],
        "queries of 'and-and-not' with 4 answers: 4, the recipe says 5",
    ) in found
    assert (
        "limit-proof/factorial",
        [],
        "queries of 'and-and-not' with 3 answers: 1, the recipe says 0",
    ) in found


def test_something_less_in_the_way(planted: Planted) -> None:
    """A document that held only what is ruled out: no qrel changes, and the factorial does."""
    query = planted.query("and-not")
    wanted, ruled_out = query["metadata"]["attributes"]
    document = next(
        d
        for d in planted.corpus
        if ruled_out in d["metadata"]["attributes"] and wanted not in d["metadata"]["attributes"]
    )
    donor = next(d for d in planted.corpus if d["_id"] != document["_id"])
    new = next(
        a
        for d in (donor, *planted.corpus)
        for a in [planted.filler(d)]
        if a not in document["metadata"]["attributes"]
    )
    planted.exchange(document, ruled_out, new)
    found = planted.found()
    assert [(rule, message) for rule, _, message in found] == [
        (
            "limit-proof/factorial",
            f"query {query['_id']}: of its attributes 3 documents hold {ruled_out} only, not 4",
        )
    ]
    assert found[0][1][0] == query["_id"]
    assert len(found[0][1]) == 4


def test_a_thing_that_nobody_likes(planted: Planted) -> None:
    """The only answer to "A or B" held both: without B it answers, and B is asked for in vain."""
    query = planted.query("or", 1, "Who")
    document = planted.document(planted.judged(query, 1)[0])
    held = document["metadata"]["attributes"]
    fillers = (planted.filler(d) for d in planted.corpus)
    new = next(a for a in fillers if a not in held)
    planted.exchange(document, query["metadata"]["attributes"][1], new)
    assert planted.found() == [
        (
            "limit-proof/factorial",
            [query["_id"]],
            f"query {query['_id']}: its only answer does not hold all that it asks for",
        )
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("operator", "or", "its metadata gives the operator 'or', its words say 'and'"),
        ("answers", 5, "4 documents answer it, its metadata says 5"),
        ("answers", None, "4 documents answer it, its metadata says None"),
        ("hard_negatives", 7, "8 documents are its hard negatives, its metadata says 7"),
        ("attributes", [1, 2], "the attribute ids in its metadata are not those of its words"),
    ],
)
def test_metadata_that_say_something_else(
    planted: Planted, key: str, value: Any, message: str
) -> None:
    query = planted.query("and")
    query["metadata"][key] = value
    rule = "limit-proof/hard-negatives" if key == "hard_negatives" else "limit-proof/query"
    assert (rule, [query["_id"]], f"query {query['_id']}: {message}") in planted.found()
