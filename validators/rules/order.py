"""Order leak: can the relevant documents be found by where they stand?

The published LIMIT corpus begins with its 46 relevant documents, and its queries run through them
in lexicographic order; a ranking by position then looks like retrieval. Two tests against chance:
positions of relevant documents (Kolmogorov-Smirnov) and agreement of the order of queries with the
order of their documents (Spearman). Both look at the order of ids as well, since trec_eval breaks
ties by id (as strings, descending): a retriever that gives equal scores is lifted by ids in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from retgen.data import Query
from retgen.validators.chance import ks_p_value, spearman
from retgen.validators.rule import Batch, Finding, Judgements, LeakRule, RuleState, Severity

# orders, as messages name them
_FILE, _STRINGS, _NUMBERS = "their file", "ids as strings", "the numbers of ids"


@dataclass
class _Positions(RuleState):
    """`below` and `numbered`: documents between the relevant ones in the order of ids."""

    count: int = 0
    positions: dict[str, int] = field(default_factory=dict)
    below: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    numbered: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    numbers: bool = True  # every id ends in digits

    def merge(self, later: Self, offset: int) -> None:
        self.count = offset + later.count
        for doc_id, position in later.positions.items():
            self.positions.setdefault(doc_id, offset + position)
        self.below = self.below + later.below
        self.numbered = self.numbered + later.numbered
        self.numbers &= later.numbers


def _itself(query: Query) -> str:
    return query.query_id


class OrderLeak(LeakRule):
    """Relevant documents stand where chance would put them. `p`: the level of both tests.

    `unit`: queries of one unit stand for one observation, since they share their documents.
    `given`: documents and their ids are as somebody gave them, who may have ordered them by what
    they are about; that is never an error.
    """

    name = "order-leak"
    finds = (
        "relevant documents stand where chance would not put them, or queries run in the order "
        "of their documents: in the files, and in the order of ids, as strings (trec_eval "
        "breaks ties that way) and as numbers (`validate: {order_leak_p: 1.0e-6}` is the level "
        "of the tests on order, ids, columns and places)"
    )
    order = 150

    def __init__(
        self,
        judgements: Judgements,
        severity: Severity = "warning",
        p: float = 1e-6,
        unit: Callable[[Query], str] = _itself,
        given: bool = False,
    ) -> None:
        self.unit, self._given = unit, given
        ids = sorted(
            judgements.relevant_documents, key=lambda one: one.encode("utf-8", "surrogatepass")
        )
        self.relevant = ids
        self.as_strings = _strings(ids)
        numbers = _numbers(ids)
        self.by_number = numbers if _tells_apart(numbers) else None
        self.in_order = np.sort(numbers)
        super().__init__(judgements, severity, p)

    def start(self) -> None:
        size = len(self.relevant) + 1
        self.state: _Positions = _Positions(
            below=np.zeros(size, np.int64), numbered=np.zeros(size, np.int64)
        )

    def scan(self, batch: Batch) -> None:
        state, relevant = self.state, self.judgements.relevant_documents
        if not relevant.isdisjoint(batch.ids):
            for index, doc_id in enumerate(batch.ids):
                if doc_id in relevant:
                    state.positions.setdefault(doc_id, batch.first + index)
        state.count = batch.first + len(batch)
        size = len(self.relevant) + 1
        between = np.searchsorted(self.as_strings, _strings(batch.ids), "right")
        state.below += np.bincount(between, minlength=size)
        state.numbers = state.numbers and self.by_number is not None
        if state.numbers and self.by_number is not None:
            numbers = _numbers(batch.ids)
            state.numbers = bool((numbers >= 0).all())
            between = np.searchsorted(self.in_order, numbers, "right")
            state.numbered += np.bincount(between, minlength=size)

    def findings(self) -> Iterator[Finding]:
        positions = self.state.positions
        if len(positions) < 2:
            return
        orders = self._orders()
        yield from self._places(orders)
        yield from self._agreement(orders)

    def _orders(self) -> dict[str, dict[str, float]]:
        """Where the relevant documents stand, from 0: in the corpus, and in orders of ids."""
        positions, state = self.state.positions, self.state
        known = [place for place, doc_id in enumerate(self.relevant) if doc_id in positions]
        ids = [self.relevant[place] for place in known]
        orders = {_FILE: {doc_id: float(place) for doc_id, place in positions.items()}}
        below = np.cumsum(state.below)[:-1]
        orders[_STRINGS] = dict(zip(ids, below[known].astype(float).tolist(), strict=True))
        if state.numbers and self.by_number is not None:
            rank = np.empty(len(self.relevant), np.int64)
            rank[np.argsort(self.by_number, kind="stable")] = np.cumsum(state.numbered)[:-1]
            orders[_NUMBERS] = dict(zip(ids, rank[known].astype(float).tolist(), strict=True))
        return orders

    def _places(self, orders: dict[str, dict[str, float]]) -> Iterator[Finding]:
        """Relevant documents are spread evenly over the corpus, and over the order of ids."""
        ids = sorted(self.state.positions, key=self.state.positions.__getitem__)
        for name, message, mend in (
            (_FILE, "a ranking by position finds them", "shuffle the corpus"),
            (
                _STRINGS,
                "trec_eval breaks ties by id, which finds them",
                "give documents ids at random",
            ),
            (_NUMBERS, "a ranking by id finds them", "give documents ids at random"),
        ):
            if name not in orders or (name != _FILE and orders[name] == orders[_FILE]):
                continue
            places = np.array([orders[name][doc_id] for doc_id in ids])
            if self.unit is not _itself:
                places = np.array(self._one_each(orders[name]))
            places = (places + 0.5) / self.state.count
            p = ks_p_value(places)
            if p >= self.p:
                continue
            where = "" if name == _FILE else f" in the order of {name}"
            if self._given:
                mend = "that is the order of the source, by which nobody should rank"
            yield self.finding(
                ids,
                f"the {len(ids)} relevant documents do not stand where chance would put them among "
                f"{self.state.count}{where} (median at {np.median(places):.1%}, p = {p:.1g}): "
                f"{message}; {mend}",
                severity="warning" if self._given else None,
            )
            if name == _STRINGS:  # numbers are mostly in the same order
                return

    def _one_each(self, places: dict[str, float]) -> list[float]:
        """The place of a relevant document of every unit, whose documents stand together."""
        result: dict[str, float] = {}
        for query_id, unit in self._asked:
            for doc_id in self.judgements.positives[query_id]:
                if doc_id in places:
                    result.setdefault(unit, places[doc_id])
        return list(result.values())

    @cached_property
    def _asked(self) -> list[tuple[str, str]]:
        """Each query with positives, and its unit."""
        positives, queries = self.judgements.positives, self.judgements.queries
        return [(one.query_id, self.unit(one)) for one in queries if one.query_id in positives]

    def _agreement(self, orders: dict[str, dict[str, float]]) -> Iterator[Finding]:
        """Queries run through their documents in no order, neither of files nor of ids."""
        asked = self._queries()
        for name, places in orders.items():
            for by, ranks in asked.items():
                units = self._units(places, ranks)
                if len(units) < 3:
                    return
                means = np.array([_means(seen) for seen in units.values()])
                rho = spearman(means[:, 0], means[:, 1])
                p = math.erfc(abs(rho) * math.sqrt(len(units) - 1) / math.sqrt(2))
                if p >= self.p:
                    continue
                kind = "queries" if self.unit is _itself else "groups of queries"
                message = (
                    f"queries and their relevant documents stand in the same order (Spearman "
                    f"{rho:.2f} over {len(units)} {kind}, p = {p:.1g}): shuffle the queries or the "
                    "corpus"
                )
                if (name, by) != (_FILE, _FILE):
                    message = (
                        f"queries in the order of {by} have their relevant documents in the order "
                        f"of {name} (Spearman {rho:.2f} over {len(units)} {kind}, p = {p:.1g}): "
                        "give queries and documents ids at random"
                    )
                ids = [query_id for seen in units.values() for *_, query_id in seen]
                yield self.finding(ids, message)
                return  # the other orders mostly say the same again

    def _queries(self) -> dict[str, dict[str, float]]:
        """The places of queries with positives: in their file, and in orders of ids."""
        ids = [query.query_id for query in self.judgements.queries]
        ranks = {_FILE: np.arange(len(ids))}
        ranks[_STRINGS] = np.argsort(np.argsort(_strings(ids), kind="stable"))
        numbers = _numbers(ids)
        if _tells_apart(numbers):
            ranks[_NUMBERS] = numbers
        known = [place for place, one in enumerate(ids) if one in self.judgements.positives]
        return {
            name: {ids[place]: float(order[place]) for place in known}
            for name, order in ranks.items()
        }

    def _units(
        self, places: dict[str, float], ranks: dict[str, float]
    ) -> dict[str, list[tuple[float, float, str]]]:
        """Of each unit's queries: (place, mean place of the relevant documents, id)."""
        units: dict[str, list[tuple[float, float, str]]] = {}
        for query_id, unit in self._asked:
            documents = self.judgements.positives[query_id]
            if known := [places[d] for d in documents if d in places]:
                seen = (ranks.get(query_id, 0.0), sum(known) / len(known), query_id)
                units.setdefault(unit, []).append(seen)
        return units


