"""Cells, rates and what is made of them, against values worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from retgen.evaluation.tasks.multiconir import Ladders, panels
from retgen.evaluation.tasks.multiconir.ladders import CandidateLadder, LadderLevel
from retgen.evaluation.tasks.multiconir.pairs import ALL, TASKS, PairPlan, WinCounts, make_plan
from retgen.evaluation.tasks.multiconir.rates import Rates, over_domains, rates_of
from retgen.evaluation.tasks.multiconir.summary import summary
from retgen.evaluation.tasks.task import SystemResult
from retgen.search.base import CandidateSet


def ladder(name: str, **more: object) -> CandidateLadder:
    """Two conditions: queries NAME-i1, ..., documents NAME-P, NAME-1, NAME-2."""
    rungs = [LadderLevel(f"{name}-1", frozenset({1})), LadderLevel(f"{name}-2", frozenset({1, 2}))]
    queries = {
        style: [f"{name}-{style[0]}1", f"{name}-{style[0]}2"]
        for style in ("instruction", "descriptive")
    }
    return CandidateLadder(name, "houses", queries, f"{name}-P", {1: rungs}, **more)  # type: ignore[arg-type]


LADDERS = [ladder("a"), ladder("b")]
# (positive, HN1, HN2) under each query
SCORES = {
    "a-i1": (3, 2, 3),
    "a-i2": (5, 5, 1),
    "a-d1": (1, 2, 0),
    "a-d2": (4, 3, 3),
    "b-i1": (2, 1, 1),
    "b-i2": (1, 2, 0),
    "b-d1": (2, 1, 0),
    "b-d2": (3, 2, 1),
}


def score(query: str, text: str) -> float:
    """Of another ladder's queries: the positive of a stands out, nothing of b does."""
    if query[0] != text[0]:
        return float(text == "a-P")
    return SCORES[query]["P12".index(text[2])]


def scored(plan: PairPlan, by: Callable[[str, str], float]) -> list[NDArray[np.float64]]:
    return [np.array([by(g.query, text) for text in g.texts]) for g in plan.groups]


def rates_in(plan: PairPlan, by: Callable[[str, str], float] = score) -> Rates:
    return rates_of(plan.counts(scored(plan, by)), range(plan.ladders))


def cells(rates: Rates) -> dict[tuple[str | int, ...], float]:
    return dict(zip(rates.cells, rates.values.tolist(), strict=True))


def test_every_cell_by_hand() -> None:
    assert cells(rates_in(make_plan(LADDERS))) == {
        ("violated", "instruction", 1, 1): 1.0,  # 3 > 2, 2 > 1
        ("violated", "instruction", 2, 1): 0.0,  # 5 = 5 is a loss, 1 < 2
        ("violated", "instruction", 2, 2): 1.0,  # 5 > 1, 1 > 0
        ("rung", "instruction", 1): 0.0,
        ("rung", "instruction", 2): 1.0,  # 5 > 1, 2 > 0
        ("blind", "instruction", 1): 0.5,
        ("blind", "instruction", 2): 0.5,
        ("blind rung", "instruction", 1): 0.5,
        ("blind rung", "instruction", 2): 0.0,
        ("violated", "descriptive", 1, 1): 0.5,  # 1 < 2, 2 > 1
        ("violated", "descriptive", 2, 1): 1.0,
        ("violated", "descriptive", 2, 2): 1.0,
        ("rung", "descriptive", 1): 1.0,
        ("rung", "descriptive", 2): 0.5,  # 3 = 3 is a loss, 2 > 1
        ("blind", "descriptive", 1): 0.5,
        ("blind", "descriptive", 2): 0.5,
        ("blind rung", "descriptive", 1): 0.5,
        ("blind rung", "descriptive", 2): 0.0,
        ("flip", 1): 1.0,  # lost, lost; won, won
        ("flip", 2): 0.5,  # won, won; lost, won
        ("tied", "task1"): 1 / 8,  # 5 = 5
        ("tied", "task2"): 2 / 8,  # the same, and 3 = 3
        ("tied", "blind task1"): 4 / 8,  # all of b
        ("tied", "blind task2"): 6 / 8,
    }


