"""MultiConIR: candidate sets that are ladders of hard negatives, each a condition further off.

A data set without their metadata holds none, and nothing here looks at it. It may hold several
domains; rates are taken in each and averaged without weights (MultiConIR, Tables 2, 3 and 13). What
eval.json has under `ladders`:

- `ladders`, `conditions`, `styles`: how many, of the longest query, which
- `task1`: by style and their `mean`, each with `by_query` (n = 1, 2, ...), `average`, and `decline`
  (the first less the last)
- `task2`: the same with `by_rung`: the positive against HN1, HN1 against HN2, ...; no decline
- `task3`: `by_rung`, `flip_rate`
- `task4`: by words as `task2`, and `change`: its average less that of `task2`
- `violations`: `all`: the win rate where all n conditions are violated, at n; `all_average`
- `blind`: `task1`, `by_query`, `task2` under the query of another ladder
- `tied`: the share of pairs that tie, which are lost: of `task1`, `task2`, `blind task1`,
  `blind task2`; where t of them tie, chance is (1 - t) / 2
- `singles`: of the positive against every document that violates one condition alone: `by_query`,
  `average`, `ties_half`; `beats_all`: how often it beats all of them, by query, and `random`, what
  a random order gets; `by_wording`: of the longest query, by how the violated condition asks
- `ties_half`: of `task1` and `task2`, where a tie is no loss but half a win
- `random`: what a random order is expected to get
- a measure with a title of `MEASURES`, by its name: by part the mean
- `domains`: their names, or all of this for each where there are several

Averages are {value, low, high}, with 95% intervals, null of too few ladders; all rates are
fractions. A key is null where there is nothing to measure it on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from retgen.evaluation.tasks.multiconir.ladders import KEYS, CandidateLadder, load_ladders
from retgen.evaluation.tasks.multiconir.pairs import (
    FLIPS,
    MEASURES,
    TIED,
    TIES_HALF,
    WON,
    PairPlan,
)
from retgen.evaluation.tasks.multiconir.sections import (
    WORDINGS,
    decline,
    ordered,
    pairs_of,
    queries_of,
    sections,
    sentences,
    systems_of,
)
from retgen.evaluation.tasks.task import (
    Measured,
    Scores,
    SystemResult,
    Task,
    TaskData,
    estimate_json,
)
from retgen.results.measurements import Measure
from retgen.results.page import Section
from retgen.results.rows import Results, over_data_sets
from retgen.search.base import System
from retgen.search.collection import Collection

__all__ = ["INSTRUCTION", "Ladders"]

# what the paper puts before the queries of embedders that take instructions (Appendix A), in the
# form that their makers give
INSTRUCTION = (
    "Instruct: Given a domain retrieval query, retrieve documents that meet the specified "
    "conditions.\nQuery: "
)


class Ladders(Task):
    """Win rates and flip rates on ladders (MultiConIR, sections 3 to 5)."""

    name = "ladders"
    item = "ladder"
    keys = KEYS
    models = ("bm25-paper", "bm25")
    paper = "MultiConIR"
    instruction = INSTRUCTION

    def read(self, collection: Collection) -> LadderData:
        ladders, notes = load_ladders(collection)
        return LadderData(ladders, notes + _by_length(collection.name, ladders))

    def summary(self, result: SystemResult) -> dict[str, Any]:
        """The keys above, and the same by domain."""
        each = {}
        if len(result.domains) > 1:
            each = {name: _summary(one) for name, one in result.domains.items()}
        mean = over_data_sets([*result.domains.values()])
        return _summary(mean) | {"domains": each or list(result.domains)}

    def sections(self, results: Sequence[SystemResult]) -> Iterable[Section]:
        return sections(results)

    def sentences(self, results: Sequence[SystemResult]) -> Sequence[str]:
        return sentences(systems_of(results))


class LadderData(TaskData):
    """The ladders of one data set, or the first of each domain. `main`: as of `PairPlan`."""

    def __init__(
        self,
        ladders: Sequence[CandidateLadder],
        notes: Sequence[str] = (),
        limit: int | None = None,
        *,
        main: bool = False,
    ) -> None:
        self._ladders, self.notes = ladders, [*notes]
        domains: dict[str, list[CandidateLadder]] = {}
        for ladder in ladders:
            domains.setdefault(ladder.domain, []).append(ladder)
        self.domains = list(domains)
        self._plans = {name: PairPlan(of[:limit], main=main) for name, of in domains.items()}
        self.sets = [one for plan in self._plans.values() for one in plan.sets]
        chosen = sum(len(plan.ladders) for plan in self._plans.values())
        self.described = f"{chosen:,} of {len(ladders):,} ladders"

    def first(self, limit: int | None, *, paid: bool = False) -> LadderData:
        return LadderData(self._ladders, (), limit, main=paid)

    def measure(self, scores: Scores, system: System) -> Measured:
        """Of each ladder the share of won pairs in every cell that it has is kept."""
        every, domains, rows = iter(scores), {}, list[Mapping[str, Any]]()
        for name, plan in self._plans.items():
            results = plan.results([next(every) for _ in plan.sets], system.scorer.noise)
            domains[name] = results
            for number, ladder in enumerate(plan.ladders):
                cells = {
                    "/".join(map(str, [*cell.values()][1:])): value
                    for cell, value in results.by_unit(number)
                    if cell["measure"] in (WON.name, FLIPS.name)
                }
                rows.append({"ladder": ladder.ladder_id, "domain": name, "cells": cells})
        return domains, rows


def _by_length(name: str, ladders: Sequence[CandidateLadder]) -> list[str]:
    """Say where the length of the documents alone tells which is the better one."""
    plan = PairPlan(ladders, main=True)
    words = [np.array([-len(text.split()) for text in one.texts], float) for one in plan.sets]
    shorter = plan.results(words).value(WON, part="task 2")
    if shorter is None or shorter <= 0.5:
        return []
    return [
        f"query-blind baseline of {name}: of neighbours on the ladder the shorter document is the "
        f"better one in {shorter:.0%}, so read win rates against that, not against 50%"
    ]


def _summary(results: Results) -> dict[str, Any]:
    """All measures of a system."""
    parts = {*results.levels("part", WON.name), *results.levels("part", FLIPS.name)}
    styles = results.levels("style", WON.name, part="task 1")
    groups: dict[str, dict[str, Any]] = {**{one: {"style": one} for one in styles}, "mean": {}}
    levels = {"query": queries_of(results), "pair": pairs_of(results)}

    def mean(part: str, measure: Measure = WON, **where: Any) -> dict[str, float | None] | None:
        return estimate_json(results.mean(measure, part=part, **where))

    def by(factor: str, part: str, measure: Measure = WON, **where: Any) -> list[float | None]:
        each = ({**where, factor: level} for level in levels[factor])
        return [results.value(measure, part=part, **at) for at in each]

    def climb(**where: Any) -> dict[str, Any]:
        """A climb by style, and over both."""
        return {
            style: {"by_rung": by("pair", **where, **of), "average": mean(**where, **of)}
            for style, of in groups.items()
            if results.select(WON.name, **where, **of)
        }

    def if_measured(part: str, content: dict[str, Any]) -> dict[str, Any] | None:
        return content if part in parts else None

    padded = {}
    for words in results.levels("words", WON.name, part="task 4"):
        at = {"part": "task 4", "words": words}
        change = estimate_json(results.difference(WON, at, {"part": "task 2"}))
        padded[words.replace(",", "")] = {**climb(**at), "change": change}
    wordings = ordered(results.levels("wording", WON.name, part="wording"), WORDINGS)
    singles = {
        "by_query": by("query", "single"),
        "average": mean("single"),
        "ties_half": mean("single", TIES_HALF),
        "beats_all": by("query", "beats all"),
        "random": [1 / (n + 1) for n in range(1, len(levels["query"]) + 1)],
        "by_wording": {
            name: {
                "win_rate": mean("wording", wording=name),
                "ties_half": mean("wording", TIES_HALF, wording=name),
            }
            for name in wordings
        },
    }
    tied = {"task1": "task 1", "task2": "task 2"}
    tied |= {f"blind {name}": f"{part} blind" for name, part in tied.items()}
    return {
        "ladders": results.units,
        "conditions": len(levels["query"]),
        "styles": styles,
        "task1": {
            style: {
                "by_query": by("query", "task 1", **of),
                "average": mean("task 1", **of),
                "decline": estimate_json(decline(results, **of)),
            }
            for style, of in groups.items()
        },
        "task2": if_measured("task 2", climb(part="task 2")),
        "task3": if_measured(
            "task 3",
            {"by_rung": by("pair", "task 3", FLIPS), "flip_rate": mean("task 3", FLIPS)},
        ),
        "task4": padded or None,
        "violations": if_measured(
            "all violated",
            {"all": by("query", "all violated"), "all_average": mean("all violated")},
        ),
        "singles": if_measured("single", singles),
        "ties_half": {f"task{n}": mean(f"task {n}", TIES_HALF) for n in (1, 2)},
        "blind": if_measured(
            "task 1 blind",
            {
                "task1": mean("task 1 blind"),
                "by_query": by("query", "task 1 blind"),
                "task2": mean("task 2 blind"),
            },
        ),
        "tied": {name: mean(part, TIED) for name, part in tied.items() if part in parts},
        "random": {"win_rate": WON.chance, "flip_rate": FLIPS.chance},
        **{
            one.name: {part: mean(part, one) for part in results.levels("part", one.name)}
            for one in MEASURES
            if one.title
        },
    }
