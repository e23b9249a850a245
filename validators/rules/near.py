"""Documents and queries that are nearly the same, and what splits and data sets have in common.

Texts are compared as sets of words (Jaccard similarity), so word order is ignored.
Queries are compared by the words that ask for something: see `retgen.validators.wordsets`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset, Qrel, Query
from retgen.on_disk import MappedList
from retgen.validators.duplicates import normalise_text
from retgen.validators.rule import Batch, CorpusRule, Finding, QueryRule
from retgen.validators.similar import MISSED, groups, matches
from retgen.validators.wordsets import Sets, WordSets, query_sets

_SHOWN = 3  # groups
_SHARE = "share at least 80% of their words"


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
        self.state.add(batch.words())

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
        if not self._members:
            return
        total = sum(map(len, self.state.sizes))
        result = sum(map(len, self._members.values()))
        largest = sorted(self._members.values(), key=len, reverse=True)[:_SHOWN]
        named = ", ".join(_name_group(ids) for ids in largest)
        more = "" if len(self._members) <= _SHOWN else "; the largest"
        missed = "" if self.exact else MISSED
        yield self.finding(
            [doc_id for ids in self._members.values() for doc_id in ids],
            f"{result:,} of {total:,} documents {_SHARE} with another, in "
            f"{_count(len(self._members), 'group')}{more}: {named}{missed}",
        )


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
        # texts that are equal but for case and the like have rules of their own
        texts: dict[str, int] = {}
        order = [texts.setdefault(normalise_text(query.text), len(texts)) for query in queries]
        members: dict[int, list[str]] = defaultdict(list)
        for place in _in_groups(labels, np.array(order, np.uint64)).tolist():
            members[int(labels[place])].append(queries[place].query_id)
        if members:
            largest = sorted(members.values(), key=len, reverse=True)[:_SHOWN]
            more = "" if len(members) <= _SHOWN else "; the largest"
            yield self.finding(
                [query_id for ids in members.values() for query_id in ids],
                f"{sum(map(len, members.values())):,} of {len(queries):,} queries {_SHARE} "
                f"(function words aside) with another, in {_count(len(members), 'group')}{more}: "
                f"{', '.join(map(_name_group, largest))}{'' if exact else MISSED}",
            )


def _in_groups(labels: NDArray[np.int64], order: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The members of groups of two and more that are not all the same words in the same order."""
    if not len(labels):
        return np.empty(0, np.int64)
    by_label = np.lexsort((order, labels))
    same_label = labels[by_label][1:] == labels[by_label][:-1]
    differ = same_label & (order[by_label][1:] != order[by_label][:-1])
    wanted = np.unique(labels[by_label[1:][differ]])
    return np.flatnonzero(np.isin(labels, wanted))


def _name_group(ids: Sequence[str]) -> str:
    first = " and ".join(ids[:2])
    return first if len(ids) == 2 else f"{first} and {len(ids) - 2:,} more"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


