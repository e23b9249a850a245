"""Patterns of qrel matrices. Columns are relevant documents; distractors are added elsewhere.

`dense`, `random`, `cycle` and `disjoint` are those of the LIMIT paper (§5.2, Appendix C), for any
k; `hadamard` and `projective` have proven lower bounds on the dimension an embedder needs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from retgen.errors import RecipeError
from retgen.qrels.matrix import QrelMatrix
from retgen.streams import Stream

_MOST_N, _MOST_P = 4**6, 211  # larger matrices would not fit in memory comfortably


def dense_documents(queries: int, k: int) -> int:
    """The smallest n with C(n, k) >= queries (§5.2: 46 for 1,000 pairs)."""
    low, high = k - 1, k  # C(low, k) < queries
    while math.comb(high, k) < queries:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if math.comb(middle, k) < queries else (low, middle)
    return high


def dense(queries: int, k: int, rng: Stream) -> QrelMatrix:
    """`queries` of the k-subsets of the smallest sufficient number of documents, in random order.

    Which subsets are left out is a seeded choice (the published set leaves out the
    lexicographically last ones).
    """
    n = dense_documents(queries, k)
    return _from_subsets(_unrank(_distinct(math.comb(n, k), queries, rng), n, k), n)


def random(queries: int, k: int, documents: int, rng: Stream) -> QrelMatrix:
    """Distinct k-subsets of all documents, uniform (Appendix C)."""
    _enough(queries, k, documents)
    total = math.comb(documents, k)
    # by rank where most draws of k documents would repeat a subset, or name a document twice
    if total < 2**62 and (queries * 2 > total or k * k > documents):
        return _from_subsets(_unrank(_distinct(total, queries, rng), documents, k), documents)
    if k * k > documents:
        return QrelMatrix.from_rows(_one_by_one(queries, k, documents, rng), documents)
    subsets = np.empty((0, k), np.int64)
    while len(subsets) < queries:  # far fewer than there are: draw, drop what repeats, draw again
        drawn = rng.integers(documents, (queries - len(subsets)) * k * 2).reshape(-1, k)
        ordered = np.sort(drawn, axis=1)
        ordered = ordered[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)]
        both = np.concatenate([subsets, ordered])
        _, first = np.unique(both, axis=0, return_index=True)
        subsets = both[np.sort(first)][:queries]
    return _from_subsets(subsets, documents)


def cycle(queries: int, k: int) -> QrelMatrix:
    """Each query shares one document with the next, around a ring (Appendix C).

    Query i is relevant to the k documents from i (k - 1) on, modulo queries (k - 1).
    """
    _ring(queries, k)
    n = queries * (k - 1)
    starts = np.arange(queries)[:, None] * (k - 1)
    return _from_subsets((starts + np.arange(k)) % n, n)


def disjoint(queries: int, k: int) -> QrelMatrix:
    """No two queries share a document (Appendix C)."""
    return _from_subsets(np.arange(queries * k).reshape(queries, k), queries * k)


def regular(queries: int, k: int, documents: int, rng: Stream) -> QrelMatrix:
    """Distinct k-subsets, each document in exactly queries * k / documents of them.

    Shuffled stubs (the configuration model), then random switches of two entries until no query
    names a document twice and no two queries are the same. Where more than half of all subsets are
    wanted, the others are chosen so: they are regular too.
    """
    degree = _degree(queries, k, documents)
    total = math.comb(documents, k)
    if 2 * queries > total:
        everything = _unrank(rng.permutation(total), documents, k)
        if queries < total:
            rest = regular(total - queries, k, documents, rng).indices.reshape(-1, k)
            left_out = {tuple(row) for row in rest.tolist()}
            kept = [tuple(row) not in left_out for row in everything.tolist()]
            everything = everything[np.array(kept)]
        return _from_subsets(everything, documents)
    stubs = np.repeat(np.arange(documents), degree)[rng.permutation(queries * k)]
    rows = [sorted(row) for row in stubs.reshape(queries, k).tolist()]
    copies: dict[tuple[int, ...], int] = {}
    for row in rows:
        copies[tuple(row)] = copies.get(tuple(row), 0) + 1

    def wrong(row: list[int]) -> bool:
        return len(set(row)) < k or copies[tuple(row)] > 1

    bad = [i for i in range(queries) if wrong(rows[i])]
    for _ in range(1000 * queries):
        while bad and not wrong(rows[bad[-1]]):
            bad.pop()
        if not bad:
            return QrelMatrix.from_rows(rows, documents)
        i, (j, p, q) = bad[-1], (rng.below(m) for m in (queries, k, k))
        one, two = list(rows[i]), list(rows[j])
        one[p], two[q] = two[q], one[p]
        one.sort()
        two.sort()
        fresh = i != j and len(set(two)) == k and len(set(one)) >= len(set(rows[i]))
        if fresh and tuple(two) not in copies and tuple(one) not in copies and one != two:
            for old, new in ((i, one), (j, two)):
                key = tuple(rows[old])
                copies[key] -= 1
                if not copies[key]:
                    del copies[key]
                copies[tuple(new)] = copies.get(tuple(new), 0) + 1
                rows[old] = new
            if wrong(two):
                bad.insert(0, j)
    raise RecipeError(
        f"params: no regular pattern of {queries:,} distinct {k}-subsets of {documents:,} "
        "documents was found; use more documents or fewer queries"
    )


def hadamard(n: int) -> QrelMatrix:
    """Kronecker powers of the regular order-4 Hadamard matrix: (n - sqrt n)/2 in every row, column.

    J - 2I of order 4 is Hadamard with every row and column sum 2; its Kronecker powers have row and
    column sums sqrt n, so -1 stands (n - sqrt n)/2 times in each; A marks the -1.
    """
    power = _power_of_four(n)
    base = np.ones((4, 4), np.int8) - 2 * np.eye(4, dtype=np.int8)
    signs = base
    for _ in range(power - 1):
        signs = np.kron(signs, base)
    rows, columns = np.nonzero(signs < 0)
    return QrelMatrix.from_pairs(rows.astype(np.int64), columns.astype(np.int64), n, n)


def projective(p: int) -> QrelMatrix:
    """Lines (queries) and points (documents) of PG(2, p), p prime.

    p*p + p + 1 of each, p + 1 points a line, any two lines share exactly one point. Points and
    lines are the normalised triples over F_p; a point is on a line iff their product is 0.
    """
    _prime(p)
    a, b = np.divmod(np.arange(p * p), p)
    triples = np.concatenate(
        [
            np.stack([np.ones_like(a), a, b], axis=1),
            np.stack([np.zeros(p, np.int64), np.ones(p, np.int64), np.arange(p)], axis=1),
            [[0, 0, 1]],
        ]
    )
    rows: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int64]] = []
    for start in range(0, len(triples), 512):
        i, j = np.nonzero(triples[start : start + 512] @ triples.T % p == 0)
        rows.append(i + start)
        columns.append(j)
    n = len(triples)
    return QrelMatrix.from_pairs(np.concatenate(rows), np.concatenate(columns), n, n)


def _power_of_four(n: int) -> int:
    """The power, or an error."""
    power = round(math.log(n, 4)) if n > 0 else 0
    if n < 4 or 4**power != n:
        low = 4 ** max(1, math.floor(math.log(max(n, 4), 4)))
        raise RecipeError(
            f"params.n: must be a power of 4, for example {low} or {low * 4}, not {n}"
        )
    if n > _MOST_N:
        raise RecipeError(f"params.n: at most {_MOST_N}, not {n}")
    return power


def _prime(p: int) -> None:
    if p > _MOST_P:
        raise RecipeError(f"params.p: at most {_MOST_P}, not {p}")
    if p < 2 or any(p % d == 0 for d in range(2, math.isqrt(p) + 1)):
        raise RecipeError(f"params.p: must be a prime, for example {_near_primes(p)}, not {p}")


def _ring(queries: int, k: int) -> None:
    if k < 2 or queries < 3:
        raise RecipeError(
            "params: a cycle needs k of at least 2, so that neighbours can share a document, and "
            f"at least 3 queries; k is {k}, queries {queries}"
        )


def _degree(queries: int, k: int, documents: int) -> int:
    """Queries that each document of a regular pattern is relevant to, or an error."""
    _enough(queries, k, documents)
    degree, rest = divmod(queries * k, documents)
    if rest or degree > math.comb(documents - 1, k - 1):
        raise RecipeError(
            f"params: {documents:,} documents cannot all be relevant to equally many of "
            f"{queries:,} queries with k = {k}: queries x k = {queries * k:,} must be a multiple "
            f"of the documents, at most {documents:,} x {math.comb(documents - 1, k - 1):,}"
        )
    return degree


def _near_primes(p: int) -> str:
    def prime(n: int) -> bool:
        return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))

    below = next((n for n in range(p, 1, -1) if prime(n)), 2)
    above = next(n for n in range(max(p, 2) + 1, 2 * max(p, 2) + 2) if prime(n))
    return f"{below} or {above}"


def _enough(queries: int, k: int, documents: int) -> None:
    if k > documents:
        raise RecipeError(f"params.k: {k} relevant documents a query, but only {documents:,} exist")
    if math.comb(documents, k) < queries:
        raise RecipeError(
            f"params.queries: there are {math.comb(documents, k):,} subsets of {k} of "
            f"{documents:,} documents; queries is {queries:,}"
        )


def _distinct(total: int, wanted: int, rng: Stream) -> NDArray[np.int64]:
    """`wanted` distinct integers of [0, total), in random order."""
    if total <= 4 * wanted or total <= 1 << 20:
        return rng.permutation(total)[:wanted]
    if total >= 2**63:
        raise RecipeError(f"params: {total:.3g} subsets are too many to choose from")
    result = np.empty(0, np.int64)
    while len(result) < wanted:
        both = np.concatenate([result, rng.integers(total, wanted)])
        _, first = np.unique(both, return_index=True)
        result = both[np.sort(first)][:wanted]
    return result


def _one_by_one(queries: int, k: int, documents: int, rng: Stream) -> list[tuple[int, ...]]:
    """Distinct random k-subsets, of which there are far more than queries."""
    rows: dict[tuple[int, ...], None] = {}
    while len(rows) < queries:
        chosen: dict[int, None] = {}
        if 2 * k > documents:
            chosen |= dict.fromkeys(rng.permutation(documents)[:k].tolist())
        while len(chosen) < k:
            chosen |= dict.fromkeys(rng.integers(documents, k - len(chosen)).tolist())
        rows[tuple(sorted(chosen))] = None
    return [*rows]


def _unrank(ranks: NDArray[np.int64], n: int, k: int) -> NDArray[np.int64]:
    """Subsets by their rank in the combinatorial number system: (len(ranks), k), ascending.

    rank = C(c_k, k) + ... + C(c_1, 1) with c_k > ... > c_1 >= 0 (Knuth, TAOCP 4A, 7.2.1.3).
    """
    if 2 * k > n:  # by what they leave out, as a smaller set would otherwise overflow int64
        left_out = _unrank(ranks, n, n - k)
        inside = np.ones((len(ranks), n), bool)
        np.put_along_axis(inside, left_out, False, axis=1)
        return np.nonzero(inside)[1].reshape(len(ranks), k)
    rest = ranks.astype(np.int64).copy()
    subsets = np.empty((len(ranks), k), np.int64)
    for size in range(k, 0, -1):
        table = np.array([math.comb(c, size) for c in range(n + 1)], np.int64)
        largest = np.searchsorted(table, rest, side="right") - 1
        subsets[:, size - 1] = largest
        rest -= table[largest]
    return subsets


def _from_subsets(subsets: NDArray[np.int64], documents: int) -> QrelMatrix:
    queries, k = subsets.shape
    rows = np.repeat(np.arange(queries), k)
    return QrelMatrix.from_pairs(rows, subsets.reshape(-1), queries, documents)
