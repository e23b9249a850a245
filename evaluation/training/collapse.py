"""Whether a training collapsed: its loss is that of guessing, or its vectors are all alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from sentence_transformers import SentenceTransformer

from retgen.evaluation.training.config import TrainConfig, Trained

SAMPLE = 64  # texts whose vectors are compared
_GUESSING = 0.99  # of the loss of guessing: what counts as no better
_ALIKE = 0.995  # mean cosine of two texts


def collapse(
    trained: Trained, model: SentenceTransformer, config: TrainConfig,
    batches: Sequence[int], texts: Sequence[str],
) -> str:  # fmt: skip
    """What happened and what to try; "" for a training that did not collapse.

    `batches`: their sizes; `texts`: some that it was trained on.
    """
    found = [*_loss(trained, config, batches), *_vectors(model, texts)]
    if not found:
        return ""
    return (
        f"the training collapsed: {' and '.join(found)}. Lower learning_rate (now "
        f"{config.learning_rate:g}); if that does not help, raise warmup_ratio or lower temperature"
    )


def _loss(trained: Trained, config: TrainConfig, batches: Sequence[int]) -> list[str]:
    if config.loss not in ("mnrl", "cached-mnrl") or not trained.losses:
        return []
    documents = sum(batches) / len(batches) * (1 + trained.hard_negatives)
    guessing = math.log(documents) * max(1, len(config.matryoshka))
    last = trained.losses[-max(1, len(trained.losses) // 4) :]
    begin = 0 if len(last) == len(trained.losses) else trained.losses[-len(last) - 1][0]
    if not 0 < _GUESSING * guessing <= min(loss for _, loss in last):
        return []
    return [
        f"over the last {last[-1][0] - begin:,} of {trained.steps:,} steps its loss was at least "
        f"{min(loss for _, loss in last):.2f}, and guessing among the {documents:,.0f} documents "
        f"of a batch has {guessing:.2f}"
    ]


def _vectors(model: SentenceTransformer, texts: Sequence[str]) -> list[str]:
    vectors = torch.as_tensor(model.encode(list(texts), show_progress_bar=False)).double()
    vectors = torch.nn.functional.normalize(vectors, dim=1)
    count = len(vectors)
    if count < 3:
        return []
    cosine = float((vectors.sum(0).square().sum() - count) / (count * (count - 1)))
    if not math.isfinite(cosine):
        return ["its vectors hold numbers that are not finite"]
    if cosine < _ALIKE:
        return []
    return [f"the vectors of {count:,} of its texts are alike (mean cosine {cosine:.3f})"]