def test_the_summary_by_hand() -> None:
    result = summary(rates_in(make_plan(LADDERS)))
    assert (result["ladders"], result["conditions"]) == (2, 2)
    assert result["styles"] == ["instruction", "descriptive"]
    assert result["task1"]["mean"]["by_query"] == [0.75, 0.5]
    assert result["task1"]["mean"]["average"]["value"] == 0.625
    assert result["task1"]["mean"]["decline"]["value"] == 0.25
    assert result["task1"]["instruction"]["decline"]["value"] == 1.0
    assert result["task1"]["descriptive"]["by_query"] == [0.5, 1.0]
    assert result["task2"]["mean"]["by_rung"] == [0.5, 0.75]
    assert result["task2"]["descriptive"]["average"]["value"] == 0.75
    assert result["task3"]["by_rung"] == [1.0, 0.5]
    assert result["task3"]["flip_rate"]["value"] == 0.75
    assert result["violations"]["by_query"] == [[0.75], [0.5, 1.0]]
    assert result["violations"]["all"] == [0.75, 1.0]
    assert result["violations"]["all_average"]["value"] == 0.875
    assert result["violations"]["longest"]["value"] == 0.75
    assert result["blind"]["task1"]["value"] == 0.5
    assert result["blind"]["by_query"] == [0.5, 0.5]
    assert result["blind"]["task2"]["value"] == 0.25
    assert result["random"] == {"win_rate": 0.5, "flip_rate": 0.5}
    assert (result["task4"], result["by_condition"]) == (None, None)


def test_candidate_sets_are_scored_once() -> None:
    plan = make_plan(LADDERS)
    assert len(plan.groups) == len(set(plan.groups))
    # a ladder and style: 3 pairs and a whole ladder, and 2 and 1 under the other's queries
    assert len(plan.groups) == 2 * 2 * (3 + 1 + 2 + 1)
    assert CandidateSet("a-i2", ("a-P", "a-1", "a-2")) in plan.groups


def test_only_the_tasks() -> None:
    plan = make_plan(LADDERS, TASKS)
    assert {cell[0] for cell in plan.cells} == {"violated", "rung", "flip"}
    assert set(summary(rates_in(plan))["tied"]) == {"task1", "task2"}
    assert len(plan.groups) == 2 * 2 * 3  # two lengths and a whole ladder
    result = summary(rates_in(plan))
    assert result["task1"]["mean"]["by_query"] == [0.75, 0.5]
    assert (result["blind"], result["violations"]) == (None, None)


def test_one_ladder_has_no_other_query() -> None:
    assert not {"blind", "blind rung"} & {cell[0] for cell in make_plan(LADDERS[:1]).cells}
    apart = [LADDERS[0], CandidateLadder("b", "other", *list(vars(LADDERS[1]).values())[2:])]
    assert "blind" not in {cell[0] for cell in make_plan(apart).cells}


def test_padded_documents() -> None:
    whole = CandidateSet("a-i2", ("a-P", "a-1", "a-2"), "512")
    one = ladder("a", padded={512: {"instruction": whole}})
    rates = rates_in(make_plan([one]))
    result = cells(rates)
    assert (result["length", 512, "instruction", 1], result["length", 512, "instruction", 2]) == (
        0,
        1,
    )
    message = summary(rates)
    assert message["task4"]["512"]["instruction"]["by_rung"] == [0.0, 1.0]
    # the mean over both styles unpadded is (0 + 1 + 1 + 0) / 4
    assert message["task4"]["512"]["change"]["value"] == 0.0


def test_several_orders_take_pairs_whose_violations_are_asked_for() -> None:
    one = ladder("a")
    backward = [LadderLevel("a-3", frozenset({2})), LadderLevel("a-2", frozenset({1, 2}))]
    both = CandidateLadder(
        "a", "houses", one.queries, one.positive, {1: one.orders[1], 2: backward}
    )
    plan = make_plan([both], ALL)
    table = {"P": 3.0, "1": 2.0, "2": 1.0, "3": 4.0}
    rates = rates_in(plan, lambda query, text: table[text[2]])
    result = cells(rates)
    # condition 2 is not asked for by query 1, so HN1 of the second order is no pair there
    assert result["violated", "instruction", 1, 1] == 1.0
    assert result["violated", "instruction", 2, 1] == 0.5  # a-1 is won, a-3 lost
    assert result["condition", "instruction", 2, 1] == 1.0
    assert result["condition", "instruction", 2, 2] == 0.0
    assert ("condition", "instruction", 1, 2) not in result
    assert result["rung", "instruction", 1] == 0.5  # 3 > 2; 3 < 4
    assert result["rung", "instruction", 2] == 1.0  # 2 > 1; 4 > 1
    assert result["flip", 1] == 0.0
    assert summary(rates)["by_condition"] == [1.0, 0.0]