class SplitOverlap(QueryRule):
    """Pairs and queries of the split under test that stand in another split, or nearly."""

    name = "split-overlap"
    severity = "error"
    unless = "for similar queries warning"
    finds = (
        "pairs or queries of the split under test that are in another split too, and queries that "
        "share at least 80% of their words with one of another split"
    )
    order = 130

    def findings(self) -> Iterator[Finding]:
        judgements = self.judgements
        split, pairs = judgements.split, {*_positives(judgements.qrels)}
        places: dict[str, int] = {}
        for place, query in enumerate(judgements.queries):
            places.setdefault(query.query_id, place)
        queries = [query_id for query_id in places if query_id in judgements.positives]
        for name, qrels in judgements.others.items():
            asked = np.zeros(len(judgements.queries), bool)
            asked[[places[q] for q, _ in _positives(qrels) if q in places]] = True
            if both := sorted(pairs.intersection(_positives(qrels))):
                same = len(both) == len(pairs) and pairs.issuperset(_positives(qrels))
                whole = "; the splits are the same" if same else ""
                yield self.finding(
                    list(dict.fromkeys(result for pair in both for result in pair)),
                    f"{len(both):,} of {len(pairs):,} pairs of a query and a relevant document in "
                    f"split {split} are also in split {name} ({both[0][0]} and {both[0][1]}, for "
                    f"one){whole}",
                )
            if shared := [query_id for query_id in queries if asked[places[query_id]]]:
                yield self.finding(
                    shared,
                    f"{len(shared):,} of {len(queries):,} queries of split {split} are also "
                    f"queries of split {name} ({shared[0]}, for one)",
                )
            own = [places[one] for one in queries if not asked[places[one]]]
            other = sorted(one for one, place in places.items() if asked[place])
            theirs = [places[one] for one in other if one not in judgements.positives]
            both_sides = MappedList(judgements.queries.__getitem__, [*own, *theirs])
            yield from _alike(both_sides, len(own), split, name, len(queries))


def _positives(qrels: Iterable[Qrel]) -> Iterator[tuple[str, str]]:
    return ((query_id, doc_id) for query_id, doc_id, score in qrels if score > 0)


def _alike(
    queries: Sequence[Query], own: int, split: str, name: str, total: int
) -> Iterator[Finding]:
    """Queries of two splits under two ids that ask for the same, or nearly. `own`: of the first."""
    pairs, exact = matches(query_sets(queries), own)
    if not len(pairs):
        return
    result = [(queries[a].query_id, queries[b].query_id) for a, b in np.asarray(pairs).tolist()]
    yield Finding(
        SplitOverlap.name,
        "warning",
        list(dict.fromkeys(query_id for pair in result for query_id in pair)),
        f"{len(result):,} of {total:,} queries of split {split} share at least 80% of their words "
        f"(function words aside) with a query of split {name} ({result[0][0]} and {result[0][1]}, "
        f"for one){'' if exact else MISSED}",
    )


_BATCH = 4096  # documents


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
                spool.add(batch.words())
                batch = Batch(0)
        spool.add(batch.words())
    yield from _overlap(name, "documents", ids, spool.sets(scratch), spool.order())
    queries = own.queries.read()[0], other.queries.read()[0]
    texts: dict[str, int] = {}
    order = [texts.setdefault(normalise_text(q.text), len(texts)) for some in queries for q in some]
    ids = [q.query_id for q in queries[0]], [q.query_id for q in queries[1]]
    sets = query_sets([*queries[0], *queries[1]])
    yield from _overlap(name, "queries", ids, sets, np.array(order, np.uint64))


def _overlap(
    name: str,
    what: str,
    ids: tuple[list[str], list[str]],
    sets: Sets,
    order: NDArray[np.uint64],
) -> Iterator[Finding]:
    """`order`: equal where texts differ in case, punctuation and white space at most."""
    first = len(ids[0])
    filled = sets.sizes > 0
    known, places = np.unique(order[first:], return_index=True)
    at = np.minimum(np.searchsorted(known, order[:first]), max(len(known) - 1, 0))
    equal = np.flatnonzero(filled[:first] & (known[at] == order[:first])) if len(known) else at[:0]
    pairs, exact = matches(sets, first)
    pairs = pairs[~np.isin(pairs[:, 0], equal)]
    both = (
        (equal, places[at[equal]], "apart from case, punctuation and white space", ""),
        (
            pairs[:, 0],
            pairs[:, 1] - first,
            "to four fifths of their words",
            "" if exact else MISSED,
        ),
    )
    for here, there, how, missed in both:
        if len(here):
            own, other = ids[0][here[0]], ids[1][there[0]]
            yield Finding(
                "overlap",
                "warning",
                [ids[0][place] for place in here.tolist()],
                f"{len(here):,} of {first:,} {what} are also in {name}, {how} ({own} is {other} "
                f"there, for one){missed}",
            )
