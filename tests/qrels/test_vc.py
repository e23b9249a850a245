"""Shattered sets against the definition, and against a search through all sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from retgen.qrels import QrelMatrix, patterns
from retgen.qrels.radon import find_shattered
from retgen.streams import Stream
from tests.loops import for_each


def cut_out(matrix: QrelMatrix, columns: tuple[int, ...]) -> set[frozenset[int]]:
    """The subsets of these columns that rows cut out."""
    return {frozenset(matrix.row(i).tolist()).intersection(columns) for i in range(matrix.queries)}


def dimension(matrix: QrelMatrix) -> int:
    """The VC dimension by its definition."""
    v = 0
    while any(
        len(cut_out(matrix, columns)) == 2 ** (v + 1)
        for columns in combinations(range(matrix.documents), v + 1)
    ):
        v += 1
    return v


@for_each("seed", range(25))
def test_against_a_search_through_all_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 40)), int(rng.integers(1, 9))
    dense = rng.random((rows, columns)) < rng.uniform(0.1, 0.7)
    matrix = QrelMatrix.from_rows([np.flatnonzero(row).tolist() for row in dense], columns)
    result = find_shattered(matrix)
    assert result.complete
    assert len(result.columns) == dimension(matrix)
    assert len(cut_out(matrix, tuple(result.columns))) == 2 ** len(result.columns)


@pytest.mark.parametrize(
    ("matrix", "size"),
    [
        (patterns.dense(1000, 2, Stream(3, "test")), 2),
        (patterns.dense(165, 3, Stream(3, "test")), 3),
        (patterns.hadamard(16), 3),
        (QrelMatrix.from_rows([[j for j in range(6) if i >> j & 1] for i in range(64)], 6), 6),
        (patterns.cycle(50, 2), 2),
        (patterns.disjoint(50, 2), 1),
        (QrelMatrix.from_rows([], 3), 0),
        (QrelMatrix.from_rows([[0, 1, 2]], 3), 0),
    ],
)
def test_known_dimensions(matrix: QrelMatrix, size: int) -> None:
    result = find_shattered(matrix)
    assert result.complete
    assert len(result.columns) == size
    assert result.columns == sorted(result.columns)
    assert len(cut_out(matrix, tuple(result.columns))) == (2**size if matrix.queries else 0)


def test_a_matrix_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="3000 x 3000 is too large to search"):
        find_shattered(patterns.cycle(3000, 2))


def test_an_early_end_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = patterns.hadamard(64)
    monkeypatch.setattr("retgen.qrels.radon.WORK", 10_000_000)
    result = find_shattered(matrix)
    assert not result.complete
    assert len(cut_out(matrix, tuple(result.columns))) == 2 ** len(result.columns)
