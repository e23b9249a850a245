"""Trainings: that pairs are learned, that nothing is lost on the way, and what cannot be."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import nn

from retgen.errors import UsageError
from retgen.evaluation.training import Pairs, TrainConfig, make_config
from retgen.evaluation.training.config import TrainingRun, discard
from retgen.evaluation.training.fit import train
from retgen.evaluation.training.models import (
    add_adapters,
    extend_card,
    merge_adapters,
    set_prompts,
)
from tests.conftest import read_jsonl
from tests.evaluation.training.conftest import FAST, weights, with_negatives
from tests.pages import rendered

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def recall_at_2(run: Path) -> Callable[[SentenceTransformer, str], dict[str, float]]:
    """The share of relevant documents among the two of highest cosine, in plain numpy."""
    corpus, queries = (read_jsonl(run / f"dataset/{name}.jsonl") for name in ("corpus", "queries"))
    relevant = {
        (row["query-id"], row["corpus-id"])
        for row in read_jsonl(run / "dataset/qrels.jsonl")
        if row["score"] > 0
    }

    def evaluate(model: SentenceTransformer, when: str) -> dict[str, float]:
        documents = vectors(model, [row["text"] for row in corpus])
        asked = vectors(model, [row["text"] for row in queries])
        top = np.argsort(-(asked @ documents.T), axis=1, kind="stable")[:, :2]
        result = sum(
            (queries[i]["_id"], corpus[j]["_id"]) in relevant
            for i in range(len(queries))
            for j in top[i]
        )
        return {"recall@2": result / len(relevant)}

    return evaluate


def vectors(model: SentenceTransformer, texts: list[str]) -> Any:
    raw = model.encode(texts, show_progress_bar=False)
    return raw / np.linalg.norm(raw, axis=1, keepdims=True)


def same(one: TrainingRun, other: TrainingRun) -> bool:
    ours, theirs = weights(one), weights(other)
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[k], theirs[k]) for k in ours)


class Killed:
    """Progress that ends the process at a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        if stage == "train" and done == self.step:
            raise KeyboardInterrupt


def test_training_on_the_test_pairs_memorises_them(
    run: Path, pairs: Pairs, static: SentenceTransformer, tmp_path: Path, capfd: Any
) -> None:
    seen: list[tuple[str, int, int]] = []
    calls: list[str] = []
    score = recall_at_2(run)

    def evaluate(model: SentenceTransformer, when: str) -> dict[str, float]:
        calls.append(when)
        return score(model, when)

    def progress(*event: Any) -> None:
        seen.append(event)

    config = make_config("limit", {"learning_rate": 0.05, "epochs": 4})
    kept = static[0].state_dict()["embedding.weight"].clone()
    out = tmp_path / "out"
    trained = train(static, pairs, config, out, evaluate=evaluate, progress=progress)
    assert torch.equal(static[0].state_dict()["embedding.weight"], kept)  # left as it was
    before, after = trained.scores["before"]["recall@2"], trained.scores["after"]["recall@2"]
    assert before < 0.7
    assert after > 0.95
    assert calls == ["before", "idf", "after"]
    assert trained.best_step == trained.steps == trained.losses[-1][0]
    assert seen == [("train", i + 1, trained.steps) for i in range(trained.steps)]
    assert score(SentenceTransformer(str(trained.path), device="cpu"), "") == {"recall@2": after}
    card = (trained.path / "README.md").read_text()
    idf = trained.scores["idf"]["recall@2"]
    assert f"| recall@2 | {before:.4f} | {idf:.4f} | {after:.4f} |" in card
    assert "- start: the base model as it is" in card
    assert f"- training data: {pairs.origin}" in card
    assert "| learning_rate | 0.05 |" in card
    assert str(tmp_path) not in card
    assert capfd.readouterr() == ("", "")
    names = sorted(path.name for path in out.iterdir())
    assert names == ["identity.json", "model", "training.json"]


