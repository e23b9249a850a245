"""Texts encoded by the workers of an engine: the vectors and the tokens of the model here."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

from retgen.search.embedders.base import load_embedder
from retgen.search.embedders.options import Options
from retgen.work import Engine, engine_named
from tests.conftest import Gen, Write

TEXTS = [f"{'a note of ' * (i % 7)}owl number {i}" for i in range(600)]  # two tasks


@pytest.fixture(params=["local", "ray"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    before = dict(os.environ)
    yield engine_named(request.param, 2)
    if request.param == "ray":
        import ray

        ray.shutdown()
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.usefixtures("one_torch_thread")
def test_vectors_and_tokens_are_those_of_the_model_here(engine: Engine) -> None:
    here, lengths = load_embedder("minilm", Options(max_length=8)).encode(TEXTS, "document")
    there = load_embedder("minilm", Options(max_length=8, engine=engine))
    done: list[int] = []
    vectors, counts = there.encode(TEXTS, "document", done.append)
    assert torch.allclose(vectors, here, atol=1e-5)
    assert counts == lengths
    assert max(counts) > 8
    assert done == [512, 600]


def test_an_engine_that_is_none(gen: Gen, dataset: Write) -> None:
    path = dataset({"d": "an owl"}, {"q": "owl"}, [("q", "d", 1)])
    done = gen("eval", path, "--engine", "clusters")
    assert done.returncode == 2
    assert "--engine clusters: there is none of this name; use local, ray, auto" in done.stderr
