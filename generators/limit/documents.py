"""From a latent qrel matrix to documents: which of them must hold which attributes.

Columns of the matrix are the relevant documents; they are scattered over the corpus. Every query
gets attributes of its own, which exactly its documents hold (paper, §5.2); documents are filled up
with attributes that no query asks for.

With operators every operator has every number of answers. A document holds some of a query's
attributes: only A, only B, or both. Some of these combinations answer the query, and share its
answers. Each other one stands in as many documents as the query has answers. So the operator
decides nothing but which of them are relevant, and what ignores it meets as many documents in the
way for one answer as for fifty.

A balanced set has no query-blind shortcut: see `balanced`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.errors import RecipeError
from retgen.generators.limit.balanced import balanced_sets
from retgen.generators.limit.params import (
    BalancedForm,
    ConditionsForm,
    FactorialPattern,
    LimitParams,
    Operator,
)
from retgen.qrels import QrelMatrix, patterns
from retgen.streams import Permutation, Stream

Ints = NDArray[np.int64]
NOBODY = -1  # in place of an attribute or a document, where a row has fewer than others
_DRAWN = ("dense", "random", "regular")  # patterns whose function draws


class Latent(NamedTuple):
    """Who must hold what. Attributes are indices into the list that the recipe may use.

    `matrix`: rows are matrix rows, columns latent documents. `positions` (columns,): where each
    column stands in the corpus. `asked` (rows, 1 to 3): attributes of each row. `special` (s,):
    corpus positions, ascending, of the documents with attributes that they must hold, which are
    `held[starts[i]:starts[i + 1]]`; `column` (s,): their matrix column, -1 for none. `fillers`:
    attributes that no query asks for. `negatives` (rows, most): corpus positions of
    hard negatives. Where a row of a factorial has fewer attributes or negatives, -1 stands there.
    """

    matrix: QrelMatrix
    positions: Ints
    asked: Ints
    special: Ints
    starts: Ints
    held: Ints
    column: Ints
    fillers: Ints
    negatives: Ints


def _build_matrix(params: LimitParams, seed: int) -> QrelMatrix:
    """The latent matrix of the recipe's pattern, checked against `docs`."""
    drawn = {"rng": Stream(seed, "limit/matrix")} if params.pattern in _DRAWN else {}
    matrix: QrelMatrix = getattr(patterns, params.pattern)(**params.sizes(), **drawn)
    if params.pattern == "random":
        matrix = matrix.positives_only()[0]
    if matrix.documents > params.docs:
        raise RecipeError(
            f"params.docs: {matrix.queries:,} {params.pattern} queries need {matrix.documents:,} "
            f"relevant documents; docs is {params.docs:,}"
        )
    return matrix


def build_latent(
    params: LimitParams, seed: int, available: int, first: Sequence[int] = ()
) -> Latent:
    """Assign attributes 0..available-1 to queries and documents; errors say the bound.

    `first`: the attributes that are asked for, row by row, where that is no free choice.
    """
    _check_before(params, available)
    if isinstance(params, FactorialPattern):
        return _factorial(params, seed, available)
    matrix = _build_matrix(params, seed)
    positions = Permutation(seed, "limit/positions", params.docs)(np.arange(matrix.documents))
    if isinstance(params.form, BalancedForm):
        return _balanced_latent(params, params.form, seed, available, matrix, positions)
    per_query = asked_attributes(params, 1)
    needed = matrix.queries * per_query
    order = Stream(seed, "limit/attributes").permutation(available)
    order = np.concatenate([first, order[~np.isin(order, first)]]).astype(np.int64)
    asked = order[:needed].reshape(matrix.queries, per_query)
    fillers = np.sort(order[needed:])
    rows = np.repeat(np.arange(matrix.queries), matrix.row_sums)
    owners = np.repeat(positions[matrix.indices], per_query)
    held = asked[rows].reshape(-1)
    negatives = np.empty((matrix.queries, 0), np.int64)
    if isinstance(params.form, ConditionsForm) and params.form.hard_negatives:
        negatives = _hard_negatives(params, params.form, seed, matrix, positions)
        owners = np.concatenate([owners, negatives.reshape(-1)])
        half = params.form.hard_negatives
        held = np.concatenate([held, np.repeat(asked, half, axis=1).reshape(-1)])
    latent = _group_by_owner(matrix, positions, asked, owners, held, fillers, negatives)
    _check_sizes(params, latent)
    return latent


