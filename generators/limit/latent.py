"""From a latent qrel matrix to attributes: which document must hold what.

Columns of the matrix are the relevant documents; they are scattered over the corpus. Every query
gets attributes of its own, which exactly its documents hold (paper, §5.2); documents are filled up
with attributes that no query asks for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retgen.errors import RecipeError
from retgen.generators.limit import placement
from retgen.generators.limit.params import (
    BalancedForm,
    ConditionsForm,
    CyclePattern,
    DensePattern,
    DisjointPattern,
    FactorialPattern,
    FilePattern,
    HadamardPattern,
    LimitParams,
    PowerLawPattern,
    ProjectivePattern,
    RandomPattern,
    RegularPattern,
)
from retgen.generators.limit.placement import balanced_sets
from retgen.qrels import QrelMatrix, patterns
from retgen.streams import Permutation, Stream


@dataclass(frozen=True)
class Latent:
    """Who must hold what. Attributes are indices into the list that the recipe may use.

    `matrix`: rows are matrix rows, columns latent documents. `positions` (columns,): where each
    column stands in the corpus. `asked` (rows, 1 to 3): attributes of each row. `special` (s,):
    corpus positions, ascending, of the documents with attributes that they must hold, which are
    `held[starts[i]:starts[i + 1]]`; `column` (s,): their matrix column, -1 for none. `fillers`:
    attributes that no query asks for. `negatives` (rows, most): corpus positions of
    hard negatives. Where a row of a factorial has fewer attributes or negatives, -1 stands there.
    """

    matrix: QrelMatrix
    positions: NDArray[np.int64]
    asked: NDArray[np.int64]
    special: NDArray[np.int64]
    starts: NDArray[np.int64]
    held: NDArray[np.int64]
    column: NDArray[np.int64]
    fillers: NDArray[np.int64]
    negatives: NDArray[np.int64]


def build_matrix(params: LimitParams, seed: int) -> QrelMatrix:
    """The latent matrix of the recipe's pattern, checked against `docs`."""
    rng = Stream(seed, "limit/matrix")
    match params:
        case DensePattern():
            matrix = patterns.dense(params.queries, params.k, rng)
        case RandomPattern():
            matrix = patterns.random(params.queries, params.k, params.docs, rng)
            matrix = matrix.positives_only()[0]
        case RegularPattern():
            among = params.relevant_docs or params.docs
            matrix = patterns.regular(params.queries, params.k, among, rng)
        case CyclePattern():
            matrix = patterns.cycle(params.queries, params.k)
        case DisjointPattern():
            matrix = patterns.disjoint(params.queries, params.k)
        case PowerLawPattern():
            matrix = patterns.power_law(
                params.queries, params.docs, params.exponent, params.maximum, rng
            ).positives_only()[0]
        case FilePattern():
            matrix = patterns.from_file(params.path)[0]
        case HadamardPattern():
            matrix = patterns.hadamard(params.n)
        case ProjectivePattern():
            matrix = patterns.projective(params.p)
        case FactorialPattern():
            raise ValueError("the matrix of a factorial follows from what documents hold")
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
    matrix = build_matrix(params, seed)
    positions = Permutation(seed, "limit/positions", params.docs)(np.arange(matrix.documents))
    if isinstance(params.form, BalancedForm):
        return _balanced_latent(params, params.form, seed, available, matrix, positions)
    per_query = asked_attributes(params, 1)
    needed = matrix.queries * per_query
    _check_attributes(params, matrix.queries, available)
    order = Stream(seed, "limit/attributes").permutation(available)
    if first:
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


def _factorial(params: FactorialPattern, seed: int, available: int) -> Latent:
    placed = placement.place_attributes(params, seed)
    order = Stream(seed, "limit/attributes").permutation(available)
    positions, columns = np.unique(placed.answers, return_inverse=True)
    matrix = QrelMatrix.from_pairs(placed.rows, columns, len(placed.asked), len(positions))
    there = placed.asked >= 0
    asked = np.where(there, order[placed.asked], placement.NOBODY)
    fillers = np.sort(order[there.sum() :])
    held = order[placed.held]
    latent = _group_by_owner(matrix, positions, asked, placed.owners, held, fillers, placed.hard)
    _check_sizes(params, latent)
    return latent


def _check_before(params: LimitParams, available: int) -> None:
    """What can be seen without building a matrix, which might not fit in memory."""
    queries = sized_queries(params)
    if queries is None:
        return
    if not isinstance(params.form, BalancedForm):
        _check_attributes(params, queries, available)
    if isinstance(params, FactorialPattern):
        placement.check_places(params)
        return
    room = params.docs * params.attributes_per_doc
    k = getattr(params, "k", 1)
    if queries * k > room and not isinstance(params.form, BalancedForm):
        least = -(-queries * k // params.attributes_per_doc)
        if isinstance(params, DensePattern):  # as many as have enough subsets of k
            least = max(least, queries if k == 1 else k)
            while math.comb(least, k) < queries:
                least += 1
        raise RecipeError(
            f"params.docs: {params.docs:,} documents of {params.attributes_per_doc} attributes "
            f"have {room:,} places; {queries:,} queries with {k:,} relevant documents each need "
            f"{queries * k:,}. Ask for at least {least:,} documents, or for fewer queries"
        )


def sized_queries(params: LimitParams) -> int | None:
    """Rows of the pattern's matrix; None where only a file tells."""
    match params:
        case FilePattern():
            return None
        case HadamardPattern():
            return params.n
        case ProjectivePattern():
            return params.p**2 + params.p + 1
        case FactorialPattern():
            return len(list(params.cells()))
        case _:
            return params.queries


def count_queries(params: LimitParams) -> int:
    """Rows of the pattern's matrix."""
    result = sized_queries(params)
    return build_matrix(params, 0).queries if result is None else result


def asked_attributes(params: LimitParams, queries: int) -> int:
    """How many attributes all queries ask for, where each has attributes of its own."""
    if isinstance(params, FactorialPattern):
        return placement.asked_attributes(params)
    return queries * (2 if isinstance(params.form, ConditionsForm) else 1)


def _check_attributes(params: LimitParams, queries: int, available: int) -> None:
    needed = asked_attributes(params, queries)
    if needed > available:
        raise RecipeError(
            f"params: {queries:,} queries ask for {needed:,} attributes; the catalogue gives "
            f"{available:,} (split {params.catalogue.split}): use fewer queries, "
            "catalogue.split all, or a longer list of your own"
        )


def _group_by_owner(
    matrix: QrelMatrix,
    positions: NDArray[np.int64],
    asked: NDArray[np.int64],
    owners: NDArray[np.int64],
    held: NDArray[np.int64],
    fillers: NDArray[np.int64],
    negatives: NDArray[np.int64],
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
    positions: NDArray[np.int64],
) -> NDArray[np.int64]:
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
    positions: NDArray[np.int64],
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
    sums = matrix.row_sums
    if sums.min() != sums.max():
        raise RecipeError(
            f"params.form: in a balanced set every query has the same number of relevant "
            f"documents; here {int(sums.min())} to {int(sums.max())}"
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
