"""What documents state and what queries ask for, read back from the words alone."""

from __future__ import annotations

from typing import Any

import pytest

from retgen.validators.limit.texts import (
    DocumentReader,
    LimitSpec,
    QueryReader,
    Question,
    check_catalogue,
    read_document,
)
from retgen.validators.rule import Batch

ATTRIBUTES = {"Maté": 0, "Apples": 1, "Sea Stars": 2, "Quokkas": 5}
THINGS = {"Tea": 1, "Green Tea": 2, "Rain": 3, "Salt": 4, "Cats": 5}
OPERATORS = QueryReader(LimitSpec(1, 1, 1, THINGS, (1, 1), cells={("and", 1): 1}))


def batch(*rows: tuple[str, Any]) -> Batch:
    texts, metadata = map(list, zip(*rows, strict=True))
    count = len(rows)
    ids = [f"d{i}" for i in range(count)]
    return Batch(0, ids, [""] * count, texts, metadata, [None] * count)


def row(text: str, *terms: Any) -> tuple[str, Any]:
    return text, {"attributes": list(terms), "column": -1}


ADA = row("Ada Łuk likes Apples, Sea Stars and Maté.", 1, 2, 0)
BEN = row("Ben likes Quokkas, Maté and Apples.", 5, 0, 1)
RIGHT = (["Ada Łuk", "Ben"], [1, 2, 0, 5, 0, 1], [3, 3])


def read(*rows: tuple[str, Any]) -> tuple[tuple[list[str], list[int], list[int]], bool]:
    names, terms, counts, spelled = DocumentReader(ATTRIBUTES, 3).read(batch(*rows))
    return (names, terms.tolist(), counts.tolist()), spelled


def test_documents_that_are_what_their_metadata_spell() -> None:
    assert read(ADA, BEN) == (RIGHT, True)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"attributes": "501"},
        *(
            {"attributes": terms}
            for terms in (
                [5, 0],
                [5, 0, True],
                ["5", 0, 1],
                [3, 0, 1],
                [2**70, 0, 1],
                [5, 1, 0],
            )
        ),
    ],
)
def test_documents_whose_metadata_say_something_else(metadata: Any) -> None:
    assert read(ADA, (BEN[0], metadata)) == (RIGHT, False)


@pytest.mark.parametrize(
    ("text", "name", "listed"),
    [
        ("Ben likes Tea.", "Ben", ["Tea"]),
        ("Ben likes Tea, Rain.", "Ben", ["Tea, Rain"]),
        ("Ben likes Tea, Rain and Salt.", "Ben", ["Tea", "Rain", "Salt"]),
        ("Ben likes Tea and Rain and Salt.", "Ben", ["Tea and Rain", "Salt"]),
        ("Ben likes Tea!", "", []),
        (" likes Tea.", "", []),
    ],
)
def test_a_document_is_one_sentence(text: str, name: str, listed: list[str]) -> None:
    assert read_document(text) == (name, listed)


@pytest.mark.parametrize(
    ("text", "question", "operator"),
    [
        ("Who likes Green Tea and Tea?", Question((2, 1)), "and"),
        ("Who likes not only Tea but also Rain?", Question((1, 3)), "and"),
        ("Who likes Rain, Tea or both?", Question((3, 1), (), True), "or"),
        ("Who likes at least one of Rain and Tea?", Question((3, 1), (), True), "or"),
        ("Who likes Tea without liking Rain?", Question((1,), (3,)), "and-not"),
        ("Who does not like Rain but likes Tea?", Question((1,), (3,)), "and-not"),
        (
            "Who does not like Salt but likes both Rain and Tea?",
            Question((3, 1), (4,)),
            "and-and-not",
        ),
    ],
)
def test_queries_with_operators(text: str, question: Question, operator: str) -> None:
    assert OPERATORS.read(text) == question
    assert question.operator == operator


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Who likes Tea and Rain", "'Who likes {} and {}' is no wording of a query"),
        ("Who likes Tea and Snow?", "'Who likes {} and Snow?' is no wording of a query"),
        ("Who likes Teas and Rain?", "'Who likes Teas and {}?' is no wording of a query"),
        ("Who likes Tea and Tea?", "it names an attribute twice"),
    ],
)
def test_what_is_no_wording(text: str, why: str) -> None:
    assert OPERATORS.read(text) == why


def test_attributes_that_share_a_word() -> None:
    assert [one.message for one in check_catalogue(THINGS)] == ["'Tea' and 'Green Tea' share 'tea'"]
    assert list(check_catalogue(ATTRIBUTES)) == []
