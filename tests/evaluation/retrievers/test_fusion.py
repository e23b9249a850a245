"""Fusion of rankings, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from retgen.evaluation.retrievers.hybrid import Gains, fuse, reciprocal_ranks, scaled
from retgen.search.collection import load
from retgen.search.rankings import Rankings
from tests.conftest import Write

LEXICAL = Rankings(
    np.array([[2, 0, -1], [-1, -1, -1]]), np.array([[4, 1, 0], [0, 0, 0]], np.float32)
)
DENSE = Rankings(
    np.array([[0, 1, 2], [1, 0, 2]]), np.array([[0.9, 0.8, 0.5], [0.3, 0.2, -0.1]], np.float32)
)


@pytest.mark.parametrize(
    ("gains", "first", "second"),
    [
        # lexical scores begin at 0, what was not found; dense ones at the least of three
        (scaled, {0: 1 / 4 + 1, 2: 1.0, 1: 0.75}, {1: 1.0, 0: 0.75, 2: 0.0}),
        (
            reciprocal_ranks,
            {0: 1 / 62 + 1 / 61, 2: 1 / 61 + 1 / 63, 1: 1 / 62},
            {1: 1 / 61, 0: 1 / 62, 2: 1 / 63},
        ),
    ],
)
def test_scores_are_sums_of_gains(
    gains: Gains, first: dict[int, float], second: dict[int, float], dataset: Write
) -> None:
    texts = {"a": "x", "b": "y", "c": "z"}
    collection = load(dataset(texts, {"q1": "x", "q2": "y"}, [("q1", "a", 1), ("q2", "b", 1)]))
    result = fuse([LEXICAL, DENSE], collection, 3, gains)
    for row, wanted in enumerate((first, second)):
        assert result.documents[row].tolist() == list(wanted)
        assert result.scores[row].tolist() == pytest.approx(list(wanted.values()))


def test_what_ranks_all_but_the_query_itself_ranks_all(dataset: Write) -> None:
    """The least of its scores is not taken for that of documents without a word of the query."""
    collection = load(dataset({"a": "x", "q1": "y", "c": "z"}, {"q1": "y"}, [("q1", "a", 1)]))
    rankings = Rankings(np.array([[0, 1, 2]]), np.array([[0.9, 0.8, 0.5]], np.float32))
    fused = fuse([rankings.without(collection.own, 3)], collection, 3, scaled)
    assert fused.documents.tolist() == [[0, 2, -1]]
    assert fused.scores.tolist() == [[1, 0, 0]]
