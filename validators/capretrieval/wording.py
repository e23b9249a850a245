"""Which documents share their wording: near-duplicates, and filled-in templates.

Documents that a chain of alike ones connects stand on one side of a split. Where that leaves too
few to hold out, as among filled-in forms, only documents count that are more alike; that two are
directly alike still keeps one from being a negative where the other is a positive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.tokenizer import tokens
from retgen.validators.similar import groups
from retgen.validators.wordsets import word_sets

ALIKE = 0.7  # share of their words in which near-duplicates and shared templates agree
STEPS = (ALIKE, 0.8, 0.9, 1.0)


class Wording(NamedTuple):
    """What documents share. `groups`: (n,) a number each, shared by those that a chain of pairs
    connects which agree in `share` of their words; `words`: of each, where that is above `ALIKE`.
    """

    groups: NDArray[np.int64]
    share: float
    words: list[frozenset[str]]

    def directly(self, one: int, others: Iterable[int]) -> bool:
        """Whether a document agrees with one of the others in `ALIKE`, where groups say more."""
        return bool(self.words) and any(_agree(self.words[one], self.words[i]) for i in others)


def _agree(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and len(one & other) >= ALIKE * len(one | other) - 1e-9


def wording(texts: Sequence[str], share: float = ALIKE) -> Wording:
    """The wording of texts by a stated share of words."""
    words = [frozenset(tokens(text)) for text in texts] if share > ALIKE else []
    return Wording(groups(word_sets(map(tokens, texts)), share)[0], share, words)


def apart(texts: Sequence[str], held_out: int) -> Wording:
    """By the lowest share of `STEPS` that leaves so many outside the largest group, or the last."""
    for share in STEPS:
        result = wording(texts, share)
        largest = int(np.bincount(result.groups).max()) if len(texts) else 0
        if len(texts) - largest >= max(1, held_out):
            break
    return result
