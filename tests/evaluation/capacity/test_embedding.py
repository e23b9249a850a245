"""Free embeddings of any matrix: claims are verified by Python's own integers and rationals."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from retgen.evaluation.capacity import embedding
from retgen.qrels import QrelMatrix, certificate
from retgen.qrels.matrix import reduce

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def gaps(matrix: QrelMatrix, queries: np.ndarray, documents: np.ndarray) -> list[int]:
    """Worst relevant score minus best other one of each query, in unbounded integers."""
    vectors = [[int(x) for x in row] for row in documents.tolist()]
    results = []
    for i, query in enumerate(queries.tolist()):
        scores = [sum(int(a) * b for a, b in zip(query, v, strict=True)) for v in vectors]
        relevant = set(matrix.row(i).tolist())
        others = [s for j, s in enumerate(scores) if j not in relevant]
        if relevant and others:
            results.append(min(scores[j] for j in relevant) - max(others))
    return results


def reduced(matrix: QrelMatrix, total: int | None = None) -> QrelMatrix:
    """Distinct rows and columns, a column of zeros if the corpus holds others."""
    result = reduce(matrix, total or matrix.documents)
    return QrelMatrix(result.matrix.indptr, result.matrix.indices, result.points)


def random_matrix(seed: int) -> QrelMatrix:
    rng = np.random.default_rng(seed)
    dense = rng.random((int(rng.integers(3, 12)), int(rng.integers(3, 9)))) < 0.4
    rows = [np.flatnonzero(row).tolist() for row in dense if 0 < row.sum() < dense.shape[1]]
    return QrelMatrix.from_rows(rows or [[0]], dense.shape[1])


# --- exact arithmetic ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_the_smallest_gap_is_that_of_unbounded_integers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = random_matrix(seed)
    d = int(rng.integers(1, 6))
    queries = rng.integers(-(2**28), 2**28, (matrix.queries, d))
    documents = rng.integers(-(2**28), 2**28, (matrix.documents, d))
    result = embedding.smallest_gap(matrix, queries, documents)
    assert result == min(gaps(matrix, queries, documents))


@pytest.mark.parametrize("d", [1, 2, 3, 7, 64, 4096])
def test_whole_numbers_keep_every_score_within_64_bits(d: int) -> None:
    vectors = np.random.default_rng(d).standard_normal((5, d))
    whole = embedding.whole_numbers(vectors)
    largest = int(np.abs(whole).max())
    assert d * largest * largest < 2**62
    assert largest > 2 ** ((58 - math.log2(d)) / 2)  # no precision is given away
    ratio = vectors / whole
    assert ratio == pytest.approx(np.full_like(ratio, ratio[0, 0]), rel=1e-2)


# --- found embeddings ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_what_is_found_embeds_and_is_not_below_the_lower_bound(seed: int) -> None:
    matrix = reduced(random_matrix(seed))
    bracket = certificate(matrix)
    result = embedding.smallest(matrix, bracket.upper, lowest=bracket.lower)
    assert result is not None
    assert bracket.lower <= result.dimension <= bracket.upper
    assert result.queries.shape == (matrix.queries, result.dimension)
    assert result.documents.shape == (matrix.documents, result.dimension)
    assert min(gaps(matrix, result.queries, result.documents)) == result.gap > 0


@pytest.mark.slow
def test_the_dimension_of_all_pairs_is_found() -> None:
    matrix = QrelMatrix.from_rows(list(combinations(range(9), 2)), 9)
    assert embedding.smallest(matrix, 3) is None
    result = embedding.smallest(matrix, 8)
    assert result is not None
    assert result.dimension == 4 == certificate(matrix).lower
    assert min(gaps(matrix, result.queries, result.documents)) == result.gap
