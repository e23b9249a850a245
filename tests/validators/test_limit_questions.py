"""Queries with operators: every planted defect is found and named."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
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


@pytest.mark.slow
def test_random_mutations_are_all_caught(good: Path, tmp_path: Path) -> None:
    """Ten kinds, as they may happen to anybody's copy; each validated by the tables alone."""
    missed = []
    for number in range(200):
        planted = Planted(good, tmp_path / str(number))
        draw = random.Random(number)
        kind = MUTATIONS[number % len(MUTATIONS)]
        kind(planted, draw)
        if not [f for f in planted.found() if f[0].startswith("limit-proof/")]:
            missed.append((kind.__name__, number))
        shutil.rmtree(planted.path)
    assert missed == []


def _other_attribute(planted: Planted, draw: random.Random) -> None:
    """A document says it likes something else that queries ask for."""
    asked = [a for q in planted.queries for a in q["metadata"]["attributes"]]
    document = draw.choice(planted.corpus)
    new = draw.choice([a for a in asked if a not in document["metadata"]["attributes"]])
    planted.exchange(document, planted.filler(document), new)


def _dropped_attribute(planted: Planted, draw: random.Random) -> None:
    """A document of a query says it no more."""
    query = draw.choice(planted.queries)
    asked = draw.choice(query["metadata"]["attributes"])
    able = [d for d in planted.corpus if asked in d["metadata"]["attributes"]]
    document = draw.choice(able)
    held = document["metadata"]["attributes"]
    fillers = (planted.filler(d) for d in planted.corpus)
    planted.exchange(document, asked, next(a for a in fillers if a not in held))


def _changed_letter(planted: Planted, draw: random.Random) -> None:
    document = draw.choice(planted.corpus)
    word = draw.choice(listed(document))
    document["text"] = document["text"].replace(word, word[::-1], 1)


def _texts_exchanged(planted: Planted, draw: random.Random) -> None:
    relevant = [q["corpus-id"] for q in planted.qrels if q["score"] == 1]
    one = planted.document(draw.choice(relevant))
    other = draw.choice([d for d in planted.corpus if d is not one])
    one["text"], other["text"] = other["text"], one["text"]
    keys = one["metadata"]["attributes"], other["metadata"]["attributes"]
    other["metadata"]["attributes"], one["metadata"]["attributes"] = keys


def _word_lost(planted: Planted, draw: random.Random) -> None:
    """The word that makes the operator."""
    words = (" not ", " or ", " without liking ", "at least one of ")
    able = [q for q in planted.queries if any(w in q["text"] for w in words)]
    able = [q for q in able if "not only" not in q["text"]]
    query = draw.choice(able)
    for word in words:
        query["text"] = query["text"].replace(word, " and " if word == " or " else " ", 1)


def _queries_exchanged(planted: Planted, draw: random.Random) -> None:
    one, other = draw.sample(planted.queries, 2)
    one["text"], other["text"] = other["text"], one["text"]


def _another_thing_asked(planted: Planted, draw: random.Random) -> None:
    query = draw.choice(planted.queries)
    old = planted.name(draw.choice(query["metadata"]["attributes"]))
    query["text"] = query["text"].replace(old, planted.name(planted.filler(planted.corpus[0])))


def _grade_exchanged(planted: Planted, draw: random.Random) -> None:
    row = draw.choice(planted.qrels)
    row["score"] = 1 - row["score"]


def _qrel_lost(planted: Planted, draw: random.Random) -> None:
    planted.qrels.pop(draw.randrange(len(planted.qrels)))


def _document_exchanged(planted: Planted, draw: random.Random) -> None:
    row = draw.choice(planted.qrels)
    named = {q["corpus-id"] for q in planted.qrels if q["query-id"] == row["query-id"]}
    row["corpus-id"] = draw.choice([d["_id"] for d in planted.corpus if d["_id"] not in named])


MUTATIONS: list[Callable[[Planted, random.Random], None]] = [
    _other_attribute,
    _dropped_attribute,
    _changed_letter,
    _texts_exchanged,
    _word_lost,
    _queries_exchanged,
    _another_thing_asked,
    _grade_exchanged,
    _qrel_lost,
    _document_exchanged,
]


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


