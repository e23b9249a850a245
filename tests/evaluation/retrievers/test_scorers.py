"""Each scorer against a few lines of plain arithmetic, or against the library that it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from retgen.evaluation import retrievers
from retgen.evaluation.retrievers import Options, retriever
from retgen.evaluation.tasks.multiconir.ladders import load_ladders
from retgen.evaluation.tasks.multiconir.pairs import PairPlan
from retgen.progress import no_progress
from retgen.search.base import CandidateSet, System
from retgen.search.collection import Collection, load
from retgen.search.embedders.loading import load_model
from tests.evaluation.tasks.multiconir.made import write_ladders


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return load(write_ladders(tmp_path_factory.mktemp("ladders"), 8))


@pytest.fixture(scope="module")
def groups(collection: Collection) -> list[CandidateSet]:
    """Every whole ladder under its longest queries: all documents of the corpus."""
    plan = PairPlan(load_ladders(collection)[0], main=True)
    results = [group for group in plan.sets if len(group.texts) == 11]
    assert len(results) == 16
    return results


def systems(name: str, **options: object) -> list[System]:
    return retrievers.systems(name, Options(**options))  # type: ignore[arg-type]


def score(
    name: str, groups: Sequence[CandidateSet], **options: object
) -> list[NDArray[np.float64]]:
    return systems(name, **options)[0].scorer.score(groups, no_progress)


def corpus_texts(collection: Collection) -> list[str]:
    return [text for _, block in collection.blocks(100) for text in block]


def test_the_papers_bm25_is_rank_bm25_over_the_candidates(groups: list[CandidateSet]) -> None:
    from rank_bm25 import BM25Okapi

    pairs = [CandidateSet(g.query, (g.texts[0], g.texts[i])) for g in groups for i in (1, 5, 10)]
    for group, result in zip(
        [*groups, *pairs], score("bm25-paper", [*groups, *pairs]), strict=True
    ):
        index = BM25Okapi([text.lower().split() for text in group.texts])
        np.testing.assert_array_equal(result, index.get_scores(group.query.lower().split()))


@pytest.mark.parametrize("name", ["bm25", "tfidf"])
def test_words_count_as_in_the_retriever(
    name: str, collection: Collection, groups: list[CandidateSet]
) -> None:
    texts = corpus_texts(collection)
    ranked = next(iter(retriever(name, Options()).rank(collection, len(texts), no_progress)))
    rows = {query.text: row for row, query in enumerate(collection.queries)}
    for group, result in zip(groups, score(name, groups), strict=True):
        found = ranked.rankings.documents[rows[group.query]].tolist()
        scores = ranked.rankings.scores[rows[group.query]]
        expected = [scores[found.index(texts.index(text))] for text in group.texts]
        np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_the_same_words_make_a_tie(groups: list[CandidateSet]) -> None:
    """Two documents that share the same words with a query differ in no digit."""
    rare = "zebra quagga okapi tapir"
    one = [f"{rare} {i} alpha beta" for i in range(40)]
    two = [f"gamma {i} {rare} delta" for i in range(40)]
    pairs = [CandidateSet(rare, pair) for pair in zip(one, two, strict=True)]
    for name, noise in (("bm25", 0.0), ("tfidf", 1e-6), ("rank-bm25", 0.0)):
        scorer = systems(name)[0].scorer
        assert scorer.noise == noise
        for result in scorer.score(pairs, no_progress):
            assert result[0] == pytest.approx(result[1], rel=noise), name


def test_embedders_multiply_vectors(groups: list[CandidateSet]) -> None:
    result = score("static:minilm", groups, dims=(64,))
    model = load_model("static:minilm")
    for group, scores in zip(groups, result, strict=True):
        query = torch.nn.functional.normalize(
            model.encode(group.query, convert_to_tensor=True)[:64], dim=0
        )
        texts = model.encode(list(group.texts), convert_to_tensor=True)[:, :64]
        expected = torch.nn.functional.normalize(texts, dim=1) @ query
        np.testing.assert_allclose(scores, expected.cpu(), atol=1e-6)


def test_cross_encoders_score_pairs(
    groups: list[CandidateSet], models: dict[str, Path], tmp_path: Path
) -> None:
    from sentence_transformers import CrossEncoder

    cross = models["cross"]
    model = CrossEncoder(str(cross), device="cpu")
    expected = [model.predict([(g.query, text) for text in g.texts]) for g in groups[:2]]
    for name in (f"cross:{cross}", f"rerank:bm25+{cross}"):
        result = score(name, groups[:2], cache=tmp_path)
        for one, two in zip(result, expected, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)


def test_what_has_no_score_of_a_pair() -> None:
    assert systems("hybrid:bm25+tfidf") == []
