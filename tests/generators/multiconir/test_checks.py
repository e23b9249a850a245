"""What answers have to keep to."""

from __future__ import annotations

import pytest

from retgen.generators.multiconir.checks import (
    check_condition,
    check_query,
    check_quote,
    check_rewrite,
    check_sentence,
    kept_share,
    negates,
    split,
    usable,
)

BORN = "She was born in Lisbon in 1931."
DOCUMENT = (
    f"{BORN} Her father mended clocks for the navy. She left for Porto as a girl. She was born in "
    "Lisbon in the year 1931. She left Porto."
)


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("Her father mended clocks for the navy.", None),
        ("She left Lisbon.", "it does not stand in the document; copy it letter by letter"),
        (" ", "it does not stand in the document; copy it letter by letter"),
        ("was born in Lisbon in 1931.", "it is not a whole sentence of the document"),
        ("She left Porto.", "it is not a complete sentence of 5 to 60 words"),
        (BORN, f"it overlaps {BORN!r}"),
        ("She was born in Lisbon in the year 1931.", f"it says nearly the same as {BORN!r}"),
    ],
)
def test_sentence(sentence: str, fault: str | None) -> None:
    assert check_sentence(DOCUMENT, sentence, [BORN]) == fault


NUMBERED = "the condition is to have no number before it and no full stop after it"


@pytest.mark.parametrize(
    ("condition", "fault"),
    [
        ("Born in Lisbon in 1931", None),
        ("Cared for the clocks of a navy", "the condition shares no word with its sentence"),
        ("1. Born in Lisbon", NUMBERED),
        ("Born in Lisbon.", NUMBERED),
        (
            "Born in\nLisbon",
            "the condition is bad: it holds a line break or a character that cannot be seen",
        ),
        ("Lisbon", "the condition has 1 words; about ten are wanted"),
        ("born in lisbon at dawn", "the condition is that of another sentence"),
    ],
)
def test_condition(condition: str, fault: str | None) -> None:
    assert check_condition(BORN, condition, ["Born in Lisbon at dawn"]) == fault


@pytest.mark.parametrize(
    ("count", "query", "fault"),
    [
        (1, "someone born in Lisbon in 1931", None),
        (2, "a clockmaker's daughter born in Lisbon in 1931", None),
        (2, "the daughter of a clockmaker from elsewhere", "it does not ask for condition 1"),
        (1, "born in Lisbon in 1931 and left in 1944", "it asks for condition 3 already"),
        (1, "1. born in Lisbon in 1931", "it is a list; write prose"),
        (1, "Lisbon", "it has 1 words for conditions of 5"),
    ],
)
def test_query(count: int, query: str, fault: str | None) -> None:
    conditions = ["Born in Lisbon in 1931", "Daughter of a clockmaker", "Left for Porto in 1944"]
    assert check_query(conditions, count, query) == fault


def test_quote() -> None:
    assert check_quote(' "In  lisbon" ', BORN) is None
    for quote in ("in Porto", ""):
        assert check_quote(quote, BORN) == f"the quote {quote!r} is not a part of the text"


SENTENCE = "She was born in Lisbon in 1931 as the second of four children."


@pytest.mark.parametrize(
    ("rewrite", "fault"),
    [
        ("She was born in Prague in 1931 as the second of four children.", None),
        ("She was not born in Lisbon in 1931 as the second of four children.", None),
        (SENTENCE.lower(), "it is the sentence itself"),
        (SENTENCE.replace("Lisbon", "Prague")[:-1], "it is not one complete sentence"),
        ("She was born in Prague in 1931.", "it has 7 words, not 9 to 17"),
        (
            "The woman came from a large household somewhere in Prague in 1931.",
            "only 23% of the sentence's words stand in it as they did; 60% must",
        ),
        (
            "She was born in Prague in 1938 as the second of four children.",
            "only 33% of the condition's key terms are left; 50% must be",
        ),
    ],
)
def test_rewrite(rewrite: str, fault: str | None) -> None:
    result = check_rewrite(
        SENTENCE, "Born in Lisbon in 1931", rewrite, fewest=9, most=17, key_terms=0.5
    )
    assert result == fault


def test_generic_rewriting_is_measured() -> None:
    """The paper's own complaint (Appendix G.1), in an example of ours."""
    original = "The harbour pilot was fined 900 crowns under Section 14 of the Sound Dues Act."
    assert kept_share(original, "The man was found guilty and had to pay money.") == 2 / 15
    assert kept_share(original, original.replace("900", "450")) == 14 / 15


@pytest.mark.parametrize(
    ("sentence", "rewrite", "is_negation"),
    [
        ("She won the prize twice.", "She never won the prize twice.", True),
        ("The court accepted the claim.", "The court did not accept the claim.", True),
        ("He had no children.", "He had children.", True),
        ("She won the prize.", "She lost the prize.", False),
        ("She was born in Lisbon.", "She was not born in Lisbon but in Prague.", False),
    ],
)
def test_negates(sentence: str, rewrite: str, is_negation: bool) -> None:
    assert negates(sentence, rewrite) is is_negation


@pytest.mark.parametrize(
    "sentences",
    [
        ["One is here.", "Two is there!", "Is three?"],
        ["Dr. Lind met J. S. Moor at No. 7.", "He left."],
        ["It cost 3.5 million.", "In 1931 it sank."],
        ['She said "No."', "Then she left."],
        ["the end. of it"],
        ["Without a stop"],
        [],
    ],
)
def test_split(sentences: list[str]) -> None:
    assert split(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    ("text", "is_usable"),
    [
        ("1931 was the year she left.", True),
        ("She left Lisbon with Dr. Sousa in 1931.", True),
        ("She left Lisbon.", False),
        ("she left Lisbon in 1931.", False),
        ("She left Lisbon in 1931", False),
        ("She left Lisbon " + "again " * 58 + "today.", False),
        ("She left Lisbon. lisbon.py is a script.", False),
        ("She left Lisbon (in 1931.", False),
        ('She left "Lisbon in 1931.', False),
    ],
)
def test_usable(text: str, is_usable: bool) -> None:
    assert usable(text) is is_usable
