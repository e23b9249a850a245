"""Texts cut into sentences, words and mentions."""

from __future__ import annotations

from pathlib import Path

import pytest

import retgen.world
from retgen.validators.world.definitions import read_definition
from retgen.validators.world.mentions import Mention, MentionFinder, tokens_of

OWN = "The Silent Tower of Calimere"
FOLDER = Path(retgen.world.__file__).parent / "domains"


def finder(domain: str) -> MentionFinder:
    return MentionFinder(read_definition(FOLDER / f"{domain}.yaml"), parents=False, ends=".!?")


def found(domain: str, text: str, own: str, short: str = "") -> list[tuple[str, list[str]]]:
    """(sentence, words and what kind of mention of which text) of each sentence."""
    tokens = tokens_of(text)
    cut = finder(domain).sentences(tokens, tuple(tokens_of(own)), tuple(tokens_of(short)))
    return [
        (
            " ".join(tokens[begin:end]),
            [f"{x.kind}:{x.text}" if isinstance(x, Mention) else x for x in items],
        )
        for begin, end, items in cut
    ]


def test_sentences_of_words_and_mentions() -> None:
    text = f"{OWN} is set in Leipzig. Smuggler or a smuggler! It runs for 113 minutes, not 3"
    assert found("films", text, OWN) == [
        (f"{OWN} is set in Leipzig", ["<entity>", "is", "set", "in", "value:Leipzig"]),
        ("Smuggler or a smuggler", ["value:a smuggler", "or", "value:a smuggler"]),
        (
            "It runs for 113 minutes , not 3",
            ["it", "runs", "for", "number:113 minutes", ",", "not", "figure:3"],
        ),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Lengyel died", ["<entity>", "died"]),
        ("Agata K Lengyel and Boris F Conti", ["<entity>", "and", "name:Boris F Conti"]),
        ("in May 3, 1887 or 1887", ["in", "date:1887-05-03", "or", "year:1887"]),
        ("a Smuggler", ["a", "smuggler"]),
    ],
)
def test_names_and_days(text: str, items: list[str]) -> None:
    assert found("people", text, "Agata K Lengyel", "Lengyel") == [(text.replace(",", " ,"), items)]


def test_tokens() -> None:
    assert tokens_of("Dr. Ada's 1,950 well-known -3 films (v. good).") == [
        "Dr.",
        "Ada",
        "'s",
        "1,950",
        "well-known",
        "-3",
        "films",
        "(",
        "v.",
        "good",
        ")",
        ".",
    ]
    assert tokens_of("") == []
