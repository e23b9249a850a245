"""Caps of the margin: against linear algebra, the simplex, and embeddings that are there."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from retgen.qrels import QrelMatrix, patterns
from retgen.qrels.margins import MarginCaps, margin_caps
from retgen.qrels.matrix import reduce
from tests.loops import for_each


def pairs(n: int) -> QrelMatrix:
    return QrelMatrix.from_rows(list(combinations(range(n), 2)), n)


@pytest.mark.parametrize("n", [4, 7, 20, 46])
def test_all_pairs_reach_their_cap_on_a_simplex(n: int) -> None:
    caps = margin_caps(reduce(pairs(n), n))
    assert caps.norm == pytest.approx(n / math.sqrt(2 * (n - 1) * (n - 2)), rel=1e-4)
    assert caps.apart == n * (n - 1) // 2
    corners = np.eye(n) - 1 / n
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    both = np.array(list(combinations(range(n), 2)))
    queries = corners[both].sum(1)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    scores = queries @ corners.T
    relevant = pairs(n).dense().astype(bool)
    margin = (scores[relevant].min() - scores[~relevant].max()).item()
    assert caps.norm >= margin
    assert caps.norm == pytest.approx(margin, rel=1e-4)


@for_each("seed", range(12))
def test_the_norm_is_that_of_a_singular_value_decomposition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(2, 60)), int(rng.integers(2, 60)))
    dense = rng.random(shape) < 0.3
    matrix = QrelMatrix.from_rows([np.flatnonzero(row).tolist() for row in dense], shape[1])
    others = bool(seed % 2)
    result = reduce(matrix, matrix.documents + others)
    plain = result.matrix.dense().astype(float)
    values = []
    for table in (plain, np.pad(plain, ((0, 0), (0, 1))))[: 1 + result.others]:
        k, n = table.sum(1), table.shape[1]
        weight = (k * (n - k)).sum()
        if weight:
            norm = np.linalg.norm(n * table - k[:, None], 2)
            values.append(norm * math.sqrt(table.size) / weight)
    norm = margin_caps(result).norm
    assert norm is not None
    assert norm >= min(values)
    assert norm == pytest.approx(min(values), rel=1e-3)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 8, 30])
@for_each("seed", range(8))
def test_no_real_embedding_is_above_a_cap(d: int, seed: int) -> None:
    rng = np.random.default_rng(100 * d + seed)
    m, n = int(rng.integers(2, 80)), int(rng.integers(3, 30))
    queries, documents = rng.standard_normal((m, d)), rng.standard_normal((n, d))
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    scores = queries @ documents.T
    ranked = np.argsort(-scores, axis=1)
    k = rng.integers(1, n, m) if seed % 2 else np.full(m, 1 + seed % (n - 1))
    ordered = np.take_along_axis(scores, ranked, 1)
    margin = float((ordered[np.arange(m), k - 1] - ordered[np.arange(m), k]).min())
    matrix = QrelMatrix.from_rows([sorted(ranked[i, : k[i]].tolist()) for i in range(m)], n)
    result = reduce(matrix, n)
    if result.matrix.queries and margin > 0:
        caps = margin_caps(result)
        assert margin <= caps.at(d)
        lowest = caps.lowest(margin)
        assert lowest is not None
        assert lowest <= d


def test_packing_against_the_circle_where_it_is_exact() -> None:
    # 12 points of a circle, 30 degrees apart: caps of 15 degrees fill it
    caps = MarginCaps(None, 12)
    assert caps.at(1) == 0.0
    # on a circle the integral of sin^0 is the angle itself, which sin a does not exceed
    assert 2 * math.sin(math.pi / 12) <= caps.at(2) == pytest.approx(2 * math.pi / 12, abs=2e-6)
    assert MarginCaps(None, 2).at(1) == 2.0
    assert MarginCaps(0.5, 1).at(1) == 0.5


def test_lowest_dimension_of_a_margin() -> None:
    caps = margin_caps(reduce(pairs(46), 46))
    assert caps.norm == pytest.approx(0.7309, abs=1e-4)
    assert caps.lowest(0.74) is None
    assert [caps.lowest(margin) for margin in (0.001, 0.1, 0.3, 0.5, 0.7)] == [2, 3, 4, 5, 6]
    for margin in (0.001, 0.1, 0.3, 0.5, 0.7):
        d = caps.lowest(margin)
        assert d is not None
        assert caps.at(d) >= margin > (caps.at(d - 1) if d > 1 else 0)
    with pytest.raises(ValueError, match="a margin to reach is positive, not 0"):
        caps.lowest(0)


def test_a_matrix_too_large_for_its_norm_keeps_the_packing() -> None:
    result = margin_caps(reduce(patterns.cycle(5000, 2), 5000))
    assert result.norm is None
    assert result.apart == 5000
    assert result.at(4) < 0.2
