"""The measures of one system as JSON: what eval.json has under `haystacks`.

- `questions`: how many
- `arms`: haystacks of one variant each, under one wording of the questions:
  - `needle`, `filler`, `filtered`, `distractors`; `query`: question, expansion_100, ...;
    `queries_truncated`: the share of these queries that the system does not read whole
  - `by_length`: by tokens: `haystacks` a question, `truncated` (the share that the system does not
    read whole), `seen` (the share whose needle is in what it reads), both null where not known;
    `similarity`, `control` (the mean score of texts without needle), `normalised`, `ratio`, `gain`,
    `difference`, `auc`, `effect`; `ratio, neutral` and `gain, neutral` against controls with a
    neutral sentence; `detectable`: the smallest difference of `auc` that so many questions show
  - `effective_length`: of `auc` and of `ratio`, see `Reached`; null where there is none, and
    `no_effective_length` says why
  - `by_order`: by length and order `similarity`, `normalised`, `ratio`, `auc`
  - `position`: by length `pearson`, `spearman`, `slope` (of the score, from the first place to the
    last), `psi`, `auc_by_third`, `auc_by_place`, `similarity_by_place`
  - `make`: by length `near`, the share of near-answers in the words, about, and `differs`, by kind
    of control the share of its filler that its haystack has not
  - `by_category`: by category `questions`, and by length `auc`, `ratio`, `normalised`

Numbers are {value, low, high} with 95% intervals, null where there is no number; `low` and `high`
are null where fewer than `FEWEST` questions have one. Those by category and place are means alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from retgen.evaluation.tasks.niah.cells import CellKey, SystemCells
from retgen.evaluation.tasks.niah.haystacks import QUESTION, HaystackVariant
from retgen.evaluation.tasks.niah.measures import (
    KEPT,
    Effective,
    base_lengths,
    effective_length,
    position_sensitivity,
)
from retgen.evaluation.tasks.task import estimate_json
from retgen.statistics.clustered import Estimate

MEASURES = (
    "similarity",
    "control",
    "normalised",
    "ratio",
    "gain",
    "difference",
    "auc",
    "effect",
    "ratio, neutral",
    "gain, neutral",
)
CHANCE = 0.5  # of AUC and ratio


class Reached(NamedTuple):
    """An effective length with its 95% interval in tokens.

    `over_chance`: the same of a score's way above chance, 2 score - 1, which is harder to keep.
    """

    plain: Effective
    low: int
    high: int
    over_chance: Effective


class NoEffectiveLength(StrEnum):
    """Why there is no effective length."""

    UNKNOWN = "not measured"
    UNREAD = "no length read whole"
    FEW = "too few questions"
    CHANCE = "not above chance"
    NEAR = "85% may be chance"
    BELOW = "below chance"


def read_whole(cells: SystemCells, variant: HaystackVariant) -> list[int]:
    """The lengths at which nothing is known to be cut."""
    return [n for n in cells.lengths(variant) if not cells.reach[variant, n].truncated]


def effective(
    cells: SystemCells, variant: HaystackVariant, query: str = QUESTION, measure: str = "auc"
) -> Reached | NoEffectiveLength:
    """Of the AUC or the ratio, over the lengths that are read whole.

    The base is the best of up to three scores, so it is above chance where an interval is that is
    wide enough for the best of so many (Bonferroni). 85% of that interval must be above chance
    too: else what counts as kept may be chance.
    """
    lengths = read_whole(cells, variant)
    every = [CellKey(measure, query, variant, length) for length in lengths]
    if all(cells.mean(CellKey(measure, query, variant, n)) is None for n in cells.lengths(variant)):
        return NoEffectiveLength.UNKNOWN
    if not lengths or any(cells.mean(cell) is None for cell in every):
        return NoEffectiveLength.UNREAD
    result = effective_length(lengths, cells.means(every))
    level = 1 - 0.05 / len(base_lengths(lengths))
    base = cells.estimate(every[lengths.index(result.base_length)], level)
    if base is None or base.low is None:
        return NoEffectiveLength.FEW
    if base.below(CHANCE):
        return NoEffectiveLength.BELOW
    if not base.above(CHANCE):
        return NoEffectiveLength.CHANCE
    if not base.above(CHANCE / KEPT):
        return NoEffectiveLength.NEAR
    low, high = _kept(cells, every, lengths, result.base_length)
    over = effective_length(lengths, 2 * cells.means(every) - 1)
    return Reached(result, low, high, over)


def _kept(
    cells: SystemCells, every: list[CellKey], lengths: list[int], base: int
) -> tuple[int, int]:
    """The longest length up to which the share is kept for sure, and up to which it may be."""
    near = [lengths.index(n) for n in base_lengths(lengths)]
    low = high = base
    for at in range(lengths.index(base) + 1, len(lengths)):
        scores = [every[at], *(every[i] for i in near)]
        margin = cells.of(scores, lambda means: means[..., 0] - KEPT * means[..., 1:].max(axis=-1))
        if margin is None or (margin.value if margin.high is None else margin.high) < 0:
            break
        if low == high and (margin.value if margin.low is None else margin.low) >= 0:
            low = lengths[at]
        high = lengths[at]
    return low, high


def psi(cells: SystemCells, variant: HaystackVariant, length: int) -> Estimate | None:
    """The position sensitivity index of the AUC over the thirds of the text."""
    thirds = [
        CellKey("auc by third", QUESTION, variant, length, part)
        for part in cells.parts("auc by third", variant, length)
    ]
    return cells.of(thirds, position_sensitivity) if len(thirds) > 1 else None


def summary(cells: SystemCells) -> dict[str, Any]:
    """All measures of a system."""
    return {
        "questions": len(cells.questions),
        "arms": [
            _variant(cells, variant, query) for variant in cells.variants for query in cells.queries
        ],
    }


def _variant(cells: SystemCells, variant: HaystackVariant, query: str) -> dict[str, Any]:
    lengths = cells.lengths(variant)
    result: dict[str, Any] = {"needle": variant.needle, **variant.around._asdict(), "query": query}
    result["queries_truncated"] = cells.cut.get(query, 0.0)
    result["by_length"] = {str(n): _by_length(cells, variant, query, n) for n in lengths}
    reached = {measure: effective(cells, variant, query, measure) for measure in ("auc", "ratio")}
    result["effective_length"] = {
        measure: None if isinstance(one, NoEffectiveLength) else _reached(one)
        for measure, one in reached.items()
    }
    result["no_effective_length"] = {
        measure: str(one) for measure, one in reached.items() if isinstance(one, NoEffectiveLength)
    }
    if query == QUESTION:
        result["by_order"] = {str(n): _by_order(cells, variant, n) for n in lengths}
        result["position"] = {str(n): _position(cells, variant, n) for n in lengths}
        result["make"] = {
            str(n): cells.makes[variant, n]._asdict()
            for n in lengths
            if (variant, n) in cells.makes
        }
        result["by_category"] = _by_category(cells, variant, lengths)
    return result


def _by_length(
    cells: SystemCells, variant: HaystackVariant, query: str, length: int
) -> dict[str, Any]:
    result: dict[str, Any] = cells.reach[variant, length]._asdict()
    for measure in MEASURES:
        cell = CellKey(measure, query, variant, length)
        if cell in cells.values:
            result[measure] = estimate_json(cells.estimate(cell))
    auc = CellKey("auc", query, variant, length)
    result["detectable"] = cells.detectable(auc) if auc in cells.values else None
    return result


def _reached(reached: Reached) -> dict[str, Any]:
    return {
        **reached.plain._asdict(),
        "low": reached.low,
        "high": reached.high,
        "over_chance": reached.over_chance._asdict(),
    }


def _by_order(cells: SystemCells, variant: HaystackVariant, length: int) -> dict[str, Any]:
    measures = ("similarity", "normalised", "ratio", "auc")
    return {
        order: {
            m: estimate_json(cells.estimate(CellKey(m, QUESTION, variant, length, order)))
            for m in measures
        }
        for order in cells.parts("auc", variant, length)
    }


def _position(cells: SystemCells, variant: HaystackVariant, length: int) -> dict[str, Any]:
    def by(measure: str) -> dict[str, float | None]:
        parts = cells.parts(measure, variant, length)
        return {
            part: cells.mean(CellKey(measure, QUESTION, variant, length, part)) for part in parts
        }

    result: dict[str, Any] = {
        measure: estimate_json(cells.estimate(CellKey(measure, QUESTION, variant, length)))
        for measure in ("pearson", "spearman", "slope")
    }
    return result | {
        "psi": estimate_json(psi(cells, variant, length)),
        "auc_by_third": by("auc by third"),
        "auc_by_place": by("auc by place"),
        "similarity_by_place": by("similarity by place"),
    }


def _by_category(
    cells: SystemCells, variant: HaystackVariant, lengths: Iterable[int]
) -> dict[str, Any]:
    lengths = list(lengths)
    return {
        category: {
            "questions": cells.categories.count(category),
            **{
                measure: {
                    str(n): cells.mean(CellKey(measure, QUESTION, variant, n), category)
                    for n in lengths
                }
                for measure in ("auc", "ratio", "normalised")
            },
        }
        for category in dict.fromkeys(cells.categories)
    }
