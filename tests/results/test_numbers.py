"""Numbers for people."""

from __future__ import annotations

import pytest

from retgen.results.numbers import number, score


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (43.4783, "43.4783"),
        (2.0, "2"),
        (1234.5, "1,234.5"),
        (0.00004, "0.00004"),
        (-3, "-3"),
        (None, "–"),
    ],
)
def test_number(value: float | None, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0.0000"), (0.045, "0.0450"), (1.0, "1.0000"), (0.00004, "0.00004"), (None, "–")],
)
def test_score_never_hides_a_small_recall(value: float | None, shown: str) -> None:
    assert score(value) == shown