def test_noise_is_no_difference() -> None:
    plan = make_plan(LADDERS[:1], TASKS)
    close = scored(plan, lambda query, text: 0.8 - 1e-8 * "P12".index(text[2]))
    for noise, won, tied in ((0.0, 1.0, 0.0), (1e-6, 0.0, 1.0)):
        result = summary(rates_of(plan.counts(close, noise), [0]))
        assert result["task1"]["mean"]["by_query"] == [won, won]
        assert result["task2"]["mean"]["by_rung"] == [won, won]
        assert result["tied"]["task1"]["value"] == tied


# --- documents that violate one condition alone --------------------------------------------------

# (positive, the document that violates condition 1 alone, the one that violates 2 alone) under
# each query, and how the two conditions ask
SINGLES = {
    "won": ((3, 1, 2), (3, 2, 1), ("literal", "entailed")),
    "lost": ((1, 2, 0), (1, 2, 3), ("literal", "entailed")),
    "tied": ((1, 1, 1), (2, 2, 2), ("literal", "entailed")),
    "mixed": ((2, 2, 1), (2, 1, 3), ("entailed", "literal")),
    "half": ((2, 1, 5), (2, 1, 2), ("literal", "entailed")),
}


def singles(results: Mapping[str, Sequence[Sequence[object]]]) -> Rates:
    """Ladders with documents NAME-P, NAME-1, NAME-2 of one style."""
    ladders = [
        CandidateLadder(
            name,
            "houses",
            {"instruction": [f"{name}-i1", f"{name}-i2"]},
            f"{name}-P",
            {
                1: [
                    LadderLevel(f"{name}-1", frozenset({1})),
                    LadderLevel(f"{name}-b", frozenset({1, 2})),
                ]
            },
            {1: f"{name}-1", 2: f"{name}-2"},
            *of[2:],
        )  # type: ignore[arg-type]
        for name, of in results.items()
    ]

    def score(query: str, text: str) -> float:
        name, asked = query.split("-i")
        return float([*results[name][int(asked) - 1], 0]["P12b".index(text[-1])])  # type: ignore[arg-type]

    return rates_in(make_plan(ladders, frozenset({"task1", "single"})), score)


def test_single_violations_by_hand() -> None:
    rates = singles(SINGLES)
    result = cells(rates)
    assert result["single", "instruction", 1] == 2 / 5  # won, half
    assert result["single", "instruction", 2] == 4 / 10  # won twice, mixed and half once
    assert result["beats all", "instruction", 1] == 2 / 5
    assert result["beats all", "instruction", 2] == 1 / 5  # won: half ties with the second
    # literal: won, lost, tied, the second of mixed (lost), half (won)
    assert result["wording", "literal"] == 2 / 5
    # entailed: won, lost, tied, the first of mixed (won), half (tied)
    assert result["wording", "entailed"] == 2 / 5
    found = summary(rates)["singles"]
    assert found["by_query"] == [0.4, 0.4]
    assert found["beats_all"] == [0.4, 0.2]
    assert found["random"] == [1 / 2, 1 / 3]
    assert found["average"]["value"] == 0.4
    # ties: 2 of 5 under the short query (tied, mixed), 3 of 10 under the long one
    assert found["ties_half"]["value"] == pytest.approx(((2 + 1) / 5 + (4 + 1.5) / 10) / 2)
    halves = {name: one["ties_half"]["value"] for name, one in found["by_wording"].items()}
    assert halves == {"literal": (2 + 0.5) / 5, "entailed": pytest.approx((2 + 1) / 5)}
    # task 1 compares with the document that violates condition 1 under both queries
    assert summary(rates)["task1"]["mean"]["by_query"] == [2 / 5, 3 / 5]
    ties_half = summary(rates)["ties_half"]["task1"]["value"]
    assert ties_half == pytest.approx(((2 + 1) / 5 + (3 + 0.5) / 5) / 2)


@pytest.mark.parametrize(
    ("name", "strict", "half"), [("won", 1, 1), ("lost", 0, 0), ("tied", 0, 0.5)]
)
def test_all_of_one_kind(name: str, strict: float, half: float) -> None:
    found = summary(singles({name: SINGLES[name]}))["singles"]
    assert found["by_query"] == found["beats_all"] == [strict, strict]
    assert found["average"] == {"value": strict, "low": None, "high": None}  # of a ladder
    assert found["ties_half"] == {"value": half, "low": None, "high": None}
    for one in ("literal", "entailed"):
        assert found["by_wording"][one]["win_rate"]["value"] == strict
        assert found["by_wording"][one]["ties_half"]["value"] == half


