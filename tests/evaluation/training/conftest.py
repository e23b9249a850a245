"""Tiny models and data, all real: word vectors of 16 dimensions, a transformer of one layer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    StaticEmbedding,
)

import retgen
from retgen.evaluation.training import (
    Pairs,
    read_pairs,
)
from retgen.evaluation.training.config import TrainingRun
from retgen.search.embedders.loading import load_model


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 queries over 12 documents, 2 each."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    retgen.run("limit_small", out=out, overrides={"params.queries": 60, "params.docs": 12})
    return out


@pytest.fixture(scope="module")
def pairs(run: Path) -> Pairs:
    return read_pairs(run)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of other things, with a hard negative for every query."""
    folder = tmp_path_factory.mktemp("other") / "animals"
    folder.mkdir()
    names = ["owl", "cat", "dog", "fox", "bee", "ant"]
    corpus = [{"_id": f"d{i}", "title": "", "text": f"the {n} runs"} for i, n in enumerate(names)]
    queries = [{"_id": f"q{i}", "text": f"where is the {n}"} for i, n in enumerate(names)]
    qrels = [
        {"query-id": f"q{i}", "corpus-id": f"d{(i + j) % 6}", "score": 1 - j}
        for i in range(6)
        for j in range(2)
    ]
    for name, rows in (("corpus", corpus), ("queries", queries), ("qrels", qrels)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def static() -> SentenceTransformer:
    """MiniLM's word vectors cut to 16 dimensions."""
    whole = load_model("static:minilm", "cpu")[0]
    assert isinstance(whole, StaticEmbedding)
    weights = whole.embedding.weight.detach()[:, :16].clone()
    module = StaticEmbedding(whole.tokenizer, embedding_weights=weights)
    return SentenceTransformer(modules=[module], device="cpu")


@pytest.fixture(scope="module")
def short(static: SentenceTransformer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Those word vectors in a folder: a training of them saves 2 MB rather than 47 a checkpoint."""
    folder = tmp_path_factory.mktemp("models") / "short"
    static.save_pretrained(str(folder))
    return str(folder)


@pytest.fixture(scope="session")
def layer(models: dict[str, Path]) -> Path:
    """A folder with a random transformer of one layer with dropout, which reads 512 tokens."""
    return models["dense"]


def with_negatives(pairs: Pairs) -> Pairs:
    """Every pair with two documents that are not relevant to its query."""
    documents = sorted(set(pairs.positives))
    of: dict[str, set[str]] = {}
    for anchor, positive in zip(pairs.anchors, pairs.positives, strict=True):
        of.setdefault(anchor, set()).add(positive)
    negatives = []
    for i, anchor in enumerate(pairs.anchors):
        others = [document for document in documents if document not in of[anchor]]
        negatives.append([others[(i + j) % len(others)] for j in range(2)])
    return replace(pairs, negatives=negatives, origin="a test")


def distinct_pairs() -> Pairs:
    """Pairs that share no text, so that batches are full, and of an even number."""
    numbers = range(48)
    return Pairs(
        [f"where is owl {i}" for i in numbers],
        [f"owl {i} runs in wood {i * 7 % 48}" for i in numbers],
        [[f"fox {i} sleeps"] for i in numbers],
        [f"q{i}" for i in numbers],
        "a test",
    )


FAST: dict[str, Any] = {"learning_rate": 0.02, "batch_size": 16, "epochs": 4, "warmup_ratio": 0.0}


def weights(trained: TrainingRun) -> dict[str, Any]:
    model = SentenceTransformer(str(trained.path), device="cpu")
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}
