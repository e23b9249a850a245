"""From pairs to batches: what is held out, which pairs stand together, how many steps that makes.

The batches are those of sentence-transformers' `NoDuplicatesBatchSampler`, drawn for all epochs
before a training starts, so the number of steps is exact. It has to be: without duplicates a batch
may close early, and on LIMIT, where 2,000 pairs share 46 documents, a batch of "the full data set"
holds at most 46 pairs. The trainer takes the length of an epoch from the batch size, and would run
a single such batch an epoch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file
from sentence_transformers.base.sampler import NoDuplicatesBatchSampler
from sentence_transformers.base.trainer import BaseTrainer
from torch.utils.data import BatchSampler

from retgen.errors import UsageError
from retgen.evaluation.training.config import TrainConfig, folder_hash, write_own
from retgen.evaluation.training.models import rank, ranks, saving, wait_for_all
from retgen.evaluation.training.pairs import Pairs
from retgen.streams import Stream

Rows = list[dict[str, str]]  # a row a pair: anchor, positive, negative_1, ...
WHOLE, _TRAINED = "whole.json", "trained.safetensors"


class Batches(BatchSampler):
    """A given list of batches as the trainer wants it: each as one share a process, in order."""

    def __init__(self, batches: list[list[int]]) -> None:
        super().__init__(range(len(batches)), 1, False)
        count = ranks()
        self.batches = [
            batch[len(batch) * i // count : len(batch) * (i + 1) // count]
            for batch in batches
            for i in range(count)
        ]
        self.batch_size = None  # type: ignore[assignment]  # shares differ between batches

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)


class PairTrainer(BaseTrainer):
    """sentence-transformers' trainer with given batches, and checkpoints that are known as whole.

    A checkpoint holds the weights that are trained (with LoRA the adapters alone) and, written
    last, whole.json with a digest of its files.
    """

    batches: list[list[int]]
    held_out_batches: list[list[int]]
    saved = 0.0  # seconds

    def get_batch_sampler(self, dataset: Any, *args: Any, **kwargs: Any) -> Batches:
        return Batches(self.batches if dataset is self.train_dataset else self.held_out_batches)

    def _save_checkpoint(self, *args: Any) -> None:
        began, out = time.monotonic(), Path(str(self.args.output_dir))
        with saving(out):
            super()._save_checkpoint(*args)
        wait_for_all()  # who write their random states into the checkpoint
        if rank() == 0:
            folder = out / f"checkpoint-{self.state.global_step}"
            write_own(folder / WHOLE, {"files": folder_hash(folder, WHOLE)})
        self.saved += time.monotonic() - began

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        folder = Path(output_dir or str(self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        trained = {n: one for n, one in self.model.named_parameters() if one.requires_grad}
        tensors = {name: one.detach().cpu().contiguous() for name, one in trained.items()}
        save_file(tensors, folder / _TRAINED)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        self.model.load_state_dict(load_file(Path(resume_from_checkpoint) / _TRAINED), strict=False)


def prepare(pairs: Pairs, config: TrainConfig) -> tuple[Rows, Rows]:
    """Split off the held-out queries: pairs to train on, and held-out ones, with their negatives.

    A pair with fewer negatives than asked repeats them. Raises `UsageError` where a pair has none
    of those asked for, or where nothing is left on one side of the split.
    """
    wanted = pairs.negatives_used(config.hard_negatives)
    lacking = sum(not negatives for negatives in pairs.negatives)
    if wanted and lacking:
        raise UsageError(
            f"hard_negatives is {wanted}, but {lacking:,} of the {len(pairs):,} pairs have no "
            "negative. Set hard_negatives to 0, or leave those pairs out."
        )
    out = _held_out(pairs, config)
    sides: tuple[Rows, Rows] = ([], [])
    for i, anchor in enumerate(pairs.anchors):
        row = {"anchor": anchor, "positive": pairs.positives[i]}
        given = pairs.negatives[i]
        row |= {f"negative_{j + 1}": given[j % len(given)] for j in range(wanted)}
        sides[pairs.query_ids[i] in out].append(row)
    return sides


def _held_out(pairs: Pairs, config: TrainConfig) -> set[str]:
    """Whole queries, so that no query is trained on and held out."""
    if not config.hold_out:
        return set()
    queries = list(dict.fromkeys(pairs.query_ids))
    count = max(1, round(config.hold_out * len(queries)))
    if count >= len(queries):
        raise UsageError(
            f"hold_out {config.hold_out:g} of {len(queries):,} queries leaves none to train on. "
            "Lower it, or give more pairs."
        )
    # the ranks of random numbers: an order that a data set of more queries would not change much
    draws = Stream(config.seed, "training: hold out").integers(2**62, len(queries))
    return {queries[i] for i in sorted(range(len(queries)), key=lambda i: int(draws[i]))[:count]}


class _Indexed(list[dict[str, str]]):
    """Rows as the sampler reads a data set, without decoding one for each look at it."""

    column_names: ClassVar[tuple[str, ...]] = ()


def draw_batches(rows: Rows, config: TrainConfig) -> list[list[int]]:
    """All batches of a training in order: a step each, no text twice in any.

    Every row stands in every epoch once (the last epoch may be cut short by `max_steps`). Several
    processes take equal shares of a batch, so the rows that are too many for that are left out of
    the epoch.
    """
    size = len(rows) if config.batch_size == "full" else int(config.batch_size or 1)
    data: Any = _Indexed(rows)
    sampler = NoDuplicatesBatchSampler(data, size, False, None, torch.Generator(), config.seed)
    count, epoch = ranks(), 0
    result: list[list[int]] = []
    while len(result) < config.max_steps if config.max_steps else epoch < config.epochs:
        sampler.set_epoch(epoch)
        result += [one[: len(one) - len(one) % count] for one in sampler if len(one) >= count]
        epoch += 1
        if not result:
            raise UsageError(
                f"no batch has a pair for each of the {count:,} processes. Raise batch_size, give "
                "more pairs, or start fewer (--nproc-per-node)"
            )
    return result[: config.max_steps]


def to_dataset(rows: Rows) -> Dataset | None:
    """Rows as the trainer reads them, None where there are none."""
    return Dataset.from_list(rows) if rows else None
