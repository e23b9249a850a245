"""Which documents hold what, where attributes are shared: with operators, and in balanced sets.

With operators every operator has every number of answers. A document holds some of a query's
attributes: only A, only B, or both. Some of these combinations answer the query, and share its
answers. Each other one stands in as many documents as the query has answers. So the operator
decides nothing but which of them are relevant, and what ignores it meets as many documents in the
way for one answer as for fifty.

A balanced set has no query-blind shortcut. Every query asks for a pair of attributes of one pool.
Every attribute stands in the same number of documents; a pair that is asked stands together only in
its relevant documents. So the summed IDF, the number of asked attributes and the number of asked
pairs are the same for every document.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.errors import RecipeError
from retgen.generators.limit.params import FactorialPattern, Operator
from retgen.qrels import QrelMatrix, patterns
from retgen.streams import Stream

NOBODY = -1  # in place of an attribute or a document, where a row has fewer than others
_TRIES = 20
_STEPS = 200_000  # a bound on repairs, so that an unlucky recipe ends with an error


# --- operators ------------------------------------------------------------------------------------


class _Meaning(NamedTuple):
    """Of an operator. Combinations are sums of 1 (A), 2 (B) and 4 (C).

    `hard`: combinations that miss one condition; after "not" only those that meet all but it.
    """

    attributes: int
    answers: tuple[int, ...]
    hard: tuple[int, ...]

    def others(self) -> list[int]:
        """Combinations that do not answer the query."""
        return [one for one in range(1, 1 << self.attributes) if one not in self.answers]


MEANINGS: Mapping[Operator, _Meaning] = {
    "and": _Meaning(2, (3,), (1, 2)),
    "or": _Meaning(2, (1, 2, 3), ()),
    "and-not": _Meaning(2, (1,), (3,)),
    "and-and-not": _Meaning(3, (3,), (7,)),
}


def asked_attributes(params: FactorialPattern) -> int:
    """How many attributes all queries ask for; each has its own."""
    return sum(MEANINGS[operator].attributes for operator, _ in params.cells())


def check_places(params: FactorialPattern) -> None:
    """Whether there are documents for all answers and all that is in their way."""
    if params.catalogue.split == "train":
        raise RecipeError(
            "params.catalogue.split: queries with operators make no training pairs; use split test "
            "or all, or train on another pattern"
        )
    places = 0
    for operator, size in params.cells():
        meaning, counts = MEANINGS[operator], _counts(operator, size)
        if sum(counts.values()) > params.docs:
            needed = sum(counts.values())
            why = f": {size:,} for each of the {len(counts)} combinations of its attributes"
            raise RecipeError(
                f"params.answer_sizes: a query of '{operator}' with {size:,} answers needs "
                f"{needed:,} documents{why if meaning.others() else ''}; docs is {params.docs:,}"
            )
        places += sum(count * one.bit_count() for one, count in counts.items())
    if places > (room := params.docs * params.attributes_per_doc):
        least = -(-places // params.attributes_per_doc)
        raise RecipeError(
            f"params.docs: {params.docs:,} documents of {params.attributes_per_doc} attributes "
            f"have {room:,} places; the queries' attributes stand in {places:,}. Ask for more than "
            f"{least:,} documents, for fewer queries_per_cell, or for smaller answer_sizes"
        )


class Placed(NamedTuple):
    """Which documents hold what, as corpus positions.

    `owners`, `held` (n,): a document, and the place of an attribute among those asked. `rows`,
    `answers` (m,): a row, and a document relevant to it. `hard` (rows, most): documents judged not
    relevant; `NOBODY` where a row has fewer. `asked` (rows, 3): places of attributes, likewise.
    """

    owners: NDArray[np.int64]
    held: NDArray[np.int64]
    rows: NDArray[np.int64]
    answers: NDArray[np.int64]
    hard: NDArray[np.int64]
    asked: NDArray[np.int64]


def place_attributes(params: FactorialPattern, seed: int) -> Placed:
    """Deal documents to the combinations of every row's attributes."""
    deck = Deck(Stream(seed, "limit/combinations"), params.docs)
    cells = list(params.cells())
    asked = np.full((len(cells), 3), NOBODY, np.int64)
    owners: list[int] = []
    held: list[int] = []
    rows: list[int] = []
    answers: list[int] = []
    hard: list[list[int]] = []
    free = 0
    for row, (operator, size) in enumerate(cells):
        meaning, counts = MEANINGS[operator], _counts(operator, size)
        mine = range(free, free + meaning.attributes)
        free = mine.stop
        asked[row, : len(mine)] = mine
        dealt = deck.deal(sum(counts.values()))
        refused: list[int] = []
        for one, count in counts.items():
            documents, dealt = dealt[:count], dealt[count:]
            for bit, attribute in enumerate(mine):
                if one >> bit & 1:
                    owners += documents
                    held += [attribute] * count
            if one in meaning.answers:
                answers += documents
                rows += [row] * count
            elif one in meaning.hard:
                refused += documents
        hard.append(refused)
    width = max(map(len, hard))
    padded = [refused + [NOBODY] * (width - len(refused)) for refused in hard]
    return Placed(
        np.array(owners, np.int64),
        np.array(held, np.int64),
        np.array(rows, np.int64),
        np.array(answers, np.int64),
        np.array(padded, np.int64).reshape(len(cells), width),
        asked,
    )


def _counts(operator: Operator, size: int) -> dict[int, int]:
    """Documents of each combination: answers as evenly as they go, of the others `size` each."""
    meaning = MEANINGS[operator]
    # a single answer holds all, or somebody would be asked for what nobody likes
    able = meaning.answers if size > 1 else meaning.answers[-1:]
    result = {one: (size + len(able) - 1 - i) // len(able) for i, one in enumerate(able)}
    return result | dict.fromkeys(meaning.others(), size)


class Deck:
    """Documents in a random order, no one again before all have been dealt."""

    def __init__(self, stream: Stream, documents: int) -> None:
        self.stream = stream
        self.documents = documents
        self.left = np.empty(0, np.int64)

    def deal(self, count: int) -> list[int]:
        """`count` different ones."""
        if len(self.left) < count:
            fresh = self.stream.permutation(self.documents)
            again = np.isin(fresh, self.left)
            self.left = np.concatenate([self.left, fresh[~again], fresh[again]])
        result, self.left = self.left[:count], self.left[count:]
        return list(map(int, result))


# --- balanced sets --------------------------------------------------------------------------------


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
