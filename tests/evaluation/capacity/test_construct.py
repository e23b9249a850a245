"""The closed form: its polynomials, its margins, and what number formats carry."""

from __future__ import annotations

import math

import numpy as np
import pytest

from retgen.errors import UsageError
from retgen.evaluation.capacity import construct


def kernel(degree: int, t: np.ndarray) -> np.ndarray:
    """Fejer's kernel from its definition by sines, 1 at multiples of 2 pi."""
    half = np.sin(t / 2)
    at_zero = np.isclose(half, 0, atol=1e-12)
    safe = np.where(at_zero, 1.0, half)
    return np.where(at_zero, 1.0, (np.sin((degree + 1) * t / 2) / ((degree + 1) * safe)) ** 2)


@pytest.mark.parametrize("dimension", [4, 6, 8, 14])
def test_scores_are_the_polynomial_that_is_zero_at_the_pair(dimension):
    count, r = 9, dimension // 2
    t = 2 * np.pi * np.arange(count) / count
    documents = construct.documents(dimension, count).numpy()
    queries = construct.queries(dimension, count).numpy()
    assert documents.shape == (9, dimension)
    assert queries.shape == (36, dimension)
    assert np.linalg.norm(documents, axis=1) == pytest.approx(np.ones(9))
    assert np.linalg.norm(queries, axis=1) == pytest.approx(np.ones(36))
    order = [(a, b) for b in range(count) for a in range(b)]
    for query, (a, b) in zip(queries, order, strict=True):
        wanted = -(1 - kernel(r // 2, t - t[a])) * (1 - kernel(r - r // 2, t - t[b]))
        scores = documents @ query
        # up to a positive factor and a constant
        slope, constant = np.polyfit(wanted, scores, 1)
        assert slope > 0
        assert scores == pytest.approx(slope * wanted + constant, abs=1e-12)


@pytest.mark.parametrize(("dimension", "count"), [(4, 10), (6, 11), (8, 9), (10, 12)])
def test_the_margin_is_that_of_a_search_over_all_queries(dimension, count):
    documents = construct.documents(dimension, count).numpy()
    queries = construct.queries(dimension, count).numpy()
    worst = math.inf
    for query, both in zip(queries, [(a, b) for b in range(count) for a in range(b)], strict=True):
        scores = documents @ query
        relevant = set(both)
        others = [scores[j] for j in range(count) if j not in relevant]
        worst = min(worst, min(scores[j] for j in relevant) - max(others))
    assert construct.margin(dimension, count) == pytest.approx(worst, rel=1e-9)
    assert worst > 0
    assert construct.margin(4, 1000) == pytest.approx(1.34e-10, rel=0.01)  # as the fourth power


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "precision", "last"),
    [(4, "float32", 164), (4, "bf16", 13), (4, "int8", 14)],
)
def test_the_first_number_of_documents_that_a_format_does_not_carry(dimension, precision, last):
    assert construct.largest(dimension, precision)[2:4] == (last, 256)
    assert construct.largest(dimension, precision, limit=9).documents == 9
    assert construct.carries(4, 300, "float64")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: construct.documents(5, 10),
            "the closed form is for even dimensions from 4 on, not 5 (an odd one can leave its "
            "last component zero)",
        ),
        (
            lambda: construct.queries(2, 10),
            "the closed form is for even dimensions from 4 on, not 2 (an odd one can leave its "
            "last component zero)",
        ),
        (lambda: construct.documents(4, 2), "at least 3 documents are needed, not 2"),
        (
            lambda: construct.carries(4, 9, "fp4"),
            "precision 'fp4' is not one of float64, float32, bf16, int8",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(UsageError) as caught:
        call()
    assert str(caught.value) == message
