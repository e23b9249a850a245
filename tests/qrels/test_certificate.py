"""The bracket: known values, and soundness against embeddings that are really there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest

from retgen.qrels import QrelMatrix, certificate, patterns
from retgen.qrels.matrix import reduce
from retgen.qrels.orders import changes, walk
from retgen.qrels.radon import unasked_split
from retgen.qrels.spectral import (
    eigenvalue_at_most,
    spectral_bounds,
)
from retgen.streams import Stream
from tests.loops import for_each

OFFICIAL = QrelMatrix.from_rows(list(combinations(range(46), 2))[:1000], 46)


def subsets(n: int, k: int) -> QrelMatrix:
    """All k-subsets of n documents."""
    return QrelMatrix.from_rows(list(combinations(range(n), k)), n)


def rng() -> Stream:
    return Stream(3, "test")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("matrix", "total", "lower", "upper"),
    [
        (OFFICIAL, 46, 4, 4),
        (OFFICIAL, 50_000, 4, 4),
        (patterns.dense(1000, 2, rng()), 50_000, 4, 4),
        (patterns.dense(165, 3, rng()), 50_000, 6, 6),
        (patterns.cycle(1000, 2), 1000, 2, 2),
        (patterns.cycle(1000, 2), 50_000, 2, 2),
        (patterns.cycle(100, 3), 50_000, 2, 2),
        (patterns.disjoint(1000, 2), 50_000, 2, 2),
        (patterns.disjoint(4, 1), 50_000, 2, 2),
        (patterns.hadamard(64), 50_000, 7, 42),
        (patterns.hadamard(256), 256, 15, 170),
        (patterns.projective(43), 50_000, 7, 88),
        (patterns.projective(7), 57, 4, 16),
        (patterns.random(1000, 2, 50_000, rng()), 50_000, 2, 2),
        (patterns.regular(500, 2, 500, rng()), 50_000, 2, 3),
        (subsets(5, 2), 5, 3, 3),
        (subsets(5, 2), 50_000, 4, 4),
        (subsets(4, 2), 4, 2, 2),
        (subsets(4, 2), 50_000, 3, 3),
        (subsets(6, 3), 6, 4, 4),
        (subsets(6, 3), 50_000, 5, 5),
        (subsets(7, 3), 7, 5, 5),
        (subsets(7, 3), 50_000, 6, 6),
        (subsets(3, 2), 3, 2, 2),  # every split of a triangle is asked for: no more than a simplex
        (QrelMatrix.from_rows([[0, 1]], 2), 2, 0, 0),  # all are relevant: nothing to tell apart
        (QrelMatrix.from_rows([[], []], 3), 3, 0, 0),
        (QrelMatrix.from_rows([[0]], 1), 2, 1, 1),
        (QrelMatrix.from_rows([[0], [1]], 2), 2, 1, 1),
    ],
)
def test_brackets(matrix: QrelMatrix, total: int, lower: int, upper: int) -> None:
    result = certificate(matrix, total)
    assert (result.lower, result.upper) == (lower, upper)
    walk_only = "sign changes in an order found by a walk"
    assert {entry["theorem"] for entry in result.skipped} <= {walk_only}
    stated = result.to_json()
    assert [bound["dimension"] for bound in stated["lower_bounds"][:1]] == [lower][: lower > 0]
    assert {bound["notion"] for bound in stated["lower_bounds"]} <= {"row order"}
    assert all(bound["theorem"] and bound["reference"] for bound in stated["upper_bounds"])


def test_what_is_skipped_is_said() -> None:
    reason = (
        "norms are certified up to 3,072 on the smaller side; this is 5,000 x 5,000 with 5,000 "
        "entries"
    )
    assert certificate(patterns.disjoint(5000, 2), 10_000).skipped == [
        {"theorem": name, "reason": reason} for name in ("Forster", "Alon, Moran, Yehudayoff")
    ]


@for_each("seed", range(40))
def test_certified_norm_is_never_below_the_true_one(seed: int) -> None:
    draw = Stream(seed, "norms")
    n = 3 + int(draw.integers(40, 1)[0])
    half = draw.integers(19, n * n).reshape(n, n) - 9
    gram = (half @ half.T).astype(np.float64)
    largest = float(np.linalg.eigvalsh(gram)[-1])
    bound = eigenvalue_at_most(gram)
    assert float(bound) >= largest * (1 - 1e-12)
    assert float(bound) <= largest * (1 + 1e-4)


# --- soundness: real embeddings in exact arithmetic ---------------------------------------------


def random_matrix(seed: int) -> tuple[QrelMatrix, int]:
    """A small matrix, and the size of a corpus with or without other documents."""
    draw = Stream(seed, "soundness")
    m, n = (2 + int(draw.integers(10, 1)[0]) for _ in range(2))
    rows = [
        sorted({int(j) for j in draw.integers(n, 1 + int(draw.integers(3, 1)[0]))})
        for _ in range(m)
    ]
    matrix = QrelMatrix.from_rows(rows, n).positives_only()[0]
    return matrix, matrix.documents + int(draw.integers(3, 1)[0])


def ranks_right(scores: Iterable[Fraction], relevant: set[int]) -> bool:
    listed = list(scores)
    inside = [s for j, s in enumerate(listed) if j in relevant]
    outside = [s for j, s in enumerate(listed) if j not in relevant]
    return not inside or not outside or min(inside) > max(outside)


@for_each("seed", range(60))
def test_lower_never_exceeds_upper(seed: int) -> None:
    matrix, total = random_matrix(seed)
    result = certificate(matrix, total)
    assert 0 <= result.lower <= result.upper


@for_each("seed", range(30))
def test_linear_order_really_ranks(seed: int) -> None:
    """Polynomials with their roots at the changes, in the order that the bound was counted in."""
    matrix, total = random_matrix(seed)
    others = total > matrix.documents
    order = walk(matrix)
    bound = changes(matrix, order, others)[0]
    place = {int(d): Fraction(p) for p, d in enumerate(order)}
    where = [place.get(j, Fraction(matrix.documents)) for j in range(total)]
    for i in range(matrix.queries):
        relevant = set(matrix.row(i).tolist())
        signs = [d in relevant for d in order.tolist()] + [False] * others
        roots = [Fraction(2 * p + 1, 2) for p in range(len(signs) - 1) if signs[p] != signs[p + 1]]
        assert len(roots) <= bound
        lead = 1 if signs[-1] else -1
        value = [lead * math.prod((t - r for r in roots), start=Fraction(1)) for t in where]
        assert ranks_right(value, relevant)


# --- soundness: lower bounds against matrices that points in few dimensions really have ----------


@pytest.mark.slow
@for_each("seed", range(80))
def test_lower_bounds_against_half_spaces(seed: int) -> None:
    """Queries cut half-spaces off integer points of R^d: no lower bound may exceed d."""
    draw = Stream(seed, "half-spaces")
    d = 1 + seed % 4
    n = d + 2 + int(draw.integers(14, 1)[0])
    points = draw.integers(201, n * d).reshape(n, d) - 100
    if seed % 3 == 0:  # in convex position, which allows most sets
        points = np.arange(n)[:, None] ** np.arange(1, d + 1) - n
    normals = draw.integers(2001, 600 * d).reshape(600, d) - 1000
    scores = normals @ points.T
    cuts = np.sort(scores, axis=1)[np.arange(600), draw.integers(n, 600)]
    relevant = np.unique(scores >= cuts[:, None], axis=0)
    if seed % 2:  # all of one size, where the sets allow it
        sizes = relevant.sum(axis=1)
        relevant = relevant[sizes == np.bincount(sizes[sizes < n], minlength=2)[1:].argmax() + 1]
    matrix = QrelMatrix.from_rows([np.flatnonzero(row).tolist() for row in relevant], n)
    result = certificate(matrix)
    assert result.lower <= d, result.lower_bounds[0]
    assert result.lower <= result.upper


@pytest.mark.parametrize(("n", "arc"), [(30, 15), (31, 9), (64, 32), (64, 5), (17, 3), (200, 100)])
def test_spectral_bounds_against_a_circle(n: int, arc: int) -> None:
    """Arcs of a circle need two dimensions, though their matrix is regular with a spectral gap."""
    ring = QrelMatrix.from_rows([[(s + i) % n for i in range(arc)] for s in range(n)], n)
    assert all(bound.sign_rank <= 3 for bound in spectral_bounds(ring))
    result = certificate(ring)
    assert (result.lower, result.upper) == (2, 2)


@for_each("seed", range(60))
def test_spectral_bounds_against_plain_linear_algebra(seed: int) -> None:
    """Each bound is what floating point says, never more; regular, biregular and other matrices."""
    draw = Stream(seed, "spectral")
    if seed % 3 == 0:
        n = 6 + int(draw.integers(20, 1)[0])
        first = draw.permutation(n)[: 1 + int(draw.integers(n - 1, 1)[0])]
        matrix = QrelMatrix.from_rows([((first + s) % n).tolist() for s in range(n)], n)
    elif seed % 3 == 1:
        matrix = patterns.regular(12 + seed, 3, 18 if (12 + seed) % 6 == 0 else 12 + seed, draw)
    else:
        matrix = random_matrix(seed)[0]
    full = matrix.dense().astype(np.float64)
    size = math.sqrt(full.size)
    for bound in spectral_bounds(matrix):
        value = math.sqrt(bound.square) + (bound.shift is None)
        if bound.shift is not None:
            t = float(bound.shift)
            if 2 * full.mean() > 1 and bound.kind == "shifted":
                continue
            exact = t * size / np.linalg.norm(full - t, 2)
        else:
            singular = np.linalg.svd(full if 2 * full.mean() <= 1 else 1 - full)[1]
            exact = singular[0] / singular[1] + 1
        assert value <= exact * (1 + 1e-12)
        assert value >= exact * (1 - 1e-3)
        assert bound.sign_rank - 1 < value <= bound.sign_rank


# --- one dimension, the circle's centre, planar graphs -------------------------------------------


@for_each("seed", range(100))
def test_one_dimension_against_all_orders(seed: int) -> None:
    draw = Stream(seed, "line")
    n, m = 2 + int(draw.integers(4, 1)[0]), 1 + int(draw.integers(4, 1)[0])
    if seed % 2:  # ends of a line, so that one dimension is likely
        place = draw.permutation(n)
        cuts = [1 + int(c) for c in draw.integers(n, m)]
        rows = [place[:c].tolist() if c % 2 else place[-c:].tolist() for c in cuts]
    else:
        rows = [sorted({int(j) for j in draw.integers(n, n)}) for _ in range(m)]
    total = n + seed % 3
    matrix = QrelMatrix.from_rows(rows, n)
    sets = [set(row) for row in rows]
    fits = any(
        all(sum((a in row) != (b in row) for a, b in pairwise(order)) <= 1 for row in sets)
        for order in permutations(range(n + (total > n)))
    )
    result = certificate(matrix, total)
    if all(len(row) == total for row in sets):
        assert (result.lower, result.upper) == (0, 0)
    elif fits:
        assert (result.lower, result.upper) == (1, 1)
    else:
        assert result.lower >= 2


def _kernel(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """A basis of what a matrix (m, n) sends to 0, by Gauss's elimination."""
    rows, pivots = [row[:] for row in rows], []
    for column in range(len(rows[0])):
        place = len(pivots)
        result = next((i for i in range(place, len(rows)) if rows[i][column]), None)
        if result is None:
            continue
        rows[place], rows[result] = rows[result], rows[place]
        rows[place] = [x / rows[place][column] for x in rows[place]]
        for i, row in enumerate(rows):
            if i != place and row[column]:
                rows[i] = [x - row[column] * y for x, y in zip(row, rows[place], strict=True)]
        pivots.append(column)
    basis = []
    for free in set(range(len(rows[0]))) - set(pivots):
        vector = [Fraction(0)] * len(rows[0])
        vector[free] = Fraction(1)
        for place, column in enumerate(pivots):
            vector[column] = -rows[place][free]
        basis.append(vector)
    return basis


