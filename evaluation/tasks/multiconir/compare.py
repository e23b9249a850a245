"""The ladders of a data set as candidate sets: what is compared, and the rates that come of it.

A data set may hold several domains; rates are taken in each and averaged without weights
(MultiConIR, Tables 2, 3 and 13).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from retgen.evaluation.tasks.multiconir.ladders import CandidateLadder, load_ladders
from retgen.evaluation.tasks.multiconir.pairs import ALL, TASKS, WinCounts, make_plan
from retgen.evaluation.tasks.multiconir.rates import Rates, over_domains, rates_of
from retgen.evaluation.tasks.task import Comparison, Scores, SystemResult, TaskData, TaskMeasures
from retgen.search.collection import Collection


class LadderData(TaskData[Rates]):
    """The ladders of one data set."""

    def __init__(self, collection: Collection) -> None:
        self.name = collection.name
        self.ladders, self.notes = load_ladders(collection)
        self.domains = list(dict.fromkeys(ladder.domain for ladder in self.ladders))
        self.notes += self._by_length()

    def comparison(self, limit: int | None = None, *, paid: bool = False) -> LadderComparison:
        seen = dict[str, int]()
        chosen = []
        for ladder in self.ladders:
            seen[ladder.domain] = seen.get(ladder.domain, 0) + 1
            if limit is None or seen[ladder.domain] <= limit:
                chosen.append(ladder)
        return LadderComparison(self.name, chosen, len(self.ladders), TASKS if paid else ALL)

    def _by_length(self) -> Iterator[str]:
        """Say where the length of the documents alone tells which is the better one."""
        plan = make_plan(self.ladders, TASKS)
        words = [np.array([-len(t.split()) for t in one.texts], float) for one in plan.groups]
        every = range(len(self.ladders))
        rates = rates_of(plan.counts(words, 0.0), every)
        rungs = rates.mean(rates.where("rung"))
        if rungs is not None and rungs.value > 0.5:
            yield (
                f"query-blind baseline of {self.name}: of neighbours on the ladder the shorter "
                f"document is the better one in {rungs.value:.0%}, so read win rates against that, "
                "not against 50%"
            )


class LadderComparison(Comparison[Rates]):
    """Some ladders and the pairs of documents that are compared on them."""

    def __init__(
        self, name: str, ladders: Sequence[CandidateLadder], total: int, parts: frozenset[str]
    ) -> None:
        self._name, self._ladders = name, ladders
        self._plan = make_plan(ladders, parts)
        self.sets = self._plan.groups
        self.described = f"{len(ladders):,} of {total:,} ladders"

    def measure(self, scores: Scores, noise: float) -> TaskMeasures[Rates]:
        counts = self._plan.counts(scores, noise)
        rows: dict[str, list[int]] = {}
        for number, ladder in enumerate(self._ladders):
            rows.setdefault(ladder.domain, []).append(number)
        return TaskMeasures(
            {domain: rates_of(counts, of) for domain, of in rows.items()}, self._rows(counts)
        )

    def _rows(self, counts: WinCounts) -> Iterator[Mapping[str, Any]]:
        """Each ladder's share of won pairs in every cell that it has."""
        names = ["/".join(map(str, cell)) for cell in counts.cells]
        for ladder, won, pairs in zip(self._ladders, counts.won, counts.pairs, strict=True):
            cells = {names[i]: won[i] / pairs[i] for i in np.flatnonzero(pairs)}
            yield {"ladder": ladder.ladder_id, "domain": ladder.domain, "cells": cells}


def mean_rates(result: SystemResult[Rates]) -> Rates:
    """The unweighted mean over a system's domains."""
    results = list(result.domains.values())
    return results[0] if len(results) == 1 else over_domains(results)
