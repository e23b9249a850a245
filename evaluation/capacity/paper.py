"""Free embeddings: how many documents fit in d dimensions when vectors are optimised directly.

Given n documents and every pair of them as a query, optimise unit vectors of documents and queries
directly until each query ranks its two documents strictly first. The *critical n* of a dimension is
the largest n solved when n rises by one until the first failure. This is section 4 of "On the
Theoretical Limitations of Embedding-Based Retrieval" (arXiv 2508.21038), Figure 2 and Table 6.

The paper's protocol, kept here: InfoNCE with temperature 0.1 over all documents, full batch, Adam
with a learning rate of 0.01, vectors projected to unit length after each step, random starts, and a
stop when the loss has not improved by 1e-5 for 1,000 steps. Three things to know about it:

- Each of the two relevant documents is a term of its own ("all correct triples"). Footnote 7 prints
  their exponentials summed *inside* the logarithm; that loss is content with ranking one of them
  first, and with it not even d=4, n=6 is solved.
- Success is tested every ten steps and ends the attempt, the loss is compared every ten steps.
- Table 6 measures this loss and this optimiser, not what can be embedded: in d=4 every n can
  (`construct`), and a better optimiser finds far more from random starts too (`best`).

It is fast because the gradient is written out (eleven tensor operations a step, in place) and
because several seeds and several n run side by side in one padded batch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from retgen.errors import UsageError
from retgen.evaluation.capacity.embedding import SphereAdam
from retgen.progress import Progress, no_progress

TEMPERATURE = 0.1
LEARNING_RATE = 0.01
PATIENCE = 1_000  # steps
IMPROVEMENT = 1e-5
CHECK_EVERY = 10  # steps
_BATCH = 40_000  # scores; below this a step costs its calls, so several n go side by side

# the paper's Table 6 (Appendix G): dimension -> critical n
TABLE_6: dict[int, int] = dict(
    enumerate(
        map(
            int,
            "10 14 19 24 28 32 36 42 47 54 62 70 79 89 99 109 120 132 144 157 170 184 198 213 229 "
            "245 261 278 296 314 333 352 372 392 413 434 460 484 505 545 605 626".split(),
        ),
        start=4,
    )
)


class Attempt(NamedTuple):
    """One random start: did it end with every pair of documents ranked first by its query?

    `margin` is the smallest difference, over all queries, between the score of the worse relevant
    document and that of the best other one, in float64 from the float32 vectors; `solved` asks that
    it is positive in float32 and in float64.
    """

    dimension: int
    documents: int
    seed: int
    solved: bool
    steps: int
    margin: float


class Critical(NamedTuple):
    """The critical n of one dimension; `complete` is False where a deadline came before a failure.

    `documents` is the best of `by_seed`, `margin` that of the largest solved attempt.
    """

    dimension: int
    documents: int
    by_seed: tuple[int, ...]
    complete: bool
    seconds: float
    margin: float


class Fit(NamedTuple):
    """A cubic polynomial, constant first, and the share of the variance it explains."""

    coefficients: tuple[float, float, float, float]
    r2: float


def solve(
    dimension: int, documents: int, seeds: Sequence[int], *, device: str = "cpu"
) -> list[Attempt]:
    """Try `documents` in `dimension` under the paper's protocol, all seeds in one batch.

    Raises UsageError for a dimension below 1 or fewer than 3 documents.
    """
    require(dimension, documents)
    result = _attempt(dimension, [(documents, seed) for seed in seeds], device, math.inf)
    return [result[documents, seed] for seed in seeds]


def critical(
    dimensions: Iterable[int],
    *,
    seeds: int = 3,
    deadline: float | None = None,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> Iterator[Critical]:
    """The critical n of each dimension under the paper's protocol, yielded as it is found.

    Every seed of 0..seeds-1 climbs for itself. As long as all of them succeed n rises by an eighth,
    beginning where only the dimension says, so that it does not matter which others are asked for;
    from the last such n on it rises by one, until each seed has failed. `deadline` is in seconds
    for all dimensions together; a dimension that it cuts short is yielded with `complete=False`,
    later ones not at all.
    """
    until = math.inf if deadline is None else time.monotonic() + deadline
    for dimension in dimensions:
        start = max(3, 4 * dimension - 8)  # every seed tried solved it
        result = _climb(dimension, start, seeds, device, until, progress)
        yield result
        if not result.complete:
            return


def cubic_fit(points: Mapping[int, int]) -> Fit:
    """Least-squares cubic through {dimension: critical n}, as the paper's Figure 2.

    Raises UsageError for fewer than four points.
    """
    if len(points) < 4:
        raise UsageError(f"a cubic needs at least 4 dimensions, not {len(points)}")
    x = np.array(list(points), dtype=np.float64)
    y = np.array(list(points.values()), dtype=np.float64)
    constant, linear, square, cube = np.polynomial.Polynomial.fit(x, y, 3).convert().coef
    rest = y - (constant + x * (linear + x * (square + x * cube)))
    total = ((y - y.mean()) ** 2).sum()
    r2 = 1.0 - float((rest**2).sum() / total) if total else 1.0
    return Fit((float(constant), float(linear), float(square), float(cube)), r2)


def require(dimension: int, documents: int) -> None:
    """Raise UsageError unless dimension >= 1 and documents >= 3."""
    if dimension < 1:
        raise UsageError(f"the dimension must be at least 1, not {dimension}")
    if documents < 3:
        raise UsageError(
            f"at least 3 documents are needed, not {documents}: of two, each query's top 2 are both"
        )


def pairs(documents: int, device: torch.device | str = "cpu") -> Tensor:
    """Both documents of each query, int64 (2, n(n-1)/2), ordered by the larger, then the smaller.

    So the queries of the first m documents come first.
    """
    rows, columns = torch.tril_indices(documents, documents, -1, device=device)
    return torch.stack((columns, rows))


def random_units(count: int, dimension: int, seed: int) -> Tensor:
    """Uniform random unit vectors, float32 (count, dimension) on the CPU, set by all arguments."""
    generator = torch.Generator().manual_seed((seed * 1_000_003 + dimension) * 1_000_003 + count)
    return torch.nn.functional.normalize(torch.randn(count, dimension, generator=generator), dim=-1)


def margins(queries: Tensor, documents: Tensor) -> tuple[float, float]:
    """The worst query's margin, from its own dtype and from float64.

    queries (n(n-1)/2, d) in the order of `pairs`, documents (n, d). A margin is the score of the
    worse relevant document minus that of the best other one; all pairs are solved when it is > 0.
    """
    n = len(documents)
    both = pairs(n, queries.device)
    block = max(1, 4_000_000 // n)
    worst = [math.inf, math.inf]
    for start in range(0, len(queries), block):
        relevant = both[:, start : start + block].T
        for which, dtype in enumerate((queries.dtype, torch.float64)):
            scores = queries[start : start + block].to(dtype) @ documents.to(dtype).T
            worse = scores.gather(1, relevant).amin(1)
            other = scores.scatter_(1, relevant, -math.inf).amax(1)
            worst[which] = min(worst[which], float((worse - other).amin()))
    return worst[0], worst[1]


def _climb(
    dimension: int, start: int, seeds: int, device: str, until: float, progress: Progress
) -> Critical:
    began = time.monotonic()
    everyone = range(seeds)
    reached = dict.fromkeys(everyone, 2)  # two documents are the top 2 of any query
    margin: dict[tuple[int, int], float] = {}

    def advance(sizes: Iterable[int], alive: list[int]) -> list[int] | None:
        """The seeds that solve all of these n; None when the deadline came first."""
        items = [(size, seed) for size in sizes for seed in alive]
        progress(f"d={dimension}: documents", items[-1][0], items[-1][0])
        results = _attempt(dimension, items, device, until)
        failed = {attempt.seed for attempt in results.values() if not attempt.solved}
        for (n, seed), attempt in sorted(results.items()):
            if attempt.solved:
                reached[seed], margin[n, seed] = n, attempt.margin
        if any(item not in results and item[1] not in failed for item in items):
            return None
        return [seed for seed in alive if seed not in failed]

    def result(complete: bool) -> Critical:
        by_seed = tuple(reached[seed] for seed in everyone)
        largest = max(by_seed)
        widest = max(margin.get((largest, seed), -math.inf) for seed in everyone)
        seconds = time.monotonic() - began
        return Critical(
            dimension, largest, by_seed, complete, seconds, widest if margin else math.inf
        )

    sure, n = 2, start
    while True:
        alive = advance([n], list(everyone))
        if alive is None:
            return result(False)
        if len(alive) == seeds:
            sure, n = n, n + max(1, n // 8)
        elif sure > 2 or n == 3:
            break
        else:  # began too high
            n = max(3, n // 2)
    reached = dict.fromkeys(everyone, sure)  # the climb itself is by one from here
    alive, n = list(everyone), sure + 1
    while alive:
        width = min(4, max(1, _BATCH // (len(alive) * n**3 // 2)))
        alive = advance(range(n, n + width), alive)
        if alive is None:
            return result(False)
        n += width
    return result(True)


def _attempt(
    dimension: int, items: Sequence[tuple[int, int]], device: str, until: float
) -> dict[tuple[int, int], Attempt]:
    """Run (documents, seed) side by side; what ended before `until` (monotonic seconds).

    A seed that fails takes its larger n out of the batch: they no longer matter.
    """
    batch = _Batch(dimension, items, device)
    result: dict[tuple[int, int], Attempt] = {}
    while batch.items and time.monotonic() < until:
        for _ in range(CHECK_EVERY - 1):
            batch.step()
        loss = batch.step(want_loss=True)
        solved, stale = batch.check(loss)
        lost: set[tuple[int, int]] = set()
        for row, (n, seed) in enumerate(batch.items):
            if not (solved[row] or stale[row]):
                continue
            single, double = margins(*batch.vectors(row))
            good = single > 0 and double > 0
            if good or stale[row]:
                result[n, seed] = Attempt(dimension, n, seed, good, batch.steps, double)
                if not good:
                    lost.update(item for item in batch.items if item[1] == seed and item[0] > n)
        keep = [
            row for row, item in enumerate(batch.items) if item not in result and item not in lost
        ]
        if len(keep) < len(batch.items):
            batch.keep(keep)
    return {item: attempt for item, attempt in result.items() if item not in lost}


class _Batch:
    """Adam on several (documents, seed) at once, padded to the largest n.

    Queries come in the order of `pairs`, so those of a smaller n are the first ones. Padding
    documents score 60 less, padding queries have weight 0; their vectors stay where they are.
    """

    def __init__(self, dimension: int, items: Sequence[tuple[int, int]], device: str) -> None:
        self.items = list(items)
        self.steps = 0
        n = max(size for size, _ in items)
        self.both = pairs(n, device)
        self.rows = self.both.shape[1]
        self.flat = (torch.arange(self.rows, device=device) * n + self.both).reshape(-1)
        counts = [size * (size - 1) // 2 for size, _ in items]
        self.units = torch.zeros(len(items), self.rows + n, dimension)
        self.units[:, :, 0] = 1.0
        for row, ((size, seed), rows) in enumerate(zip(items, counts, strict=True)):
            start = random_units(rows + size, dimension, seed)
            self.units[row, :rows] = start[:rows]
            self.units[row, self.rows : self.rows + size] = start[rows:]
        self.units = self.units.to(device)
        sizes = torch.tensor([size for size, _ in items], device=device)[:, None]
        count = (sizes * (sizes - 1) // 2).float()
        self.real = torch.arange(self.rows, device=device) < count  # (batch, queries)
        absent = torch.arange(n, device=device) >= sizes
        # e^-60 is nothing beside the others, and not among the smallest floats, which are slow
        self.padding = absent.float().mul_(-60.0)[:, None]  # (batch, 1, documents)
        self.weight = count[:, :, None]  # so that an item's loss is the mean of its queries
        # softmax minus target, over weight and temperature, is the gradient by the scores
        self.scale = (self.weight * TEMPERATURE).expand(-1, self.rows, 1).clone()
        self.scale.masked_fill_(~self.real[:, :, None], math.inf)
        self.target = torch.zeros(len(items), self.rows * n, device=device)
        self.target[:, self.flat] = 0.5
        self.target = self.target.view(len(items), self.rows, n).div_(self.scale).neg_()
        self.moments: tuple[Tensor, ...] = ()
        self.best = torch.full((len(items),), math.inf, device=device)
        self.since = torch.zeros(len(items), device=device)
        self.allocate()

    def allocate(self) -> None:
        """Views and buffers for the items that are left."""
        self.queries, self.documents = self.units[:, : self.rows], self.units[:, self.rows :]
        self.documents_t = self.documents.mT
        self.adam = SphereAdam(self.units, *self.moments)
        gradient = self.adam.gradient
        self.by_query, self.by_document = gradient[:, : self.rows], gradient[:, self.rows :]
        self.scores = torch.empty_like(self.target)
        self.scores_t = self.scores.mT
        # unit vectors score at most 1, so shifting by 1 keeps the exponentials in range
        self.bias = self.padding - 1 / TEMPERATURE

    def step(self, want_loss: bool = False) -> Tensor:
        """One step of Adam and the projection; the losses before it (batch,), or nothing."""
        self.steps += 1
        scores, queries, documents = self.scores, self.queries, self.documents
        torch.baddbmm(self.bias, queries, self.documents_t, alpha=1 / TEMPERATURE, out=scores)
        scores.exp_()
        total = scores.sum(-1, keepdim=True)
        loss = self.losses(total) if want_loss else total
        torch.addcdiv(self.target, scores, total.mul_(self.scale), out=scores)
        torch.bmm(scores, documents, out=self.by_query)
        torch.bmm(self.scores_t, queries, out=self.by_document)
        self.adam.step(LEARNING_RATE)
        return loss

    def losses(self, total: Tensor) -> Tensor:
        """Mean over the real queries of log(total) minus the mean relevant score: (batch,)."""
        relevant = self.scores.flatten(1).index_select(1, self.flat).view(-1, 2, self.rows)
        each = total[:, :, 0].log() - relevant.log().mean(1)
        return each.masked_fill_(~self.real, 0.0).sum(1).div_(self.weight[:, 0, 0])

    def check(self, loss: Tensor) -> tuple[list[bool], list[bool]]:
        """Which items are solved, and which have not improved for long."""
        better = loss < self.best - IMPROVEMENT
        self.best = torch.where(better, loss, self.best)
        self.since = torch.where(better, 0.0, self.since + CHECK_EVERY)
        scores = torch.baddbmm(self.padding, self.queries, self.documents.mT, out=self.scores)
        scores = scores.flatten(1)
        relevant = scores.index_select(1, self.flat).view(-1, 2, self.rows).amin(1)
        scores.index_fill_(1, self.flat, -math.inf)
        other = self.scores.amax(-1)
        solved = ((relevant > other) | ~self.real).all(1)
        answer = torch.stack((solved, self.since >= PATIENCE)).tolist()
        return answer[0], answer[1]

    def vectors(self, row: int) -> tuple[Tensor, Tensor]:
        """Queries and documents of one item, without the padding."""
        size, _ = self.items[row]
        return self.queries[row, : size * (size - 1) // 2], self.documents[row, :size]

    def keep(self, rows: list[int]) -> None:
        """Go on with these rows only."""
        self.items = [self.items[row] for row in rows]
        index = torch.tensor(rows, dtype=torch.int64, device=self.units.device)
        for name in ("units", "real", "padding", "weight", "scale", "target"):
            setattr(self, name, getattr(self, name)[index])
        self.best, self.since = self.best[index], self.since[index]
        self.moments = self.adam.mean[index], self.adam.square[index], self.adam.count
        self.allocate()
