"""Which documents hold what, so that every operator has every number of answers.

A document holds some of a query's attributes: only A, only B, or both. Some of these combinations
answer the query, and share its answers. Each other one stands in as many documents as the query
has answers. So the operator decides nothing but which of them are relevant, and what ignores it
meets as many documents in the way for one answer as for fifty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.errors import RecipeError
from retgen.generators.limit.params import Factorial, Operator
from retgen.streams import Stream

NOBODY = -1  # in place of an attribute or a document, where a row has fewer than others


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


def asked_attributes(params: Factorial) -> int:
    """How many attributes all queries ask for; each has its own."""
    return sum(MEANINGS[operator].attributes for operator, _ in params.cells())


def check(params: Factorial) -> None:
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


def place(params: Factorial, seed: int) -> Placed:
    """Deal documents to the combinations of every row's attributes."""
    deck = _Deck(Stream(seed, "limit/combinations"), params.docs)
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


class _Deck:
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
