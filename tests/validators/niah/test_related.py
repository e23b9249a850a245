"""Which words are related to those of a question."""

from __future__ import annotations

import pytest

from retgen.validators.niah.texts import RelatedWords, words_of


@pytest.mark.parametrize(
    ("question", "related", "free"),
    [
        (
            "Which character cannot eat wheat bread?",
            "ate eaten eating eats eater eaters uneaten wheaten wheats breads breadcrumb character "
            "characters cannot",
            "heat great beat bred reach can chart there",
        ),
        (
            "Which character speaks Japanese?",
            "spoke spoken speaking speaker japan japanese",
            "spike peak jape",
        ),
        (
            "Which character has visited Peru?",
            "visit visitor visits peruvian peru",
            "visa vista purse",
        ),
        ("Which character is unhappy and runs?", "happy happier runner nonhappy", "happen rung"),
        (
            "Which character plays the theremin?",
            "play played player playground theremins",
            "there the lay",
        ),
        (
            "Which character studies beetles?",
            "study studied studying beetle beet",
            "student bee studio",
        ),
    ],
)
def test_words_that_are_related(question: str, related: str, free: str) -> None:
    one = RelatedWords({"a": question, "b": "Which of them?"})
    found = one.among("a", set(f"{related} {free}".split()))
    assert found == sorted(related.split())
    assert one.among("b", set(related.split())) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's Krakow's _old_ tram_line.", "it s krakow s old tram line"),
        ("Krak\u00f3w, Krako\u0301w, Kra\u00adkow", "krakow krakow krakow"),
        ("\ufb01nally \uff2b\uff4f", "finally ko"),
        ("\u77f3\u6865\u4e0a a", "\u77f3\u6865 \u6865\u4e0a"),
    ],
)
def test_words_of_a_text(text: str, words: str) -> None:
    assert words_of(text) == words.split()
