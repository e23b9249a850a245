"""Means and intervals over questions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from retgen.evaluation.tasks.niah.cells import CellKey, HaystackCoverage, SystemCells, too_few
from retgen.evaluation.tasks.niah.haystacks import QUESTION, HaystackVariant, Surroundings
from retgen.evaluation.tasks.niah.panels import by_length, differences, rows_of, side_by_side
from retgen.evaluation.tasks.niah.sentences import sentences
from retgen.evaluation.tasks.niah.summary import read_whole

ARM = HaystackVariant("one_hop", Surroundings("shuffled", True, 0))
COUNT = 20


def cell(measure: str, length: int = 128, part: str = "") -> CellKey:
    return CellKey(measure, QUESTION, ARM, length, part)


def cells(
    values: dict[CellKey, np.ndarray], truncated: dict[int, float] | None = None, name: str = "set"
) -> SystemCells:
    lengths = dict.fromkeys(one.length for one in values)
    reach = {(ARM, n): HaystackCoverage(8, (truncated or {}).get(n, 0.0), 1.0) for n in lengths}
    names = [f"g{i}" for i in range(COUNT)]
    return SystemCells(names, ["a", "b"] * (COUNT // 2), values, reach, name)


def flat(value: float) -> np.ndarray:
    """Questions that are nearly alike."""
    return value + 0.01 * np.resize([1, -1], COUNT)


def test_the_interval_of_a_mean() -> None:
    values = np.arange(COUNT) / COUNT
    estimate = cells({cell("auc"): values}).estimate(cell("auc"))
    assert estimate is not None
    assert estimate.value == pytest.approx(0.475)
    # the standard error of a mean of 20 is 0.0661, and t is 2.09
    assert estimate.low == pytest.approx(0.475 - 2.09 * 0.0661, abs=0.001)
    assert estimate.high == pytest.approx(0.475 + 2.09 * 0.0661, abs=0.001)


def test_a_question_without_a_value_is_left_out() -> None:
    values = np.where(np.arange(COUNT) < 12, 0.5, np.nan)
    one = cells({cell("normalised"): values, cell("auc"): np.full(COUNT, np.nan)})
    assert one.estimate(cell("normalised")) == (0.5, None, None)  # all alike
    assert one.estimate(cell("auc")) is None
    assert one.estimate(cell("ratio")) is None
    assert one.mean(cell("auc"), "a") is None
    assert one.mean(cell("normalised"), "b") == 0.5


def test_differences_are_paired() -> None:
    values = np.linspace(0.2, 0.9, COUNT)
    one = cells({cell("auc"): values, cell("auc", 256): values - flat(0.1)})
    change = one.difference(cell("auc"), cell("auc", 256))
    assert change is not None
    assert list(change) == pytest.approx([0.1, 0.0952, 0.1048], abs=1e-3)


def test_a_length_is_read_whole_unless_a_haystack_is_cut() -> None:
    values = {cell("auc", n): flat(0.8) for n in (256, 512, 1024)}
    assert read_whole(cells(values, {1024: 0.5}), ARM) == [256, 512]


def test_few_questions_have_no_interval() -> None:
    values = np.where(np.arange(COUNT) < 11, np.arange(COUNT) / 20, np.nan)
    made = cells({cell("auc"): values})
    assert made.estimate(cell("auc")) == (pytest.approx(0.25), None, None)
    view = by_length(rows_of({"one": made}), "auc").table()
    assert view.rows[0] == ["one", "0.250"]
    assert view.beside == {}
    assert too_few(12) == ""
    assert too_few(2) == (
        "no intervals: too few independent units: 2 questions, 12 needed; "
        "no difference from chance is claimed"
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            (0.9, 0.8),
            "(95% interval 0.895 to 0.905) at 256 tokens and falls: 0.800 (95% interval "
            "0.795 to 0.805) at 1,024.",
        ),
        (
            (0.3, 0.2),
            "(95% interval 0.295 to 0.305) at 256 tokens and falls: 0.200 (95% interval "
            "0.195 to 0.205) at 1,024, not clearly above chance.",
        ),
        (
            (0.5, 0.5),
            "(95% interval 0.495 to 0.505) at 256 tokens and does not clearly change: "
            "0.500 (95% interval 0.495 to 0.505) at 1,024, not clearly above chance.",
        ),
    ],
)
@pytest.mark.parametrize(
    ("measure", "name"), [("auc", "AUC within the question"), ("ratio", "comparative ratio")]
)
def test_the_summary_says_where_chance_is(
    values: tuple[float, float], said: str, measure: str, name: str
) -> None:
    """A ratio surely below chance is said to be below it; of pairs alone there is no AUC."""
    made = cells(
        {
            cell(measure, 256): flat(values[0]),
            cell(measure, 1024): flat(values[1])[::-1],
        }
    )
    (sentence, *_) = sentences({"one": made})
    begin = f"one: the {name} is {values[0]:.3f} "
    assert sentence == begin + said


def test_the_summary_of_few_questions_claims_nothing() -> None:
    values = np.where(np.arange(4) < 4, 0.9, np.nan)
    made = replace(
        cells({}),
        questions=list("abcd"),
        categories=list("aabb"),
        reach={(ARM, n): HaystackCoverage(8, 0.0, 1.0) for n in (256, 1024)},
        values={cell("auc", 256): values, cell("auc", 1024): values - 0.3},
    )
    assert sentences({"one": made}) == [
        f"{too_few(4)}.",
        "one: the AUC within the question is 0.900 at 256 tokens, and 0.600 at 1,024.",
    ]


def test_systems_are_compared_question_by_question() -> None:
    values = np.linspace(0.2, 0.8, COUNT)
    before, after = cells({cell("auc"): values}), cells({cell("auc"): values + flat(0.1)})
    other = cells({cell("auc"): values}, name="other")
    assert before.paired(after).estimate(cell("auc")) == pytest.approx(
        (0.1, 0.0952, 0.1048), abs=1e-3
    )
    rows = rows_of({"before": before, "after": after, "elsewhere": other})
    panel = differences(rows)
    assert panel is not None
    view = panel.table()
    assert view.head == ["less before", "measure", "128"]
    assert view.rows == [["after", "AUC", "+0.100 (+0.095 to +0.105)"]]
    assert differences(rows[:1]) is None


def test_makes_stand_side_by_side() -> None:
    """Each less the first, paired: 0.1 of every question."""
    other = HaystackVariant("literal", Surroundings("shuffled", True, 1))
    values = np.linspace(0.2, 0.8, COUNT)
    more = np.where(np.arange(COUNT) % 2, 0.05, 0.15)
    made = cells({cell("auc"): values})
    assert side_by_side(rows_of({"one": made})) == []
    both = replace(
        made,
        reach={**made.reach, (other, 128): HaystackCoverage(8, 1.0, 0.5)},
        values={**made.values, cell("auc")._replace(variant=other): values + more},
    )
    view, less = (one.table() for one in side_by_side(rows_of({"one": both})))
    assert view.head == ["AUC", "needle", "near-answers", "128"]
    assert view.rows == [
        ["one", "one-hop", "0 near-answers", "0.500"],
        ["one", "literal", "1 near-answer", "0.600*"],
    ]
    assert less.rows == [["one", "literal", "1 near-answer", "+0.100 (+0.076 to +0.124)"]]
