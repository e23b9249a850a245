"""Texts encoded by the workers of an engine: the vectors and the tokens of the model here."""

from __future__ import annotations

import json
import os

import pytest
import torch

from retgen.search.embedders.base import load_embedder
from retgen.search.embedders.options import Options
from tests.conftest import Gen, Write
from tests.work import work
from tests.work.work import Eager

TEXTS = [f"{'a note of ' * (i % 7)}owl number {i}" for i in range(600)]  # two tasks


@pytest.mark.slow
@pytest.mark.usefixtures("one_torch_thread")
def test_vectors_and_tokens_are_those_of_the_model_here() -> None:
    here, lengths = load_embedder("minilm", Options(max_length=8)).encode(TEXTS, "document")
    there = load_embedder("minilm", Options(max_length=8, engine=Eager(2)))
    vectors, counts = there.encode(TEXTS, "document")
    assert torch.allclose(vectors, here, atol=1e-5)
    assert counts == lengths
    assert max(counts) > 8


@pytest.mark.slow
def test_scores_by_a_cluster_are_those_of_one_process(dataset: Write, gen_process: Gen) -> None:
    documents = {f"d{i}": text for i, text in enumerate(TEXTS)}
    queries = {f"q{i}": f"owl {i}" for i in range(0, 600, 20)}
    path = dataset(documents, queries, [(name, f"d{name[1:]}", 1) for name in queries])
    call = "eval", path, "--model", "minilm", "--max-length", "16", "--no-cache", "--json"
    scores = []
    for more in ((), ("--engine", "ray")):
        done = gen_process(*call, *more, env={**os.environ, **work.RAY})
        assert done.returncode == 0, done.stderr
        (result,) = json.loads(done.stdout)["results"]
        scores.append(result["metrics"])
    assert scores[0] == pytest.approx(scores[1], abs=0.01)
    assert scores[0]["nDCG@10"] > 0.1
