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
from retgen.validators.similar import groups
from retgen.validators.wordsets import word_runs, word_sets

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
    holds most of the other; `words`: of each, where the share is above `ALIKE`.
    """

    groups: NDArray[np.int64]
    share: float
    words: list[frozenset[str]]

    def directly(self, one: int, others: Iterable[int]) -> bool:
        """Whether a document agrees with one of the others in `ALIKE`, where groups say more."""
        return bool(self.words) and any(_agree(self.words[one], self.words[i]) for i in others)


def _agree(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and len(one & other) >= ALIKE * len(one | other) - 1e-9


def wording(
    texts: Sequence[str], share: float = ALIKE, copied: NDArray[np.int64] | None = None
) -> Wording:
    """The wording of texts by a stated share of words. `copied`: their `copies`, where known."""
    words = [frozenset(tokens(text)) for text in texts] if share > ALIKE else []
    if share == STEPS[-1]:
        copied = None
    elif copied is None:
        copied = copies(texts)
    return Wording(groups(word_sets(map(tokens, texts)), share, copied)[0], share, words)


def copies(texts: Sequence[str]) -> NDArray[np.int64]:
    """(m, 2) documents of which one holds half and more of the other, word for word."""
    from scipy.sparse import csr_array

    owners, runs = word_runs(map(tokens, texts), _RUN, _SAMPLED)
    _, columns, counts = np.unique(runs, return_inverse=True, return_counts=True)
    kept = counts[columns] <= _SHARED
    sizes = np.bincount(owners[kept], minlength=len(texts))
    kept &= sizes[owners] >= _FEWEST
    if not kept.any():
        return np.empty((0, 2), np.int64)
    shape = len(texts), len(counts)
    held = csr_array((np.ones(int(kept.sum()), np.int32), (owners[kept], columns[kept])), shape)
    others, found = held.T.tocsr(), [np.empty((0, 2), np.int64)]
    for first in range(0, len(texts), _AT_ONCE):
        shared = (held[first : first + _AT_ONCE] @ others).tocoo()
        one, other = shared.coords
        one = one + first
        copied = (one < other) & (shared.data >= _COPIED * np.minimum(sizes[one], sizes[other]))
        found.append(np.stack([one[copied], other[copied]], 1).astype(np.int64))
    return np.concatenate(found)


def apart(texts: Sequence[str], held_out: int) -> Wording:
    """By the lowest share of `STEPS` that leaves so many outside the largest group, or the last."""
    copied = copies(texts)
    for share in STEPS:
        result = wording(texts, share, copied)
        largest = int(np.bincount(result.groups).max()) if len(texts) else 0
        if len(texts) - largest >= max(1, held_out):
            break
    return result
