"""Which documents share their wording: near-duplicates, filled-in templates, copies within others.

Documents that a chain of alike ones connects stand on one side of a split. Where that leaves too
few to hold out, as among filled-in forms, only documents count that are more alike; that two are
directly alike still keeps one from being a negative where the other is a positive.

A chapter and the manual that holds it agree in few of their words. What one holds of another is
found by runs of words (w-shingling; Broder, On the Resemblance and Containment of Documents, 1997),
of which one in `_SAMPLED` is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.tokenizer import tokens
from retgen.validators.similar import Sets, groups, word_runs, word_sets

ALIKE = 0.7  # share of their words in which near-duplicates and shared templates agree
STEPS = (ALIKE, 0.8, 0.9, 1.0)
_RUN, _SAMPLED = 8, 4  # words of a run; of so many runs one is looked at, by its hash
_FEWEST = 8  # runs that are looked at of a document that may be a copy: some 40 words
_COPIED = 0.5  # share of the runs of the shorter of two documents, which make it a copy
_SHARED = 20  # documents that hold a run which is no licence, no footer
_AT_ONCE = 4096  # documents whose runs are looked up together


class Wording(NamedTuple):
    """What documents share. `groups`: (n,) a number each, shared by those that a chain of pairs
    connects which agree in `share` of their words, or, where that is less than all, of which one
    holds most of the other; `words`: of each.
    """

    groups: NDArray[np.int64]
    share: float
    words: Sets

    def near(self, one: int, others: Sequence[int]) -> bool:
        """Whether a document has the number of one of the others, or agrees with it in `ALIKE`."""
        same = any(self.groups[one] == self.groups[i] for i in others)
        return same or (self.share > ALIKE and any(self._agree(one, i) for i in others))

    def _agree(self, one: int, other: int) -> bool:
        own, its = self.words[one], self.words[other]
        shared = len(np.intersect1d(own, its, assume_unique=True))
        return len(own) > 0 and shared >= ALIKE * (len(own) + len(its) - shared) - 1e-9


def wording(texts: Iterable[str], shares: Sequence[float] = (ALIKE,), held_out: int = 0) -> Wording:
    """The wording of texts by the first of some shares of words that leaves so many texts outside
    the largest group, or the last. `texts` is gone through twice.
    """
    words, copied = word_sets(map(tokens, texts)), copies(texts)
    for share in shares:
        known = copied if share < STEPS[-1] else None
        result = Wording(groups(words, share, known)[0], share, words)
        largest = int(np.bincount(result.groups).max()) if len(words) else 0
        if len(words) - largest >= max(1, held_out):
            break
    return result


def copies(texts: Iterable[str]) -> NDArray[np.int64]:
    """(m, 2) documents of which one holds half and more of the other, word for word."""
    from scipy.sparse import csr_array

    runs = word_runs(map(tokens, texts), _RUN, _SAMPLED)
    owners = np.repeat(np.arange(len(runs)), runs.sizes)
    kinds, columns, counts = np.unique(runs.words, return_inverse=True, return_counts=True)
    documents = counts[columns]
    sizes = runs.sizes - np.bincount(owners[documents > _SHARED], minlength=len(runs))
    shared = (documents > 1) & (documents <= _SHARED) & (sizes[owners] >= _FEWEST)
    ones = np.ones(np.count_nonzero(shared), np.int32)
    held = csr_array((ones, (owners[shared], columns[shared])), (len(runs), len(kinds)))
    others, found = held.T.tocsr(), [np.empty((0, 2), np.int64)]
    for first in range(0, len(runs), _AT_ONCE):
        both = (held[first : first + _AT_ONCE] @ others).tocoo()
        one, other = both.coords
        one = one + first
        copied = (one < other) & (both.data >= _COPIED * np.minimum(sizes[one], sizes[other]))
        found.append(np.stack([one[copied], other[copied]], 1).astype(np.int64))
    return np.concatenate(found)