@for_each("seed", range(40))
def test_two_simplices_that_cross_really_rank(seed: int) -> None:
    """The embedding in n - 2 dimensions, built and checked in exact fractions."""
    matrix, total = random_matrix(seed)
    reduced = reduce(matrix, total)
    split = unasked_split(reduced.matrix, reduced.others) if reduced.matrix.queries else None
    n = reduced.points
    if split is None or n < 3:
        return
    weight = [
        Fraction(1, len(split)) if j in split else Fraction(-1, n - len(split)) for j in range(n)
    ]
    # scores f with sum weight f = 0, less the constants: n - 2 dimensions of the documents
    axes = _kernel([weight, [Fraction(1)] + [Fraction(0)] * (n - 1)])
    assert len(axes) == n - 2
    for i in range(reduced.matrix.queries):
        relevant = set(reduced.matrix.row(i).tolist())
        wanted = [Fraction(1 if j in relevant else -1) for j in range(n)]
        gain = sum((w * f for w, f in zip(weight, wanted, strict=True) if w * f > 0), Fraction(0))
        loss = -sum((w * f for w, f in zip(weight, wanted, strict=True) if w * f < 0), Fraction(0))
        assert gain > 0
        assert loss > 0
        scores = [f / gain if w * f > 0 else f / loss for w, f in zip(weight, wanted, strict=True)]
        scores = [f - scores[0] for f in scores]  # a constant for the whole query
        query = _in_terms_of(axes, scores)
        results = [
            sum((q * axis[j] for q, axis in zip(query, axes, strict=True)), Fraction(0))
            for j in range(n)
        ]
        assert results == scores
        assert ranks_right(results, relevant)


def _in_terms_of(axes: list[list[Fraction]], vector: list[Fraction]) -> list[Fraction]:
    """The coordinates of a vector in a basis of `_kernel`, of which each has a column of its own."""
    free = [
        next(
            j for j, x in enumerate(axis) if x == 1 and not any(a[j] for a in axes if a is not axis)
        )
        for axis in axes
    ]
    return [vector[j] for j in free]
