"""Documents and queries that are nearly the same, in one data set or in two.

Texts are compared as sets of words (Jaccard similarity), so word order is ignored.
Queries are compared by the words that ask for something: see `retgen.validators.wordsets`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset, Query
from retgen.validators.duplicates import normalise_text
from retgen.validators.rule import Batch, CorpusRule, Finding, QueryRule
from retgen.validators.similar import MISSED, groups, matches
from retgen.validators.wordsets import Sets, WordSets, query_sets

_SHOWN = 3  # groups
_BATCH = 4096  # documents
_Orders = NDArray[np.uint64]  # (n,) equal where texts differ in case, punctuation and white space


class NearDuplicates(CorpusRule):
    """Documents in groups, each similar to another one of its group. Eight bytes a word, on disk.

    Texts that differ in case, punctuation or white space only are found by other rules.
    """

    name = "near-duplicate"
    severity = "warning"
    finds = (
        "groups of texts, each of which shares at least 80% of its words with another one "
        "(Jaccard similarity, every pair verified). One finding for all groups"
    )
    order = 100

    def __init__(self) -> None:
        self.exact = True
        self._places: dict[int, int] = {}  # document -> group
        self._members: dict[int, list[str]] = defaultdict(list)
        self.start()

    def start(self) -> None:
        self.state: WordSets = WordSets()

    def scan(self, batch: Batch) -> None:
        self.state.add(*batch.word_hashes())

    def suspicious(self) -> bool:
        labels, self.exact = groups(self.state.sets(self.scratch))
        members = _in_groups(labels, self.state.order())
        self._places = dict(zip(members.tolist(), labels[members].tolist(), strict=True))
        return bool(self._places)

    def confirm(self, batch: Batch) -> None:
        for index, doc_id in enumerate(batch.ids, start=batch.first):
            if (group := self._places.get(index)) is not None:
                self._members[group].append(doc_id)

    def findings(self) -> Iterator[Finding]:
        if self._members:
            total = sum(map(len, self.state.sizes))
            ids, message = _in_words(self._members, total, "documents", self.exact)
            yield self.finding(ids, message)


class NearDuplicateQueries(QueryRule):
    """Queries of one table whose words are nearly the same."""

    name = "near-duplicate-query"
    severity = "warning"
    finds = (
        "groups of queries that share at least 80% of the stems of their words, rare ones weighing "
        "more. One finding for all groups"
    )
    order = 45

    def findings(self) -> Iterator[Finding]:
        queries = self.judgements.queries
        labels, exact = groups(query_sets(queries))
        members: dict[int, list[str]] = defaultdict(list)
        for place in _in_groups(labels, _orders(queries)).tolist():
            members[int(labels[place])].append(queries[place].query_id)
        if members:
            ids, message = _in_words(members, len(queries), "queries", exact)
            yield self.finding(ids, message)


def _orders(queries: Sequence[Query]) -> _Orders:
    """Texts that are equal but for case and the like have rules of their own."""
    texts: dict[str, int] = {}
    order = [texts.setdefault(normalise_text(query.text), len(texts)) for query in queries]
    return np.array(order, np.uint64)


def _in_groups(labels: NDArray[np.int64], order: _Orders) -> NDArray[np.int64]:
    """The members of groups of two and more that are not all the same words in the same order."""
    if not len(labels):
        return np.empty(0, np.int64)
    by_label = np.lexsort((order, labels))
    same_label = labels[by_label][1:] == labels[by_label][:-1]
    differ = same_label & (order[by_label][1:] != order[by_label][:-1])
    wanted = np.unique(labels[by_label[1:][differ]])
    return np.flatnonzero(np.isin(labels, wanted))


def _in_words(
    members: Mapping[int, list[str]], total: int, what: str, exact: bool
) -> tuple[list[str], str]:
    """(ids of all groups, message)."""
    ids = [one for group in members.values() for one in group]
    largest = sorted(members.values(), key=len, reverse=True)[:_SHOWN]
    named = ", ".join(
        " and ".join(one[:2]) + (f" and {len(one) - 2:,} more" if len(one) > 2 else "")
        for one in largest
    )
    aside = " (function words aside)" if what == "queries" else ""
    count = f"{len(members):,} group{'s' * (len(members) > 1)}"
    more = "" if len(members) <= _SHOWN else "; the largest"
    return ids, (
        f"{len(ids):,} of {total:,} {what} share at least 80% of their words{aside} with another, "
        f"in {count}{more}: {named}{'' if exact else MISSED}"
    )


# --- another data set -----------------------------------------------------------------------------


def overlap(own: Dataset, other: Dataset, name: str, scratch: str) -> Iterator[Finding]:
    """Documents and queries that another data set, called `name`, holds too, or nearly.

    The ids of a finding are those of `own`.
    """
    spool = WordSets()
    ids: tuple[list[str], list[str]] = [], []
    for dataset, listed in zip((own, other), ids, strict=True):
        batch = Batch(0)
        for document in dataset.documents():
            listed.append(document.doc_id)
            batch.append(document)
            if len(batch) == _BATCH:
                spool.add(*batch.word_hashes())
                batch = Batch(0)
        spool.add(*batch.word_hashes())
    yield from _overlap(name, "documents", ids, spool.sets(scratch), spool.order())
    queries = own.queries.read()[0], other.queries.read()[0]
    ids = [q.query_id for q in queries[0]], [q.query_id for q in queries[1]]
    both = [*queries[0], *queries[1]]
    yield from _overlap(name, "queries", ids, query_sets(both), _orders(both))


def _overlap(
    name: str, what: str, ids: tuple[list[str], list[str]], sets: Sets, order: _Orders
) -> Iterator[Finding]:
    first = len(ids[0])
    there = {int(key): place for place, key in reversed(list(enumerate(order[first:].tolist())))}
    equal = [
        (place, there[key])
        for place, key in enumerate(order[:first].tolist())
        if sets.sizes[place] and key in there
    ]
    known = {place for place, _ in equal}
    pairs, exact = matches(sets, first)
    near = [(a, b - first) for a, b in pairs.tolist() if a not in known]
    missed = "" if exact else MISSED
    for found, how, more in (
        (equal, "apart from case, punctuation and white space", ""),
        (near, "to four fifths of their words", missed),
    ):
        if found:
            one, its = found[0]
            yield Finding(
                "overlap",
                "warning",
                [ids[0][place] for place, _ in found],
                f"{len(found):,} of {first:,} {what} are also in {name}, {how} ({ids[0][one]} is "
                f"{ids[1][its]} there, for one){more}",
            )
