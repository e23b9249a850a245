"""The measures of one system as JSON: what eval.json has under `haystacks`.

- `questions`: how many
- `arms`: haystacks of one variant each, under one wording of the questions:
  - `needle`, `filler`, `filtered`, `distractors`; `query`: question, expansion_100, ...;
    `queries_truncated`: the share of these queries that the system does not read whole
  - `by_length`: by tokens: `haystacks` a question, `truncated` (the share that the system does not
    read whole), `seen` (the share whose needle is in what it reads), both null where not known;
    `similarity`, `control` (the mean score of texts without needle), `normalised`, `ratio`, `gain`,
    `difference`, `auc`, `effect`; `ratio, neutral` and `gain, neutral` against controls with a
    neutral sentence
  - `by_order`: by length and order `similarity`, `normalised`, `ratio`, `auc`
  - `position`: by length `pearson`, `slope` (of the score, from the first place to the last),
    `auc_by_place`, `similarity_by_place`
  - `make`: by length `near`, the share of near-answers in the words, about, and `differs`, by kind
    of control the share of its filler that its haystack has not
  - `by_category`: by category `questions`, and by length `auc`, `ratio`, `normalised`

Numbers are {value, low, high} with 95% intervals, null where there is no number; `low` and `high`
are null where fewer than `FEWEST` questions have one. Those by category and place are means alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retgen.evaluation.tasks.niah.cells import CellKey, SystemCells
from retgen.evaluation.tasks.niah.haystacks import QUESTION, HaystackVariant
from retgen.evaluation.tasks.task import estimate_json

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


def read_whole(cells: SystemCells, variant: HaystackVariant) -> list[int]:
    """The lengths at which nothing is known to be cut."""
    return [n for n in cells.lengths(variant) if not cells.reach[variant, n].truncated]


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
    return result


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
        for measure in ("pearson", "slope")
    }
    return result | {
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
