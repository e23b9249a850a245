"""From pairs to batches: what is held out, which pairs stand together, how many steps that makes.

All batches of a training are drawn before it starts, so the number of steps is exact. It has to be:
without duplicates a batch may close early, and on LIMIT, where 2,000 pairs share 46 documents, a
batch of "the full data set" holds at most 46 pairs. sentence-transformers' trainer takes the length
of an epoch from the batch size and would run a single such batch an epoch.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from sentence_transformers.base.trainer import BaseTrainer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from torch import Tensor
from torch.utils.data import BatchSampler

from retgen.errors import UsageError
from retgen.evaluation.training.config import TrainConfig
from retgen.evaluation.training.distributed import shares
from retgen.evaluation.training.losses import needs_labels
from retgen.evaluation.training.models import saving
from retgen.evaluation.training.pairs import Pairs
from retgen.streams import Stream


@dataclass(frozen=True)
class TrainingExamples:
    """Training examples: `train` and `held_out` data sets with the columns of the loss.

    `numbers`: (examples, 2 + negatives) int64, see `losses.dense_loss`; `of_pair`: the pair of each
    row of `train`; `pairs` and `held_out_pairs`: how many pairs stand in each.
    """

    train: Dataset
    held_out: Dataset | None
    numbers: Tensor
    of_pair: list[int]
    pairs: int
    held_out_pairs: int


_TRAINED = "trained.safetensors"


class Batches(BatchSampler):
    """A given list of batches as the trainer wants it, or all ranks' shares of them."""

    def __init__(self, batches: list[list[int]]) -> None:
        super().__init__(range(len(batches)), 1, False)
        self.batches = shares(batches)
        self.batch_size = None  # type: ignore[assignment]  # shares differ between batches

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)


class BatchTrainer(BaseTrainer):
    """A trainer with batches drawn beforehand."""

    batches: list[list[int]]
    held_out_batches: list[list[int]]
    adapters = False  # whether they alone are trained, and kept in checkpoints

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """AdamW; of word vectors alone only the rows of a batch are moved, without weight decay.

        Adam over a whole vocabulary costs more than all else in a step. Lazy Adam (SparseAdam)
        leaves a row, with its momentum, as it is until its token comes again.
        """
        trained = [one for one in self.model.parameters() if one.requires_grad]
        first = self.model[0]
        if self.optimizer is None and isinstance(first, StaticEmbedding) and len(trained) == 1:
            weight = first.embedding.weight
            first.embedding.forward = partial(BagMeans.apply, weight)  # type: ignore[method-assign]
            self.data_collator.preprocess_fn = KnownTexts(first)
            self.optimizer = torch.optim.SparseAdam(trained, lr=self.args.learning_rate)
        return super().create_optimizer(model)

    def _clip_grad_norm(self, model: Any) -> Any:
        """As for dense gradients, whose norm torch has not for sparse ones."""
        sparse = [p for p in model.parameters() if p.grad is not None and p.grad.is_sparse]
        if not sparse:
            return super()._clip_grad_norm(model)  # type: ignore[no-untyped-call]
        (one,) = sparse
        one.grad = one.grad.coalesce()
        values = one.grad.values()
        norm = torch.linalg.vector_norm(values)
        values.mul_(torch.clamp(self.args.max_grad_norm / (norm + 1e-6), max=1.0))
        return norm

    def get_batch_sampler(self, dataset: Any, *args: Any, **kwargs: Any) -> Batches:
        return Batches(self.batches if dataset is self.train_dataset else self.held_out_batches)

    def _save_checkpoint(self, *args: Any) -> None:
        with saving(Path(str(self.args.output_dir))):
            super()._save_checkpoint(*args)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """The model of a checkpoint, without a card: the card of each takes a tenth of a second."""
        folder = output_dir or str(self.args.output_dir)
        if not self.adapters:
            self.model.save_pretrained(folder, create_model_card=False)
            return
        Path(folder).mkdir(parents=True, exist_ok=True)
        save_file(self._trained(), Path(folder) / _TRAINED)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        if not self.adapters:
            super()._load_from_checkpoint(resume_from_checkpoint)
            return
        self.model.load_state_dict(load_file(Path(resume_from_checkpoint) / _TRAINED), strict=False)

    def _trained(self) -> dict[str, Tensor]:
        trained = {n: one for n, one in self.model.named_parameters() if one.requires_grad}
        return {name: one.detach().cpu().contiguous() for name, one in trained.items()}


