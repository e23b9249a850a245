"""Vectors are compared as sentence-transformers compares those of the model, everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, retriever
from retgen.progress import no_progress
from retgen.search.base import CandidateSet
from retgen.search.collection import Collection, load
from retgen.search.embedders.loading import Similarity, load_model, similarity_of
from retgen.search.vectors import VectorRetriever, unit_length

pytestmark = pytest.mark.usefixtures("one_torch_thread")
NAMES = get_args(Similarity)
WORDS = "red blue old new roof door cat dog tree lake train bread salt rain".split()


@pytest.fixture(params=NAMES)
def model(request: pytest.FixtureRequest, tmp_path: Path) -> SentenceTransformer:
    """Word vectors of different lengths, so that no two similarities rank alike."""
    whole = load_model("static:minilm", "cpu")
    with torch.no_grad():
        table = whole[0].embedding.weight
        table *= 0.2 + torch.rand(len(table), 1, generator=torch.Generator().manual_seed(1))
    result = SentenceTransformer(modules=[whole[0]], device="cpu", similarity_fn_name=request.param)
    result.save_pretrained(str(tmp_path / "model"))
    return result


def texts(count: int, words: int, seed: int) -> list[str]:
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, words)) + f" {i}" for i in range(count)]


DOCUMENTS, QUERIES = texts(60, 6, 0), texts(9, 3, 1)


def expected(model: SentenceTransformer, dim: int) -> Any:
    one, two = model.encode_query(QUERIES), model.encode_document(DOCUMENTS)
    return model.similarity(one[:, :dim], two[:, :dim]).numpy()


def test_search_and_candidate_sets(
    model: SentenceTransformer, tmp_path: Path, dataset: Any
) -> None:
    ids = [f"d{i:02}" for i in range(len(DOCUMENTS))]
    queries = {f"q{i}": text for i, text in enumerate(QUERIES)}
    collection: Collection = load(
        dataset(dict(zip(ids, DOCUMENTS, strict=True)), queries, [(q, "d00", 1) for q in queries])
    )
    options = Options(dims=(32, 384), cache=tmp_path / "vectors")
    loaded = retriever(str(tmp_path / "model"), options)
    assert isinstance(loaded, VectorRetriever)
    for _ in range(2):  # encoded, then from the cache
        for one in loaded.rank(collection, 60, no_progress):
            assert one.dim is not None
            assert one.details["similarity"] == model.similarity_fn_name
            wanted = expected(model, one.dim)
            own = np.take_along_axis(wanted, one.rankings.documents, 1)
            np.testing.assert_allclose(one.rankings.scores, own, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(own, -np.sort(-wanted, axis=1), rtol=1e-4, atol=1e-5)
    groups = [CandidateSet(query, tuple(DOCUMENTS[i : i + 5])) for i, query in enumerate(QUERIES)]
    for system in loaded.systems():
        assert system.dim is not None
        wanted = expected(model, system.dim)
        for i, scores in enumerate(system.scorer.score(groups, no_progress)):
            np.testing.assert_allclose(scores, wanted[i, i : i + 5], rtol=1e-4, atol=1e-5)


def test_vectors_of_any_length_become_one() -> None:
    draw = torch.randn(3, 64, generator=torch.Generator().manual_seed(0))
    scales = torch.tensor([1e30, 1e-30, 1.0])[:, None]
    torch.testing.assert_close(unit_length(draw * scales), unit_length(draw), rtol=1e-6, atol=0.0)
    torch.testing.assert_close(unit_length(draw).norm(dim=1), torch.ones(3))
    assert not unit_length(torch.zeros(1, 4)).any()


def test_a_similarity_of_something_else() -> None:
    assert similarity_of("m", None) == "cosine"
    with pytest.raises(UsageError) as caught:
        similarity_of("mteb:m", "MaxSim")
    assert str(caught.value) == (
        "--model mteb:m: its similarity is MaxSim, which is not of single vectors (cosine, dot, "
        "euclidean, manhattan); late:MODEL takes a late-interaction model of the Hub or a folder"
    )