def test_a_random_order_beats_all_of_n_once_in_n_plus_1() -> None:
    """Every order of three documents once: what the row of a random order says is exact."""
    orders = {f"o{i}": (one, one) for i, one in enumerate(permutations((1, 2, 3)))}
    found = summary(singles(orders))["singles"]
    assert found["by_query"] == [0.5, 0.5]
    assert found["beats_all"] == pytest.approx(found["random"])
    assert found["by_wording"] == {}


def test_the_tables_of_single_violations() -> None:
    result = [SystemResult("bm25", None, {"houses": singles(SINGLES)})]
    one, two = (panel.table() for panel in panels.singles(panels.by_label(result)))
    assert one.head == ["system", "", "Q1", "Q2", "average", "95% interval"]
    assert [row[:5] for row in one.rows] == [
        ["bm25", "wins", "40.0", "40.0", "40.00"],
        ["bm25", "beats all", "40.0", "20.0", "30.00"],
        ["random order", "wins", "50.0", "50.0", "50.00"],
        ["random order", "beats all", "50.0", "33.3", "41.67"],  # 1/2, 1/3
    ]
    assert one.faint == [2, 3]
    assert two.head == ["system", "Task 1", "literal", "entailed"]
    assert [cell.split(" (")[0] for cell in two.rows[0]] == ["bm25", "65.0", "50.0", "60.0"]
    assert two.rows[1] == ["random order", "50.0", "50.0", "50.0"]


def test_without_every_single_violation_there_is_no_such_table() -> None:
    """A mean over the conditions that happen to have one would compare sets of other shapes."""
    one = ladder("a", singles={1: "a-1"}, wordings=("literal", "entailed"))
    rates = rates_in(make_plan([one]))
    assert summary(rates)["singles"] is None
    result = SystemResult("bm25", None, {"houses": rates})
    assert panels.singles(panels.by_label([result])) == []
    assert [section.title for section in Ladders().sections([result])] == [
        "Ladders",
        "Task 1: more conditions",
        "Task 2: down the ladder",
        "Task 3: the style of the query",
        "Controls",
    ]


# --- intervals ----------------------------------------------------------------------------------


def test_intervals_draw_ladders() -> None:
    """Ten cells that move together tell no more than one: the interval is that of the ladders."""
    rng = np.random.default_rng(0)
    base = (rng.random(400) < 0.3).astype(np.float64)
    names = [("rung", "x", i) for i in range(10)]
    counts = WinCounts(
        list(names), np.repeat(base[:, None], 10, axis=1), np.ones((400, 10)), np.zeros((400, 10))
    )
    rates = rates_of(counts, range(400))
    result = rates.mean(names)
    assert result is not None
    assert result.value == pytest.approx(base.mean())
    error = base.std() / np.sqrt(400)
    assert (result.high - result.low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.06)
    change = rates.difference(names[:1], names[1:2])
    assert change == (0.0, None, None)  # no ladder differs
    assert rates.mean([("rung", "y", 1)]) is None


def test_domains_weigh_the_same() -> None:
    cell = ("rung", "x", 1)
    large = WinCounts([cell, ("flip", 1)], np.ones((30, 2)), np.ones((30, 2)), np.zeros((30, 2)))
    small = WinCounts([cell], np.zeros((3, 1)), np.ones((3, 1)), np.ones((3, 1)))
    both = over_domains([rates_of(large, range(30)), rates_of(small, range(3))])
    assert both.cells == [cell]  # what only one has is no mean over both
    assert [both.mean([cell])[0], both.halved([cell])[0]] == [0.5, 0.75]  # (1 + 1/2) / 2
    assert both.ladders == 33


def test_few_ladders_have_no_interval() -> None:
    cell = ("rung", "x", 1)
    won = np.resize([1.0, 0.0], (12, 1))
    counts = WinCounts([cell], won, np.ones((12, 1)), np.zeros((12, 1)))
    assert rates_of(counts, range(11)).mean([cell]) == (pytest.approx(6 / 11), None, None)
    mean = rates_of(counts, range(12)).mean([cell])
    assert mean is not None
    assert mean.span == pytest.approx((0.168, 0.832), abs=0.01)
    # of two domains the mean has one degree of freedom less
    both = over_domains([rates_of(counts, range(6)), rates_of(counts, range(6, 12))])
    assert (both.known.tolist(), both.mean([cell])) == ([11], (0.5, None, None))
