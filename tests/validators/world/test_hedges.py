"""Sentences that take back what they seem to state are found, and composed ones are not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import retgen.world
from retgen.validators.world.cues import read_patterns
from retgen.validators.world.definitions import read_definition
from retgen.validators.world.reader import Reader

from .sets import DOMAINS, documents


@cache
def reader(domain: str) -> Reader:
    path = Path(retgen.world.__file__).parent / "domains" / f"{domain}.yaml"
    definition = read_definition(path)
    return Reader(definition, read_patterns(definition, path))


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("It was nearly set in Leipzig.", "nearly"),
        ("It was almost set in Leipzig.", "almost"),
        ("It was to be set in Leipzig.", "to"),
        ("It would have been set in Leipzig.", "would"),
        ("It might have been set in Leipzig.", "might"),
        ("Perhaps it is set in Leipzig.", "perhaps"),
        ("Some say that it is set in Leipzig.", "some"),
        ("Legend has it that it is set in Leipzig.", "legend"),
        ("In a dream, it is set in Leipzig.", "dream"),
        ("It is set in Leipzig, or so people say.", "or"),
        ("It is set in Leipzig, but this was an error.", "but"),
        ("It is set in Leipzig or somewhere else.", "or"),
        ("It is set in Leipzig (disputed).", "("),
        ("It is set near Leipzig.", "near"),
        ("Its main character is a former midwife.", "former"),
        ("It came to cinemas before 1950.", "< 1950"),
        ("It came to cinemas around 1950.", "around"),
        ("It came to cinemas in the spring of 1950.", "spring"),
        ("It cost at least 20 million dollars.", ">= 20 million dollars"),
        ("It cost twice 20 million dollars.", "twice"),
    ],
)
def test_taken_back(sentence: str, word: str) -> None:
    _, problems = reader("films").document("The Absent Abyss of Aelastir", sentence)
    assert [one.split(": ")[0] for one in problems[1:]] == [
        f"{word!r} may take back what it states"
    ]


@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        ("It is set in Leipzig.", "setting=Leipzig"),
        ("It was in Leipzig that it was shot.", "location=Leipzig"),
        ("It came to cinemas in the year 1950.", "release=1950"),
    ],
)
def test_stated(sentence: str, fact: str) -> None:
    facts, problems = reader("films").document("The Absent Abyss of Aelastir", sentence)
    assert [str(one) for one in facts] == [fact]
    assert problems == ["its text does not name 'The Absent Abyss of Aelastir'"]


def test_texts_that_ask_or_hide_something() -> None:
    title = "The Absent Abyss of Aelastir"
    asked = reader("films").document(title, f"{title} is set in Leipzig?").problems
    assert asked == ["its text asks something"]
    hidden = reader("films").document(title, f"{title} is set in\u200b Leipzig.").problems
    assert hidden == ["its text holds a character that cannot be seen"]


@pytest.mark.parametrize("domain", DOMAINS)
def test_composed_documents_take_nothing_back(domain: str) -> None:
    for row in documents(domain, 60, seed=5):
        facts, problems = reader(domain).document(row["title"], row["text"])
        assert problems == []
        assert [str(one) for one in facts] == row["metadata"]["facts"]
