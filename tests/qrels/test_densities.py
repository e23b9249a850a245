"""Densities: the paper's figures, and every way of counting against the definition."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from retgen.qrels import QrelMatrix, densities, density
from retgen.qrels import matrix as matrices
from retgen.streams import Stream
from tests.loops import for_each

OFFICIAL = QrelMatrix.from_rows(list(combinations(range(46), 2))[:1000], 46)


def test_the_official_matrix() -> None:
    result = densities(OFFICIAL)
    assert (result.documents, result.queries) == (46, 1000)
    assert result.document_graph_density == 1000 / 1035
    assert result.query_graph_density == 42_698 / 499_500
    assert result.average_query_strength == 2 * 42_698 / 3 / 1000  # every pair shares one of three
    assert result.left_out == {}


def by_definition(matrix: QrelMatrix) -> tuple[float, float, float]:
    sets = [set(matrix.row(i).tolist()) for i in range(matrix.queries)]
    sets = [row for row in sets if row]
    documents = len(set().union(*sets))
    edges = {pair for row in sets for pair in combinations(sorted(row), 2)}
    jaccard = [len(a & b) / len(a | b) for a, b in combinations(sets, 2)]
    return (
        len(edges) / math.comb(documents, 2),
        sum(x > 0 for x in jaccard) / math.comb(len(sets), 2),
        2 * sum(jaccard) / len(sets),
    )


@pytest.mark.parametrize("way", ["listed", "products", "subsets"])
@for_each("seed", range(12))
def test_every_way(way: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows repeat, columns repeat, some are empty."""
    if way != "subsets":
        monkeypatch.setattr(density, "SUBSETS", 0)
    monkeypatch.setattr(matrices, "BLOCK", 40)
    monkeypatch.setattr(matrices, "LISTED", 1e-9 if way == "products" else 10**9)
    draw = Stream(seed, "densities")
    k = 2 + seed % 3
    if way == "subsets":
        rows = [draw.permutation(9)[:k].tolist() for _ in range(90)]
    else:
        rows = [sorted({int(j) for j in draw.integers(9, k)}) for _ in range(30)]
    matrix = QrelMatrix.from_rows([*rows, rows[0], rows[1]], 11)
    result = densities(matrix)
    assert result.left_out == {}
    assert (
        result.document_graph_density,
        result.query_graph_density,
        result.average_query_strength,
    ) == pytest.approx(by_definition(matrix), rel=1e-12)


def test_too_large_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "LISTED", 1)
    monkeypatch.setattr(matrices, "PRODUCT", 1)
    monkeypatch.setattr(density, "SUBSETS", 0)
    result = densities(OFFICIAL)
    assert result.query_graph_density is None
    assert result.average_query_strength is None
    reason = "1,000 x 46: the exact count would take too long, and is not estimated"
    assert result.left_out["query graph density"] == reason
    assert list(result.left_out) == [
        "document graph density",
        "query graph density",
        "average query strength",
    ]
