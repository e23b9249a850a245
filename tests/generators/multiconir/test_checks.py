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

DOCUMENT = (
    "She was born in Lisbon in 1931. Her father mended clocks for the navy. She left for Porto "
    "as a girl. She was born in Lisbon in the year 1931. She left Porto."
)


@pytest.mark.parametrize(
    ("sentence", "taken", "fault"),
    [
        ("She was born in Lisbon in 1931.", ["Her father mended clocks for the navy."], None),
        (
            "She was born in Lisbon.",
            [],
            "it does not stand in the document; copy it letter by letter",
        ),
        (" ", [], "it does not stand in the document; copy it letter by letter"),
        ("was born in Lisbon in 1931.", [], "it is not a whole sentence of the document"),
        ("She left Porto.", [], "it is not a complete sentence of 5 to 60 words"),
        (
            "She was born in Lisbon in 1931.",
            ["She was born in Lisbon in 1931."],
            "it overlaps 'She was born in Lisbon in 1931.'",
        ),
        (
            "She was born in Lisbon in the year 1931.",
            ["She was born in Lisbon in 1931."],
            "it says nearly the same as 'She was born in Lisbon in 1931.'",
        ),
    ],
)
def test_sentence(sentence: str, taken: list[str], fault: str | None) -> None:
    assert check_sentence(DOCUMENT, sentence, taken) == fault


@pytest.mark.parametrize(
    ("condition", "fault"),
    [
        ("Born in Lisbon in 1931", None),
        ("Cared for the clocks of a navy", "the condition shares no word with its sentence"),
        (
            "1. Born in Lisbon",
            "the condition is to have no number before it and no full stop after it",
        ),
        (
            "Born in Lisbon.",
            "the condition is to have no number before it and no full stop after it",
        ),
        (
            "Born in\nLisbon",
            "the condition is bad: it holds a line break or a character that cannot be seen",
        ),
        ("Lisbon", "the condition has 1 words; about ten are wanted"),
        (
            "Born in Lisbon " + "very " * 24 + "early",
            "the condition has 28 words; about ten are wanted",
        ),
        ("born in lisbon at dawn", "the condition is that of another sentence"),
    ],
)
def test_condition(condition: str, fault: str | None) -> None:
    sentence = "She was born in Lisbon in 1931."
    assert check_condition(sentence, condition, ["Born in Lisbon at dawn"]) == fault


CONDITIONS = ["Born in Lisbon in 1931", "Daughter of a clockmaker", "Left for Porto in 1944"]


@pytest.mark.parametrize(
    ("count", "query", "fault"),
    [
        (1, "someone born in Lisbon in 1931", None),
        (2, "a clockmaker's daughter born in Lisbon in 1931", None),
        (
            2,
            "the daughter of a clockmaker from somewhere else",
            "it does not ask for condition 1",
        ),
        (1, "born in Lisbon in 1931 and left in 1944", "it asks for condition 3 already"),
        (1, "1. born in Lisbon in 1931", "it is a list; write prose"),
        (1, "Lisbon", "it has 1 words for conditions of 5"),
    ],
)
def test_query(count: int, query: str, fault: str | None) -> None:
    assert check_query(CONDITIONS, count, query) == fault


@pytest.mark.parametrize(
    ("quote", "fault"),
    [
        ("in Lisbon", None),
        (' "In  lisbon" ', None),
        ("in Porto", "the quote 'in Porto' is not a part of the text"),
        ("", "the quote '' is not a part of the text"),
    ],
)
def test_quote(quote: str, fault: str | None) -> None:
    assert check_quote(quote, "She was born in Lisbon.") == fault


SENTENCE = "She was born in Lisbon in 1931 as the second of four children."


@pytest.mark.parametrize(
    ("rewrite", "fault"),
    [
        ("She was born in Prague in 1931 as the second of four children.", None),
        (SENTENCE, "it is the sentence itself"),
        (
            "she was born in lisbon in 1931 as the second of four children",
            "it is the sentence itself",
        ),
        (
            "She was born in Prague in 1931 as the second of four children",
            "it is not one complete sentence",
        ),
        ("She was born in Prague in 1931.", "it has 7 words, not 9 to 17"),
        (
            "The woman came from a large household somewhere in Prague in 1931.",
            "only 23% of the sentence's words stand in it as they did; 60% must",
        ),
        ("Was she not born in Lisbon in 1931 as the second of four children.", None),
    ],
)
def test_rewrite(rewrite: str, fault: str | None) -> None:
    result = check_rewrite(
        SENTENCE, "Born in Lisbon in 1931", rewrite, fewest=9, most=17, key_terms=0.5
    )
    assert result == fault


def test_reassigned_sentences_keep_the_key_terms() -> None:
    def fault(rewrite: str) -> str | None:
        return check_rewrite(
            SENTENCE, "Born in Lisbon in 1931", rewrite, fewest=9, most=30, key_terms=0.8
        )

    kept = "She was born in Prague in 1931 as the second of four children, her mother in Lisbon."
    assert fault(kept) is None
    lost = "She was born in Prague in 1938 as the second of four children."
    assert fault(lost) == "only 33% of the condition's key terms are left; 80% must be"


def test_generic_rewriting_is_measured() -> None:
    """The paper's own complaint (Appendix G.1), in an example of ours."""
    original = "The harbour pilot was fined 900 crowns under Section 14 of the Sound Dues Act."
    generic = "The man was found guilty and had to pay money."
    assert kept_share(original, generic) == 2 / 15
    assert kept_share(original, original.replace("900", "450")) == 14 / 15


@pytest.mark.parametrize(
    ("sentence", "rewrite", "is_negation"),
    [
        ("She was born in Lisbon.", "She was not born in Lisbon.", True),
        ("She won the prize twice.", "She never won the prize twice.", True),
        ("The court accepted the claim.", "The court did not accept the claim.", True),
        ("He had no children.", "He had children.", True),
        ("She was born in Lisbon.", "She was born in Prague.", False),
        ("She won the prize.", "She lost the prize.", False),
        ("She was born in Lisbon.", "She was not born in Lisbon but in Prague.", False),
    ],
)
def test_negates(sentence: str, rewrite: str, is_negation: bool) -> None:
    assert negates(sentence, rewrite) is is_negation


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One is here. Two is there! Is three?", ["One is here.", "Two is there!", "Is three?"]),
        (
            "Dr. Lind met J. S. Moor at No. 7. He left.",
            ["Dr. Lind met J. S. Moor at No. 7.", "He left."],
        ),
        ("It cost 3.5 million. In 1931 it sank.", ["It cost 3.5 million.", "In 1931 it sank."]),
        ('She said "No." Then she left.', ['She said "No."', "Then she left."]),
        ("the end. of it", ["the end. of it"]),
        ("Without a stop", ["Without a stop"]),
        ("", []),
    ],
)
def test_split(text: str, sentences: list[str]) -> None:
    assert split(text) == sentences
    assert " ".join(sentences) == text


@pytest.mark.parametrize(
    ("text", "is_usable"),
    [
        ("She left Lisbon in 1931.", True),
        ("1931 was the year she left.", True),
        ("She left Lisbon.", False),
        ("she left Lisbon in 1931.", False),
        ("She left Lisbon in 1931", False),
        ("She left Lisbon " + "again " * 58 + "today.", False),
        ("She left Lisbon. lisbon.py is a script.", False),
        ("She left Lisbon with Dr. Sousa in 1931.", True),
        ("She left Lisbon (in 1931.", False),
        ('She left "Lisbon in 1931.', False),
    ],
)
def test_usable(text: str, is_usable: bool) -> None:
    assert usable(text) is is_usable
