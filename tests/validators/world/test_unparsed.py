"""Words that may change what a query asks or a sentence states are refused, others are not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import retgen.world
from retgen.validators.world.definitions import read_definition
from retgen.validators.world.lexicon import read_lexicon
from retgen.validators.world.queries import UnreadableQuery
from retgen.validators.world.reader import DocumentReader

from .sets import DOMAINS, documents
from .test_queries import reader

REFUSED = [
    # hedges, and what is not so
    ("films", "a film that was nearly set in Leipzig", "nearly"),
    ("films", "a film that is said to be set in Leipzig", "to"),
    ("films", "a film that might be set in Leipzig", "might"),
    ("films", "a film that would have been set in Leipzig", "would"),
    ("films", "a film that was almost released in 1950", "almost"),
    ("people", "someone who will have been born in Oslo", "will"),
    ("legal", "cases that could be decided in 1950", "could"),
    # what ranks, counts and orders
    ("films", "the narrowest film set in Leipzig", "narrowest"),
    ("films", "Which film set in Leipzig was the cheapest?", "cheapest"),
    ("people", "somebody who was born in Oslo and who was the tallest", "tallest"),
    ("people", "the tallest five people born in Oslo", "five"),
    ("people", "people born in Oslo, sorted by height", "sorted"),
    ("people", "everybody but the tallest person born in Oslo", "but"),
    ("people", "Who among those born in Oslo had more children?", "more"),
    ("films", "films that fit two of the following: set in Leipzig; released in 1950", "two"),
    ("films", "exactly two of these: a film set in Leipzig; one released in 1950", "exactly"),
    ("films", "half of the films set in Leipzig", "half"),
    ("films", "the first film set in Leipzig", "first"),
    ("books", "a book whose second edition was published in 1950", "second"),
    ("films", "a film that premiered three years after it was released in 1950", "three"),
    # when and where
    ("films", "a film that was released in the spring of 1950", "spring"),
    ("films", "a film that was released in the first half of 1950", "half"),
    ("films", "a film that was released in early 1950", "early"),
    ("films", "a film that was released at Christmas 1950", "christmas"),
    ("films", "a film that was released around 1950", "around"),
    ("films", "a film that costs twice 10 million dollars", "twice"),
    ("films", "a film that is set near Leipzig", "near"),
    # what joins and compares
    ("films", "a film that is set in Leipzig if it was released in 1950", "if"),
    ("films", "a film that is set in Leipzig xor released in 1950", "xor"),
    ("films", "a film longer than one that was released in 1950", "than"),
    ("films", "a film set in Leipzig, ideally released in 1950", "ideally"),
]


@pytest.mark.parametrize(("domain", "text", "word"), REFUSED)
def test_refused(domain: str, text: str, word: str) -> None:
    with pytest.raises(UnreadableQuery) as error:
        reader(domain).query(text)
    assert str(error.value) == f"{word!r} may change what it asks, and is not understood"


def test_a_superlative_of_something_else() -> None:
    with pytest.raises(UnreadableQuery, match="ranks by 'title', which is no slot that is known"):
        reader("films").query("films set in Leipzig with the longest title")
    assert reader("films").query("the longest film set in Leipzig") == [
        "most", 1, "runtime", ["is", "setting", "Leipzig"],
    ]  # fmt: skip


def test_somebody_else() -> None:
    with pytest.raises(
        UnreadableQuery, match=r"'whose brother lives in \{v\}' is about somebody else"
    ):
        reader("medical").query("patients whose brother lives in Leipzig")


@pytest.mark.parametrize(
    ("domain", "text", "expression"),
    [
        ("films", "a film that started to be shot in May 1950",
         ["between", "shooting", "1950-05-01", "1950-05-31"]),
        ("people", "the five tallest people born in Oslo",
         ["most", 5, "height", ["is", "birthplace", "Oslo"]]),
        ("people", "Who was the tallest person born in Oslo?",
         ["most", 1, "height", ["is", "birthplace", "Oslo"]]),
        ("people", "somebody whose mother reared 4 siblings besides", ["is", "siblings", 4]),
        ("films", "It must be a film that was recently restored in 1978.",
         ["is", "restoration", 1978]),
    ],
)  # fmt: skip
def test_not_refused(domain: str, text: str, expression: list[object]) -> None:
    assert reader(domain).query(text) == expression


@cache
def document_reader(domain: str) -> DocumentReader:
    path = Path(retgen.world.__file__).parent / "domains" / f"{domain}.yaml"
    definition = read_definition(path)
    return DocumentReader(definition, read_lexicon(definition, path))


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
    _, problems = document_reader("films").document("The Absent Abyss of Aelastir", sentence)
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
    facts, problems = document_reader("films").document("The Absent Abyss of Aelastir", sentence)
    assert [str(one) for one in facts] == [fact]
    assert problems == ["its text does not name 'The Absent Abyss of Aelastir'"]


def test_texts_that_ask_or_hide_something() -> None:
    title = "The Absent Abyss of Aelastir"
    asked = document_reader("films").document(title, f"{title} is set in Leipzig?").problems
    assert asked == ["its text asks something"]
    hidden = document_reader("films").document(title, f"{title} is set in\u200b Leipzig.").problems
    assert hidden == ["its text holds a character that cannot be seen"]


@pytest.mark.parametrize("domain", DOMAINS)
def test_composed_documents_take_nothing_back(domain: str) -> None:
    for row in documents(domain, 60, seed=5):
        facts, problems = document_reader(domain).document(row["title"], row["text"])
        assert problems == []
        assert [str(one) for one in facts] == row["metadata"]["facts"]
