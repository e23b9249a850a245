"""Near-duplicates: documents, or queries, that share at least four fifths of their words.

Texts are compared as sets of words (Jaccard similarity), so an order of words tells none apart.
Queries are short, and many have words in common that ask for nothing: function words are left out
(but words that negate), and the words of a template, which stand in many queries, weigh little
beside the one word that tells two of them apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset, Query
from retgen.tokenizer import STOPWORDS, stems, tokens, unspaced
from retgen.validators.corpus import normalised
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements
from retgen.validators.similar import groups, matches
from retgen.validators.wordsets import Sets, WordSets, word_sets

_BATCH = 4096  # documents
_SHOWN = 3  # groups
_NEGATIONS = frozenset({"no", "nor", "not", "without", "never"})
_COMMON = STOPWORDS - _NEGATIONS
_SHARE = "share at least 80% of their words"


class NearDuplicates(CorpusRule):
    """Documents in groups, each similar to another one of its group. Eight bytes a word, on disk.

    Texts that differ in case, punctuation or white space only are the business of other rules.
    """

    name = "near-duplicate"

    def __init__(self) -> None:
        self.scratch: str | None = None
        self.exact = True
        self._places: dict[int, int] = {}  # document -> group
        self._members: dict[int, list[str]] = defaultdict(list)
        self.start()

    def start(self) -> None:
        self.state: WordSets = WordSets(self.scratch)

    def scan(self, batch: Batch) -> None:
        self.state.scratch = self.scratch
        self.state.add(batch.words())

    def suspicious(self) -> bool:
        labels, self.exact = groups(self.state.sets())
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
        found = sum(map(len, self._members.values()))
        largest = sorted(self._members.values(), key=len, reverse=True)[:_SHOWN]
        named = ", ".join(_shown(ids) for ids in largest)
        more = "" if len(self._members) <= _SHOWN else "; the largest"
        missed = "" if self.exact else "; a few more may have been missed among so many"
        yield Finding(
            self.name,
            "warning",
            [doc_id for ids in self._members.values() for doc_id in ids],
            f"{found:,} of {total:,} documents {_SHARE} with another, in "
            f"{_count(len(self._members), 'group')}{more}: {named}{missed}",
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


def _shown(ids: Sequence[str]) -> str:
    first = " and ".join(ids[:2])
    return first if len(ids) == 2 else f"{first} and {len(ids) - 2:,} more"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


# --- queries ----------------------------------------------------------------------------------


def query_sets(queries: Sequence[Query]) -> Sets:
    """What queries are compared by: stems, and no function words unless there are no others.

    Of scripts without spaces pairs of characters, which count half: a word of two characters
    stands in two pairs or more.
    """
    texts = []
    for query in queries:
        words = _without_characters_of_pairs(tokens(query.text))
        texts.append(stems([word for word in words if word not in _COMMON] or words))
    sets = word_sets(texts)
    halves = word_sets([[word for words in texts for word in words if unspaced(word)]])
    return replace(sets, weights=np.where(np.isin(sets.words, halves.words), 0.5, 1.0))


def _without_characters_of_pairs(words: list[str]) -> list[str]:
    if not any(map(unspaced, words)):
        return words
    around = ["", *words, ""]
    return [
        word
        for before, word, after in zip(around, words, around[2:], strict=False)
        if not unspaced(word)
        or not (
            (len(after) > len(word) and after.startswith(word) and unspaced(after))
            or (len(before) > len(word) and before.endswith(word) and unspaced(before))
        )
    ]


def near_duplicate_queries(judgements: Judgements) -> Iterator[Finding]:
    """Queries of one table that ask for nearly the same in other words."""
    queries = judgements.queries
    labels, _ = groups(query_sets(queries))
    # texts that are equal but for case and the like have rules of their own
    texts: dict[str, int] = {}
    order = [texts.setdefault(normalised(query.text), len(texts)) for query in queries]
    members: dict[int, list[str]] = defaultdict(list)
    for place in _in_groups(labels, np.array(order, np.uint64)).tolist():
        members[int(labels[place])].append(queries[place].query_id)
    if members:
        largest = sorted(members.values(), key=len, reverse=True)[:_SHOWN]
        more = "" if len(members) <= _SHOWN else "; the largest"
        yield Finding(
            "near-duplicate-query",
            "warning",
            [query_id for ids in members.values() for query_id in ids],
            f"{sum(map(len, members.values())):,} of {len(queries):,} queries {_SHARE} (function "
            f"words aside) with another, in {_count(len(members), 'group')}{more}: "
            + ", ".join(map(_shown, largest)),
        )


# --- another data set -------------------------------------------------------------------------


def overlap(own: Dataset, other: Dataset, name: str, scratch: str) -> Iterator[Finding]:
    """Documents and queries that another data set, called `name`, holds too, or nearly.

    The ids of a finding are those of `own`.
    """
    spool = WordSets(scratch)
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
    yield from _overlap(name, "documents", ids, spool.sets(), spool.order())
    queries = own.read_queries()[0], other.read_queries()[0]
    texts: dict[str, int] = {}
    order = [texts.setdefault(normalised(q.text), len(texts)) for some in queries for q in some]
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
            "" if exact else "; a few more may have been missed among so many",
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
