"""Needles in haystacks: is a text that answers a question found, however long the text is?

A data set without their metadata holds none, and nothing here looks at it. What eval.json has under
`haystacks`:

- `questions`: how many
- `arms`: haystacks of one variant each, under one wording of the questions:
  - `needle`, `filler`, `filtered`, `distractors`; `query`: question, expansion_100, ...;
    `queries_truncated`: the share of these queries that the system does not read whole
  - `by_length`: by tokens: `haystacks` a question, `truncated` (the share that the system does not
    read whole), `seen` (the share whose needle is in what it reads), both null where not known;
    every measure of `MEASURES`; `ratio, neutral` and `gain, neutral` are against controls with a
    neutral sentence
  - `by_order`: by length and order the measures that are broken down by it
  - `position`: by length `pearson`, `slope` (of the score, from the first place to the last),
    `auc_by_place`, `similarity_by_place`
  - `by_category`: by category `questions`, and by length the measures that are broken down by it

Numbers are {value, low, high} with 95% intervals, null where there is no number; `low` and `high`
are null where fewer than `FEWEST` questions have one. Those by category and place are means alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from retgen.evaluation.tasks.niah.haystacks import (
    KEYS,
    QUESTION,
    HaystackData,
    HaystackVariant,
    load_haystacks,
)
from retgen.evaluation.tasks.niah.measures import (
    AUC,
    CUT,
    HAYSTACKS,
    MEASURES,
    OF_PLACE,
    SEEN,
    TRUNCATED,
    broken_down,
)
from retgen.evaluation.tasks.niah.sections import kinds_of, lengths_of, sections, sentences
from retgen.evaluation.tasks.task import SystemResult, Task, by_domain, by_label, estimate_json
from retgen.results.measurements import Measure
from retgen.results.page import Section
from retgen.results.rows import Results
from retgen.search.collection import Collection

__all__ = ["NeedlesInHaystacks"]


class NeedlesInHaystacks(Task):
    """Scores of haystacks by length, place and make, against the same texts without needle."""

    name = "haystacks"
    item = "question"
    keys = KEYS
    models = ("bm25",)
    limits_all = True
    aside = (
        "Rankings of the whole corpus mix haystacks of all lengths and places, and each question "
        "has as many relevant ones as there are places, orders and lengths: recall, its baselines "
        "and dimensions say little of such a set, and what it is for stands above."
    )

    def read(self, collection: Collection) -> HaystackData:
        return HaystackData(collection.name, load_haystacks(collection))

    def summary(self, result: SystemResult) -> dict[str, Any]:
        """The keys above; of several data sets by `domains`."""
        return by_domain(result, _summary)

    def sections(self, results: Sequence[SystemResult]) -> Iterable[Section]:
        return sections(results)

    def sentences(self, results: Sequence[SystemResult]) -> Sequence[str]:
        return sentences(by_label(results))


def _summary(results: Results) -> dict[str, Any]:
    return {
        "questions": results.units,
        "arms": [
            _arm(results, variant, query)
            for variant in results.levels("variant", HAYSTACKS.name)
            for query in results.levels("query", AUC.name)
        ],
    }


def _arm(results: Results, variant: HaystackVariant, query: str) -> dict[str, Any]:
    lengths, (main, *kinds) = lengths_of(results, variant), kinds_of(results)
    further = [one.of_kind(kind, main) for kind in kinds for one in MEASURES if one.of_control]
    at = {"variant": variant}

    def mean(measure: Measure, **where: Any) -> dict[str, float | None] | None:
        return estimate_json(results.mean(measure, **at, **where))

    arm = {
        **variant._asdict(),
        "query": query,
        "queries_truncated": results.value(CUT, query=query) or 0.0,
        "by_length": {
            str(n): {
                "haystacks": results.count(HAYSTACKS.name, **at, length=n) // results.units,
                "truncated": results.value(TRUNCATED, **at, length=n),
                "seen": results.value(SEEN, **at, length=n),
                **{one.name: mean(one, query=query, length=n) for one in (*MEASURES, *further)},
            }
            for n in lengths
        },
    }
    if query != QUESTION:
        return arm
    by_order, by_place, by_category = map(broken_down, ("order", "place", "category"))
    arm["by_order"] = {
        str(n): {
            order: {name: mean(one, order=order, length=n) for name, one in by_order.items()}
            for order in results.levels("order", by_order["auc"].name, **at, length=n)
        }
        for n in lengths
    }
    arm["position"] = {
        str(n): {one.name: mean(one, length=n) for one in OF_PLACE}
        | {
            f"{name}_by_place": {
                place: results.value(one, **at, length=n, place=place)
                for place in results.levels("place", one.name, **at, length=n)
            }
            for name, one in by_place.items()
        }
        for n in lengths
    }
    counted = by_category["auc"].name
    arm["by_category"] = {
        category: {
            "questions": results.count(counted, **at, length=lengths[0], category=category),
            **{
                name: {
                    str(n): results.value(one, **at, length=n, category=category) for n in lengths
                }
                for name, one in by_category.items()
            },
        }
        for category in results.levels("category", counted)
    }
    return arm
