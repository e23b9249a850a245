"""The three notions: their order, known values, and a sign matrix that is really there."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from retgen.qrels import QrelMatrix, certificate, patterns
from retgen.qrels.certificate import brackets
from retgen.streams import Stream
from tests.loops import for_each

RNG = Stream(3, "test")


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        # order 4 and sign rank 5 for the pairs of six documents or more
        (QrelMatrix.from_rows(list(combinations(range(6), 2)), 6), [(4, 4), (4, 5), (5, 5)]),
        (patterns.dense(1000, 2, RNG), [(4, 4), (4, 5), (5, 5)]),
        (patterns.dense(165, 3, RNG), [(6, 6), (6, 7), (7, 7)]),
        (patterns.hadamard(64), [(7, 42), (7, 43), (8, 43)]),
        (patterns.cycle(1000, 2), [(2, 2), (2, 3), (2, 3)]),
        (QrelMatrix.from_rows([[]], 2), []),
    ],
)
def test_known_values(matrix: QrelMatrix, expected: list[tuple[int, int]]) -> None:
    result = brackets(certificate(matrix, 50_000))
    assert [(bracket.lower, bracket.upper) for bracket in result] == expected
    assert [bracket.notion for bracket in result] == (
        ["row order", "global threshold", "sign rank"] if expected else []
    )


@for_each("seed", range(20))
def test_sign_matrices_of_known_rank_are_within_the_bracket(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    signs = rng.standard_normal((60, d)) @ rng.standard_normal((d, 25)) > 0
    matrix = QrelMatrix.from_rows([np.flatnonzero(row).tolist() for row in signs], 25)
    order, both, sign = brackets(certificate(matrix))
    assert sign.lower <= d
    assert both.lower <= d
    assert order.lower <= d
    assert order.lower <= both.lower <= sign.lower
    assert order.upper <= both.upper <= sign.upper == order.upper + 1