def test_a_lost_answer_and_a_lost_hard_negative(planted: Planted) -> None:
    query = planted.query("or")
    lost = planted.judged(query, 1)[0]
    other = planted.query("and")
    missing = planted.judged(other, 0)[0]
    gone = {(query["_id"], lost), (other["_id"], missing)}
    planted.qrels = [q for q in planted.qrels if (q["query-id"], q["corpus-id"]) not in gone]
    found = planted.found()
    assert (
        "limit-proof/qrels",
        [query["_id"], lost],
        f"document {lost} holds what query "
        f"{query['_id']} asks for, but qrels does not say that it is relevant",
    ) in found
    assert (
        "limit-proof/hard-negatives",
        [other["_id"], missing],
        f"document {missing} is a hard negative of query {other['_id']} but is not judged 0",
    ) in found


def test_a_document_too_many_is_judged_0(planted: Planted) -> None:
    query = planted.query("or")
    named = {q["corpus-id"] for q in planted.qrels if q["query-id"] == query["_id"]}
    strange = next(d["_id"] for d in planted.corpus if d["_id"] not in named)
    place = next(i for i, q in enumerate(planted.qrels) if q["query-id"] == query["_id"])
    planted.qrels.insert(place, {"query-id": query["_id"], "corpus-id": strange, "score": 0})
    assert (
        "limit-proof/hard-negatives",
        [query["_id"], strange],
        f"document {strange} is judged 0 "
        f"for query {query['_id']}, but its text makes it no hard negative",
    ) in planted.found()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "begins", "change", "says"),
    [
        ("and-not", "Who likes ", lambda t: t.replace(" but not ", " and "), "and"),
        ("and-not", "Who likes ", lambda t: t.replace(" but not ", " or "), "or"),
        ("or", "Who likes ", lambda t: t.replace(" or ", " and ", 1), "and"),
    ],
)
def test_another_operator_in_the_words(
    planted: Planted, operator: str, begins: str, change: Callable[[str], str], says: str
) -> None:
    query = next(
        q
        for q in planted.queries
        if q["metadata"]["operator"] == operator
        and q["metadata"]["answers"] == 4
        and q["text"].startswith(begins)
        and change(q["text"]) != q["text"]
        and not q["text"].endswith("both?")
    )
    query["text"] = change(query["text"])
    found = planted.found()
    assert (
        "limit-proof/query",
        [query["_id"]],
        f"query {query['_id']}: its metadata gives the operator {operator!r}, its words say {says!r}",
    ) in found
    relevant = set(planted.judged(query, 1))
    wrong = [ids for rule, ids, _ in found if rule == "limit-proof/qrels"]
    assert wrong
    assert all(ids[0] == query["_id"] for ids in wrong)
    assert relevant & {ids[1] for ids in wrong} or says == "or"


def test_sides_of_not_exchanged(planted: Planted) -> None:
    query = planted.query("and-not", begins="Who does not like ")
    first, second = (planted.name(a) for a in query["metadata"]["attributes"])
    query["text"] = f"Who does not like {first} but likes {second}?"
    found = planted.found()
    assert (
        "limit-proof/query",
        [query["_id"]],
        f"query {query['_id']}: the attribute ids in its metadata are not those of its words",
    ) in found
    assert len([f for f in found if f[0] == "limit-proof/qrels"]) == 8


def test_a_phrasing_that_cannot_be_read(planted: Planted) -> None:
    query = planted.query("and-not")
    query["text"] = query["text"].replace("Who likes", "Who hardly likes")
    wording = query["text"]
    for attribute in query["metadata"]["attributes"]:
        wording = wording.replace(planted.name(attribute), "{}")
    assert (
        "limit-proof/query",
        [query["_id"]],
        f"query {query['_id']}: {wording!r} is no wording of a query",
    ) in planted.found()


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


def test_two_queries_that_ask_for_the_same_thing(planted: Planted) -> None:
    first, second = [q for q in planted.queries if q["metadata"]["operator"] == "or"][:2]
    a, b = (planted.name(n) for n in first["metadata"]["attributes"])
    second["text"] = f"Who likes {a} or {b}?"
    messages = [message for _, _, message in planted.found()]
    for number in first["metadata"]["attributes"]:
        assert (
            f"queries {first['_id']} and {second['_id']} ask for the same thing, attribute {number}"
        ) in messages
