"""What two data sets have in common: a benchmark's documents and queries belong to it alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset
from retgen.validators.duplicates import normalise_text
from retgen.validators.rule import Batch, Finding
from retgen.validators.similar import MISSED, matches
from retgen.validators.wordsets import Sets, WordSets, query_sets

_BATCH = 4096  # documents


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
