"""The labels of cut documents follow from the spans of the queries."""

from __future__ import annotations

import pytest

from retgen.generators.capretrieval.passages import Passage, PassageLabels


def labels(*places: tuple[int, int]) -> PassageLabels:
    passages = [
        Passage(f"d#{n}", "d", start, stop, "", "x" * (stop - start), "en")
        for n, (start, stop) in enumerate(places, 1)
    ]
    return PassageLabels([Passage("c", "c", 0, 300, "", "other", "en"), *passages], [], [])


@pytest.mark.parametrize(
    ("start", "stop", "relevant"),
    [
        (10, 20, [1]),  # one holds it
        (85, 95, [1, 2]),  # two that overlap hold it
        (90, 170, [2]),  # longer than what either neighbour has of it
        (80, 180, [2]),  # a passage, exactly
        (0, 260, [1, 2, 3]),  # all lie in it
        (50, 200, [2]),  # of the first lies half in it, which is not more
        (49, 200, [1, 2]),  # 51 of 100
        (0, 120, [1]),
        (240, 260, [3]),
    ],
)
def test_what_a_span_makes_relevant(start: int, stop: int, relevant: list[int]) -> None:
    assert labels((0, 100), (80, 180), (160, 260)).holding(("d", start, stop)) == relevant


@pytest.mark.parametrize(
    ("start", "stop", "relevant"),
    [
        (60, 145, [2]),  # across a cut: 39 and 45 characters
        (59, 140, [1]),  # 40 and 40: the first
        (99, 100, [2]),  # the white space between them
    ],
)
def test_a_span_that_none_holds(start: int, stop: int, relevant: list[int]) -> None:
    assert labels((0, 99), (100, 200)).holding(("d", start, stop)) == relevant
