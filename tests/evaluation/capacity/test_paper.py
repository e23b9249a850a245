"""Free embeddings: what is said to be solved is solved, by a count that shares no code with it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from retgen.evaluation.capacity import best, paper

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def brute_margin(queries: np.ndarray, documents: np.ndarray) -> float:
    """The worst margin over all pairs, one query at a time; queries by larger, then smaller."""
    n = len(documents)
    order = [(a, b) for b in range(n) for a in range(b)]
    worst = math.inf
    for query, both in zip(queries.astype(np.float64), order, strict=True):
        scores = [float(np.dot(query, document)) for document in documents.astype(np.float64)]
        others = [score for place, score in enumerate(scores) if place not in both]
        worst = min(worst, min(scores[place] for place in both) - max(others))
    return worst


def test_table_6_gives_the_papers_cubic():
    fit = paper.cubic_fit(paper.TABLE_6)
    assert [round(value, 4) for value in fit.coefficients] == [-10.5322, 4.0309, 0.0520, 0.0037]
    assert round(fit.r2, 4) == 0.9986
    assert list(paper.TABLE_6) == list(range(4, 46))
    assert (paper.TABLE_6[4], paper.TABLE_6[24], paper.TABLE_6[45]) == (10, 170, 626)


def test_margins_are_the_brute_force_ones():
    units = paper.random_units(15 + 6, 3, seed=1)
    _, double = paper.margins(units[:15], units[15:])
    assert double == pytest.approx(brute_margin(units[:15].numpy(), units[15:].numpy()), abs=1e-12)
    assert double < 0
    # documents on the axes and queries half-way: relevant 1/sqrt(2), the others 0
    axes = torch.eye(4)
    first, second = paper.pairs(4)
    single, double = paper.margins((axes[first] + axes[second]) / math.sqrt(2), axes)
    assert single == double == pytest.approx(math.sqrt(0.5), abs=1e-7)


@pytest.mark.slow
def test_critical_n_of_the_papers_protocol():
    results = list(paper.critical([1, 2, 4], seeds=3))
    assert [(one.dimension, one.complete) for one in results] == [(1, True), (2, True), (4, True)]
    assert results[0].documents == 2  # on a line all but one document tie
    assert results[1].documents == 3
    assert 8 <= results[2].documents <= 12
    assert results[2].documents == max(results[2].by_seed)
    assert len(results[2].by_seed) == 3
    assert results[2].margin > 0


def test_a_deadline_is_said():
    (one,) = paper.critical([4, 5], seeds=1, deadline=0.0)
    assert one[:4] == (4, 2, (2,), False)
    results = list(best.critical([4, 5], seeds=1, deadline=0.0))
    assert [one[:4] for one in results] == [(4, 2, (), False), (5, 2, (), False)]


@pytest.mark.slow
def test_the_same_arguments_give_the_same_result():
    assert paper.solve(4, 9, [0, 5]) == paper.solve(4, 9, [0, 5])
    assert paper.solve(4, 9, [0]) != paper.solve(4, 9, [1])
    one, two = (next(best.lineage(5, 3, "cpu", math.inf)) for _ in range(2))
    assert one.margin == two.margin
    assert torch.equal(one.documents, two.documents)


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "documents"), [(4, 20), (5, 30), (6, 60)])
def test_the_best_optimiser_goes_far_beyond_the_papers_critical_n(dimension, documents):
    assert documents >= 2 * paper.TABLE_6[dimension]
    grown = best.lineage(dimension, 0, "cpu", math.inf)
    result = next(one for one in grown if len(one.documents) >= documents)
    queries, vectors = result.queries.numpy(), result.documents.numpy()
    documents = len(vectors)
    assert queries.dtype == vectors.dtype == np.float32
    assert queries.shape == (documents * (documents - 1) // 2, dimension)
    assert vectors.shape == (documents, dimension)
    for units in (queries, vectors):
        lengths = np.linalg.norm(units.astype(np.float64), axis=1)
        assert np.abs(lengths - 1).max() < 1e-6
    assert result.margin == pytest.approx(brute_margin(queries, vectors), abs=1e-12)
    assert result.margin > 0
