"""Random orders have no score where there is no closed form, and count what is absent."""

from __future__ import annotations

import pytest

from retgen.evaluation.scoring.baselines import baselines
from retgen.evaluation.scoring.measures import Measures
from retgen.search.collection import load
from tests.evaluation.scoring.fruit import CORPUS, QRELS, QUERIES


def test_the_measure_without_closed_form_has_no_random_baseline(dataset) -> None:  # type: ignore[no-untyped-def]
    collection = load(dataset(CORPUS, QUERIES, QRELS))
    result = baselines(collection, Measures(["MAP"]))
    assert result["random"] == {"MAP": None}


def test_baselines_of_absent_documents_and_deep_cutoffs(dataset) -> None:  # type: ignore[no-untyped-def]
    # of two relevant documents one is not in the corpus of four
    path = dataset(CORPUS, {"q": "x"}, [("q", "a", 1), ("q", "gone", 1)])
    random = baselines(load(path), Measures(["recall@2", "P@8", "success@2", "MRR@2"]))["random"]
    assert random == pytest.approx(
        {"recall@2": 0.25, "P@8": 1 / 8, "success@2": 0.5, "MRR@2": 1 / 4 + 1 / 8}
    )
