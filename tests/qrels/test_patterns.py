from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from retgen.errors import RecipeError
from retgen.qrels import QrelMatrix, patterns
from retgen.streams import Stream


def rng(purpose: str = "test") -> Stream:
    return Stream(7, purpose)


def rows(matrix: QrelMatrix) -> list[tuple[int, ...]]:
    return [tuple(matrix.row(i).tolist()) for i in range(matrix.queries)]


def test_dense_is_the_papers() -> None:
    matrix = patterns.dense(1000, 2, rng())
    assert (matrix.queries, matrix.documents, matrix.nnz) == (1000, 46, 2000)
    assert len(set(rows(matrix))) == 1000
    missing = set(combinations(range(46), 2)) - set(rows(matrix))
    assert len(missing) == 35
    assert missing != set(list(combinations(range(46), 2))[1000:])  # theirs: the tail
    assert missing != set(combinations(range(46), 2)) - set(rows(patterns.dense(1000, 2, rng("b"))))


@pytest.mark.parametrize(
    ("queries", "k", "documents"),
    [
        (165, 3, 11),
        (2000, 300, 302),
        (1000, 1, 1000),
        (1, 2, 2),
        (2, 2, 3),
        (5000, 10, 16),
        (1_000_000, 2, 1415),
    ],
)
def test_dense_takes_the_fewest_documents(queries: int, k: int, documents: int) -> None:
    matrix = patterns.dense(queries, k, rng())
    assert matrix.documents == documents
    assert math.comb(documents, k) >= queries
    assert documents == k or math.comb(documents - 1, k) < queries
    assert set(matrix.row_sums.tolist()) == {k}


@pytest.mark.parametrize(
    ("queries", "k", "n"),
    [
        (1000, 2, 50_000),
        (1035, 2, 46),
        (100, 7, 9 * 4),
        (200, 9, 12),
        (20, 100, 200),
        (5, 900, 1000),
    ],
)
def test_random(queries: int, k: int, n: int) -> None:
    matrix = patterns.random(queries, k, n, rng())
    assert (matrix.documents, set(matrix.row_sums.tolist())) == (n, {k})
    assert len(set(rows(matrix))) == queries


def test_cycle() -> None:
    assert rows(patterns.cycle(4, 2)) == [(0, 1), (1, 2), (2, 3), (0, 3)]
    matrix = patterns.cycle(5, 3)
    assert matrix.documents == 10
    sets = [set(row) for row in rows(matrix)]
    for i in range(5):
        for j in range(i):
            assert len(sets[i] & sets[j]) == (1 if (i - j) % 5 in (1, 4) else 0)


def test_disjoint() -> None:
    assert rows(patterns.disjoint(3, 2)) == [(0, 1), (2, 3), (4, 5)]


@pytest.mark.parametrize(
    ("queries", "k", "n"),
    [
        (1000, 2, 200),
        (45, 2, 10),
        (1000, 2, 1000),
        (84, 3, 9),
        (1000, 50, 50_000),
        (40, 2, 10),
        (816, 3, 18),
        (810, 3, 18),
        (8, 7, 8),
    ],
)
def test_regular(queries: int, k: int, n: int) -> None:
    matrix = patterns.regular(queries, k, n, rng())
    assert set(matrix.column_sums.tolist()) == {queries * k // n}
    assert set(matrix.row_sums.tolist()) == {k}
    assert len(set(rows(matrix))) == queries


@pytest.mark.parametrize(("n", "degree"), [(4, 1), (16, 6), (64, 28), (256, 120), (1024, 496)])
def test_hadamard(n: int, degree: int) -> None:
    matrix = patterns.hadamard(n)
    assert set(matrix.row_sums.tolist()) == set(matrix.column_sums.tolist()) == {degree}
    signs = 1 - 2 * matrix.dense().astype(np.int64)
    assert (signs @ signs.T == n * np.eye(n, dtype=np.int64)).all()


@pytest.mark.parametrize(("p", "n"), [(2, 7), (3, 13), (5, 31), (43, 1893)])
def test_projective(p: int, n: int) -> None:
    matrix = patterns.projective(p)
    assert (matrix.queries, matrix.documents) == (n, n)
    assert set(matrix.row_sums.tolist()) == set(matrix.column_sums.tolist()) == {p + 1}
    full = matrix.dense().astype(np.float32)
    assert (full @ full.T == 1 + p * np.eye(n)).all()  # any two lines share one point


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: patterns.hadamard(60),
            "params.n: must be a power of 4, for example 16 or 64, not 60",
        ),
        (
            lambda: patterns.projective(42),
            "params.p: must be a prime, for example 41 or 43, not 42",
        ),
        (lambda: patterns.projective(997), "params.p: at most 211, not 997"),
        (
            lambda: patterns.random(100, 2, 10, rng()),
            "params.queries: there are 45 subsets of 2 of 10 documents; queries is 100",
        ),
        (
            lambda: patterns.random(1, 11, 10, rng()),
            "params.k: 11 relevant documents a query, but only 10 exist",
        ),
        (
            lambda: patterns.cycle(10, 1),
            "params: a cycle needs k of at least 2, so that neighbours can share a document, and at "
            "least 3 queries; k is 1, queries 10",
        ),
        (
            lambda: patterns.regular(10, 2, 7, rng()),
            "params: 7 documents cannot all be relevant to equally many of 10 queries with k = 2: "
            "queries x k = 20 must be a multiple of the documents, at most 7 x 6",
        ),
    ],
)
def test_impossible(make: Callable[[], QrelMatrix], expected: str) -> None:
    with pytest.raises(RecipeError) as error:
        make()
    assert str(error.value) == expected


def test_matrix() -> None:
    matrix = QrelMatrix.from_rows([[2, 0], [], [2]], 4)
    assert matrix.dense().tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    play, columns, kept = matrix.positives_only()
    assert (play.dense().tolist(), columns.tolist(), kept.tolist()) == (
        [[1, 1], [0, 1]],
        [0, 2],
        [0, 2],
    )
    indptr, queries = matrix.columns()
    assert (indptr.tolist(), queries.tolist()) == ([0, 1, 1, 3, 3], [0, 0, 2])
    again = QrelMatrix.from_rows([[1], [0, 2], [], [1], [0, 2]], 3)
    assert again.row_classes().tolist() == [0, 1, 2, 0, 1]
    assert again.transpose().dense().tolist() == again.dense().T.tolist()
    assert again.take_rows(np.array([4, 0])).dense().tolist() == [[1, 0, 1], [0, 1, 0]]
    with pytest.raises(ValueError, match=r"an index is outside 0\.\.1"):
        QrelMatrix.from_rows([[2]], 2)
    with pytest.raises(ValueError, match="given twice"):
        QrelMatrix.from_rows([[1, 1]], 2)
