"""Each retriever that runs a model against a few lines of plain arithmetic."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, retriever
from retgen.progress import no_progress
from retgen.search import vectors as vectors_module
from retgen.search.collection import Collection
from retgen.search.embedders.loading import load_model
from retgen.search.vectors import VectorRetriever
from tests.evaluation.retrievers.ranking import ranked


def texts(collection: Collection) -> list[str]:
    return [text for _, block in collection.blocks(4) for text in block]


def test_blocks_cut_anywhere_are_the_same(collection: Collection) -> None:
    assert [first for first, _ in collection.blocks(4)] == [0, 4, 8, 12]
    assert texts(collection) == [t for _, block in collection.blocks(100) for t in block]
    some = collection.texts(np.array([2, 14]))
    assert some == {2: texts(collection)[2], 14: texts(collection)[14]}


def test_dense_search_is_the_product_of_cut_vectors(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors_module, "BLOCK", 4)
    monkeypatch.setattr(vectors_module, "QUERIES", 7)
    result = ranked("static:minilm", collection, dims=(16, 384))
    model = load_model("static:minilm")
    documents = model.encode(texts(collection))
    queries = model.encode([query.text for query in collection.queries])
    for one, dim in zip(result, (16, 384), strict=True):
        assert one.dim == dim
        d, q = documents[:, :dim], queries[:, :dim]
        d = d / np.linalg.norm(d, axis=1, keepdims=True)
        q = q / np.linalg.norm(q, axis=1, keepdims=True)
        scores = q @ d.T
        np.testing.assert_array_equal(one.rankings.documents, np.argsort(-scores, axis=1)[:, :5])
        np.testing.assert_allclose(one.rankings.scores, -np.sort(-scores, axis=1)[:, :5], atol=1e-6)


def test_reranking_sorts_the_first_by_the_cross_encoder(
    collection: Collection, models: dict[str, Path], tmp_path: Path
) -> None:
    from sentence_transformers import CrossEncoder

    name = f"rerank:bm25+{models['cross']}"
    options = {"rerank": 4, "cache": tmp_path}
    one = ranked(name, collection, depth=6, **options)[0]
    assert (one.details["reranked"], one.details["dtype"]) == (4, "float32")
    first = ranked("bm25", collection, depth=6)[0].rankings.documents
    model = CrossEncoder(str(models["cross"]), device="cpu")
    every = texts(collection)
    for row in (0, 50):
        head = [int(i) for i in first[row][:4] if i >= 0]
        scores = model.predict([(collection.queries[row].text, every[i]) for i in head])
        expected = [i for _, i in sorted(zip(scores, head, strict=True), reverse=True)]
        tail = [int(i) for i in first[row][4:]]
        assert one.rankings.documents[row].tolist() == (expected + tail + [-1] * 6)[:6]
    again = ranked(name, collection, depth=6, **options)[0]  # from the cache
    np.testing.assert_array_equal(again.rankings.documents, one.rankings.documents)


def test_mteb_models_by_name(collection: Collection) -> None:
    encoder = ranked("mteb:mteb/baseline-random-encoder", collection, depth=2)[0]
    assert encoder.dim == 32


@pytest.mark.slow
def test_late_interaction_takes_prompts_and_lengths(
    collection: Collection, models: dict[str, Path]
) -> None:
    for name in (f"late:{models['late']}", "late:minilm"):
        late = retriever(name, Options(query_prompt="find: ", max_length=16, dims=(32,)))
        plain = retriever(name, Options(max_length=16))
        assert isinstance(late, VectorRetriever)
        assert isinstance(plain, VectorRetriever)
        (one,), _ = late.embedder.encode(["tea"], "query")
        (two,), _ = plain.embedder.encode(["find: tea"], "query")
        torch.testing.assert_close(one, two)
        assert len(plain.embedder.encode(["salt " * 40], "document")[0][0]) <= 16
        ranking = next(iter(late.rank(collection, 3, no_progress)))
        assert ranking.dim is None
        assert ranking.details["prompts"] == {"query": "find: ", "document": ""}
        assert ranking.details["dtype"] == "float32"
        assert ranking.details["notes"] == ["has no vector of a text that --dims could cut"]
        assert ranking.details["trained_for_late_interaction"] is (name != "late:minilm")
        assert (ranking.rankings.documents >= 0).all()


def test_a_model_of_mteb_takes_no_options_of_sentence_transformers() -> None:
    with pytest.raises(UsageError) as caught:
        retriever("mteb:mteb/baseline-random-encoder", Options(max_length=64))
    assert str(caught.value) == (
        "--max-length: mteb:mteb/baseline-random-encoder runs as MTEB runs it. Name the model "
        "itself, as mteb/baseline-random-encoder, or score it in a call of its own, without"
    )


def test_a_classifier_of_pairs_is_no_reranker(models: dict[str, Path], tmp_path: Path) -> None:
    from transformers import BertConfig, BertForSequenceClassification

    shutil.copytree(models["bare-cross"], nli := tmp_path / "nli")
    config = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, num_labels=3)
    BertForSequenceClassification(config).save_pretrained(nli)
    with pytest.raises(UsageError) as caught:
        retriever(name := f"rerank:bm25+{nli}", Options())
    assert str(caught.value) == (
        f"--model {name}: {nli} gives 3 values a pair, as a classifier does. Name a cross-encoder "
        "that gives one score"
    )
