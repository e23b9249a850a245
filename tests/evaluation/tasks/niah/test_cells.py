"""Means and intervals over questions."""

from __future__ import annotations

import numpy as np
import pytest

from retgen.evaluation.tasks.niah.cells import REPLICATES, Cell, Cells, Reach
from retgen.evaluation.tasks.niah.haystacks import QUESTION, Arm, Filler
from retgen.evaluation.tasks.niah.summary import effective, psi, read_whole
from retgen.evaluation.tasks.niah.tables import differences, rows_of

ARM = Arm("one_hop", Filler("shuffled", True, 0))
COUNT = 20


def cell(measure: str, length: int = 128, part: str = "") -> Cell:
    return Cell(measure, QUESTION, ARM, length, part)


def cells(
    values: dict[Cell, np.ndarray], truncated: dict[int, float] | None = None, name: str = "set"
) -> Cells:
    lengths = dict.fromkeys(one.length for one in values)
    reach = {(ARM, n): Reach(8, (truncated or {}).get(n, 0.0), 1.0) for n in lengths}
    names = [f"g{i}" for i in range(COUNT)]
    return Cells(names, ["a", "b"] * (COUNT // 2), values, reach, name)


def test_questions_are_drawn_the_same_for_every_system() -> None:
    values = np.arange(COUNT) / COUNT
    one, two = cells({cell("auc"): values}), cells({cell("auc"): values})
    estimate = one.estimate(cell("auc"))
    assert estimate is not None
    assert estimate == two.estimate(cell("auc"))
    assert estimate != cells({cell("auc"): values}, name="other").estimate(cell("auc"))
    assert estimate.value == pytest.approx(0.475)
    # the standard error of a mean of 20 is 0.0645
    assert estimate.low == pytest.approx(0.475 - 1.96 * 0.0645, abs=0.01)
    assert estimate.high == pytest.approx(0.475 + 1.96 * 0.0645, abs=0.01)
    assert one.drawn([cell("auc")]).shape == (REPLICATES, 1)


def test_a_question_without_a_value_is_left_out() -> None:
    values = np.where(np.arange(COUNT) < 4, 0.5, np.nan)
    one = cells({cell("normalised"): values, cell("auc"): np.full(COUNT, np.nan)})
    assert one.estimate(cell("normalised")) == (0.5, 0.5, 0.5)
    assert one.estimate(cell("auc")) is None
    assert one.estimate(cell("ratio")) is None
    assert one.mean(cell("auc"), "a") is None
    assert one.mean(cell("normalised"), "b") == 0.5


def test_differences_are_paired() -> None:
    values = np.linspace(0.2, 0.9, COUNT)
    one = cells({cell("auc"): values, cell("auc", 256): values - 0.1})
    change = one.difference(cell("auc"), cell("auc", 256))
    assert change is not None
    assert list(change) == pytest.approx([0.1, 0.1, 0.1])


def test_effective_length_needs_a_base_above_chance_and_texts_read_whole() -> None:
    by_length = {256: 0.9, 512: 0.8, 1024: 0.6}
    values = {cell("auc", n): np.full(COUNT, value) for n, value in by_length.items()}
    reached = effective(cells(values), ARM)
    assert reached is not None
    assert reached.plain == (512, pytest.approx(0.9), 256, False)
    assert (reached.low, reached.high) == (512, 512)
    # 0.85 of the way above chance, 0.8, is more than 0.6
    assert reached.over_chance.length == 256
    cut = cells(values, {1024: 0.5})
    assert read_whole(cut, ARM) == [256, 512]
    of_cut = effective(cut, ARM)
    assert of_cut is not None
    assert of_cut.plain == (512, pytest.approx(0.9), 256, True)
    spread = np.array([0.3, 0.75] * (COUNT // 2))
    assert effective(cells({cell("auc", 256): spread}), ARM) is None


def test_position_sensitivity_is_taken_of_means() -> None:
    thirds = {"beginning": 0.8, "middle": 0.4, "end": 0.6}
    values = {cell("auc by third", 128, t): np.full(COUNT, v) for t, v in thirds.items()}
    assert psi(cells(values), ARM, 128) == (0.5, 0.5, 0.5)
    assert psi(cells({cell("auc"): np.ones(COUNT)}), ARM, 128) is None


def test_systems_are_compared_question_by_question() -> None:
    values = np.linspace(0.2, 0.8, COUNT)
    before, after = cells({cell("auc"): values}), cells({cell("auc"): values + 0.1})
    other = cells({cell("auc"): values}, name="other")
    assert before.paired(after).estimate(cell("auc")) == pytest.approx((0.1, 0.1, 0.1))
    rows = rows_of({"before": before, "after": after, "elsewhere": other})
    view = differences(rows)
    assert view is not None
    assert view.head == ["less before", "measure", "128"]
    assert view.rows == [["after", "AUC", "+0.100 (+0.100 to +0.100)"]]
    assert differences(rows[:1]) is None
