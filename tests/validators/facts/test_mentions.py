"""Texts cut into sentences, words and mentions."""

from __future__ import annotations

from pathlib import Path

import pytest

import retgen.facts
from retgen.validators.facts.definitions import read_definition
from retgen.validators.facts.mentions import Mention, MentionFinder, tokens_of

FILM = "The Silent Tower of Calimere"
ADA = "Agata K Lengyel"
FOLDER = Path(retgen.facts.__file__).parent / "domains"


@pytest.mark.parametrize(
    ("domain", "own", "short", "text", "sentences"),
    [
        (
            "films",
            FILM,
            "",
            f"{FILM} is set in Leipzig. Smuggler or a smuggler! It runs for 113 minutes, not 3",
            [
                ["<e>", "is", "set", "in", "Leipzig"],
                ["smuggler", "or", "a smuggler"],
                ["it", "runs", "for", "113 minutes", ",", "not", "3"],
            ],
        ),
        ("people", ADA, "Lengyel", "Lengyel died.", [["<e>", "died"]]),
        ("people", ADA, "", f"{ADA} or Boris F Conti.", [["<e>", "or", "Boris F Conti"]]),
        ("people", ADA, "", "In 3 May 1887 or 1887", [["in", "3 May 1887", "or", "1887"]]),
        (
            "people",
            ADA,
            "",
            "Two siblings, 31 June 1887.",
            [["Two siblings", ",", "31", "june", "1887"]],
        ),
    ],
)
def test_sentences(
    domain: str, own: str, short: str, text: str, sentences: list[list[str]]
) -> None:
    finder = MentionFinder(read_definition(FOLDER / f"{domain}.yaml"))
    found = finder.sentences(tokens_of(text), tuple(tokens_of(own)), tuple(tokens_of(short)))
    assert [
        [item.text if isinstance(item, Mention) else item for item in items]
        for _, _, items in found
    ] == sentences


def test_tokens() -> None:
    said = "Dr. | Ada | 's | 1,950 | well-known | -3 | films | ( | v. | good | ) | ."
    assert tokens_of("Dr. Ada's 1,950 well-known -3 films (v. good).") == said.split(" | ")
    assert tokens_of("") == []
