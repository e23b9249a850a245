"""Documents and queries that are nearly the same, in one data set or in two.

Texts are compared as sets of words (Jaccard similarity), so word order is ignored.
Queries are compared by the words that ask for something: see `query_sets`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from retgen.data import Dataset, Query
from retgen.validators.rule import Batch, CorpusRule, Finding, QueryRule, RuleState, batches
from retgen.validators.similar import (
    MISSED,
    Hashes,
    Ints,
    Sets,
    distinct_words,
    groups,
    hashes_of,
    matches,
    normalise_text,
    query_sets,
)

_SHOWN = 3  # groups


@dataclass
class WordSets(RuleState):
    """Word sets of texts in order: eight bytes a word.

    `orders`: a hash of each text's words in their order, which is that of texts that differ in
    case, punctuation and white space only.
    """

    words: list[Ints] = field(default_factory=list)
    sizes: list[Ints] = field(default_factory=list)
    orders: list[Hashes] = field(default_factory=list)

    def add(self, batch: Batch) -> None:
        """Take in some documents."""
        words, sizes = distinct_words(*batch.word_hashes())
        self.words.append(words)
        self.sizes.append(sizes)
        self.orders.append(hashes_of(map(" ".join, batch.words())))

    def order(self) -> Hashes:
        """(n,) hashes of the words in their order."""
        return np.concatenate([np.empty(0, np.uint64), *self.orders])

    def sets(self, scratch: str | None) -> Sets:
        """All sets; many lie in a file of the folder `scratch`."""
        return Sets.of(zip(self.words, self.sizes, strict=True), scratch)


class NearDuplicates(CorpusRule):
    """Documents in groups, each similar to another one of its group.

    Texts that differ in case, punctuation or white space only are found by other rules.
    """

    name = "near-duplicate"
    severity = "warning"
    finds = (
        "groups of texts, each of which shares at least 80% of its words with another one "
        "(Jaccard similarity, every pair verified). One finding for all groups"
    )
    order = 100

    def start(self) -> None:
        self.state: WordSets = WordSets()
        self._places: dict[int, int] = {}  # document -> group
        self._members: dict[int, list[str]] = defaultdict(list)

    def scan(self, batch: Batch) -> None:
        self.state.add(batch)

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
            members = list(self._members.values())
            yield self.finding(*_in_words(members, total, "documents", self.exact))


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
            named = _in_words(list(members.values()), len(queries), "queries", exact)
            yield self.finding(*named)


def _orders(queries: Sequence[Query]) -> Hashes:
    """Texts that are equal but for case and the like have rules of their own."""
    return hashes_of(normalise_text(query.text) for query in queries)


def _in_groups(labels: Ints, orders: Hashes) -> Ints:
    """The members of groups of two and more that are not all the same words in the same order."""
    first = np.empty(len(labels), np.uint64)
    first[labels] = orders  # that of some member
    return np.flatnonzero(np.isin(labels, labels[first[labels] != orders]))


def _in_words(
    members: Sequence[list[str]], total: int, what: str, exact: bool
) -> tuple[list[str], str]:
    """(ids of all groups, message)."""
    ids = [one for group in members for one in group]
    largest = sorted(members, key=len, reverse=True)[:_SHOWN]
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
        for batch in batches(dataset.documents()):
            listed += batch.ids
            spool.add(batch)
    yield from _overlap(name, "documents", ids, spool.sets(scratch), spool.order())
    queries = own.queries.read()[0], other.queries.read()[0]
    ids = [q.query_id for q in queries[0]], [q.query_id for q in queries[1]]
    both = [*queries[0], *queries[1]]
    yield from _overlap(name, "queries", ids, query_sets(both), _orders(both))


def _overlap(
    name: str, what: str, ids: tuple[list[str], list[str]], sets: Sets, orders: Hashes
) -> Iterator[Finding]:
    first = len(ids[0])
    own, others = orders[:first].tolist(), orders[first:].tolist()
    there = {key: place for place, key in reversed(list(enumerate(others)))}
    equal = {
        place: there[key] for place, key in enumerate(own) if sets.sizes[place] and key in there
    }
    pairs, exact = matches(sets, first)
    near = {a: b - first for a, b in pairs.tolist() if a not in equal}
    for found, how, more in (
        (equal, "apart from case, punctuation and white space", ""),
        (near, "to four fifths of their words", "" if exact else MISSED),
    ):
        for one, its in list(found.items())[:1]:
            yield Finding(
                "overlap",
                "warning",
                [ids[0][place] for place in found],
                f"{len(found):,} of {first:,} {what} are also in {name}, {how} ({ids[0][one]} is "
                f"{ids[1][its]} there, for one){more}",
            )
