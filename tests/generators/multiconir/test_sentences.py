"""Cutting a text into sentences."""

from __future__ import annotations

import pytest

from retgen.generators.multiconir.checks import split, usable


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One is here. Two is there! Is three?", ["One is here.", "Two is there!", "Is three?"]),
        ("Dr. Lind met J. S. Moor at No. 7. He left.", ["Dr. Lind met J. S. Moor at No. 7.", "He left."]),
        ("It cost 3.5 million. In 1931 it sank.", ["It cost 3.5 million.", "In 1931 it sank."]),
        ('She said "No." Then she left.', ['She said "No."', "Then she left."]),
        ("the end. of it", ["the end. of it"]),
        ("Without a stop", ["Without a stop"]),
        ("", []),
    ],
)  # fmt: skip
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
