"""Fusion of rankings, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from retgen.evaluation.collection import load
from retgen.evaluation.search.fusion import Gains, fuse, reciprocal_ranks, scaled
from retgen.evaluation.search.rankings import Rankings
from tests.conftest import Write

LEXICAL = Rankings(
    np.array([[2, 0, -1], [-1, -1, -1]]), np.array([[4, 1, 0], [0, 0, 0]], np.float32)
)
DENSE = Rankings(np.array([[0, 1, 2], [1, 0, 2]]), np.array([[0.9, 0.8, 0.5], [0.3, 0.2, -0.1]], np.float32))  # fmt: skip


@pytest.mark.parametrize(
    ("gains", "first", "second"),
    [
        # lexical scores begin at 0, what was not found; dense ones at the least of three
        (scaled, {0: 1 / 4 + 1, 2: 1.0, 1: 0.75}, {1: 1.0, 0: 0.75, 2: 0.0}),
        (reciprocal_ranks, {0: 1 / 62 + 1 / 61, 2: 1 / 61 + 1 / 63, 1: 1 / 62},
         {1: 1 / 61, 0: 1 / 62, 2: 1 / 63}),
    ],
)  # fmt: skip
def test_scores_are_sums_of_gains(
    gains: Gains, first: dict[int, float], second: dict[int, float], dataset: Write
) -> None:
    texts = {"a": "x", "b": "y", "c": "z"}
    collection = load(dataset(texts, {"q1": "x", "q2": "y"}, [("q1", "a", 1), ("q2", "b", 1)]))
    result = fuse([LEXICAL, DENSE], collection, 3, gains)
    for row, wanted in enumerate((first, second)):
        assert result.documents[row].tolist() == list(wanted)
        assert result.scores[row].tolist() == pytest.approx(list(wanted.values()))


def test_equal_scores_are_all_the_most() -> None:
    assert scaled(np.array([0.4, 0.4], np.float32), True).tolist() == [1.0, 1.0]
    assert scaled(np.array([0.4, 0.2], np.float32), False).tolist() == pytest.approx([1.0, 0.5])
