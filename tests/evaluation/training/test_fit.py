"""Trainings: that pairs are learned, that nothing is lost on the way, and what cannot be."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from retgen.errors import UsageError
from retgen.evaluation.training import (
    Pairs,
    TrainConfig,
    make_config,
)
from retgen.evaluation.training.config import TrainingRun, discard
from retgen.evaluation.training.fit import train
from retgen.evaluation.training.models import extend_card, set_prompts
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


@pytest.mark.slow
def test_training_on_the_test_pairs_memorises_them(
    run: Path, pairs: Pairs, static: SentenceTransformer, tmp_path: Path, capfd: Any
) -> None:
    seen: list[tuple[str, int, int]] = []
    calls: list[str] = []
    score = recall_at_2(run)

    def evaluate(model: SentenceTransformer, when: str) -> dict[str, float]:
        calls.append(when)
        return score(model, when)

    config = make_config("limit", {"learning_rate": 0.05, "epochs": 4})
    trained = train(
        static,
        pairs,
        config,
        tmp_path / "out",
        evaluate=evaluate,
        progress=lambda *event: seen.append(event),
    )
    before, after = trained.scores("before")["recall@2"], trained.scores("after")["recall@2"]
    assert before < 0.7
    assert after > 0.95
    assert calls == ["before", "idf", "during", "during", "during", "after"]
    assert [entry["epoch"] for entry in trained.history] == [0, 0, 1, 2, 3, 4, 4]
    assert trained.best_step == trained.steps == trained.planned
    assert seen == [("train", i + 1, trained.planned) for i in range(trained.planned)]
    saved = SentenceTransformer(str(trained.path), device="cpu")
    assert score(saved, "") == {"recall@2": after}
    card = (trained.path / "README.md").read_text()
    idf = trained.scores("idf")["recall@2"]
    assert f"| recall@2 | {before:.4f} | {idf:.4f} | {after:.4f} |" in card
    assert "- start: the base model as it is" in card
    assert f"- training data: {pairs.origin}" in card
    assert "| learning_rate | 0.05 |" in card
    assert str(tmp_path) not in card
    assert capfd.readouterr() == ("", "")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "identity.json",
        "model",
        "training.json",
    ]


def test_names_in_the_card_of_a_model_are_no_markup(tmp_path: Path) -> None:
    evil = "<img src=x> | [a](b)\n# c"
    identity = {"model": evil, "config": {"prompt": evil, "seed": 1}}
    extend_card(tmp_path, identity, evil, {"before": {}, "after": {"recall@2": 0.5}}, {"on": evil})
    page = rendered((tmp_path / "README.md").read_text().removeprefix("---\n---\n"))
    assert {*page.tags} == {"h2", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.text.count(" ".join(evil.split())) == 4


@pytest.mark.slow
def test_a_finished_training_is_returned_and_another_refused(
    pairs: Pairs, static: SentenceTransformer, tmp_path: Path
) -> None:
    config = make_config(None, {**FAST, "epochs": 1})
    out = tmp_path / "out"
    first = train(static, pairs, config, out, evaluate=lambda model, when: {"x": 0.5})
    stamp = (out / "model/model.safetensors").stat().st_mtime_ns
    again = train(static, pairs, config, out)
    assert again.repeated
    assert (again.history, again.losses, again.path) == (first.history, first.losses, first.path)
    assert (out / "model/model.safetensors").stat().st_mtime_ns == stamp
    other = make_config(None, {**FAST, "epochs": 2, "matryoshka": [8, 16]})
    with pytest.raises(UsageError) as caught:
        train(static, read_pairs_without_last(pairs), other, out)
    assert str(caught.value) == (
        f"{out} holds another training; what differs: epochs (1 there, 2 now), matryoshka (none "
        "there, 8,16 now), the training pairs. Choose another folder, or start it anew with --fresh."
    )
    discard(out)
    anew = train(static, pairs, other, out)
    assert anew.planned > first.planned
    assert not anew.repeated


def read_pairs_without_last(pairs: Pairs) -> Pairs:
    return Pairs(
        pairs.anchors[:-1], pairs.positives[:-1], pairs.negatives[:-1], pairs.query_ids[:-1], "less"
    )


@pytest.mark.slow
def test_killed_training_ends_with_the_same_weights(
    layer: Path, pairs: Pairs, tmp_path: Path
) -> None:
    """With dropout and evaluations that draw random numbers, killed in the middle and at the end."""
    config = make_config(
        None,
        {
            "learning_rate": 1e-3,
            "max_steps": 16,
            "batch_size": 10,
            "eval_every": 5,
            "dimension": 12,
        },
    )
    calls: list[str] = []

    def evaluate(model: SentenceTransformer, when: str) -> dict[str, float]:
        calls.append(when)
        torch.rand(3), np.random.rand(3)
        if fatal and calls.count(fatal) == 2:
            raise KeyboardInterrupt
        return {"score": 1.0}

    fatal = ""
    whole = train(str(layer), pairs, config, tmp_path / "whole", evaluate=evaluate)
    assert calls == ["before", "during", "during", "during", "after"]
    calls, fatal, out = [], "during", tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        train(str(layer), pairs, config, out, evaluate=evaluate)
    complete = [path.parent.name for path in (out / "checkpoints").glob("*/progress.json")]
    assert complete == ["checkpoint-5"]
    with pytest.raises(UsageError, match=r"what differs: seed \(42 there, 43 now\)\. Choose"):
        train(str(layer), pairs, config.model_copy(update={"seed": 43}), out)
    calls, fatal = ["after"], "after"
    with pytest.raises(KeyboardInterrupt):
        train(str(layer), pairs, config, out, evaluate=evaluate)
    assert calls == ["after", "during", "during", "after"]  # steps 10 and 15 and the saved model
    calls, fatal = [], ""
    resumed = train(str(layer), pairs, config, out, evaluate=evaluate)
    assert calls == ["after"]
    assert same(whole, resumed)
    assert (resumed.history, resumed.losses) == (whole.history, whole.losses)
    assert [entry["step"] for entry in resumed.history] == [0, 5, 10, 15, 16, 16]


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
    assert (
        "- tokens read per text: 48 in training, 512 as saved"
        in (trained.path / "README.md").read_text()
    )
    assert [type(module).__name__ for module in model] == [
        "Transformer",
        "Pooling",
        "Dense",
        "Normalize",
    ]


@pytest.mark.slow
def test_matryoshka_trains_the_prefix(
    run: Path, pairs: Pairs, static: SentenceTransformer, tmp_path: Path
) -> None:
    def prefix(model: SentenceTransformer, when: str) -> dict[str, float]:
        model.truncate_dim = 4
        try:
            return recall_at_2(run)(model, when)
        finally:
            model.truncate_dim = None

    base = {**FAST, "epochs": 6, "learning_rate": 0.05, "loss": "margin"}
    plain = train(static, pairs, make_config(None, base), tmp_path / "plain", evaluate=prefix)
    nested = make_config(None, {**base, "matryoshka": [4]})
    with_prefix = train(static, pairs, nested, tmp_path / "nested", evaluate=prefix)
    assert with_prefix.scores("after")["recall@2"] > plain.scores("after")["recall@2"] + 0.05


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


WATCHED = {
    **FAST,
    "learning_rate": 1.0,
    "eval_every": 2,
    "max_steps": 12,
    "hold_out": 0.2,
    "seed": 1,
}


@pytest.fixture(scope="module")
def whole(short: str, pairs: Pairs, tmp_path_factory: pytest.TempPathFactory) -> TrainingRun:
    """A training that nobody killed."""
    out = tmp_path_factory.mktemp("whole")
    return train(short, pairs, make_config(None, WATCHED), out, evaluate=lambda *_: {"score": 1.0})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "step", "damage", "scored"),
    [
        # the last is damaged, the best is whole: from there
        ("model.safetensors", 4, _flip, [*["during"] * 4, "after"]),
        *(
            pytest.param(name, 4, damage, [*["during"] * 4, "after"], marks=pytest.mark.slow)
            for name, damage in (
                ("optimizer.pt", _flip),
                ("progress.json", _flip),
                ("rng_state.pth", _cut),
                ("tokenizer.json", Path.unlink),
                ("progress.json", _cut),
            )
        ),
        # the best is gone, and with it what would be saved: from the beginning
        pytest.param(
            "model.safetensors",
            2,
            _flip,
            ["before", "idf", *["during"] * 5, "after"],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_damaged_checkpoint_is_not_gone_on_from(
    short: str,
    pairs: Pairs,
    whole: TrainingRun,
    tmp_path: Path,
    name: str,
    step: int,
    damage: Any,
    scored: list[str],
) -> None:
    """When it is killed the held-out loss was least at step 2, whose checkpoint is kept, as 4's."""
    config = make_config(None, WATCHED)
    calls: list[str] = []
    fatal, out = 3, tmp_path / "killed"

    def evaluate(model: SentenceTransformer, when: str) -> dict[str, float]:
        calls.append(when)
        if fatal and calls.count("during") == fatal:
            raise KeyboardInterrupt
        return {"score": 1.0}

    with pytest.raises(KeyboardInterrupt):
        train(short, pairs, config, out, evaluate=evaluate)
    kept = out / "checkpoints"
    assert sorted(path.parent.name for path in kept.glob("*/progress.json")) == [
        "checkpoint-2",
        "checkpoint-4",
    ]
    fatal = 0
    calls.clear()
    damage(kept / f"checkpoint-{step}" / name)
    resumed = train(short, pairs, config, out, evaluate=evaluate)
    assert calls == scored
    assert same(whole, resumed)
    assert (resumed.history, resumed.losses) == (whole.history, whole.losses)
    kept.mkdir()  # as a kill leaves it that comes when all but its removal is done
    assert train(short, pairs, config, out).repeated
    assert not kept.exists()


