"""What answers have to keep to."""

from __future__ import annotations

import pytest

from retgen.generators.multiconir.checks import (
    check_conditions,
    check_descriptive,
    check_extracted,
    check_rewrite,
    kept_share,
    negates,
)

DOCUMENT = (
    "She was born in Lisbon in 1931. Her father mended clocks for the navy. She left for Porto "
    "as a girl. She was born in Lisbon in the year 1931."
)


@pytest.mark.parametrize(
    ("sentences", "fault"),
    [
        (["She was born in Lisbon in 1931.", "Her father mended clocks for the navy."], None),
        (["She was born in Lisbon in 1931."], "there are 1 sentences, not 2"),
        (["She was born in Lisbon.", "x"], "'She was born in Lisbon.' does not stand in the document; copy it letter by letter"),
        (["was born in Lisbon in 1931.", "x"], "'was born in Lisbon in 1931.' is not a complete sentence of 5 to 60 words"),
        (["She was born in Lisbon in 1931."] * 2, "'She was born in Lisbon in 1931.' and 'She was born in Lisbon in 1931.' overlap"),
        (["She was born in Lisbon in 1931.", "She was born in Lisbon in the year 1931."], "'She was born in Lisbon in the year 1931.' and 'She was born in Lisbon in 1931.' say nearly the same"),
    ],
)  # fmt: skip
def test_extracted(sentences: list[str], fault: str | None) -> None:
    assert check_extracted(DOCUMENT, 2, sentences) == fault


SENTENCES = ["She was born in Lisbon in 1931.", "Her father mended clocks for the navy."]


@pytest.mark.parametrize(
    ("conditions", "fault"),
    [
        (["Born in Lisbon in 1931", "Daughter of a man who mended clocks"], None),
        (["Born in Lisbon in 1931"], "there are 1 conditions for 2 sentences"),
        (["Born in Lisbon in 1931", "Born in Lisbon in 1931"], "condition 2 shares no word with sentence 2"),
        (["1. Born in Lisbon", "Father mended clocks"], "condition 1 is to have no number before it and no full stop after it"),
        (["Born in Lisbon.", "Father mended clocks"], "condition 1 is to have no number before it and no full stop after it"),
        (["Born in\nLisbon", "Father mended clocks"], "condition 1: it holds a line break or a character that cannot be seen"),
        (["Lisbon", "Father mended clocks"], "condition 1 has 1 words; about ten are wanted"),
        (["Born in Lisbon " + "very " * 16 + "early", "Father mended clocks " + "well " * 11], None),
        (["Born in Lisbon " + "very " * 20 + "early", "Father mended clocks " + "well " * 12], "the conditions have"),
    ],
)  # fmt: skip
def test_conditions(conditions: list[str], fault: str | None) -> None:
    found = check_conditions(SENTENCES, [one.strip() for one in conditions])
    assert found == fault or (fault is not None and found is not None and found.startswith(fault))


CONDITIONS = ["Born in Lisbon in 1931", "Daughter of a clockmaker", "Left for Porto in 1944"]


@pytest.mark.parametrize(
    ("queries", "fault"),
    [
        (["someone born in Lisbon in 1931", "a clockmaker's daughter born in Lisbon in 1931",
          "a clockmaker's daughter born in Lisbon in 1931 who left for Porto in 1944"], None),
        (["someone born in Lisbon in 1931"], "there are 1 queries; 3 are wanted"),
        (["someone born in Lisbon in 1931", "the daughter of a clockmaker from somewhere else",
          "x"], "query 2 does not ask for condition 1"),
        (["born in Lisbon in 1931 and left in 1944", "x", "y"],
         "query 1 asks for condition 3 already"),
        (["1. born in Lisbon in 1931", "x", "y"], "query 1 is a list; write prose"),
        (["x", "X", "y"], "two queries are the same"),
        (["Lisbon", "x", "y"], "query 1 has 1 words for conditions of 5"),
    ],
)  # fmt: skip
def test_descriptive(queries: list[str], fault: str | None) -> None:
    assert check_descriptive(CONDITIONS, queries) == fault


SENTENCE = "She was born in Lisbon in 1931 as the second of four children."


@pytest.mark.parametrize(
    ("rewrite", "fault"),
    [
        ("She was born in Prague in 1931 as the second of four children.", None),
        (SENTENCE, "it is the sentence itself"),
        ("she was born in lisbon in 1931 as the second of four children", "it is the sentence itself"),
        ("She was born in Prague in 1931 as the second of four children", "it is not one complete sentence"),
        ("She was born in Prague in 1931.", "it has 7 words, not 9 to 17"),
        ("The woman came from a large household somewhere in Prague in 1931.", "only 23% of the sentence's words stand in it as they did; 60% must"),
        ("Was she not born in Lisbon in 1931 as the second of four children.", None),
    ],
)  # fmt: skip
def test_rewrite(rewrite: str, fault: str | None) -> None:
    found = check_rewrite(
        SENTENCE, "Born in Lisbon in 1931", rewrite, fewest=9, most=17, kept=0.6, key_terms=0.5
    )
    assert found == fault


def test_reassigned_sentences_keep_the_key_terms() -> None:
    def fault(rewrite: str) -> str | None:
        return check_rewrite(
            SENTENCE, "Born in Lisbon in 1931", rewrite, fewest=9, most=30, kept=0.6, key_terms=0.8
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
