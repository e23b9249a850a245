"""Sparse encoders, late interaction and cross-encoders: trained, scored, resumed, refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SparseEncoder

import retgen
from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, retriever
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.training import Pairs, make_config, read_pairs
from retgen.evaluation.training.fit import train
from retgen.evaluation.training.train import train as train_and_score
from retgen.progress import no_progress
from retgen.search.collection import load
from tests.evaluation.training.conftest import with_negatives
from tests.evaluation.training.test_fit import Killed
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows

pytestmark = pytest.mark.usefixtures("one_torch_thread")
KINDS = {"sparse": SparseEncoder, "late": MultiVectorEncoder, "cross": CrossEncoder}
FAST: dict[str, Any] = {"batch_size": 10, "max_length": 16, "learning_rate": 0.01}


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return {
        f"{file.relative_to(folder)}.{name}": value
        for file in sorted(folder.rglob("*.safetensors"))
        for name, value in load_file(file).items()
    }


def same(one: Path, other: Path) -> bool:
    ours, theirs = weights(one), weights(other)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[k], theirs[k]) for k in ours)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["mnrl", "cached-mnrl"])
def test_its_loss_falls_and_its_class_loads_it(
    models: dict[str, Path], other: Path, tmp_path: Path, kind: str, loss: str
) -> None:
    settings = {**FAST, "loss": loss, "max_steps": 40}
    name = f"{kind}:{models[kind]}"
    if kind == "cross":  # a random one learns no words from six pairs
        name, settings["learning_rate"] = "cross:minilm", 3e-4
    trained = train(name, read_pairs(other), make_config(None, settings), tmp_path)
    losses = [loss for _, loss in trained.losses]
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])
    assert trained.collapse == ""
    KINDS[kind](str(trained.path), device="cpu")
    stored = orjson.loads((tmp_path / "identity.json").read_bytes())
    assert stored["config"]["temperature"] == {"sparse": 1.0, "late": 1.0, "cross": 0.1}[kind]
    assert stored["model"] == name


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_one_pair_are_told(models: dict[str, Path], tmp_path: Path, kind: str) -> None:
    queries = ["where is the owl", "who runs", "what runs"]
    pairs = Pairs(queries, ["the owl runs"] * 3, [[], [], []], queries, "a test")
    config = make_config(None, {**FAST, "max_steps": 2})
    trained = train(f"{kind}:{models[kind]}", pairs, config, tmp_path)
    assert trained.collapse.startswith("every batch held 1 pair, so there was nothing to compare ")
    assert trained.seen == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_killed_it_ends_with_the_same_weights(
    models: dict[str, Path], pairs: Pairs, tmp_path: Path, kind: str
) -> None:
    """With dropout, negatives that are drawn, a regulariser that rises, and held-out queries;
    killed five times.
    """
    config = make_config(None, {**FAST, "max_steps": 20, "hold_out": 0.2})
    some, name = with_negatives(pairs), f"{kind}:{models[kind]}"
    whole = train(name, some, config, tmp_path / "whole")
    for step in (3, 3, 9, 10, 20):
        with pytest.raises(KeyboardInterrupt):
            train(name, some, config, tmp_path / "killed", progress=Killed(step))
    resumed = train(name, some, config, tmp_path / "killed")
    assert same(whole.path, resumed.path)
    assert (resumed.held_out, resumed.losses) == (whole.held_out, whole.losses)
    assert resumed.best_step == whole.best_step


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over own documents."""
    folder = tmp_path_factory.mktemp("own")
    recipe = write_recipe(folder / "recipe.yaml", write_rows(folder / "kb.jsonl", TEXTS))
    return retgen.run(recipe, out=folder / "kb").path


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("on", ["limit", "own"])
def test_trained_and_scored(
    models: dict[str, Path], run: Path, own: Path, tmp_path: Path, kind: str, on: str
) -> None:
    """On a bundled set and on own documents; `gen eval` gives the saved model the same scores."""
    path = {"limit": run, "own": own}[on]
    result = train_and_score(
        path, f"{kind}:{models[kind]}", settings={**FAST, "max_steps": 3}, out=tmp_path / "out"
    )
    (scored,) = result.scored_sets
    after = scored.scores(result.trained, "after")
    model = tmp_path / "out" / "model"
    name = {"cross": f"rerank:bm25+{model}"}.get(kind, f"{kind}:{model}")
    evaluation = evaluate(
        [path], models=[name], out=tmp_path / "eval", metrics=scored.measures.names
    )
    (score,) = [one for one in evaluation.datasets[0].scores if one.model == name]
    assert after == pytest.approx({k: score.metrics[k] for k in after}, abs=1e-9)
    rows = [
        line.split("|")[1].strip()
        for line in (tmp_path / "out" / "train.md").read_text().splitlines()
        if line.startswith("| ")
    ]
    assert {"untrained", "trained", "BM25"} <= set(rows)
    assert ("BM25 + trained" in rows) == (kind != "cross")