@pytest.mark.slow
def test_early_stop_saves_the_best_step(
    pairs: Pairs, static: SentenceTransformer, tmp_path: Path
) -> None:
    config = make_config(
        None, {**FAST, "learning_rate": 0.2, "epochs": 30, "hold_out": 0.3, "early_stop": 2}
    )
    kept: dict[int, Any] = {}

    def keep(model: SentenceTransformer, when: str) -> dict[str, float]:
        if when == "during":
            kept[len(kept)] = model.state_dict()["0.embedding.weight"].numpy().copy()
        return {}

    trained = train(static, pairs, config, tmp_path / "out", evaluate=keep)
    assert trained.steps < trained.planned
    during = [entry for entry in trained.history if entry["when"] == "during"]
    held = [entry["held_out_loss"] for entry in during]
    best = held.index(min(held))
    assert len(held) - 1 - best == 2
    assert trained.best_step == during[best]["step"]
    assert np.array_equal(weights(trained)["0.embedding.weight"], kept[best])
    assert (trained.pairs, trained.held_out_pairs) == (84, 36)


# numbers and prompts


def _moved(before: SentenceTransformer, trained: TrainingRun) -> dict[str, Any]:
    """By weight matrix, whether each of its numbers is another one than before."""
    old, new = before.state_dict(), weights(trained)
    return {name: old[name].float().numpy() != new[name] for name in new}


