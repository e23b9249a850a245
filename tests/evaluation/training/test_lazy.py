"""Word vectors trained row by row: the same numbers by hand, and after a kill the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from retgen.evaluation.training import Pairs, TrainConfig, make_config
from retgen.evaluation.training.batches import draw_batches, prepare
from retgen.evaluation.training.fit import train
from tests.evaluation.training.conftest import weights

pytestmark = pytest.mark.usefixtures("one_torch_thread")

STEPS = {"max_steps": 5, "batch_size": 6, "hard_negatives": 0, "warmup_ratio": 0.0, "init": "idf"}
Table = np.ndarray[Any, np.dtype[np.float64]]


def by_hand(table: Table, model: SentenceTransformer, pairs: Pairs, config: TrainConfig) -> Any:
    """Losses and vectors of InfoNCE with lazy Adam, from the formulas, in float64."""
    examples = prepare(pairs, config)
    batches, _ = draw_batches(examples.train, config)
    first, second = np.zeros_like(table), np.zeros_like(table)
    losses, touched = [], set()
    tokens: Any = model.tokenizer
    for step, batch in enumerate(batches, start=1):
        rows = examples.train[batch]
        mix = np.zeros((2, len(batch), len(table)))  # how much of each vector is in a text
        for side, column in enumerate(("anchor", "positive")):
            for i, text in enumerate(rows[column]):
                ids = tokens.encode(text, add_special_tokens=False).ids
                np.add.at(mix[side, i], ids, 1 / len(ids))
        means = mix @ table
        sizes = np.linalg.norm(means, axis=2, keepdims=True)
        unit = means / sizes
        logits = unit[0] @ unit[1].T / config.temperature
        chance = np.exp(logits - logits.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        losses.append(-np.log(np.diag(chance)).mean())
        change = (chance - np.eye(len(batch))) / len(batch) / config.temperature
        of_unit = np.stack([change @ unit[1], change.T @ unit[0]])
        of_mean = (of_unit - unit * (of_unit * unit).sum(axis=2, keepdims=True)) / sizes
        gradient = np.einsum("sbv,sbd->vd", mix, of_mean)
        gradient *= min(1.0, 1.0 / (np.linalg.norm(gradient) + 1e-6))
        here = np.flatnonzero(mix.sum(axis=(0, 1)))
        touched |= set(here.tolist())
        first[here] = 0.9 * first[here] + 0.1 * gradient[here]
        second[here] = 0.999 * second[here] + 0.001 * gradient[here] ** 2
        rate = config.learning_rate * (1 - (step - 1) / len(batches))  # type: ignore[operator]
        rate *= np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        table[here] -= rate * first[here] / (np.sqrt(second[here]) + 1e-8)
    return losses, table, touched


@pytest.mark.slow
def test_the_first_steps_by_hand(static: SentenceTransformer, pairs: Pairs, tmp_path: Path) -> None:
    started: dict[str, Table] = {}

    def look(model: SentenceTransformer, when: str) -> dict[str, float]:
        started[when] = model.state_dict()["0.embedding.weight"].numpy().astype(np.float64)
        return {}

    config = make_config(None, {**STEPS, "learning_rate": 0.02, "temperature": 0.05})
    trained = train(static, pairs, config, tmp_path / "out", evaluate=look, device="cpu")
    losses, table, touched = by_hand(started["idf"].copy(), static, pairs, config)
    assert [step for step, _ in trained.losses] == [1, 2, 3, 4, 5]
    np.testing.assert_allclose([loss for _, loss in trained.losses], losses, rtol=2e-5)
    after = weights(trained)["0.embedding.weight"]
    np.testing.assert_allclose(after, table, atol=2e-4)
    others = np.setdiff1d(np.arange(len(table)), sorted(touched))
    assert len(others) > 29_000
    np.testing.assert_array_equal(after[others], started["idf"][others].astype(np.float32))
    assert np.abs(after - started["idf"])[sorted(touched)].min(axis=1).max() > 0.01


_KILLED = """
import os, signal, sys
from pathlib import Path
from retgen.evaluation.training import make_config, read_pairs
from retgen.evaluation.training.fit import train
calls = []
def evaluate(model, when):
    calls.append(when)
    if calls.count("during") == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return {}
model, run, out = sys.argv[1:]
settings = {"batch_size": 8, "max_steps": 12, "eval_every": 4, "learning_rate": 0.02, "init": "idf"}
train(model, read_pairs(run), make_config(None, settings), Path(out), evaluate=evaluate)
"""


@pytest.mark.slow
def test_killed_word_vectors_end_with_the_same_bytes(
    short: str, run: Path, pairs: Pairs, tmp_path: Path
) -> None:
    settings = {"batch_size": 8, "max_steps": 12, "eval_every": 4, "learning_rate": 0.02}
    config = make_config(None, {**settings, "init": "idf"})
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, short, str(run), str(tmp_path / "killed")],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    kept = [path.parent.name for path in tmp_path.glob("killed/checkpoints/*/progress.json")]
    assert kept == ["checkpoint-4"]
    assert not (tmp_path / "killed/model").exists()
    ends = [train(short, pairs, config, tmp_path / name) for name in ("killed", "whole")]
    assert ends[0].losses == ends[1].losses
    weights_of = [(one.path / "model.safetensors").read_bytes() for one in ends]
    assert weights_of[0] == weights_of[1]


@pytest.mark.slow
def test_training_reads_less_than_is_saved(static: SentenceTransformer, tmp_path: Path) -> None:
    """Only the first two tokens are trained; the saved model reads all, and says what was cut."""
    words = [("red", "owl"), ("blue", "cat"), ("green", "fox")]
    pairs = Pairs(
        [a for a, _ in words],
        [f"{a} {b} zebra" for a, b in words],
        [[]] * 3,
        ["1", "2", "3"],
        "a test",
    )
    config = make_config(None, {"max_steps": 2, "max_length": 2, "learning_rate": 0.02})
    trained = train(static, pairs, config, tmp_path / "out", device="cpu")
    saved = SentenceTransformer(str(trained.path), device="cpu")
    tokens: Any = saved.tokenizer
    assert tokens.truncation is None
    assert trained.max_length == {"training": 2, "saved": None}
    assert trained.cut == {"texts": 1.0, "tokens": pytest.approx(1 / 3)}
    place = {word: tokens.token_to_id(word) for word in ("red", "owl", "zebra")}
    old, new = (one.state_dict()["0.embedding.weight"].numpy() for one in (static, saved))
    moved = {word: bool((old[i] != new[i]).any()) for word, i in place.items()}
    assert moved == {"red": True, "owl": True, "zebra": False}
