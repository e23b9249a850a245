"""Find scored queries that their words alone do not tie to one document.

A query is ambiguous where another document holds what answers it, or all its content words: any
other document for a query by rules, many for words that people wrote, since a title or a heading
says what its document is about. No retriever is asked: one that is scored on the queries must not
choose them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from retgen.generators.capretrieval.language import fold_text
from retgen.generators.capretrieval.passages import Codes, Passage, shown_text, term_codes
from retgen.generators.capretrieval.queries import FOUND, PassageQuery, content_codes
from retgen.progress import Progress
from retgen.tokenizer import tokens
from retgen.validators.capretrieval.wording import ALIKE
from retgen.validators.similar import groups
from retgen.validators.wordsets import word_sets

_RIVALS = 0.05  # of the documents; a language that fewer have makes any word look rare
_COPY = 20  # words that a passage has at least to be a copy of another one

Numbers = NDArray[np.int64]


def ambiguous_queries(
    queries: Sequence[PassageQuery],
    passages: Sequence[Passage],
    document_of: Sequence[int],
    stems: Sequence[Codes],
    lists: Sequence[bool],
    most: int,
    progress: Progress,
) -> dict[int, str]:
    """Return the ambiguous queries by rules and people: their numbers, and why.

    A text that several queries share is ambiguous only if all of them are. `document_of`: a
    passage's number -> that of its document, ascending; `stems`: of each passage, and its words,
    sorted, each once; `lists`: whether a passage is links alone, such as an index, which answers
    nothing; `most`: other documents that may hold all words of what people wrote.
    """
    owners, languages = np.array(document_of), [sys.intern(one.language) for one in passages]
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    in_language = Counter(languages[i] for i in firsts.tolist())
    codes = term_codes(fold_text(one.text, languages[one.passage]) for one in queries)
    _, texts, counts = np.unique(codes, return_inverse=True, return_counts=True)
    by_text, ends = np.argsort(texts, kind="stable"), np.append(0, np.cumsum(counts))
    written_for = owners[[one.passage for one in queries]]
    linking = {one.found_in for one in queries}
    number_of = {
        one.source: owner
        for one, owner in zip(passages, document_of, strict=True)
        if one.source in linking
    }
    words = [content_codes(one.text, languages[one.passage]) for one in queries]
    held = _Postings(stems, words)
    copied = _copied_in(passages, owners)
    faults: dict[int, str] = {}
    for number, one in enumerate(queries):
        if number % 1000 == 0:
            progress("ambiguous queries", number, len(queries))
        if one.evidence == "model":
            continue
        own, allowed = int(owners[one.passage]), 0
        answering: Sequence[int] = [one.passage]
        others = {own}
        if one.evidence == FOUND:
            # documents that this text was written for too, and the one that links by these words
            same = slice(*ends[texts[number] : texts[number] + 2])
            others.update(written_for[by_text[same]].tolist(), [number_of.get(one.found_in, -1)])
            answering, allowed = _answering(one, passages, owners), most
        elsewhere = set().union(*(copied.get(i, ()) for i in answering)) - others
        rivals = [i for i in held.holding(words[number]).tolist() if not lists[i]]
        holding = {int(owners[i]) for i in rivals} - others
        known = in_language[languages[one.passage]]
        if one.evidence == "rules" and known < _RIVALS * len(firsts):
            faults[number] = sys.intern(f"only {known:,} documents are in its language")
        elif elsewhere:
            faults[number] = f"what answers it stands in {_others(elsewhere)}, too"
        elif len(holding) > allowed:
            faults[number] = f"its words stand in {_others(holding)}"
    faulty = np.bincount(texts[list(faults)], minlength=len(counts)) == counts
    return {number: reason for number, reason in faults.items() if faulty[texts[number]]}


class _Postings:
    """The passages that hold each word of some queries, by the word as it is and by its stem."""

    def __init__(self, stems: Iterable[Codes], queries: Sequence[Codes]) -> None:
        """`queries`: (2, n) content words of each (`content_codes`)."""
        every = [one.ravel() for one in queries]
        self._words = np.unique(np.concatenate([np.empty(0, np.uint64), *every]))
        places, owners = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for number, held in enumerate(stems):
            at = np.searchsorted(self._words, held)
            known = at[at < len(self._words)]
            places.append(known[self._words[known] == held[: len(known)]])
            owners.append(np.full(len(places[-1]), number))
        place = np.concatenate(places)
        order = np.argsort(place, kind="stable")
        self._passages = np.concatenate(owners)[order]
        self._starts = np.searchsorted(place[order], np.arange(len(self._words) + 1))

    def holding(self, words: Codes) -> Numbers:
        """Return the passages that hold all of a query's (2, n) content words, ascending."""
        if not words.size:
            return np.empty(0, np.int64)
        return reduce(
            lambda one, other: np.intersect1d(one, other, assume_unique=True),
            (np.union1d(*map(self._of, both)) for both in words.T),
        )

    def _of(self, word: np.uint64) -> Numbers:
        at = int(np.searchsorted(self._words, word))
        return self._passages[self._starts[at] : self._starts[at + 1]]


def _copied_in(passages: Sequence[Passage], owners: Numbers) -> dict[int, set[int]]:
    """Map each passage that has a near-copy in another document to the documents with one."""
    words = (tokens(shown_text(one)) for one in passages)
    groups_of = groups(word_sets(one if len(one) >= _COPY else [] for one in words), ALIKE)[0]
    order = np.argsort(groups_of, kind="stable")
    edges = np.flatnonzero(np.diff(groups_of[order])) + 1
    result = dict[int, set[int]]()
    for group in np.split(order, edges):
        documents = set(owners[group].tolist())
        if len(documents) > 1:
            result |= dict.fromkeys(group.tolist(), documents)
    return result


def _answering(one: PassageQuery, passages: Sequence[Passage], owners: Numbers) -> Sequence[int]:
    """Return the passages of a query's document that hold the start of what it rests on."""
    low, high = np.searchsorted(owners, owners[one.passage] + np.arange(2)).tolist()
    every = range(low, high)
    return [i for i in every if passages[i].start <= one.span[0] < passages[i].stop] or every


def _others(documents: set[int]) -> str:
    count = len(documents)
    return "another document" if count == 1 else f"{count:,} other documents"