@pytest.mark.slow
def test_a_bf16_checkpoint_learns_as_much_as_a_float32_one(
    layer: Path, pairs: Pairs, tmp_path: Path
) -> None:
    """In 16 bits, most steps of 1e-4 are less than the distance to the next number."""
    low = SentenceTransformer(str(layer), device="cpu").bfloat16()
    low.save_pretrained(str(tmp_path / "bf16"))
    high = SentenceTransformer(str(tmp_path / "bf16"), device="cpu").float()
    high.save_pretrained(str(tmp_path / "float32"))
    config = make_config(None, {"learning_rate": 1e-4, "max_steps": 4, "warmup_ratio": 0.0})
    ours, given, theirs = (
        train(base, pairs, config, tmp_path / name, device="cpu")
        for name, base in (
            ("1", str(tmp_path / "bf16")),
            ("2", low),
            ("3", str(tmp_path / "float32")),
        )
    )
    assert (ours.weights_dtype, ours.dtype) == ("float32", "float32")
    for name, moved in _moved(high, theirs).items():
        np.testing.assert_array_equal(_moved(low, ours)[name], moved, err_msg=name)
        np.testing.assert_array_equal(_moved(low, given)[name], moved, err_msg=name)
        # vectors that no text of a batch has do not move, nor BERT's pooler, for which a mean stands
        if ".embeddings." not in name and ".pooler." not in name:
            assert moved.mean() > 0.9, name


