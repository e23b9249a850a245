from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retgen.facts.asking import Asker, Wording, literal_frames, span, with_article
from retgen.facts.domain import Domain, load_domain

from .written import from_json

BOATS = Path(__file__).parent / "boats.yaml"


@pytest.fixture(scope="module")
def boats() -> Domain:
    return load_domain(BOATS)


def first(bound: int) -> int:
    return 0


def last(bound: int) -> int:
    return bound - 1


TIMBER = ["within", "hull", "a timber"]
OSLO = ["is", "home", "Oslo"]
STEEL = ["is", "hull", "steel"]
LONG = ["between", "length", 31, None]

# expression, wording, the first words that there are, the last ones
TEXTS: list[tuple[list[Any], Wording, str, str]] = [
    (
        OSLO,
        "literal",
        "I am looking for a boat that is moored in Oslo.",
        "I need every boat whose home port is Oslo.",
    ),
    (
        STEEL,
        "paraphrase",
        "I am looking for a boat that consists of forged iron.",
        "I need every boat whose body has forged iron as its material.",
    ),
    (
        TIMBER,
        "entailed",
        "I am looking for a boat that consists of a timber.",
        "I need every boat whose body has a timber as its material.",
    ),
    (
        ["is", "refit", 1991],
        "literal",
        "I am looking for a boat that was refitted in 1991.",
        "I need every boat whose refit was that of 1991.",
    ),
    (
        ["is", "launch", "1975-06-30"],
        "paraphrase",
        "I am looking for a boat that first touched water on 30 June 1975.",
        "I need every boat whose maiden day afloat fell on 30 June 1975.",
    ),
    (
        ["and", OSLO, STEEL],
        "literal",
        "I am looking for a boat that is moored in Oslo and that is built of steel.",
        "I need every boat whose home port is Oslo and whose hull is made of steel.",
    ),
    (
        ["and", LONG, OSLO, STEEL],
        "paraphrase",
        "I am looking for a boat that reaches over 30 metres from end to end, that lies at anchor in Oslo and "
        "that consists of forged iron.",
        "I need every boat whose bow lies ahead of the stern by over 30 metres, whose usual berth can "
        "be found in Oslo and whose body has forged iron as its material.",
    ),
    (
        ["or", OSLO, STEEL],
        "literal",
        "I am looking for a boat that is moored in Oslo or that is built of steel.",
        "Do you know of either a boat whose home port is Oslo or one whose hull is made of steel?",
    ),
    (
        ["or", ["and", OSLO, LONG], STEEL],
        "literal",
        "I am looking for either a boat that is moored in Oslo and that measures more than 30 metres "
        "or a boat that is built of steel.",
        "Do you know of either a boat whose home port is Oslo and whose length is more than 30 metres "
        "or one whose hull is made of steel?",
    ),
    (
        ["and not", OSLO, STEEL],
        "literal",
        "I am looking for a boat that is moored in Oslo, but not one that is built of steel.",
        "I need every boat whose home port is Oslo, except for any whose hull is made of steel.",
    ),
    (
        ["at least", 2, OSLO, STEEL, LONG],
        "literal",
        "Find every boat that fits at least two of these three descriptions: one that is moored in "
        "Oslo; one that is built of steel; one that measures more than 30 metres.",
        "At least two of these three descriptions must fit the boat: one whose home port is Oslo; one "
        "whose hull is made of steel; one whose length is more than 30 metres.",
    ),
    (
        ["most", 10, "launch", OSLO],
        "literal",
        "Take every boat that is moored in Oslo, and name the 10 with the latest launch.",
        "I am interested in every boat whose home port is Oslo: give me the 10 with the latest "
        "launch.",
    ),
    (
        ["least", 1, "length", TIMBER],
        "entailed",
        "Take every boat that consists of a timber, and name the one with the shortest extent.",
        "I am interested in every boat whose body has a timber as its material: give me the one with "
        "the shortest extent.",
    ),
    (
        ["via", "model", OSLO],
        "literal",
        "I am looking for a boat that is a copy of a boat that is moored in Oslo.",
        "I need every boat whose model was a boat whose home port is Oslo.",
    ),
    (
        ["via", "model", TIMBER],
        "entailed",
        "I am looking for a boat that imitates a boat that consists of a timber.",
        "I need every boat whose shape follows the lines of a boat whose body has a timber as its "
        "material.",
    ),
]


