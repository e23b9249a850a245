"""What the proof says of a data set that is right, and of ones that are not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from retgen.validators.facts.definitions import read_definition
from retgen.validators.facts.execute import FactTable, Impossible

from .sets import Row, Set


def messages(one: Set, folder: Path) -> list[str]:
    return [finding.message for finding in one.findings(folder)]


def query(one: Set, operator: str, wording: str = "literal", answers: int = 10) -> Row:
    return next(
        row
        for row in one.queries
        if (row["metadata"]["operator"], row["metadata"]["wording"], row["metadata"]["answers"])
        == (operator, wording, answers)
    )


def test_right(films: Set, tmp_path: Path) -> None:
    assert films.findings(tmp_path, parts=3) == []


def test_count(films: Set, tmp_path: Path) -> None:
    one = films.copy()
    del one.corpus[-1]
    assert "599 documents, the recipe says 600" in messages(one, tmp_path)


def test_document(films: Set, tmp_path: Path) -> None:
    one = films.copy()
    first, second, third, fourth = one.corpus[:4]
    facts = first["metadata"]["facts"]
    facts[0], facts[1] = facts[1], facts[0]
    del second["metadata"]["facts"][-1]
    third["metadata"] = None
    fourth["text"] += " It runs for 71 minutes."
    last = films.corpus[1]["metadata"]["facts"][-1]
    documents = [f for f in one.findings(tmp_path) if f.rule == "world-proof/document"]
    assert [finding.ids for finding in documents] == [
        [first["_id"]],
        [second["_id"]],
        [third["_id"]],
        [fourth["_id"]],
        [fourth["_id"]],
    ]
    said = [finding.message.partition(": ")[2] for finding in documents]
    right = films.corpus[0]["metadata"]["facts"]
    assert said[:3] == [
        f"its text states {right[0]!r} as fact 1, its metadata {right[1]!r}: another order",
        f"its text states {last!r} as fact {len(second['metadata']['facts']) + 1}, its metadata nothing",
        "its metadata has no facts",
    ]
    assert said[4] == "it states runtime twice"


def test_what_every_document_states(films: Set, tmp_path: Path) -> None:
    one = films.copy()
    row = one.corpus[0]
    row["text"] = f"{row['title']} is rarely seen nowadays."
    row["metadata"]["facts"] = []
    found = [f.message for f in one.findings(tmp_path) if f.rule == "world-proof/document"]
    assert found == [
        f"document {row['_id']}: it does not state its release, which every document does"
    ]


def test_names(films: Set, tmp_path: Path) -> None:
    one = films.copy()
    twin = json.loads(json.dumps(one.corpus[0]))
    one.corpus.append({**twin, "_id": "twin"})
    found = [f for f in one.findings(tmp_path) if f.rule == "world-proof/names"]
    assert [f.message for f in found] == [f"2 documents are named {twin['title']!r}"]
    assert found[0].ids == [twin["_id"], "twin"]
    less = films.copy()
    gone = less.corpus.pop(0)
    lost = [
        row["_id"]
        for row in less.corpus
        if f"predecessor={gone['title']}" in row["metadata"]["facts"]
    ]
    found = [f for f in less.findings(tmp_path / "less") if f.rule == "world-proof/names"]
    assert [f.ids[0] for f in found] == lost
    assert all(f"its predecessor is {gone['title']!r}, which no" in f.message for f in found)


def test_query(films: Set, tmp_path: Path) -> None:
    one = films.copy()
    row, other, third = query(one, "and"), query(one, "or"), query(one, "eq")
    row["text"] = "What is it all about?"
    other["metadata"]["expression"] = '["is","setting","Oslo"]'
    third["metadata"]["n_answers"] += 1
    read = next(q for q in films.queries if q["_id"] == other["_id"])["metadata"]["expression"]
    assert messages(one, tmp_path) == [
        *(
            text
            for q in one.queries
            for text in {
                row["_id"]: [f"query {row['_id']}: cannot be read: no frame of queries holds it"],
                other["_id"]: [
                    f"query {other['_id']}: reads as {read}, its metadata says "
                    '["is","setting","Oslo"]'
                ],
            }.get(q["_id"], [])
        ),
        f"query {third['_id']}: has 10 answers, its metadata says 11",
    ]


def test_qrels(films: Set, tmp_path: Path) -> None:
    one = films.copy()
    asked = query(one, "range")["_id"]
    positive = [row for row in one.qrels if row["query-id"] == asked and row["score"]]
    first, second, third = positive[:3]
    one.qrels.remove(first)
    second["score"] = 0
    third["corpus-id"] = wrong = next(
        row["_id"]
        for row in one.corpus
        if not any((q["query-id"], q["corpus-id"]) == (asked, row["_id"]) for q in one.qrels)
        and row["_id"] != first["corpus-id"]
    )
    lost = sorted([first["corpus-id"], films_third(films, asked)])
    found = [f for f in one.findings(tmp_path) if f.rule == "world-proof/qrels"]
    assert [f.message for f in found] == [
        f"query {asked}: {wrong} is relevant in the qrels, and does not meet it",
        f"query {asked}: {second['corpus-id']} meets it, and has 0 in the qrels",
        f"query {asked}: {lost[0]} and 1 more meet it, with no row in the qrels",
    ]
    assert found[-1].ids == [asked, *lost]


def films_third(films: Set, asked: str) -> str:
    return str([r for r in films.qrels if r["query-id"] == asked and r["score"]][2]["corpus-id"])


def test_grades(films: Set, tmp_path: Path) -> None:
    one = films.copy()
    row = next(row for row in one.grades if row["query-id"] == query(one, "and-not")["_id"])
    row["score"] += 1
    assert messages(one, tmp_path) == [
        f"query {row['query-id']}: {row['corpus-id']} meets {row['score'] - 1} of its conditions, "
        f"its grade is {row['score']}"
    ]


# --- execution ----------------------------------------------------------------------------------


@pytest.fixture
def kites(tmp_path: Path) -> Iterator[FactTable]:
    domain = read_definition(Path(__file__).parent / "kites.yaml")
    slots = {name: slot.values for name, slot in domain.slots.items()}
    facts = FactTable(tmp_path / "kites.sqlite", slots, ("span", "built"))
    rows = {
        "a": {"material": "silk", "workshop": "Oslo", "span": "90", "built": "1990"},
        "b": {
            "material": "cotton",
            "workshop": "Bergen",
            "festival": "Oslo",
            "span": "120",
            "built": "1990",
        },
        "c": {
            "material": "paper",
            "workshop": "Turin",
            "festival": "Turin",
            "span": "200",
            "built": "2001",
        },
    }
    facts.add([name, f"kite {name}", *map(held.get, slots)] for name, held in rows.items())
    facts.index(set(domain.slots))
    yield facts
    facts.close()


SILK, NORWAY = ["is", "material", "silk"], ["within", "workshop", "Norway"]
OSLO = ["is", "festival", "Oslo"]


@pytest.mark.parametrize(
    ("expression", "answers", "grades"),
    [
        (SILK, "a", "100"),
        (NORWAY, "ab", "110"),
        (["between", "span", 100, None], "bc", "011"),
        (["between", "span", 90, 120], "ab", "110"),
        (["and", NORWAY, OSLO], "b", "120"),
        (["or", SILK, OSLO], "ab", "110"),
        (["and not", NORWAY, OSLO], "a", "211"),
        (["at least", 2, SILK, NORWAY, OSLO], "ab", "220"),
        (["most", 1, "span", NORWAY], "b", "120"),
        (["least", 1, "built", ["within", "material", "a sheet"]], "c", "002"),
    ],
)
def test_execution(kites: FactTable, expression: list[object], answers: str, grades: str) -> None:
    assert kites.answers(expression) == set(answers)
    assert kites.grades(expression, list("abc")) == dict(zip("abc", map(int, grades), strict=True))


def test_no_certain_answer(kites: FactTable) -> None:
    with pytest.raises(
        Impossible, match="asks for 1, and number 1 and number 2 tie: both have built=1990"
    ):
        kites.answers(["least", 1, "built", NORWAY])
    with pytest.raises(Impossible, match="asks for 3 of 2 that there are"):
        kites.answers(["most", 3, "span", NORWAY])