@pytest.mark.slow
def test_products_in_bf16_and_weights_in_float32(layer: Path, pairs: Pairs, tmp_path: Path) -> None:
    config = make_config(None, {"learning_rate": 1e-4, "max_steps": 4, "dtype": "bf16"})
    trained = train(str(layer), pairs, config, tmp_path / "bf16", device="cpu")
    assert (trained.weights_dtype, trained.dtype) == ("float32", "bfloat16")
    card = (trained.path / "README.md").read_text()
    assert "- device: cpu, weights float32, products bfloat16" in card
    assert {str(one.dtype) for one in weights(trained).values()} == {"float32"}
    plain = config.model_copy(update={"dtype": "float32"})
    assert not same(trained, train(str(layer), pairs, plain, tmp_path / "float32", device="cpu"))


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
    seen: dict[str, tuple[str, str]] = {}

    def look(model: SentenceTransformer, when: str) -> dict[str, float]:
        seen[when] = (model.prompts["query"], model.prompts["document"])
        return {}

    trained = train(str(layer), pairs, asked, tmp_path / "2", evaluate=look)
    assert same(expected, trained)
    assert trained.prompts == {"query": "ask: ", "document": "text: "}
    assert set(seen.values()) == {("ask: ", "text: ")}
    assert set(seen) == {"before", "after"}
    saved = SentenceTransformer(str(trained.path), device="cpu")
    assert (saved.prompts["query"], saved.prompts["document"]) == ("ask: ", "text: ")
    # trained once more without a word, it keeps them
    again = train(str(trained.path), pairs, base, tmp_path / "3")
    assert again.prompts == trained.prompts
    assert not same(
        again,
        train(
            str(trained.path),
            pairs,
            make_config(
                None,
                {
                    **common,
                    "query_prompt": "",
                    "document_prompt": "",
                },
            ),
            tmp_path / "4",
        ),
    )


def test_prompts_are_those_that_encoding_would_take(static: SentenceTransformer) -> None:
    model = copy.deepcopy(static)
    nothing = TrainConfig()
    assert set_prompts(model, nothing) == {"query": "", "document": ""}
    model.prompts = {"passage": "p: ", "corpus": "c: ", "other": "o: "}
    assert set_prompts(model, nothing) == {"query": "", "document": "p: "}
    model.default_prompt_name = "other"
    assert set_prompts(model, nothing) == {"query": "o: ", "document": "p: "}
    assert set_prompts(model, TrainConfig(query_prompt="", document_prompt="d: ")) == {
        "query": "",
        "document": "d: ",
    }
    for kind, encode in (("", model.encode_query), ("d: ", model.encode_document)):
        plain = model.encode([kind + "red apples"], prompt="", show_progress_bar=False)
        np.testing.assert_array_equal(encode(["red apples"], show_progress_bar=False), plain)


# what cannot be


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "changes", "text"),
    [
        (
            "short",
            {"loss": "cached-mnrl"},
            "cached-mnrl cuts batches into mini-batches, which a static embedding cannot do. Take mnrl: such a model needs so little memory that a batch may be the full data set.",
        ),
        ("short", {"matryoshka": [64]}, "matryoshka 64 is above the 16 dimensions of the model"),
        (
            "short",
            {"dtype": "tf32"},
            "dtype tf32 needs a GPU that computes in it, and cpu is none. Take float32.",
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
        train(model, with_negatives(pairs), make_config(None, changes), out, device="cpu")
    assert str(caught.value) == text
    # nothing was begun, so another configuration may have the folder
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


@pytest.mark.slow
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
    with pytest.raises(UsageError) as caught:
        train(
            static,
            pairs,
            TrainConfig(),
            tmp_path / "out",
            device="cpu",
            evaluate=lambda model, when: {"x": float(torch.empty(2**50)[0])},
        )
    assert str(caught.value) == (
        "cpu ran out of memory at batch_size 128. Lower batch_size, take loss cached-mnrl (its memory "
        "is that of mini_batch_size, whatever the batch), lower mini_batch_size, max_length or "
        "hard_negatives."
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