@pytest.mark.parametrize(("value", "wording", "begin", "end"), TEXTS)
def test_texts(boats: Domain, value: list[Any], wording: Wording, begin: str, end: str) -> None:
    expression = from_json(value)
    assert Asker(boats, wording, first).ask(expression) == begin
    assert Asker(boats, wording, last).ask(expression) == end


@pytest.mark.parametrize(
    ("slot", "low", "high", "literal", "paraphrase", "entailed"),
    [
        (
            "length",
            20,
            30,
            "between 20 and 30 metres",
            "from 20 to 30 metres",
            "between 20 and 30 metres",
        ),
        ("length", None, 89, "less than 90 metres", "under 90 metres", "under 90 metres"),
        ("length", 2, None, "more than 1 metre", "over 1 metre", "over 1 metre"),
        ("refit", 1980, 1989, "between 1980 and 1989", "from 1980 to 1989", "in the 1980s"),
        ("refit", 1981, 1990, "between 1981 and 1990", "from 1981 to 1990", "from 1981 to 1990"),
        ("refit", None, 1949, "before 1950", "earlier than 1950", "earlier than 1950"),
        ("refit", 1951, None, "after 1950", "later than 1950", "later than 1950"),
        ("launch", "1987-05-01", "1987-05-31", "in May 1987", "in May 1987", "in May 1987"),
        ("launch", "1987-01-01", "1987-12-31", "in 1987", "in 1987", "in 1987"),
        (
            "launch",
            "1950-01-01",
            "1960-12-31",
            "between 1950 and 1960",
            "from 1950 to 1960",
            "from 1950 to 1960",
        ),
        ("launch", None, "1949-12-31", "before 1950", "earlier than 1950", "earlier than 1950"),
        ("launch", "1951-01-01", None, "after 1950", "later than 1950", "later than 1950"),
        (
            "launch",
            "1988-02-01",
            "1988-02-29",
            "in February 1988",
            "in February 1988",
            "in February 1988",
        ),
    ],
)
def test_ranges(
    boats: Domain, slot: str, low: Any, high: Any, literal: str, paraphrase: str, entailed: str
) -> None:
    of = boats.slots[slot]
    assert span(of, low, high, "literal") == literal
    assert span(of, low, high, "paraphrase") == paraphrase
    assert span(of, low, high, "entailed") == entailed


def test_what_has_no_words(boats: Domain) -> None:
    with pytest.raises(ValueError, match="no words for the days 1987-05-02 to 1987-05-31"):
        span(boats.slots["launch"], "1987-05-02", "1987-05-31", "literal")
    with pytest.raises(ValueError, match="slot home has no ranges"):
        span(boats.slots["home"], 1, 2, "literal")
    with pytest.raises(ValueError, match="slot home has no words for its extremes"):
        Asker(boats, "literal", first).ask(from_json(["most", 1, "home", OSLO]))
    with pytest.raises(ValueError, match="no condition"):
        Asker(boats, "literal", first).ask(from_json(["and", ["or", OSLO, STEEL], LONG]))


def test_literal_frames_are_document_wordings(boats: Domain) -> None:
    launch = boats.slots["launch"]
    assert literal_frames(launch.document, "that", bare=False) == (
        "that was launched {v}",
        "whose launch took place {v}",
    )
    assert literal_frames(boats.slots["refit"].document, "that", bare=True)[-1] == (
        "whose refit was that of {n}"
    )


def test_articles() -> None:
    assert with_article("boat") == "a boat"
    assert with_article("airship") == "an airship"
