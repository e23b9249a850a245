"""Cells, rates and what is made of them, against values worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from retgen.evaluation.tasks.multiconir import Ladders
from retgen.evaluation.tasks.multiconir.ladders import CandidateLadder
from retgen.evaluation.tasks.multiconir.pairs import FLIPS, TIED, WON, PairPlan
from retgen.evaluation.tasks.task import SystemResult
from retgen.results.rows import Results


def ladder(name: str, **more: object) -> CandidateLadder:
    """Two conditions: queries NAME-i1, ..., documents NAME-P, NAME-1, NAME-2."""
    texts = tuple(f"{name}-{document}" for document in "P12")
    queries = {
        style: [f"{name}-{style[0]}1", f"{name}-{style[0]}2"]
        for style in ("instruction", "descriptive")
    }
    return CandidateLadder(name, "houses", queries, texts, **more)  # type: ignore[arg-type]


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
    return [np.array([by(g.query, text) for text in g.texts]) for g in plan.sets]


def rates_in(plan: PairPlan, by: Callable[[str, str], float] = score) -> Results:
    return plan.results(scored(plan, by))


def summary(results: Results) -> dict[str, Any]:
    return Ladders().summary(SystemResult("bm25", None, {"houses": results}))


def cells(results: Results) -> dict[tuple[object, ...], float | None]:
    """What was won, or flipped, by the levels of each cell."""
    return {
        tuple(cell.values())[1:]: results.value(measure, **dict([*cell.items()][1:]))
        for measure in (WON, FLIPS)
        for cell in (results.cells[i] for i in results.select(measure.name))
    }


def test_every_cell_by_hand() -> None:
    results = rates_in(PairPlan(LADDERS))
    assert cells(results) == {
        ("task 1", "instruction", "Q1"): 1.0,  # 3 > 2, 2 > 1
        ("all violated", "instruction", "Q1"): 1.0,
        ("task 1", "instruction", "Q2"): 0.0,  # 5 = 5 is a loss, 1 < 2
        ("all violated", "instruction", "Q2"): 1.0,  # 5 > 1, 1 > 0
        ("task 2", "instruction", "P>1"): 0.0,
        ("task 2", "instruction", "1>2"): 1.0,  # 5 > 1, 2 > 0
        ("task 1 blind", "instruction", "Q1"): 0.5,
        ("task 1 blind", "instruction", "Q2"): 0.5,
        ("task 2 blind", "instruction", "P>1"): 0.5,
        ("task 2 blind", "instruction", "1>2"): 0.0,
        ("task 1", "descriptive", "Q1"): 0.5,  # 1 < 2, 2 > 1
        ("all violated", "descriptive", "Q1"): 0.5,
        ("task 1", "descriptive", "Q2"): 1.0,
        ("all violated", "descriptive", "Q2"): 1.0,
        ("task 2", "descriptive", "P>1"): 1.0,
        ("task 2", "descriptive", "1>2"): 0.5,  # 3 = 3 is a loss, 2 > 1
        ("task 1 blind", "descriptive", "Q1"): 0.5,
        ("task 1 blind", "descriptive", "Q2"): 0.5,
        ("task 2 blind", "descriptive", "P>1"): 0.5,
        ("task 2 blind", "descriptive", "1>2"): 0.0,
        ("task 3", "P>1"): 1.0,  # lost, lost; won, won
        ("task 3", "1>2"): 0.5,  # won, won; lost, won
    }
    tied = {f"task {n}{blind}": 0.0 for blind in ("", " blind") for n in (1, 2)}
    assert {part: results.value(TIED, part=part) for part in tied} == {
        "task 1": 1 / 8,  # 5 = 5
        "task 2": 2 / 8,  # the same, and 3 = 3
        "task 1 blind": 4 / 8,  # all of b
        "task 2 blind": 6 / 8,
    }


def test_noise_is_no_difference() -> None:
    plan = PairPlan(LADDERS[:1], main=True)
    close = scored(plan, lambda query, text: 0.8 - 1e-8 * "P12".index(text[2]))
    for noise, won, tied in ((0.0, 1.0, 0.0), (1e-6, 0.0, 1.0)):
        result = summary(plan.results(close, noise))
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


def singles(results: Mapping[str, Sequence[Sequence[object]]]) -> Results:
    """Ladders with documents NAME-P, NAME-1, NAME-2 of one style."""
    ladders = [
        CandidateLadder(
            name,
            "houses",
            {"instruction": [f"{name}-i1", f"{name}-i2"]},
            (f"{name}-P", f"{name}-1", f"{name}-b"),
            {1: f"{name}-1", 2: f"{name}-2"},
            *of[2:],
        )  # type: ignore[arg-type]
        for name, of in results.items()
    ]

    def score(query: str, text: str) -> float:
        name, asked = query.split("-i")
        if name != text[:-2]:  # the query of another ladder
            return 0.0
        return float([*results[name][int(asked) - 1], 0]["P12b".index(text[-1])])  # type: ignore[arg-type]

    return rates_in(PairPlan(ladders), score)


def test_single_violations_by_hand() -> None:
    rates = singles(SINGLES)
    result = cells(rates)
    assert result["single", "instruction", "Q1"] == 2 / 5  # won, half
    assert result["single", "instruction", "Q2"] == 4 / 10  # won twice, mixed and half once
    assert result["beats all", "instruction", "Q1"] == 2 / 5
    assert result["beats all", "instruction", "Q2"] == 1 / 5  # won: half ties with the second
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


def test_the_tables_of_single_violations() -> None:
    result = [SystemResult("bm25", None, {"houses": singles(SINGLES)})]
    named = {section.title: section for section in Ladders().sections(result)}
    wins, all_of_them, two = named["One condition violated, wherever it stands"].views()
    assert wins.head == ["system", "Q1", "Q2", "average", "95% interval"]
    assert [row[:4] for row in (*wins.rows, *all_of_them.rows)] == [
        ["bm25", "40.0", "40.0", "40.00"],
        ["random order", "50.0", "50.0", "50.00"],
        ["bm25", "40.0", "20.0", "30.00"],
        ["random order", "50.0", "33.3", "41.67"],  # 1/2, 1/3
    ]
    assert wins.faint == [1]
    assert two.head == ["system", "Task 1", "literal", "entailed"]
    assert [cell.split(" (")[0] for cell in two.rows[0]] == ["bm25", "65.0", "50.0", "60.0"]
    assert two.rows[1] == ["random order", "50.0", "50.0", "50.0"]


def test_without_every_single_violation_there_is_no_such_table() -> None:
    """A mean over the conditions that happen to have one would compare sets of other shapes."""
    one = ladder("a", singles={1: "a-1"}, wordings=("literal", "entailed"))
    rates = rates_in(PairPlan([one]))
    assert summary(rates)["singles"] is None
    result = SystemResult("bm25", None, {"houses": rates})
    assert [section.title for section in Ladders().sections([result])] == [
        "Ladders",
        "Task 1: more conditions",
        "Task 2: down the ladder",
        "Task 3: the style of the query",
        "Controls",
    ]
