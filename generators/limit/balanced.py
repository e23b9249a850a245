"""Balanced sets, which have no query-blind shortcut.

Every query asks for a pair of attributes of one pool. Every attribute stands in the same number of
documents; a pair that is asked stands together only in its relevant documents. So the summed IDF,
the number of asked attributes and the number of asked pairs are the same for every document.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retgen.errors import RecipeError
from retgen.qrels import QrelMatrix, patterns
from retgen.streams import Stream

_TRIES = 20
_STEPS = 200_000  # a bound on repairs, so that an unlucky recipe ends with an error


def balanced_sets(
    matrix: QrelMatrix, pool: int, per_document: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(pairs (queries, 2), sets (documents, per_document)): attributes 0..pool-1.

    Raises `RecipeError` with the bound for what cannot be, or was not found.
    """
    queries, documents = matrix.queries, matrix.documents
    slots = documents * per_document
    for total, what in ((2 * queries, "2 x queries"), (slots, "docs x attributes_per_doc")):
        if total % pool:
            raise RecipeError(
                f"params.form.pool: every attribute must stand equally often, so pool must divide "
                f"{what} = {total:,}; {pool} does not. Possible: {_divisors(2 * queries, slots)}"
            )
    if per_document > pool:
        raise RecipeError(
            f"params.attributes_per_doc: {per_document} attributes from a pool of {pool}"
        )
    for attempt in range(_TRIES):
        stream = Stream(seed, f"limit/balanced/{attempt}")
        pairs = _pairs(queries, pool, stream)
        partners = np.zeros((pool, pool), bool)
        partners[pairs[:, 0], pairs[:, 1]] = partners[pairs[:, 1], pairs[:, 0]] = True
        required = _assign(matrix, pairs, partners, stream)
        if required is None or required.sum(axis=1).max() > per_document:
            continue
        held = _fill(required, partners, per_document, slots // pool, stream)
        if held is not None:
            order = np.argsort(~held, axis=1, kind="stable")[:, :per_document]
            return pairs, order.astype(np.int64)
    raise RecipeError(
        f"params: no balanced set of {documents:,} documents with {per_document} of {pool} "
        f"attributes was found in {_TRIES} tries; use a larger pool or fewer attributes_per_doc"
    )


def _divisors(*numbers: int) -> str:
    common = int(np.gcd.reduce(numbers))
    fitting = [n for n in range(4, common + 1) if common % n == 0]
    return ", ".join(map(str, fitting)) or "none"


def _pairs(queries: int, pool: int, stream: Stream) -> NDArray[np.int64]:
    """Distinct pairs, every attribute in equally many: (queries, 2)."""
    graph = patterns.regular(queries, 2, pool, stream)
    pairs: NDArray[np.int64] = graph.indices.reshape(queries, 2).astype(np.int64)
    return pairs


def _assign(
    matrix: QrelMatrix,
    pairs: NDArray[np.int64],
    partners: NDArray[np.bool_],
    stream: Stream,
) -> NDArray[np.bool_] | None:
    """Shuffle `pairs` in place over the queries until no document holds another asked pair.

    Returns what the documents must hold, bool (documents, pool).
    """
    queries, documents = matrix.queries, matrix.documents
    by_document = [[] for _ in range(documents)]  # type: list[list[int]]
    for row in range(queries):
        for document in matrix.row(row).tolist():
            by_document[document].append(row)

    def holdings(document: int) -> NDArray[np.int64]:
        return np.unique(pairs[by_document[document]])

    def excess(document: int) -> int:
        held = holdings(document)
        return int(partners[np.ix_(held, held)].sum()) // 2 - len(by_document[document])

    surplus = np.array([excess(document) for document in range(documents)])
    for _ in range(_STEPS):
        bad = np.flatnonzero(surplus)
        if not len(bad):
            required = np.zeros((documents, len(partners)), bool)
            for document in range(documents):
                required[document, holdings(document)] = True
            return required
        rows = by_document[bad[0]]
        mine = rows[int(stream.integers(len(rows), 1)[0])]
        other = int(stream.integers(queries, 1)[0])
        touched = sorted({*matrix.row(mine).tolist(), *matrix.row(other).tolist()})
        pairs[[mine, other]] = pairs[[other, mine]]
        after = np.array([excess(document) for document in touched])
        if after.sum() <= surplus[touched].sum():
            surplus[touched] = after
        else:
            pairs[[mine, other]] = pairs[[other, mine]]
    return None


def _fill(
    required: NDArray[np.bool_],
    partners: NDArray[np.bool_],
    per_document: int,
    frequency: int,
    stream: Stream,
) -> NDArray[np.bool_] | None:
    """Fill documents to `per_document`, attributes to `frequency`, without a new asked pair."""
    held = required.copy()
    documents, pool = held.shape
    room = per_document - held.sum(axis=1)
    need = frequency - held.sum(axis=0)
    if need.min() < 0:
        return None

    def fits(attribute: int) -> NDArray[np.bool_]:
        """Documents that may take the attribute, room or not: (documents,)."""
        blocked: NDArray[np.bool_] = held[:, attribute] | held[:, partners[attribute]].any(axis=1)
        return ~blocked

    for attribute in stream.permutation(pool).tolist():
        tie = stream.permutation(documents)
        candidates = np.flatnonzero(fits(attribute) & (room > 0))
        # emptiest documents first keeps the room even, which leaves the fewest dead ends
        best = candidates[np.lexsort((tie[candidates], -room[candidates]))][: need[attribute]]
        held[best, attribute] = True
        room[best] -= 1
        need[attribute] -= len(best)
    for _ in range(_STEPS):
        open_documents, open_attributes = np.flatnonzero(room), np.flatnonzero(need)
        if not len(open_documents):
            return held
        document = int(open_documents[int(stream.integers(len(open_documents), 1)[0])])
        attribute = int(open_attributes[int(stream.integers(len(open_attributes), 1)[0])])
        hosts = np.flatnonzero(fits(attribute))
        if document in hosts:
            held[document, attribute] = True
        elif not _exchange(held, required, partners, document, attribute, hosts, stream):
            return None
        room[document] -= 1
        need[attribute] -= 1
    return None


def _exchange(
    held: NDArray[np.bool_],
    required: NDArray[np.bool_],
    partners: NDArray[np.bool_],
    document: int,
    attribute: int,
    hosts: NDArray[np.int64],
    stream: Stream,
) -> bool:
    """Give `attribute` to a host, which hands one of its free attributes to `document`."""
    blocked = held[document] | partners[held[document]].any(axis=0)
    for host in hosts[stream.permutation(len(hosts))].tolist():
        movable = np.flatnonzero(held[host] & ~required[host] & ~blocked)
        for moved in movable.tolist():
            # the host must not keep a partner of what it takes; `hosts` has seen to that
            held[host, moved] = False
            held[document, moved] = True
            held[host, attribute] = True
            return True
    return False
