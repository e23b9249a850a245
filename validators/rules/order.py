"""Order leak: can the relevant documents be found by where they stand?

The published LIMIT corpus begins with its 46 relevant documents, and its queries run through them
in lexicographic order; a ranking by position then looks like retrieval. Two tests against chance:
positions of relevant documents (Kolmogorov-Smirnov) and agreement of the order of queries with the
order of their documents (Spearman).

Both look at the order of ids as well, since rankings break ties by it: shorter ids first, equally
long ones byte by byte. That is the order of numbers, and that of trec_eval for ids of one length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, starmap
from typing import Self

import numpy as np
from numpy.typing import NDArray

from retgen.data import Query
from retgen.validators.chance import ks_p_value, spearman
from retgen.validators.rule import Batch, Finding, Judgements, LeakRule, RuleState, Severity

_LONG = 200  # bytes of an id that order it
_FILE, _IDS = "their file", "ids"  # orders, as messages name them


@dataclass
class _Positions(RuleState):
    """`below`: documents between the relevant ones in the order of ids."""

    count: int = 0
    positions: dict[str, int] = field(default_factory=dict)
    below: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))

    def merge(self, later: Self, offset: int) -> None:
        self.count = offset + later.count
        for doc_id, position in later.positions.items():
            self.positions.setdefault(doc_id, offset + position)
        self.below = self.below + later.below


class OrderLeak(LeakRule):
    """Relevant documents stand where chance would put them.

    `unit`: queries of one unit stand for one observation, since they share their documents.
    `given`: documents and their ids are as somebody gave them, who may have ordered them by what
    they are about; that is never an error.
    """

    name = "order-leak"
    finds = (
        "relevant documents stand where chance would not put them, or queries run in the order "
        "of their documents: in the files, and in the order of ids, shorter ones first "
        "(`validate: {order_leak_p: 1.0e-6}` is the level of the tests on order, ids and columns)"
    )
    order = 150

    def __init__(
        self,
        judgements: Judgements,
        severity: Severity = "warning",
        unit: Callable[[Query], str] | None = None,
        given: bool = False,
    ) -> None:
        self.severity, self._unit, self._given = severity, unit, given
        self._asked = [q for q in judgements.queries if q.query_id in judgements.positives]
        ids = list(judgements.relevant_documents)
        keys = _keys(ids)
        order = np.argsort(keys, kind="stable")
        self._keys, self._relevant = keys[order], [ids[i] for i in order.tolist()]
        super().__init__(judgements)

    def start(self) -> None:
        self.state: _Positions = _Positions(below=np.zeros(len(self._relevant) + 1, np.int64))

    def scan(self, batch: Batch) -> None:
        state, relevant = self.state, self.judgements.relevant_documents
        if not relevant.isdisjoint(batch.ids):
            for position, doc_id in enumerate(batch.ids, start=batch.first):
                if doc_id in relevant:
                    state.positions.setdefault(doc_id, position)
        state.count = batch.first + len(batch)
        between = np.searchsorted(self._keys, _keys(batch.ids), "right")
        state.below += np.bincount(between, minlength=len(self._relevant) + 1)

    def findings(self) -> Iterator[Finding]:
        positions = self.state.positions
        if len(positions) < 2:
            return
        below = dict(zip(self._relevant, np.cumsum(self.state.below).tolist(), strict=False))
        orders = {_FILE: positions, _IDS: {doc_id: below[doc_id] for doc_id in positions}}
        if orders[_IDS] == positions:
            del orders[_IDS]
        for one in orders.items():
            yield from self._positions(*one)
        # the other order mostly says the same again
        yield from islice(chain.from_iterable(starmap(self._agreement, orders.items())), 1)

    def _positions(self, name: str, places: Mapping[str, int]) -> Iterator[Finding]:
        """Relevant documents are spread evenly over the corpus, and over the order of ids."""
        chosen: Iterable[str] = places
        if self._unit:  # one of every unit, whose documents stand together
            of_unit: dict[str, str] = {}
            for query in self._asked:
                for doc_id in self.judgements.positives[query.query_id]:
                    if doc_id in places:
                        of_unit.setdefault(self._unit(query), doc_id)
            chosen = of_unit.values()
        shares = (np.array([places[doc_id] for doc_id in chosen]) + 0.5) / self.state.count
        if (p := ks_p_value(shares)) >= self.p:
            return
        where, message = "", "a ranking by position finds them; shuffle the corpus"
        if name == _IDS:
            where = " in the order of ids"
            message = "a ranking that breaks ties by id finds them; give documents ids at random"
        if self._given:
            message = "that is the order of the source, by which nobody should rank"
        yield self.finding(
            sorted(places, key=self.state.positions.__getitem__),
            f"the {len(places)} relevant documents do not stand where chance would put them among "
            f"{self.state.count}{where} (median at {np.median(shares):.1%}, p = {p:.1g}): "
            f"{message}",
            severity="warning" if self._given else None,
        )

    def _agreement(self, name: str, places: Mapping[str, int]) -> Iterator[Finding]:
        """Queries run through their documents in no order, neither of files nor of ids."""
        ids, asked = [], self._asked
        if name == _IDS:
            keys = _keys([query.query_id for query in asked])
            asked = [asked[i] for i in np.argsort(keys, kind="stable").tolist()]
        # of each unit the ranks of its queries, and the mean places of their documents
        units: dict[str, list[tuple[float, float]]] = {}
        for rank, query in enumerate(asked):
            known = [places[d] for d in self.judgements.positives[query.query_id] if d in places]
            if known:
                unit = self._unit(query) if self._unit else query.query_id
                units.setdefault(unit, []).append((rank, sum(known) / len(known)))
                ids.append(query.query_id)
        if len(units) < 3:
            return
        means = np.array([np.mean(seen, axis=0) for seen in units.values()])
        rho = spearman(means[:, 0], means[:, 1])
        p = math.erfc(abs(rho) * math.sqrt(len(units) - 1) / math.sqrt(2))
        if p < self.p:
            kind = "groups of queries" if self._unit else "queries"
            yield self.finding(
                ids,
                f"queries in the order of {name} have their relevant documents in the order of "
                f"{name} (Spearman {rho:.2f} over {len(units)} {kind}, p = {p:.1g}): shuffle both "
                "tables, and give queries and documents ids at random",
            )


def _keys(ids: Sequence[str]) -> NDArray[np.bytes_]:
    """(n,) what ids are ordered by: their lengths, then their bytes."""
    encoded = (one.encode("utf-8", "surrogatepass") for one in ids)
    keys = [len(one).to_bytes(4, "big") + one[:_LONG] for one in encoded]
    return np.array(keys or [b""])[: len(ids)]
