"""`gen train`'s steps and `gen eval`'s encoding beside plain sentence-transformers, in turn.

The same model, pairs, batches, loss (InfoNCE over 4 hard negatives and the batch) and length on a
processor. Of a training counts what the trainer states; encoding is of texts that no cache holds.

    .venv/bin/python benchmarks/training.py [--rounds 3] [--steps 8] [--static-steps 100]

0 steps leave a model out.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from common import in_turn, options, ratio
from datasets import Dataset
from mining import generated
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from transformers import PrinterCallback

from retgen.evaluation.retrievers import Options
from retgen.evaluation.training import Pairs, make_config
from retgen.evaluation.training.fit import train
from retgen.search.embedders.base import SentenceEmbedder
from retgen.search.embedders.loading import load_model, quiet

NEGATIVES, LENGTH = 4, 64


def main() -> None:
    given = options(__doc__, rounds=3, steps=8, static_steps=100, texts=2_000)
    for name, batch, steps, length in (
        ("minilm", 16, given.steps, LENGTH),
        ("static:minilm", 128, given.static_steps, None),  # which reads everything
    ):
        if not steps:
            continue
        pairs = pairs_of(batch * steps)
        ours: list[float] = []
        theirs: list[float] = []
        for number in range(given.rounds + 1):
            one = (
                own_seconds(name, pairs, batch, steps, length),
                plain_seconds(name, pairs, batch, steps, length),
            )
            if number:  # the first one warms up
                ours.append(one[0])
                theirs.append(one[1])
        print(
            f"  {name}: {steps / min(ours):.2f} steps/s of {batch} pairs; steps/s, "
            f"retgen / sentence-transformers: {ratio(theirs, ours)}",
            flush=True,
        )
        encoding(name, given.texts, given.rounds)


def own_seconds(name: str, pairs: Pairs, batch: int, steps: int, length: int | None) -> float:
    """Seconds of a training's steps by `gen train`."""
    settings = {
        "batch_size": batch,
        "max_steps": steps,
        "hard_negatives": NEGATIVES,
        "max_length": length,
        "loss": "mnrl",
        "warmup_ratio": 0.1,
        "init": "model",
    }
    model = load_model(name, "cpu")
    with tempfile.TemporaryDirectory() as folder:
        config = make_config(None, settings)
        return train(model, pairs, config, Path(folder) / "out", device="cpu").seconds


def plain_seconds(name: str, pairs: Pairs, batch: int, steps: int, length: int | None) -> float:
    """The same by sentence-transformers' trainer, as its documentation has it."""
    model = load_model(name, "cpu")
    if length is not None:
        model.max_seq_length = length
    model.model_card_data.generate_widget_examples = False
    columns = {"anchor": list(pairs.anchors), "positive": list(pairs.positives)}
    columns |= {f"negative_{i}": [row[i] for row in pairs.negatives] for i in range(NEGATIVES)}
    with tempfile.TemporaryDirectory() as folder, quiet():
        trainer = SentenceTransformerTrainer(
            model=model,
            args=SentenceTransformerTrainingArguments(
                folder,
                per_device_train_batch_size=batch,
                max_steps=steps,
                warmup_ratio=0.1,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                use_cpu=True,
            ),
            train_dataset=Dataset.from_dict(columns),
            loss=MultipleNegativesRankingLoss(model, scale=20.0),
        )
        trainer.remove_callback(PrinterCallback)
        return float(trainer.train().metrics["train_runtime"])


def encoding(name: str, count: int, rounds: int) -> None:
    """Texts of 40 to 80 words, by both ways."""
    texts = generated(count, 0)[0]
    model: SentenceTransformer = load_model(name, "cpu")
    embedder = SentenceEmbedder(name, model, Options(device="cpu"))
    seconds = in_turn(
        {
            "ours": partial(embedder.encode, texts, "document"),
            "theirs": partial(model.encode, texts, show_progress_bar=False),
        },
        rounds,
    )
    print(
        f"  {name}: {count / min(seconds['ours']):,.0f} texts/s encoded; retgen / "
        f"SentenceTransformer.encode: {ratio(seconds['theirs'], seconds['ours'])}"
    )


def pairs_of(count: int) -> Pairs:
    """Queries of 5 words, passages of 40 to 80 and negatives of the same lengths."""
    texts, queries = generated(count * (1 + NEGATIVES), count)
    negatives = [texts[i : i + NEGATIVES] for i in range(count, len(texts), NEGATIVES)]
    return Pairs(queries, texts[:count], negatives, queries, "a benchmark")


if __name__ == "__main__":
    main()
