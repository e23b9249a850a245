"""The closed form: its polynomials, its margins, and what number formats carry."""

from __future__ import annotations

import math

import pytest

from retgen.evaluation.capacity import construct


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
