"""Order leak: can the relevant documents be found by where they stand?

The published LIMIT corpus begins with its 46 relevant documents, and its queries run through them
in lexicographic order; a ranking by position then looks like retrieval. Two tests against chance:
positions of relevant documents (Kolmogorov-Smirnov) and agreement of the order of queries with the
order of their documents (Spearman).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from retgen.data import Query
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, Severity, State

__all__ = ["OrderLeak"]


@dataclass
class _Positions(State):
    count: int = 0
    positions: dict[str, int] = field(default_factory=dict)

    def merge(self, later: Self, offset: int) -> None:
        self.count = offset + later.count
        for doc_id, position in later.positions.items():
            self.positions.setdefault(doc_id, offset + position)


def _itself(query: Query) -> str:
    return query.query_id


class OrderLeak(CorpusRule):
    """Relevant documents stand where chance would put them. `p`: the level of both tests.

    `unit`: queries of one unit stand for one observation, since they share their documents.
    """

    name = "order-leak"

    def __init__(
        self,
        judgements: Judgements,
        severity: Severity = "warning",
        p: float = 1e-6,
        unit: Callable[[Query], str] = _itself,
    ) -> None:
        self.unit = unit
        self.judgements = judgements
        self.severity = severity
        self.p = p
        self.start()

    def start(self) -> None:
        self.state: _Positions = _Positions()

    def scan(self, batch: Batch) -> None:
        state, relevant = self.state, self.judgements.relevant_documents
        if not relevant.isdisjoint(batch.ids):
            for index, doc_id in enumerate(batch.ids):
                if doc_id in relevant:
                    state.positions.setdefault(doc_id, batch.first + index)
        state.count = batch.first + len(batch)

    def findings(self) -> Iterator[Finding]:
        positions = self.state.positions
        ids = sorted(positions, key=positions.__getitem__)
        if len(ids) < 2:
            return
        units = self._units()
        places = np.array([positions[i] for i in ids])
        if self.unit is not _itself:  # its documents stand together, so they are one place
            places = np.array([np.mean([one[1] for one in seen]) for seen in units.values()])
        places = (places + 0.5) / self.state.count
        p = ks_p_value(places)
        if p < self.p:
            yield Finding(
                self.name,
                self.severity,
                ids,
                f"the {len(ids)} relevant documents do not stand where chance would put them among "
                f"{self.state.count} (median at {np.median(places):.1%}, p = {p:.1g}): "
                "a ranking by position finds them; shuffle the corpus",
            )
        if len(units) < 3:
            return
        means = np.array([np.mean([one[:2] for one in seen], 0) for seen in units.values()])
        rho = spearman(means[:, 0], means[:, 1])
        z = abs(rho) * math.sqrt(len(units) - 1)
        p = math.erfc(z / math.sqrt(2))
        if p < self.p:
            told = "queries" if self.unit is _itself else "groups of queries"
            yield Finding(
                self.name,
                self.severity,
                [query_id for seen in units.values() for *_, query_id in seen],
                f"queries and their relevant documents stand in the same order (Spearman {rho:.2f} "
                f"over {len(units)} {told}, p = {p:.1g}): shuffle the queries or the corpus",
            )

    def _units(self) -> dict[str, list[tuple[float, float, str]]]:
        """Of each unit's queries: (place, mean place of the relevant documents, id)."""
        positions = self.state.positions
        units: dict[str, list[tuple[float, float, str]]] = {}
        for place, query in enumerate(self.judgements.queries):
            documents = self.judgements.positives.get(query.query_id, ())
            if known := [positions[d] for d in documents if d in positions]:
                seen = (float(place), float(np.mean(known)), query.query_id)
                units.setdefault(self.unit(query), []).append(seen)
        return units


def ks_p_value(places: NDArray[np.float64]) -> float:
    """Two-sided Kolmogorov-Smirnov p-value of values (n,) in [0, 1] against the uniform law.

    Kolmogorov's asymptotic series at (sqrt(n) + 0.12 + 0.11 / sqrt(n)) D (Stephens, 1970).
    """
    n = len(places)
    ordered = np.sort(places)
    steps = np.arange(n + 1) / n
    distance = max(float((steps[1:] - ordered).max()), float((ordered - steps[:-1]).max()))
    x = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * distance
    if x < 0.2:
        return 1.0
    terms = ((-1.0) ** (j - 1) * math.exp(-2 * (j * x) ** 2) for j in range(1, 101))
    return min(1.0, max(0.0, 2 * sum(terms)))


def spearman(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Spearman's rank correlation of two columns (n,), ties at their mean rank; 0 if constant."""
    ra, rb = _mean_ranks(a), _mean_ranks(b)
    ra -= ra.mean()
    rb -= rb.mean()
    scale: float = math.sqrt(float(ra @ ra) * float(rb @ rb))
    return float(ra @ rb) / scale if scale else 0.0


def _mean_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle: NDArray[np.float64] = last - (counts - 1) / 2.0
    return middle[inverse]
