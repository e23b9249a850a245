"""A candidate set: a query and the few documents that are compared under it."""

from __future__ import annotations

from typing import NamedTuple


class CandidateSet(NamedTuple):
    """A query and its candidates. `corpus`: which collection these are part of, for scorers that
    count words over all documents of one: "" the data set's own.
    """

    query: str
    texts: tuple[str, ...]
    corpus: str = ""