def _strings(ids: Sequence[str]) -> NDArray[np.bytes_]:
    """(n,) ids as trec_eval compares them, byte by byte."""
    encoded = "\n".join(ids).encode("utf-8", "surrogatepass").split(b"\n")
    if len(encoded) != len(ids):  # none, or one with a line end
        encoded = [doc_id.encode("utf-8", "surrogatepass") for doc_id in ids] or [b""]
    return np.array(encoded, "S")[: len(ids)]


def _numbers(ids: Sequence[str]) -> NDArray[np.int64]:
    """(n,) the digits that ids end in, of more than 18 the last ones; -1 where there are none."""
    return np.array([int(one[len(one.rstrip(_DIGITS)) :][-18:] or -1) for one in ids], np.int64)


_DIGITS = "0123456789"


def _tells_apart(numbers: NDArray[np.int64]) -> bool:
    """Whether all ids end in a number, and few in the same: sections of manuals order nothing."""
    distinct = len(np.unique(numbers))
    return len(numbers) > 0 and int(numbers.min()) >= 0 and distinct >= 0.9 * len(numbers)


def _means(seen: Sequence[tuple[float, float, str]]) -> tuple[float, float]:
    """The mean of both places: most units have one query, for which arrays would be slow."""
    return sum(one[0] for one in seen) / len(seen), sum(one[1] for one in seen) / len(seen)