@pytest.mark.slow
def test_late_interaction_starts_from_the_vectors_of_an_embedder(
    models: dict[str, Path], run: Path, pairs: Pairs, tmp_path: Path
) -> None:
    """Before training it ranks as `late:MODEL` does; the embedder's pooling is gone."""
    name = f"late:{models['dense']}"
    collection = load(run)
    (ours,) = retriever(name, Options()).rank(collection, 12, no_progress)
    seen = []

    def scores(model: Any, when: str) -> dict[str, float]:
        seen.append((when, retriever_of(model)))
        return {}

    def retriever_of(model: Any) -> Any:
        from retgen.search.embedders.base import TokenEmbedder
        from retgen.search.vectors import VectorRetriever

        (ranked,) = VectorRetriever(name, TokenEmbedder(name, model, Options()), Options()).rank(
            collection, 12, no_progress
        )
        return ranked.rankings

    config = make_config(None, {**FAST, "max_steps": 1})
    trained = train(name, pairs, config, tmp_path, evaluate=scores)
    before = dict(seen)["before"]
    assert np.array_equal(before.documents, ours.rankings.documents)
    np.testing.assert_allclose(before.scores, ours.rankings.scores, rtol=1e-5)
    names = [type(one).__name__ for one in MultiVectorEncoder(str(trained.path), device="cpu")]
    assert names == ["Transformer", "MultiVectorMask", "Normalize"]


@pytest.mark.slow
def test_a_cross_encoder_starts_from_an_embedder_with_a_head_of_its_seed(
    models: dict[str, Path], pairs: Pairs, tmp_path: Path
) -> None:
    heads = []
    for number, seed in enumerate((1, 1, 2)):
        config = make_config(None, {**FAST, "max_steps": 1, "seed": seed, "learning_rate": 1e-9})
        trained = train(f"cross:{models['dense']}", pairs, config, tmp_path / str(number))
        heads.append(weights(trained.path)["model.safetensors.classifier.weight"])
    assert torch.equal(heads[0], heads[1])
    assert not torch.allclose(heads[0], heads[2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "given", "settings", "message"),
    [
        (
            "late",
            "late",
            {"dimension": 8},
            "dimension is for embedders, and the model is a late-interaction model",
        ),
        (
            "cross",
            "cross",
            {"matryoshka": [8]},
            "matryoshka is for embedders, and the model is a cross-encoder",
        ),
        (
            "cross",
            "cross",
            {"query_prompt": "q: "},
            "query_prompt is for embedders: a cross-encoder reads pairs as they are",
        ),
        ("sparse", "dense", {}, "--model {}: is an embedder, not a sparse encoder; write {}"),
        (
            "late",
            "cross",
            {},
            "--model {}: is a cross-encoder, not a late-interaction model; write rerank:bm25+{}, or cross:{} for candidate sets",
        ),
        ("late", "static", {}, "--model late:{}: {} has no vectors of tokens in context"),
        (
            "cross",
            "sparse",
            {},
            "--model {}: is a sparse encoder, not a cross-encoder; write sparse:{}",
        ),
        (
            "cross",
            "two",
            {},
            "the model gives 2 values a pair, as a classifier does. Name a cross-encoder that gives one score, or an embedder to start from",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    models: dict[str, Path],
    short: str,
    pairs: Pairs,
    tmp_path: Path,
    kind: str,
    given: str,
    settings: dict[str, Any],
    message: str,
) -> None:
    folder = {**models, "static": Path(short), "two": tmp_path / "two"}[given]
    if given == "two":
        CrossEncoder(str(models["bare-dense"]), num_labels=2, device="cpu").save(str(folder))
    config = make_config(None, {**FAST, "max_steps": 1, **settings})
    with pytest.raises(UsageError) as caught:
        train(f"{kind}:{folder}", pairs, config, tmp_path / "out")
    assert str(caught.value) == message.replace("{}", str(folder))


@pytest.mark.slow
def test_a_collapse_is_told(models: dict[str, Path], pairs: Pairs, tmp_path: Path) -> None:
    """A step that is far too large."""
    config = make_config(None, {**FAST, "learning_rate": 50.0, "max_steps": 8})
    trained = train(f"cross:{models['cross']}", pairs, config, tmp_path)
    assert "of its texts the same scores, whatever the query" in trained.collapse
