"""Queries that find their own document: whether one would be a fair answer, by the corpus alone.

A query is too general where BM25 ranks others before its own (a round trip, as of Promptagator,
arXiv 2209.11755); by rules also where another document has all its words. What people wrote in
other words than their document's is not judged so. And it is none where another document holds what
answers it, too: a chapter, and the manual that it is of.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from retgen.generators.capretrieval.language import fold_text
from retgen.generators.capretrieval.passages import Codes, Passage, shown_text, term_codes
from retgen.generators.capretrieval.queries import (
    FOUND,
    PassageQuery,
    content_codes,
    missing_words,
)
from retgen.on_disk import MappedList
from retgen.progress import Progress
from retgen.validators.capretrieval.wording import ALIKE

_RIVALS = 0.05  # of the documents; a language that fewer have makes any word look rare
# of the score of its own document, which no other may have where passages do not hold a title
_CLEAR = 0.9
_READ = 20  # passages of a ranking that are looked at
_COPY = 20  # words and stems that a copy shares at least
_BLOCK = 1024


def general_queries(
    queries: Sequence[PassageQuery],
    passages: Sequence[Passage],
    document_of: Sequence[int],
    stems: Sequence[Codes],
    lists: Sequence[bool],
    progress: Progress,
) -> dict[int, str]:
    """The numbers of the queries by rules and people that do not find their document, and why; none
    whose text another document is found with. `document_of`: a passage's number -> that of its
    document, ascending; `stems`: of each passage, and its words, sorted, each once; `lists`:
    whether one is links alone, such as an index, and so no answer to who asks for another document.
    """
    from retgen.evaluation.search.lexical import BM25Index, stem_all

    shown = MappedList(shown_text, passages)
    index = BM25Index(stem_all(shown[i : i + _BLOCK]) for i in range(0, len(passages), _BLOCK))
    owners = np.array(document_of)
    listing = np.flatnonzero(lists)
    languages = [sys.intern(one.language) for one in passages]
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    in_language = Counter(languages[i] for i in firsts.tolist())
    codes = term_codes(fold_text(one.text, languages[one.passage]) for one in queries)
    _, texts, counts = np.unique(codes, return_inverse=True, return_counts=True)
    by_text, ends = np.argsort(texts, kind="stable"), np.append(0, np.cumsum(counts))
    written_for = owners[[one.passage for one in queries]]
    linking = {one.found_in for one in queries}
    number_of = {
        one.source: owner
        for one, owner in zip(passages, document_of, strict=True) if one.source in linking
    }  # fmt: skip
    faults: dict[int, str] = {}
    blocks = (queries[i : i + _BLOCK] for i in range(0, len(queries), _BLOCK))
    asked = chain.from_iterable(index.terms([one.text for one in some]) for some in blocks)
    for number, (one, terms) in enumerate(zip(queries, asked, strict=True)):
        language = languages[one.passage]
        reason = ""
        if one.evidence != "model" and len(terms):
            others = {document_of[one.passage]}
            if one.evidence == FOUND:
                # those that this text was written for; of a link, the document that has its words
                # is no rival either
                same = slice(*ends[texts[number] : texts[number] + 2])
                others.update(written_for[by_text[same]].tolist())
                others.add(number_of.get(one.found_in, -1))
            own, clear = _answering(one, passages, owners), 1.0
            if not passages[one.passage].title:
                clear = _CLEAR
            scores = index.scores(terms)
            scores[listing[owners[listing] != document_of[one.passage]]] = 0
            reason = _fault(one, own, clear, scores, owners, others, language, stems)
            if one.evidence == "rules" and in_language[language] < _RIVALS * len(firsts):
                reason = f"only {in_language[language]:,} documents are in its language"
        if reason:
            faults[number] = sys.intern(reason)
        if number % 1000 == 0:
            progress("round trip", number, len(queries))
    faulty = np.bincount(texts[list(faults)], minlength=len(counts)) == counts
    return {number: reason for number, reason in faults.items() if faulty[texts[number]]}


def _answering(
    one: PassageQuery, passages: Sequence[Passage], owners: NDArray[np.int64]
) -> list[int]:
    """The passages of a query's document; of what people wrote, those that answer it."""
    low, high = np.searchsorted(owners, owners[one.passage] + np.arange(2)).tolist()
    every = list(range(low, high))
    if one.evidence != FOUND:
        return every
    return [i for i in every if passages[i].start <= one.span[0] < passages[i].stop] or every


def _fault(
    one: PassageQuery,
    answering: Sequence[int],
    clear: float,
    scores: NDArray[np.float32],
    owners: NDArray[np.int64],
    others: set[int],
    language: str,
    stems: Sequence[Codes],
) -> str:
    """Why a query is too general, "" where it is not."""
    words, own = content_codes(one.text, language), int(owners[one.passage])
    low, high = np.searchsorted(owners, (own, own + 1)).tolist()
    lacked = min(missing_words(words, stems[i]) for i in range(low, high))
    if one.evidence == FOUND and 2 * lacked >= words.shape[1]:
        return ""
    best = scores[answering].max()
    if before := set(owners[scores > best].tolist()) - others:
        return f"BM25 ranks {_others(before)} before its own"
    if near := set(owners[scores > clear * best].tolist()) - others:
        return f"BM25 ranks {_others(near)} close behind its own"
    last = np.partition(scores, -_READ)[-_READ] if len(scores) > _READ else 0.0
    ranked = np.flatnonzero((scores >= last) & (scores > 0)).tolist()
    rivals = {i: int(owners[i]) for i in ranked if int(owners[i]) not in others}
    answers = answering if one.evidence == FOUND else [one.passage]
    copied = {
        owner for i, owner in rivals.items() if any(_is_copy(stems[i], stems[j]) for j in answers)
    }
    if copied:
        return f"what answers it stands in {_others(copied)}, too"
    if one.evidence == FOUND:
        elsewhere = [i for i in range(low, high) if i not in answering and scores[i] >= best]
        if words.shape[1] == 1 and elsewhere:
            return "one word, and BM25 ranks another passage of its document before its own"
        return ""
    if one.kind == "summary" and scores[one.passage] < scores[low:high].max():
        return "BM25 ranks another passage of its document before its own"
    holding = {int(owners[i]) for i in ranked if not missing_words(words, stems[i])} - others
    return f"its words stand in {_others(holding)}" if holding else ""


def _others(documents: set[int]) -> str:
    count = len(documents)
    return "another document" if count == 1 else f"{count:,} other documents"


def _is_copy(one: Codes, other: Codes) -> bool:
    """Whether two passages agree in most of their words, of which short ones have too few."""
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared >= max(_COPY, ALIKE * (len(one) + len(other) - shared))
