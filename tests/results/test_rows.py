"""Means and intervals of rows, over units: questions, ladders, triples."""

from __future__ import annotations

import numpy as np
import pytest

from retgen.results.measurements import Measure
from retgen.results.panel import Column, Slice, columns_by, pivot
from retgen.results.rows import Results, over_data_sets

COUNT = 20
SHARE = Measure("auc")
EVEN = Measure("won", even=True)


def rows(values: dict[tuple[str, int], np.ndarray], name: str = "q") -> Results:
    """A value a unit, by measure and length."""
    count = len(next(iter(values.values())))
    return Results.of(
        [f"{name}{i}" for i in range(count)],
        (
            (unit, {"measure": measure, "length": length}, value)
            for (measure, length), of in values.items()
            for unit, value in enumerate(of)
        ),
    )


def flat(value: float) -> np.ndarray:
    """Units that are nearly alike."""
    return value + 0.01 * np.resize([1, -1], COUNT)


def test_the_interval_of_a_mean() -> None:
    estimate = rows({("auc", 128): np.arange(COUNT) / COUNT}).mean(SHARE)
    # the standard error of a mean of 20 is 0.0661, and t is 2.09
    assert estimate == pytest.approx(
        (0.475, 0.475 - 2.09 * 0.0661, 0.475 + 2.09 * 0.0661), abs=1e-3
    )


def test_a_unit_without_a_value_is_left_out() -> None:
    values = np.where(np.arange(COUNT) < 12, 0.5, np.nan)
    one = rows({("score", 128): values, ("auc", 128): np.full(COUNT, np.nan)})
    assert one.mean(Measure("score", bounds=None)) == (0.5, None, None)  # all alike
    assert one.count("score") == 12
    assert one.mean(SHARE) is None
    assert one.mean(Measure("ratio")) is None


def test_too_few_units_have_no_interval() -> None:
    values = np.where(np.arange(COUNT) < 11, np.arange(COUNT) / 20, np.nan)
    assert rows({("auc", 128): values}).mean(SHARE) == (pytest.approx(0.25), None, None)


def test_differences_are_paired() -> None:
    values = np.linspace(0.2, 0.9, COUNT)
    one = rows({("auc", 128): values, ("auc", 256): values - flat(0.1)})
    change = one.difference(SHARE, {"length": 128}, {"length": 256})
    assert change == pytest.approx((0.1, 0.0952, 0.1048), abs=1e-3)
    other = rows({("auc", 128): values + flat(0.1), ("ratio", 128): values})
    assert other.minus(one).mean(SHARE) == pytest.approx((0.1, 0.0952, 0.1048), abs=1e-3)
    assert other.minus(one).mean(Measure("ratio")) is None


def test_cells_that_move_together_tell_no_more_than_one() -> None:
    """The interval is that of the units, however many cells they have."""
    base = (np.random.default_rng(0).random(400) < 0.3).astype(np.float64)
    result = rows({("won", n): base for n in range(10)}).mean(EVEN)
    assert result is not None
    assert result.value == pytest.approx(base.mean())
    assert result.span is not None
    error = base.std() / np.sqrt(400)
    assert np.ptp(result.span) / (2 * 1.96 * error) == pytest.approx(1, abs=0.06)


def test_cells_or_values_weigh_the_same() -> None:
    three = [(0, {"measure": "won", "n": 1}, 1.0)] * 3 + [(0, {"measure": "won", "n": 2}, 0.0)]
    one = Results.of(["a"], three)
    assert one.value(EVEN) == 0.5
    assert one.value(Measure("won")) == 0.75


def test_data_sets_weigh_the_same() -> None:
    large = rows({("won", 1): np.ones(30), ("won", 2): np.ones(30)})
    both = over_data_sets([large, rows({("won", 1): np.zeros(3)})])
    assert both.value(EVEN) == 0.5  # what only one has is no mean over both
    assert (both.levels("length", "won"), both.units) == ([1], 33)
    # of two data sets the mean has one degree of freedom less
    half = np.resize([1.0, 0.0], 6)
    assert over_data_sets([rows({("won", 1): half})] * 2).mean(EVEN) == (0.5, None, None)
    span = rows({("won", 1): np.resize([1.0, 0.0], 12)}).mean(EVEN)
    assert span == pytest.approx((0.5, 0.168, 0.832), abs=0.01)


def test_a_table_of_results_by_declaration() -> None:
    one = rows({("auc", 1024): flat(0.5), ("auc", 64): flat(0.7)})
    columns = columns_by(SHARE, "length", [64, 1024, 4096])
    columns.append(Column("fall", SHARE, {"length": 64}, {"length": 1024}))
    panel = pivot("Shares", [Slice("bm25", one), Slice("none", one, {"of": 1})], columns[:3])
    assert panel.table().head == ["system", "64", "1,024"]
    assert panel.table().rows == [["bm25", "0.7000", "0.5000"], ["none", "–", "–"]]
    assert [(m.by, round(m.value or 0, 2), m.n) for m in panel.measurements[:2]] == [
        ({"length": "64"}, 0.7, 20),
        ({"length": "1,024"}, 0.5, 20),
    ]
    (row,) = pivot("", [Slice("bm25", one)], columns[3:]).table().rows
    assert row == ["bm25", "0.2000"]
