"""Shares of choices, losses against the control, verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from retgen.diagnosis.abilities import CONTROL, Choice
from retgen.diagnosis.scores import AbilityScores, score
from retgen.errors import DatasetError
from retgen.progress import Progress, no_progress
from retgen.search.base import CandidateSet, System


def choices(units: int, levels: Sequence[str] = ("not", CONTROL)) -> list[Choice]:
    return [
        Choice(level, f"u{i}", f"{level} {i}", f"right {i}", (f"wrong {i}",), f"g{i % 2}")
        for i in range(units)
        for level in levels
    ]


def scores(test: float, control: float, units: int = 200) -> AbilityScores:
    """So large a share of the units won at each level."""
    rows = choices(units)
    share = {"not": test, CONTROL: control}
    won = [float(int(one.unit[1:]) < share[one.level] * units) for one in rows]
    return AbilityScores(np.array(won), rows)


def test_shares_and_the_loss_between_them() -> None:
    one = scores(0.6, 0.9)
    assert (one.test.value, one.control.value) == (0.6, 0.9)
    assert one.loss.value == pytest.approx(0.3)
    assert one.test.low == pytest.approx(0.53, abs=0.005)
    assert one.loss.low == pytest.approx(0.235, abs=0.002)  # paired: Wilson, 200 units
    assert one.levels == ["not"]
    assert one.groups() == ["g0", "g1"]
    half = one.share(["not"], "g0")
    assert half is not None
    assert half.value == 0.6


@pytest.mark.parametrize(
    ("test", "control", "verdict"),
    [
        (0.0, 0.99, "no"),
        (0.5, 0.99, "no"),
        (0.53, 0.99, "no"),
        (0.6, 0.99, "partly"),
        (0.9, 0.99, "partly"),
        (0.95, 0.99, "yes"),
        (0.96, 1.0, "yes"),
        (0.72, 0.72, "partly"),
        (0.85, 0.85, "yes"),
    ],
)
def test_verdicts(test: float, control: float, verdict: str) -> None:
    assert scores(test, control).verdict == verdict


def test_two_systems_on_the_same_choices() -> None:
    first, second = scores(0.7, 0.9), scores(0.6, 0.9)
    assert first.less(second).value == pytest.approx(0.1)
    assert first.less(second).above(0)
    assert first.less(first).span is None  # nothing differs


class Fixed:
    """Gives each text a score of its own."""

    noise = 1e-6

    def __init__(self, **values: float) -> None:
        self._values = values

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
        return [np.array([self._values[text] for text in group.texts]) for group in groups]


def test_a_tie_is_half() -> None:
    rows = [Choice("x", "u", "q", "a", ("b", "c", "d"))]
    won = score(System(None, Fixed(a=1.0, b=2.0, c=1.0, d=0.5)), rows, no_progress)
    assert won.tolist() == [0.5]


def test_what_is_no_number() -> None:
    rows = [Choice("x", "u", "who?", "a", ("b",))]
    with pytest.raises(DatasetError) as error:
        score(System(None, Fixed(a=float("nan"), b=2.0)), rows, no_progress)
    assert str(error.value) == "it gives no number to 1 of 2 documents of a query ('who?')"