def test_names_in_the_card_of_a_model_are_no_markup(tmp_path: Path) -> None:
    evil = "<img src=x> | [a](b)\n# c"
    identity = {"model": evil, "config": {"prompt": evil, "seed": 1}}
    extend_card(tmp_path, identity, evil, {"before": {}, "after": {"recall@2": 0.5}}, {"on": evil})
    page = rendered((tmp_path / "README.md").read_text().removeprefix("---\n---\n"))
    assert {*page.tags} == {"h2", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.text.count(" ".join(evil.split())) == 4


def test_a_finished_training_is_returned_and_another_refused(
    pairs: Pairs, static: SentenceTransformer, tmp_path: Path
) -> None:
    config = make_config(None, {**FAST, "max_steps": 2})
    out = tmp_path / "out"
    first = train(static, pairs, config, out, evaluate=lambda model, when: {"x": 0.5})
    stamp = (out / "model/model.safetensors").stat().st_mtime_ns
    (out / "checkpoints").mkdir()  # as a kill leaves it that comes when all but its removal is done
    again = train(static, pairs, config, out)
    assert again == replace(first, repeated=True)
    assert not (out / "checkpoints").exists()
    assert (out / "model/model.safetensors").stat().st_mtime_ns == stamp
    other = make_config(None, {**FAST, "max_steps": 3, "matryoshka": [8, 16]})
    fewer = replace(pairs, anchors=["x", *pairs.anchors[1:]])
    with pytest.raises(UsageError) as caught:
        train(static, fewer, other, out)
    assert str(caught.value) == (
        f"{out} holds another training; what differs: matryoshka (none there, 8,16 now), max_steps "
        "(2 there, 3 now), the training pairs. Choose another folder, or start it anew with --fresh."
    )
    discard(out)
    assert not train(static, pairs, other, out).repeated


# everything that draws random numbers or is kept apart in a checkpoint
CASES: dict[str, dict[str, Any]] = {
    "head": {"dimension": 12},
    "lora": {
        "lora": 4,
        "gradient_checkpointing": True,
        "weight_decay": 0.1,
        "dimension": 12,
        "hold_out": 0.2,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_killed_training_ends_with_the_same_weights(
    layer: Path, pairs: Pairs, tmp_path: Path, case: str
) -> None:
    """With dropout, killed five times: before the first checkpoint, between and at the end."""
    common = {"learning_rate": 1e-3, "max_steps": 16, "batch_size": 10}
    config = make_config(None, {**common, **CASES[case]})
    whole = train(str(layer), pairs, config, tmp_path / "whole", evaluate=_drawing)
    out = tmp_path / "killed"
    for step in (1, 5, 5, 9, 15):
        with pytest.raises(KeyboardInterrupt):
            train(str(layer), pairs, config, out, evaluate=_drawing, progress=Killed(step))
        if step == 5:
            with pytest.raises(UsageError, match=r"what differs: seed \(42 there, 43 now\)\. "):
                train(str(layer), pairs, config.model_copy(update={"seed": 43}), out)
    newest = max((out / "checkpoints").glob("*/whole.json"), key=lambda p: p.stat().st_mtime_ns)
    assert newest.parent.name == "checkpoint-14"

    def fatal(model: SentenceTransformer, when: str) -> dict[str, float]:
        if when == "after":
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):  # when all steps are done
        train(str(layer), pairs, config, out, evaluate=fatal)
    resumed = train(str(layer), pairs, config, out, evaluate=_drawing)
    assert same(whole, resumed)
    assert (resumed.scores, resumed.losses) == (whole.scores, whole.losses)
    assert (resumed.held_out, resumed.best_step) == (whole.held_out, whole.best_step)


def _drawing(model: SentenceTransformer, when: str) -> dict[str, float]:
    torch.rand(3), np.random.rand(3)
    return {"score": float(np.abs(model.encode(["a"])).sum())}


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


WATCHED = {**FAST, "learning_rate": 1.0, "max_steps": 20, "hold_out": 0.2, "seed": 1}


@pytest.fixture(scope="module")
def whole(short: str, pairs: Pairs, tmp_path_factory: pytest.TempPathFactory) -> TrainingRun:
    """A training that nobody killed."""
    return train(short, pairs, make_config(None, WATCHED), tmp_path_factory.mktemp("whole"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("trained.safetensors", _flip),
        ("optimizer.pt", _flip),
        ("whole.json", _flip),
        ("rng_state.pth", _cut),
        ("trainer_state.json", Path.unlink),
        ("whole.json", _cut),
    ],
)
def test_a_damaged_checkpoint_is_not_gone_on_from(
    short: str, pairs: Pairs, whole: TrainingRun, tmp_path: Path, name: str, damage: Any
) -> None:
    config = make_config(None, WATCHED)
    out = tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        train(short, pairs, config, out, progress=Killed(7))
    kept = sorted(path.parent for path in (out / "checkpoints").glob("*/whole.json"))
    assert kept[-1].name == "checkpoint-6"
    damage(kept[-1] / name)
    resumed = train(short, pairs, config, out)
    assert same(whole, resumed)
    assert (resumed.held_out, resumed.losses) == (whole.held_out, whole.losses)


def test_the_best_step_is_saved(pairs: Pairs, static: SentenceTransformer, tmp_path: Path) -> None:
    config = make_config(None, {**FAST, "learning_rate": 0.5, "max_steps": 40, "hold_out": 0.3})
    trained = train(static, pairs, config, tmp_path / "out")
    best = min(trained.held_out, key=lambda point: point[1])
    assert [step for step, _ in trained.held_out] == list(range(4, 41, 4))
    assert trained.best_step == best[0] < trained.steps == 40
    assert (trained.pairs, trained.held_out_pairs) == (84, 36)


# heads, prefixes, adapters


@pytest.mark.slow
def test_head_and_prefixes(layer: Path, pairs: Pairs, tmp_path: Path) -> None:
    config = make_config(
        None, {"dimension": 12, "matryoshka": [4], "learning_rate": 1e-3, "max_length": 48}
    )
    trained = train(str(layer), pairs, config, tmp_path / "out")
    model = SentenceTransformer(str(trained.path), device="cpu")
    raw = model.encode(pairs.positives[:5], show_progress_bar=False)
    assert raw.shape == (5, 12)
    np.testing.assert_allclose(np.linalg.norm(raw, axis=1), 1, atol=1e-5)
    assert model.max_seq_length == 512  # 48 were for training
    assert trained.max_length == {"training": 48, "saved": 512}
    names = [type(module).__name__ for module in model]
    assert names == ["Transformer", "Pooling", "Dense", "Normalize"]


def changed(model: Path, other: Path) -> set[str]:
    """The layers whose weights differ between two models."""
    one, two = (
        SentenceTransformer(str(path), device="cpu").state_dict() for path in (model, other)
    )
    assert one.keys() == two.keys()
    return {
        name.removesuffix(".weight").rpartition(".")[2]
        for name in one
        if not torch.equal(one[name], two[name])
    }


@pytest.mark.slow
def test_adapters_change_linear_layers_alone_and_are_merged(
    layer: Path, pairs: Pairs, tmp_path: Path
) -> None:
    settings = {"lora": 4, "max_steps": 3, "batch_size": 10, "learning_rate": 0.01}
    trained = train(str(layer), pairs, make_config(None, settings), tmp_path / "out")
    assert {"query", "value"} <= changed(layer, trained.path) <= {"query", "key", "value", "dense"}
    assert not list(trained.path.glob("adapter*"))


def test_merged_weights_say_what_was_trained(layer: Path) -> None:
    model = SentenceTransformer(str(layer), device="cpu").eval()
    add_adapters(model, make_config(None, {"lora": 4}))
    for name, one in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(one, generator=torch.Generator().manual_seed(1))
    before = model.encode(["an owl runs", "a bee"])
    merge_adapters(model)
    layers = {type(one).__name__ for one in model.modules() if isinstance(one, nn.Linear)}
    assert layers == {"Linear"}
    np.testing.assert_allclose(model.encode(["an owl runs", "a bee"]), before, atol=1e-5)


@pytest.mark.slow
def test_cached_loss_is_the_plain_loss(layer: Path, pairs: Pairs, tmp_path: Path) -> None:
    plain = make_config(None, {"batch_size": "full", "max_steps": 2, "learning_rate": 1e-3})
    cached = plain.model_copy(update={"loss": "cached-mnrl"})
    model = SentenceTransformer(str(layer), device="cpu")
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0  # two passes over a text must see the same network
    one, other = (train(model, pairs, c, tmp_path / c.loss) for c in (plain, cached))
    assert [loss for _, loss in one.losses] == pytest.approx([v for _, v in other.losses], rel=1e-4)
    for name, value in weights(one).items():
        np.testing.assert_allclose(value, weights(other)[name], atol=2e-4)


# numbers and prompts


@pytest.mark.slow
def test_weights_are_float32_whatever_the_checkpoint_is_in(
    layer: Path, pairs: Pairs, tmp_path: Path
) -> None:
    """In 16 bits, most steps of 1e-4 are less than the distance to the next number."""
    low = SentenceTransformer(str(layer), device="cpu").bfloat16()
    low.save_pretrained(str(tmp_path / "bf16"))
    high = SentenceTransformer(str(tmp_path / "bf16"), device="cpu").float()
    high.save_pretrained(str(tmp_path / "float32"))
    common = {"learning_rate": 1e-4, "max_steps": 4, "warmup_ratio": 0.0}
    config = make_config(None, common)
    names = ("bf16", "float32")
    ours, theirs = (train(str(tmp_path / n), pairs, config, tmp_path / f"{n}-out") for n in names)
    assert ours.weights_dtype == "float32"
    assert same(ours, theirs)
    products = make_config(None, {**common, "dtype": "bf16"})
    other = train(str(tmp_path / "float32"), pairs, products, tmp_path / "products", device="cpu")
    assert other.weights_dtype == "float32"
    assert not same(other, ours)
    card = (other.path / "README.md").read_text()
    assert "- device: cpu, weights float32, products bf16" in card


def prompted(pairs: Pairs, query: str, document: str) -> Pairs:
    return Pairs(
        [query + text for text in pairs.anchors],
        [document + text for text in pairs.positives],
        [[document + text for text in texts] for texts in pairs.negatives],
        pairs.query_ids,
        pairs.origin,
    )


@pytest.mark.slow
def test_prompts_stand_before_the_texts_that_are_trained_on(
    layer: Path, pairs: Pairs, tmp_path: Path
) -> None:
    """The model's own or those asked for: as if they were a part of the texts."""
    pairs = with_negatives(pairs)
    common: dict[str, Any] = {"learning_rate": 1e-3, "max_steps": 3, "hard_negatives": 1}
    base = make_config(None, common)
    expected = train(str(layer), prompted(pairs, "ask: ", "text: "), base, tmp_path / "1")
    asked = make_config(None, {**common, "query_prompt": "ask: ", "document_prompt": "text: "})
    trained = train(str(layer), pairs, asked, tmp_path / "2")
    assert same(expected, trained)
    assert trained.prompts == {"query": "ask: ", "document": "text: "}
    saved = SentenceTransformer(str(trained.path), device="cpu")
    assert (saved.prompts["query"], saved.prompts["document"]) == ("ask: ", "text: ")
    # trained once more without a word, it keeps them
    assert train(str(trained.path), pairs, base, tmp_path / "3").prompts == trained.prompts


def test_prompts_are_those_that_encoding_would_take(static: SentenceTransformer) -> None:
    model = copy.deepcopy(static)
    nothing = TrainConfig()
    assert set_prompts(model, nothing) == {"query": "", "document": ""}
    model.prompts = {"passage": "p: ", "corpus": "c: ", "other": "o: "}
    assert set_prompts(model, nothing) == {"query": "", "document": "p: "}
    model.default_prompt_name = "other"
    assert set_prompts(model, nothing) == {"query": "o: ", "document": "p: "}
    given = TrainConfig(query_prompt="", document_prompt="d: ")
    assert set_prompts(model, given) == {"query": "", "document": "d: "}
    for kind, encode in (("", model.encode_query), ("d: ", model.encode_document)):
        plain = model.encode([kind + "red apples"], prompt="", show_progress_bar=False)
        np.testing.assert_array_equal(encode(["red apples"], show_progress_bar=False), plain)


# what cannot be

_TRANSFORMERS = "{} is for transformers, which the model is not. Leave it out"


@pytest.mark.parametrize(
    ("kind", "changes", "text"),
    [
        (
            "short",
            {"loss": "cached-mnrl"},
            "cached-mnrl cuts batches into mini-batches, which a static embedding cannot do. Take mnrl: such a model needs so little memory that a batch may be the full data set.",
        ),
        ("short", {"matryoshka": [64]}, "matryoshka 64 is above the 16 dimensions of the model"),
        ("short", {"lora": 2}, _TRANSFORMERS.format("lora")),
        ("short", {"weight_decay": 0.1}, _TRANSFORMERS.format("weight_decay")),
        ("short", {"max_length": 8}, _TRANSFORMERS.format("max_length")),
        (
            "short",
            {"gradient_checkpointing": True},
            _TRANSFORMERS.format("gradient_checkpointing"),
        ),
        ("layer", {"max_length": 513}, "max_length 513 is above the 512 positions of the model"),
        (
            "layer",
            {"init": "idf"},
            "init idf weights the token vectors of a static embedding, which the model is not. Take init=model",
        ),
    ],
)
def test_model_and_configuration_must_fit(
    kind: str,
    changes: dict[str, Any],
    text: str,
    pairs: Pairs,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    model, out = str(request.getfixturevalue(kind)), tmp_path / "out"
    with pytest.raises(UsageError) as caught:
        train(model, pairs, make_config(None, changes), out, device="cpu")
    assert str(caught.value) == text
    if changes == {"lora": 2}:  # nothing was begun, so another configuration may have the folder
        train(model, pairs, make_config(None, {"max_steps": 1}), out)


@pytest.mark.parametrize(
    ("device", "text"),
    [
        ("gpu", "--device gpu: is none of cpu, cuda, cuda:0, mps"),
        ("cuda:1", "--device cuda:1: say cuda, and which one by CUDA_VISIBLE_DEVICES"),
    ],
)
def test_devices(device: str, text: str, pairs: Pairs, short: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        train(short, pairs, TrainConfig(), tmp_path / "out", device=device)
    assert str(caught.value) == text


def test_a_loss_that_is_no_number_stops_the_training(
    layer: Path, pairs: Pairs, tmp_path: Path
) -> None:
    config = make_config(None, {"learning_rate": 1e30, "max_steps": 9, "warmup_ratio": 0})
    with pytest.raises(UsageError) as caught:
        train(str(layer), pairs, config, tmp_path / "out")
    assert str(caught.value) == (
        "the training loss is nan at step 2. Lower learning_rate (now 1e+30), or raise temperature "
        "or warmup_ratio."
    )


def test_no_memory(pairs: Pairs, static: SentenceTransformer, tmp_path: Path) -> None:
    def evaluate(model: Any, when: str) -> dict[str, float]:
        return {"x": float(torch.empty(2**50)[0])}

    with pytest.raises(UsageError) as caught:
        train(static, pairs, TrainConfig(), tmp_path, device="cpu", evaluate=evaluate)
    assert str(caught.value) == (
        "cpu ran out of memory at batch_size 128. Lower batch_size, take loss cached-mnrl (its "
        "memory does not grow with the batch), lower max_length or hard_negatives, or set "
        "gradient_checkpointing."
    )


def test_a_folder_of_something_else_is_left_alone(
    pairs: Pairs, static: SentenceTransformer, tmp_path: Path
) -> None:
    (tmp_path / "model").mkdir()
    discard(tmp_path)  # it is none of ours
    with pytest.raises(UsageError) as caught:
        train(static, pairs, TrainConfig(), tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} holds a model or checkpoints that no training of retgen wrote; they would be "
        "replaced. Choose another folder."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
