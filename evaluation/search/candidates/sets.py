"""A candidate set: a query and the few documents that are compared under it; who scores higher."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class CandidateSet(NamedTuple):
    """A query and its candidates. `corpus`: which collection these are part of, for scorers that
    count words over all documents of one: "" the data set's own.
    """

    query: str
    texts: tuple[str, ...]
    corpus: str = ""


def share_won(first: Array, second: Array, noise: float) -> Array:
    """1 where `first` is higher, 0.5 where they tie within the relative tolerance, else 0."""
    apart = first - second
    tied = np.abs(apart) <= noise * np.maximum(np.abs(first), np.abs(second))
    return np.asarray(np.where(tied, 0.5, (apart > 0).astype(np.float64)))
