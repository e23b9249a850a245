"""Whether a training collapsed: its loss is that of guessing, or its vectors are all alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from sentence_transformers import SentenceTransformer

from retgen.evaluation.training.config import TrainConfig, Trained

SAMPLE = 64  # texts whose vectors are compared
_GUESSING = 0.99  # of the loss of guessing: what counts as no better
_LEAST = 5  # steps that are looked at: fewer may be hard ones
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
    """Looks at the last quarter of the steps, each point of the curve against its own batches."""
    if config.loss not in ("mnrl", "cached-mnrl"):
        return []
    begins = [0, *(step for step, _ in trained.losses)]
    last = begins[-1]
    since = max((one for one in begins if one <= last - max(_LEAST, last // 4)), default=last)
    scale = max(1, len(config.matryoshka))
    loss = guess = 0.0
    for begin, (end, mean) in zip(begins, trained.losses, strict=False):
        if begin < since:
            continue
        chance = scale * sum(math.log(n * (1 + trained.hard_negatives)) for n in batches[begin:end])
        if mean * (end - begin) < _GUESSING * chance:
            return []
        loss, guess = loss + mean * (end - begin), guess + chance
    if not guess:
        return []
    steps = last - since
    return [
        f"over the last {steps:,} of {trained.steps:,} steps its loss was {loss / steps:.2f}, and "
        f"guessing among the documents of a batch has {guess / steps:.2f}"
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
