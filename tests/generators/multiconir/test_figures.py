"""Figures are altered where it is plain that this makes a sentence untrue, and nowhere else."""

from __future__ import annotations

import pytest

from retgen.generators.multiconir.figures import extract, rewrites, verdict
from tests.generators.multiconir.stories import stories


@pytest.mark.parametrize(
    ("sentence", "rewrite"),
    [
        ("The ship was launched in 1902 at Kiel.", "The ship was launched in 1893 at Kiel."),
        ("The bell weighs 125 kilograms in all.", None),
        ("She sold twelve paintings to a dealer.", None),
        ("It was opened on 3 May 1987 by the mayor.", None),
        ("It cost 12,500 pounds to build the pier.", None),
    ],
)
def test_what_can_be_altered(sentence: str, rewrite: str | None) -> None:
    found = list(rewrites(sentence))
    assert found
    assert sentence not in found
    for one in found:
        assert len(one.split()) == len(sentence.split())
        assert sum(a != b for a, b in zip(one.split(), sentence.split(), strict=True)) == 1
        assert verdict(one, sentence.rstrip(".")) == ("violated", verdict(one, one)[1])  # type: ignore[index]
    assert verdict(sentence, sentence.rstrip(".")) is not None
    if rewrite is not None:
        assert rewrite in found


@pytest.mark.parametrize(
    "sentence",
    [
        "It lies 51 miles (82 km) from the coast.",  # two figures that hang together
        "She was born in 1902 and died in 1987.",
        "Version 2 of the program reads UTF-8 files.",
        "Chapter 5 tells of the voyage to the south.",
        "The pier is more than 300 metres long today.",
        "However, the pier is 300 metres long today.",
        "The general purpose of the law is not stated.",
        "Is the pier 300 metres long at this time?",
    ],
)
def test_what_is_left_alone(sentence: str) -> None:
    assert list(rewrites(sentence)) == []


def test_a_document_gives_its_sentences_with_one_figure() -> None:
    text = stories(1)[0]["text"]
    found = extract(text, 20, ())
    assert len(found) == 15
    assert all(stated == sentence.rstrip(".") for sentence, stated in found)
    assert len(extract(text, 4, [found[0][0]])) == 4
    assert verdict("The hold took 310 tons of timber.", "The bell weighs 125 kilograms") is None