class BagMeans(torch.autograd.Function):
    """Means of token vectors, whose gradient has a row for each distinct token.

    That of `EmbeddingBag` has one for each token of each text, and summing them up took most of a
    step.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, ids: Tensor, offsets: Tensor) -> Tensor:
        """(texts, dimension) of `weight` (vocabulary, dimension), tokens and where texts begin."""
        ctx.save_for_backward(ids, offsets)
        ctx.shape = weight.shape
        return torch.nn.functional.embedding_bag(ids, weight, offsets, mode="mean")

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """The sparse gradient of `weight`."""
        (gradient,) = gradients
        ids, offsets = ctx.saved_tensors
        lengths = torch.diff(offsets, append=offsets.new_tensor([len(ids)]))
        text = torch.arange(len(lengths), device=ids.device).repeat_interleave(lengths)
        rows, place = ids.unique(return_inverse=True)
        shares = torch.sparse_coo_tensor(
            torch.stack([place, text]),
            (1 / lengths)[text].to(gradient),
            (len(rows), len(lengths)),
            check_invariants=False,
        )
        values = torch.sparse.mm(shares, gradient)
        result = torch.sparse_coo_tensor(rows[None], values, ctx.shape, check_invariants=False)
        return result, None, None


class KnownTexts:
    """`StaticEmbedding.preprocess`, which cuts a text into tokens at its first batch alone."""

    def __init__(self, module: StaticEmbedding) -> None:
        self._tokenizer = module.tokenizer
        self._known: dict[str, NDArray[np.int32]] = {}

    def __call__(self, texts: list[str], prompt: str | None = None, **_: Any) -> dict[str, Tensor]:
        """Tokens of all texts, "input_ids", and where each begins among them, "offsets"."""
        texts = [prompt + text for text in texts] if prompt else texts
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        for text, one in zip(
            new, self._tokenizer.encode_batch(new, add_special_tokens=False), strict=True
        ):
            self._known[text] = np.array(one.ids, np.int32)
        rows = [self._known[text] for text in texts]
        ends = np.cumsum([0, *map(len, rows)])
        return {
            "input_ids": torch.from_numpy(np.concatenate(rows)).long(),
            "offsets": torch.from_numpy(ends[:-1]),
        }


def prepare(pairs: Pairs, config: TrainConfig) -> TrainingExamples:
    """Split off the held-out queries and give every pair its negatives.

    A pair with fewer negatives than asked repeats them; the triplet loss takes one row a negative.
    Raises `UsageError` where a pair has none of those asked for, or where nothing is left on one
    subgroup of the split.
    """
    wanted = pairs.negatives_used(config.hard_negatives)
    if config.loss == "triplet" and not wanted:
        raise UsageError(
            "loss triplet trains on hard negatives; here are "
            f"{pairs.negatives_in_words(config.hard_negatives)}"
        )
    lacking = sum(not negatives for negatives in pairs.negatives)
    if wanted and lacking:
        raise UsageError(
            f"hard_negatives is {wanted}, but {lacking:,} of the {len(pairs):,} pairs have no "
            "negative. Set hard_negatives to 0, or leave those pairs out."
        )
    out = _held_out(pairs, config)
    rows: list[tuple[str, ...]] = []
    of_pair: list[int] = []
    subgroups: tuple[list[int], list[int]] = ([], [])
    for i, anchor in enumerate(pairs.anchors):
        given = pairs.negatives[i]
        negatives = [given[j % len(given)] for j in range(wanted)] if wanted else []
        new: list[tuple[str, ...]]
        if config.loss == "triplet":
            new = [(anchor, pairs.positives[i], text) for text in dict.fromkeys(negatives)]
        else:
            new = [(anchor, pairs.positives[i], *negatives)]
        subgroups[pairs.query_ids[i] in out].extend(range(len(rows), len(rows) + len(new)))
        rows += new
        of_pair += [i] * len(new)
    queries: dict[str, int] = {}
    documents: dict[str, int] = {}
    numbers = torch.tensor(
        [
            [queries.setdefault(row[0], len(queries))]
            + [documents.setdefault(text, len(documents)) for text in row[1:]]
            for row in rows
        ]
    )
    held_out_pairs = sum(query_id in out for query_id in pairs.query_ids)
    train, held_out = (_dataset(rows, subgroup, config) for subgroup in subgroups)
    return TrainingExamples(
        train,
        held_out if subgroups[1] else None,
        numbers,
        [of_pair[row] for row in subgroups[0]],
        len(pairs) - held_out_pairs,
        held_out_pairs,
    )


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


def _dataset(rows: list[tuple[str, ...]], chosen: list[int], config: TrainConfig) -> Dataset:
    names = ["anchor", "positive", *(f"negative_{j}" for j in range(1, len(rows[0]) - 1))]
    columns: dict[str, list[Any]] = {
        name: [rows[i][j] for i in chosen] for j, name in enumerate(names)
    }
    if needs_labels(config):
        columns["label"] = chosen
    return Dataset.from_dict(columns)


def distinct_batches(
    rows: Sequence[tuple[str, ...]], size: int, generator: torch.Generator
) -> list[list[int]]:
    """Batches in which the query or document of a pair is no other pair's query or candidate.

    `rows`: (query, document, negatives ...). The sizes are as even as they can be: where one batch
    is filled after the other, pairs of documents with many queries are left to the end, in batches
    of two or three, which teach nothing.
    """
    order = torch.randperm(len(rows), generator=generator).tolist()
    times = Counter(text for row in rows for text in {*row[:2]})
    often = [max(times[text] for text in row[:2]) for row in rows]
    order.sort(key=lambda i: -often[i])  # which have the fewest places; chance among equals
    count = max(-(-len(rows) // size), max(often, default=0))
    batches: list[list[int]] = [[] for _ in range(count)]
    pairs: list[set[str]] = [set() for _ in range(count)]
    texts: list[set[str]] = [set() for _ in range(count)]
    room = [(0, number) for number in range(count)]  # a heap of the fullness of batches
    for i in order:
        own, all_of_it = rows[i][:2], rows[i]
        tried = []
        while room:
            fullness, number = heapq.heappop(room)
            if texts[number].isdisjoint(own) and pairs[number].isdisjoint(all_of_it):
                break
            tried.append((fullness, number))
        else:
            fullness, number = 0, len(batches)
            batches.append([])
            pairs.append(set())
            texts.append(set())
        batches[number].append(i)
        pairs[number].update(own)
        texts[number].update(all_of_it)
        if fullness + 1 < size:
            tried.append((fullness + 1, number))
        for one in tried:
            heapq.heappush(room, one)
    return [batches[n] for n in torch.randperm(len(batches), generator=generator).tolist()]


def draw_batches(
    dataset: Dataset, config: TrainConfig, ranks: int = 1
) -> tuple[list[list[int]], list[int]]:
    """All batches of a training in order, and the step after which each epoch ends.

    Every example stands in every epoch once (the last epoch may be cut short by `max_steps`). A
    step takes `accumulate` batches, the last one what is left. Several `ranks` take equal shares of
    a batch, so the examples that are too many for that are left out of the epoch.
    """
    columns = [dataset[c] for c in dataset.column_names if c != "label"]
    rows = list(zip(*columns, strict=True))
    assert config.batch_size is not None, "the configuration is not resolved"
    size = len(rows) if config.batch_size == "full" else config.batch_size
    batches: list[list[int]] = []
    ends: list[int] = []
    # only where the other documents of a batch are taken for irrelevant is a duplicate wrong
    distinct = config.no_duplicates and config.loss in ("mnrl", "cached-mnrl")
    each = config.accumulate
    most = None if config.max_steps is None else config.max_steps * each
    while most is not None or len(ends) < config.epochs:
        seed = config.seed + len(ends)
        generator = torch.Generator().manual_seed(seed)
        if distinct:
            drawn = distinct_batches(rows, size, generator)
        else:
            order = torch.randperm(len(rows), generator=generator).tolist()
            drawn = [order[i : i + size] for i in range(0, len(order), size)]
        batches += [one[: len(one) - len(one) % ranks] for one in drawn if len(one) >= ranks]
        if not batches:
            raise UsageError(
                f"no batch has a pair for each of the {ranks:,} processes. Raise batch_size, give "
                "more pairs, or start fewer (--nproc-per-node)"
            )
        ends.append(-(-len(batches) // each))
        if most is not None and len(batches) >= most:
            ends[-1] = most // each
            return batches[:most], ends
    return batches, ends
