"""The summary of ladders, from rates given by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from retgen.evaluation.tasks.multiconir.sections import sentences
from retgen.results.rows import Results

COUNT = 100
Cell = tuple[str, str]  # part, and the query or pair


def reading(values: Mapping[Cell, float], spread: float = 0.1) -> Results:
    """Rates with intervals of about `spread` to either side; cells vary apart."""

    def rows() -> Iterator[tuple[int, dict[str, Any], float]]:
        for column, ((part, level), mean) in enumerate(values.items()):
            measure = {"task 3": "flip rate", "tied": "tied"}.get(part, "win rate")
            factor = "query" if level.startswith("Q") else "pair"
            named = {"part": part if part != "tied" else "task 1 blind", factor: level}
            signs = np.array([(-1.0) ** (row >> column) for row in range(COUNT)])
            signs -= signs.mean()
            for unit, sign in enumerate(spread / 1.984 * COUNT**0.5 * signs / signs.std()):
                yield unit, {"measure": measure, **named}, mean + sign

    return Results.of([f"ladder {i}" for i in range(COUNT)], rows())


def rates(q1: float, q2: float, blind: float = 0.5, tied: float = 0.0) -> dict[Cell, float]:
    return {
        ("task 1", "Q1"): q1,
        ("task 1", "Q2"): q2,
        ("task 1 blind", "Q1"): blind,
        ("tied", "Q1"): tied,
    }


def test_who_wins_and_what_more_conditions_do() -> None:
    result = sentences(
        {
            "a": reading(rates(0.9, 0.3), 0.01),
            "b": reading(rates(0.2, 0.8), 0.01),
            "c": reading(rates(0.5, 0.55)),
            "d": reading(rates(0.4, 0.4)),
        }
    )
    assert result == [
        "Average win rate of the positive over HN1 (Task 1): a 60.0% (95% interval 59.3 to 60.7), "
        "c 52.5% (95% interval 45.4 to 59.6), b 50.0% (95% interval 49.3 to 50.7), 1 more below.",
        "From 1 to 2 conditions the win rate falls for a (by 60.0 points), rises for b (by 60.0 "
        "points) and shows no clear change for 2 of 4 systems.",
        "Blind control: where no pair ties, every system is at chance under the query of another "
        "ladder.",
    ]


def test_a_trace_of_the_rewriting() -> None:
    result = sentences(
        {
            "a": reading(rates(0.5, 0.5, blind=0.4, tied=0.2)),
            "b": reading(rates(0.5, 0.5, blind=0.75)),
        }
    )
    assert result[1:] == [
        "From 1 to 2 conditions the win rate shows no clear change for any system.",
        # with a fifth of the pairs tied, chance is 40%
        "Blind control: under the query of another ladder b 75.0% where chance is 50.0%: the "
        "documents alone give some of the order away.",
    ]
