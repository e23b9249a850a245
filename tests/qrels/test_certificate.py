"""The bracket: known values, and soundness against embeddings that are really there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from retgen.qrels import QrelMatrix, certificate, densities, patterns
from retgen.qrels.orders import changes, few_changes, walk
from retgen.qrels.radon import complete_subset
from retgen.qrels.spectral import alon_moran_yehudayoff, eigenvalue_at_most, forster
from retgen.streams import Stream

OFFICIAL = QrelMatrix.from_rows(list(combinations(range(46), 2))[:1000], 46)


def rng() -> Stream:
    return Stream(3, "test")


def test_densities_of_the_official_matrix() -> None:
    found = densities(OFFICIAL)
    assert (found.documents, found.queries) == (46, 1000)
    assert found.document_graph_density == 1000 / 1035
    assert found.query_graph_density == 42_698 / 499_500
    assert round(found.average_query_strength or 0, 4) == 28.4653


def test_densities_against_the_definition() -> None:
    matrix = patterns.power_law(40, 25, 1.0, 8, rng())
    sets = [set(matrix.row(i).tolist()) for i in range(40)]
    edges = {pair for row in sets for pair in combinations(sorted(row), 2)}
    documents = len(set().union(*sets))
    jaccard = [len(a & b) / len(a | b) for a, b in combinations(sets, 2)]
    found = densities(matrix)
    assert found.document_graph_density == len(edges) / math.comb(documents, 2)
    assert found.query_graph_density == sum(x > 0 for x in jaccard) / math.comb(40, 2)
    assert found.average_query_strength == pytest.approx(2 * sum(jaccard) / 40)


def test_too_large_is_left_out_not_estimated() -> None:
    found = densities(patterns.disjoint(200_000, 2))
    assert (found.documents, found.queries) == (400_000, 200_000)
    assert found.document_graph_density is None
    assert found.query_graph_density is None
    assert found.average_query_strength is None


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
        (patterns.projective(43), 50_000, 6, 88),
        (QrelMatrix.from_rows([[0]], 1), 2, 1, 1),
        (QrelMatrix.from_rows([[0], [1]], 2), 2, 1, 1),
    ],
)
def test_brackets(matrix: QrelMatrix, total: int, lower: int, upper: int) -> None:
    found = certificate(matrix, total)
    assert (found.lower, found.upper) == (lower, upper)
    assert found.skipped == []
    stated = found.to_json()
    assert stated["lower_bounds"][0]["dimension"] == lower
    assert {bound["notion"] for bound in stated["lower_bounds"]} <= {"row order"}
    assert all(bound["theorem"] and bound["reference"] for bound in stated["upper_bounds"])


def test_the_sentence_promises_nothing_more() -> None:
    assert certificate(OFFICIAL, 50_000).sentence() == (
        "needs at least 4 and at most 4 dimensions in row order; excludes no embedder of 4 or more "
        "dimensions"
    )


def test_order_of_columns_does_not_matter() -> None:
    for matrix in (patterns.cycle(60, 2), patterns.cycle(30, 4), patterns.disjoint(50, 3)):
        shuffled = rng().permutation(matrix.documents)
        rows = [shuffled[matrix.row(i)].tolist() for i in rng().permutation(matrix.queries)]
        again = QrelMatrix.from_rows(rows, matrix.documents)
        assert few_changes(again, True)[0] == 2
        assert sorted(walk(again).tolist()) == list(range(matrix.documents))


def test_spectral_skip_is_said() -> None:
    found = certificate(patterns.disjoint(5000, 2), 10_000)
    assert found.skipped == [
        {"theorem": name, "reason": "5,000 x 10,000 is above 4,096 on both sides"}
        for name in ("Forster", "Alon et al.")
    ]


def test_spectral_values() -> None:
    assert forster(patterns.hadamard(64))[0] == 8
    assert forster(patterns.hadamard(256)) == (16, Fraction(256))
    found = alon_moran_yehudayoff(patterns.projective(43))
    assert found is not None
    assert found[0] == 7
    assert 43 <= found[1] < Fraction(43001, 1000)  # sigma_2**2 is p exactly
    assert alon_moran_yehudayoff(OFFICIAL) is None
    assert alon_moran_yehudayoff(QrelMatrix.from_rows([[0, 1], [0, 1]], 2)) is None


@pytest.mark.parametrize("seed", range(40))
def test_certified_norm_is_never_below_the_true_one(seed: int) -> None:
    draw = Stream(seed, "norms")
    n = 3 + int(draw.integers(40, 1)[0])
    half = draw.integers(19, n * n).reshape(n, n) - 9
    gram = (half @ half.T).astype(np.float64)
    bound = eigenvalue_at_most(gram)
    largest = float(np.linalg.eigvalsh(gram)[-1])
    assert float(bound) >= largest * (1 - 1e-12)
    assert float(bound) <= largest * 1.11


def test_complete_subsets() -> None:
    assert complete_subset(patterns.dense(15, 2, rng())) == (2, [0, 1, 2, 3, 4, 5])
    fourteen = [pair for pair in combinations(range(6), 2) if pair != (2, 4)]
    assert complete_subset(QrelMatrix.from_rows(fourteen, 6)) is None
    found = complete_subset(OFFICIAL)
    assert found is not None
    assert len(found[1]) == 6
    rows = {tuple(OFFICIAL.row(i).tolist()) for i in range(1000)}
    assert set(combinations(sorted(found[1]), 2)) <= rows
    singles = QrelMatrix.from_rows([[0], [1], [2], [3]], 4)
    assert complete_subset(singles) == (1, [0, 1, 2, 3])


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


@pytest.mark.parametrize("seed", range(150))
def test_lower_never_exceeds_upper(seed: int) -> None:
    matrix, total = random_matrix(seed)
    found = certificate(matrix, total)
    assert 0 <= found.lower <= found.upper


@pytest.mark.parametrize("seed", range(60))
def test_moment_curve_really_ranks(seed: int) -> None:
    """2k dimensions: the embedding of the upper bound, built and checked in exact fractions."""
    matrix, total = random_matrix(seed)
    points = [Fraction(j + 1) for j in range(total)]
    for i in range(matrix.queries):
        relevant = set(matrix.row(i).tolist())
        inside = len(relevant) <= total - len(relevant)
        roots = relevant if inside else set(range(total)) - relevant
        square = np.array([Fraction(1)])
        for j in roots:
            factor = np.array([-points[j], Fraction(1)])
            square = np.convolve(np.convolve(square, factor), factor)
        query = [(-1 if inside else 1) * c for c in square[1:]]  # without the constant
        assert len(query) == 2 * min(len(relevant), total - len(relevant))
        scores = (sum((c * t ** (e + 1) for e, c in enumerate(query)), Fraction(0)) for t in points)
        assert ranks_right(scores, relevant)


@pytest.mark.parametrize("seed", range(60))
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


@pytest.mark.parametrize(
    ("n", "k", "extra"), [(5, 2, 3), (6, 2, 1), (12, 3, 4), (9, 4, 2), (31, 2, 9)]
)
def test_circle_with_the_others_at_its_centre(n: int, k: int, extra: int) -> None:
    angles = 2 * np.pi * np.arange(n) / n
    documents = np.concatenate(
        [np.stack([np.cos(angles), np.sin(angles)], 1), np.zeros((extra, 2))]
    )
    for start in range(n):
        arc = {(start + step) % n for step in range(k)}
        middle = 2 * np.pi * (start + (k - 1) / 2) / n
        scores = documents @ np.array([np.cos(middle), np.sin(middle)])
        inside = min(scores[j] for j in arc)
        outside = max(scores[j] for j in range(n + extra) if j not in arc)
        assert inside > outside + 1e-9
    ring = QrelMatrix.from_rows([[(s + i) % n for i in range(k)] for s in range(n)], n)
    assert few_changes(ring, True)[0] == 2


def test_too_long_an_arc_is_not_claimed() -> None:
    """Three of four documents on a circle cannot be cut off from its centre."""
    ring = QrelMatrix.from_rows([[(s + i) % 4 for i in range(3)] for s in range(4)], 4)
    assert few_changes(ring, True)[0] > 2
    assert few_changes(ring, False)[0] == 2