def _check_before(params: LimitParams, available: int) -> None:
    """What can be seen without building a matrix, which might not fit in memory."""
    queries = params.count_queries()
    needed = asked_attributes(params, queries)
    if needed > available and not isinstance(params.form, BalancedForm):
        raise RecipeError(
            f"params: {queries:,} queries ask for {needed:,} attributes; the catalogue gives "
            f"{available:,} (split {params.catalogue.split}): use fewer queries, "
            "or catalogue.split all"
        )
    if isinstance(params, FactorialPattern):
        _check_places(params)
        return
    room = params.docs * params.attributes_per_doc
    k = getattr(params, "k", 1)
    if queries * k > room and not isinstance(params.form, BalancedForm):
        least = -(-queries * k // params.attributes_per_doc)
        if params.pattern == "dense":
            least = max(least, patterns.dense_documents(queries, k))
        raise RecipeError(
            f"params.docs: {params.docs:,} documents of {params.attributes_per_doc} attributes "
            f"have {room:,} places; {queries:,} queries with {k:,} relevant documents each need "
            f"{queries * k:,}. Ask for at least {least:,} documents, or for fewer queries"
        )


def asked_attributes(params: LimitParams, queries: int) -> int:
    """How many attributes all queries ask for, where each has attributes of its own."""
    if isinstance(params, FactorialPattern):
        return sum(MEANINGS[operator].attributes for operator, _ in params.cells())
    return queries * (2 if isinstance(params.form, ConditionsForm) else 1)


def _group_by_owner(
    matrix: QrelMatrix,
    positions: Ints,
    asked: Ints,
    owners: Ints,
    held: Ints,
    fillers: Ints,
    negatives: Ints,
) -> Latent:
    """(owner, attribute) pairs by owner."""
    order = np.argsort(owners, kind="stable")
    special, first = np.unique(owners[order], return_index=True)
    starts = np.append(first, len(order)).astype(np.int64)
    column = np.full(len(special), -1, np.int64)
    column[np.searchsorted(special, positions)] = np.arange(len(positions))
    return Latent(
        matrix, positions, asked, special, starts, held[order], column, fillers, negatives
    )


def _check_sizes(params: LimitParams, latent: Latent) -> None:
    degrees = np.diff(latent.starts)
    most = int(degrees.max(initial=0))
    if most > params.attributes_per_doc:
        raise RecipeError(
            f"params.attributes_per_doc: a document must hold {most} asked attributes; "
            f"attributes_per_doc is {params.attributes_per_doc}"
        )
    # a distractor holds fillers only; without distractors the emptiest relevant document decides
    fewest = 0 if len(degrees) < params.docs else int(degrees.min(initial=0))
    missing = params.attributes_per_doc - fewest
    if missing > len(latent.fillers):
        asked = int((latent.asked >= 0).sum())
        total = len(latent.fillers) + asked
        raise RecipeError(
            f"params.attributes_per_doc: a document needs {missing} attributes that no query asks "
            f"for; of the catalogue's {total:,} (split {params.catalogue.split}) queries ask for "
            f"{asked:,}, which leaves {len(latent.fillers):,}"
        )


def _hard_negatives(
    params: LimitParams,
    form: ConditionsForm,
    seed: int,
    matrix: QrelMatrix,
    positions: Ints,
) -> Ints:
    """For each row 2h distinct documents that are not relevant: (rows, 2h) corpus positions."""
    wanted = 2 * form.hard_negatives
    load = np.bincount(positions[matrix.indices], minlength=params.docs) * 2
    room = int(np.maximum(params.attributes_per_doc - load, 0).sum())
    biggest = int(matrix.row_sums.max(initial=0))
    if wanted + biggest > params.docs or matrix.queries * wanted > room // 2:
        raise RecipeError(
            f"params.form.hard_negatives: {matrix.queries:,} queries with 2 x "
            f"{form.hard_negatives} hard negatives need {matrix.queries * wanted:,} places in "
            f"documents; {params.docs:,} documents of {params.attributes_per_doc} attributes have "
            f"{room:,}, of which half may be used"
        )
    stream = Stream(seed, "limit/hard negatives")
    chosen = np.empty((matrix.queries, wanted), np.int64)
    for row in range(matrix.queries):
        taken = set(positions[matrix.row(row)].tolist())
        result: list[int] = []
        while len(result) < wanted:
            for position in stream.integers(params.docs, 2 * wanted).tolist():
                if (
                    len(result) < wanted
                    and position not in taken
                    and load[position] < params.attributes_per_doc
                ):
                    taken.add(position)
                    result.append(position)
        load[result] += 1
        chosen[row] = result
    return chosen


def _balanced_latent(
    params: LimitParams,
    form: BalancedForm,
    seed: int,
    available: int,
    matrix: QrelMatrix,
    positions: Ints,
) -> Latent:
    degrees = matrix.column_sums
    if matrix.documents != params.docs or degrees.min() != degrees.max():
        least = int(degrees.min()) if matrix.documents == params.docs else 0
        raise RecipeError(
            f"params.form: in a balanced set every document is relevant to the same number of "
            f"queries, or counting asked pairs would find the relevant ones; here {least} to "
            f"{int(degrees.max())} of them: use pattern regular, cycle, disjoint, hadamard or "
            f"projective with docs {matrix.documents:,}"
        )
    if form.pool > available:
        raise RecipeError(
            f"params.form.pool: {form.pool:,} attributes; the catalogue gives {available:,} "
            f"(split {params.catalogue.split})"
        )
    pool = np.sort(Stream(seed, "limit/attributes").permutation(available)[: form.pool])
    pairs, sets = balanced_sets(matrix, form.pool, params.attributes_per_doc, seed)
    owners = np.repeat(positions, params.attributes_per_doc)
    nothing = np.empty(0, np.int64)
    held = pool[sets].reshape(-1)
    none = np.empty((matrix.queries, 0), np.int64)
    return _group_by_owner(matrix, positions, pool[pairs], owners, held, nothing, none)


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


def _check_places(params: FactorialPattern) -> None:
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


def _factorial(params: FactorialPattern, seed: int, available: int) -> Latent:
    """Deal documents to the combinations of every row's attributes."""
    deck = Deck(Stream(seed, "limit/combinations"), params.docs)
    cells = list(params.cells())
    order = Stream(seed, "limit/attributes").permutation(available)
    asked = np.full((len(cells), 3), NOBODY, np.int64)
    held: list[tuple[int, int]] = []  # a document, and the place of an attribute in `order`
    answers: list[tuple[int, int]] = []  # a row, and a document relevant to it
    hard: list[list[int]] = []  # of each row the documents judged not relevant
    free = 0
    for row, (operator, size) in enumerate(cells):
        meaning, counts = MEANINGS[operator], _counts(operator, size)
        mine = range(free, free + meaning.attributes)
        free = mine.stop
        asked[row, : len(mine)] = order[mine]
        dealt = deck.deal(sum(counts.values()))
        refused: list[int] = []
        for one, count in counts.items():
            documents, dealt = dealt[:count], dealt[count:]
            for bit, attribute in enumerate(mine):
                if one >> bit & 1:
                    held += [(document, attribute) for document in documents]
            if one in meaning.answers:
                answers += [(row, document) for document in documents]
            elif one in meaning.hard:
                refused += documents
        hard.append(refused)
    width = max(map(len, hard))
    padded = [refused + [NOBODY] * (width - len(refused)) for refused in hard]
    owners, places = np.array(held, np.int64).T
    rows, documents_of = np.array(answers, np.int64).T
    positions, columns = np.unique(documents_of, return_inverse=True)
    latent = _group_by_owner(
        QrelMatrix.from_pairs(rows, columns, len(cells), len(positions)),
        positions,
        asked,
        owners,
        order[places],
        np.sort(order[free:]),
        np.array(padded, np.int64).reshape(len(cells), width),
    )
    _check_sizes(params, latent)
    return latent


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
