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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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


def _itself(query: Query) -> str:
    return query.query_id


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
        unit: Callable[[Query], str] = _itself,
        given: bool = False,
    ) -> None:
        self.unit, self._given = unit, given
        ids = list(judgements.relevant_documents)
        keys = _keys(ids)
        order = np.argsort(keys, kind="stable")
        self.keys, self.relevant = keys[order], [ids[i] for i in order.tolist()]
        super().__init__(judgements, severity)

    def start(self) -> None:
        self.state: _Positions = _Positions(below=np.zeros(len(self.relevant) + 1, np.int64))

    def scan(self, batch: Batch) -> None:
        state, relevant = self.state, self.judgements.relevant_documents
        if not relevant.isdisjoint(batch.ids):
            for index, doc_id in enumerate(batch.ids):
                if doc_id in relevant:
                    state.positions.setdefault(doc_id, batch.first + index)
        state.count = batch.first + len(batch)
        between = np.searchsorted(self.keys, _keys(batch.ids), "right")
        state.below += np.bincount(between, minlength=len(self.relevant) + 1)

    def findings(self) -> Iterator[Finding]:
        positions = self.state.positions
        if len(positions) < 2:
            return
        below = zip(self.relevant, np.cumsum(self.state.below).tolist(), strict=False)
        orders = {_FILE: positions, _IDS: {one: place for one, place in below if one in positions}}
        if orders[_IDS] == positions:
            del orders[_IDS]
        for name, places in orders.items():
            yield from self._positions(name, places)
        for name, places in orders.items():
            if finding := self._agreement(name, places):
                yield finding
                return  # the other order mostly says the same again

    def _positions(self, name: str, places: Mapping[str, int]) -> Iterator[Finding]:
        """Relevant documents are spread evenly over the corpus, and over the order of ids."""
        ids = sorted(self.state.positions, key=self.state.positions.__getitem__)
        if self.unit is _itself:
            chosen = ids
        else:  # one of every unit, whose documents stand together
            of_unit: dict[str, str] = {}
            for query in self._asked:
                for doc_id in self.judgements.positives[query.query_id]:
                    if doc_id in places:
                        of_unit.setdefault(self.unit(query), doc_id)
            chosen = list(of_unit.values())
        shares = (np.array([places[doc_id] for doc_id in chosen]) + 0.5) / self.state.count
        p = ks_p_value(shares)
        if p >= self.p:
            return
        where, message = "", "a ranking by position finds them; shuffle the corpus"
        if name == _IDS:
            where = " in the order of ids"
            message = "a ranking that breaks ties by id finds them; give documents ids at random"
        if self._given:
            message = "that is the order of the source, by which nobody should rank"
        yield self.finding(
            ids,
            f"the {len(ids)} relevant documents do not stand where chance would put them among "
            f"{self.state.count}{where} (median at {np.median(shares):.1%}, p = {p:.1g}): "
            f"{message}",
            severity="warning" if self._given else None,
        )

    @cached_property
    def _asked(self) -> list[Query]:
        """The queries with positives."""
        positives = self.judgements.positives
        return [query for query in self.judgements.queries if query.query_id in positives]

    def _agreement(self, name: str, places: Mapping[str, int]) -> Finding | None:
        """Queries run through their documents in no order, neither of files nor of ids."""
        ids = [query.query_id for query in self._asked]
        order = range(len(ids)) if name == _FILE else np.argsort(_keys(ids), kind="stable").tolist()
        units: dict[
            str, list[tuple[float, float]]
        ] = {}  # a query's rank, its documents' mean place
        asked = []
        for rank, number in enumerate(order):
            known = [places[d] for d in self.judgements.positives[ids[number]] if d in places]
            if known:
                unit = self.unit(self._asked[number])
                units.setdefault(unit, []).append((rank, sum(known) / len(known)))
                asked.append(ids[number])
        if len(units) < 3:
            return None
        means = np.array([np.mean(seen, axis=0) for seen in units.values()])
        rho = spearman(means[:, 0], means[:, 1])
        p = math.erfc(abs(rho) * math.sqrt(len(units) - 1) / math.sqrt(2))
        if p >= self.p:
            return None
        kind = "queries" if self.unit is _itself else "groups of queries"
        return self.finding(
            asked,
            f"queries in the order of {name} have their relevant documents in the order of {name} "
            f"(Spearman {rho:.2f} over {len(units)} {kind}, p = {p:.1g}): shuffle both tables, and "
            "give queries and documents ids at random",
        )


def _keys(ids: Sequence[str]) -> NDArray[np.bytes_]:
    """(n,) what ids are ordered by: their lengths, then their bytes."""
    encoded = (one.encode("utf-8", "surrogatepass") for one in ids)
    keys = [len(one).to_bytes(4, "big") + one[:_LONG] for one in encoded]
    return np.array(keys or [b""])[: len(ids)]
