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

It is fast because the gradient is written out, in place, and all seeds run side by side.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from retgen.evaluation.capacity.embedding import SphereAdam
from retgen.progress import Progress, no_progress

TEMPERATURE = 0.1
LEARNING_RATE = 0.01
PATIENCE = 1_000  # steps
IMPROVEMENT = 1e-5
CHECK_EVERY = 10  # steps

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
    margin: float | None


class Fit(NamedTuple):
    """A cubic polynomial, constant first, and the share of the variance it explains."""

    coefficients: tuple[float, float, float, float]
    r2: float


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
    """Least-squares cubic through {dimension: critical n}, four or more, as in Figure 2."""
    x = np.array(list(points), dtype=np.float64)
    y = np.array(list(points.values()), dtype=np.float64)
    constant, linear, square, cube = np.polynomial.Polynomial.fit(x, y, 3).convert().coef
    rest = y - (constant + x * (linear + x * (square + x * cube)))
    total = ((y - y.mean()) ** 2).sum()
    r2 = 1.0 - float((rest**2).sum() / total) if total else 1.0
    return Fit((float(constant), float(linear), float(square), float(cube)), r2)


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
    everyone = list(range(seeds))
    reached = dict.fromkeys(everyone, 2)  # two documents are the top 2 of any query
    margin: dict[tuple[int, int], float] = {}

    def advance(n: int, alive: list[int]) -> list[int] | None:
        """The seeds that solve n; None when the deadline came first."""
        progress(f"d={dimension}: documents", n, n)
        results = solve(dimension, n, alive, device, until)
        solved = [seed for seed in alive if seed in results and results[seed].solved]
        for seed in solved:
            reached[seed], margin[n, seed] = n, results[seed].margin
        return solved if len(results) == len(alive) else None

    sure, n, alive = 2, start, advance(start, everyone)
    while alive is not None and (alive == everyone or (sure == 2 and n > 3)):
        if alive == everyone:
            sure, n = n, n + max(1, n // 8)
        else:  # began too high
            n = max(3, n // 2)
        alive = advance(n, everyone)
    if alive is not None:
        reached = dict.fromkeys(everyone, sure)  # the climb itself is by one from here
        alive, n = everyone, sure
    while alive:
        n += 1
        alive = advance(n, alive)
    largest = max(reached.values())
    widest = max((value for (n, _), value in margin.items() if n == largest), default=None)
    seconds, by_seed = time.monotonic() - began, tuple(reached[seed] for seed in everyone)
    complete = alive is not None
    return Critical(dimension, largest, by_seed, complete, seconds, widest)


def solve(
    dimension: int,
    documents: int,
    seeds: Sequence[int],
    device: str = "cpu",
    until: float = math.inf,
) -> dict[int, Attempt]:
    """Try 3 documents or more from several random starts side by side.

    Holds the seeds whose attempt ended before `until` (monotonic seconds).
    """
    both = pairs(documents, device)
    rows = both.shape[1]
    flat = (torch.arange(rows, device=device) * documents + both).reshape(-1)
    starts = [random_units(rows + documents, dimension, seed) for seed in seeds]
    adam = SphereAdam(torch.stack(starts).to(device))  # (seeds, rows + documents, dimension)
    queries, vectors = adam.units[:, :rows], adam.units[:, rows:]
    by_query, by_document = adam.gradient[:, :rows], adam.gradient[:, rows:]
    scores = torch.empty(len(seeds), rows, documents, device=device)
    # softmax minus target, over `scale`, is the gradient of the mean loss by the scores
    scale = rows * TEMPERATURE
    target = torch.zeros(rows * documents, device=device).index_fill_(0, flat, -0.5 / scale)
    target = target.view(rows, documents)
    # unit vectors score at most 1, so shifting by 1 keeps the exponentials in range
    shift = torch.full((1, 1, 1), -1 / TEMPERATURE, device=device)

    def relevant() -> Tensor:
        return scores.flatten(1).index_select(1, flat).view(-1, 2, rows)

    def step(want_loss: bool = False) -> Tensor:
        """One step of Adam and the projection; the losses before it (seeds,), or nothing."""
        torch.baddbmm(shift, queries, vectors.mT, alpha=1 / TEMPERATURE, out=scores)
        scores.exp_()
        total = scores.sum(-1, keepdim=True)
        each = total[:, :, 0].log() - relevant().log().mean(1) if want_loss else total
        torch.addcdiv(target, scores, total.mul_(scale), out=scores)
        torch.bmm(scores, vectors, out=by_query)
        torch.bmm(scores.mT, queries, out=by_document)
        adam.step(LEARNING_RATE)
        return each.mean(1) if want_loss else each

    result: dict[int, Attempt] = {}
    best, since, steps = torch.full((len(seeds),), math.inf, device=device), [0] * len(seeds), 0
    while len(result) < len(seeds) and time.monotonic() < until:
        for _ in range(CHECK_EVERY - 1):
            step()
        loss = step(want_loss=True)
        steps += CHECK_EVERY
        better = loss < best - IMPROVEMENT
        best = torch.where(better, loss, best)
        torch.bmm(queries, vectors.mT, out=scores)
        worse = relevant().amin(1)
        scores.flatten(1).index_fill_(1, flat, -math.inf)
        solved = (worse > scores.amax(-1)).all(1).tolist()
        for row, (seed, improved) in enumerate(zip(seeds, better.tolist(), strict=True)):
            since[row] = 0 if improved else since[row] + CHECK_EVERY
            stale = since[row] >= PATIENCE
            if seed in result or not (solved[row] or stale):
                continue
            single, double = margins(queries[row], vectors[row])
            if (good := single > 0 and double > 0) or stale:
                result[seed] = Attempt(good, steps, double)
    return result
