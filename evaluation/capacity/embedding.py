"""A free embedding of any qrel matrix: an upper bound that can be checked.

Vectors of queries and documents are optimised directly, from random starts, as in section 4 of
"On the Theoretical Limitations of Embedding-Based Retrieval" (arXiv 2508.21038), for queries with
any numbers of relevant documents. With scores s of a query, R its relevant documents and N all
others, z = log(sum_N exp(s/t)) + log(sum_R exp(-s/t)) is a smooth form of -margin/t. The loss is
the sum of log(1 + exp(z)), which is nothing once a query is in order, with a temperature t that
falls while the optimiser runs.

Not finding an embedding proves nothing. A found one is scaled and rounded to whole numbers so small
that every score, a sum of products, is exact in 64 bits. In row order the length of a vector does
not matter, so the integers are an embedding by themselves: if each query's scores of its relevant
documents exceed all others as integers, the qrel matrix has been embedded, whatever made them.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from retgen.progress import Progress, no_progress
from retgen.qrels import QrelMatrix

CELLS = 4_000_000  # of a matrix that is optimised
CHECK_EVERY = 25  # steps
_DROP = 0.25  # of the dimensions, dropped at once at most
_BLOCK = 16_000_000  # scores at a time


class Schedule(NamedTuple):
    """Temperature and learning rate fall geometrically over the steps."""

    steps: int
    temperature: tuple[float, float]
    rate: tuple[float, float]


def _falling(ends: tuple[float, float], done: float) -> float:
    """The geometric course from the first to the second."""
    return float(ends[0] * (ends[1] / ends[0]) ** done)


class SphereAdam:
    """Adam whose every step ends with the projection to unit length.

    `units` (..., vectors, dimension) are changed in place; `gradient`, of the same shape, is for
    the caller to fill before each step.
    """

    def __init__(self, units: Tensor, eps: float = 1e-8) -> None:
        self.units = units
        self.gradient = units.grad = torch.zeros_like(units)
        self._adam = torch.optim.Adam([units], eps=eps, fused=True)
        self._norm = torch.empty_like(units[..., :1])

    def step(self, rate: float) -> None:
        """One step with this learning rate."""
        self._adam.param_groups[0]["lr"] = rate
        self._adam.step()
        torch.linalg.vector_norm(self.units, dim=-1, keepdim=True, out=self._norm)
        self.units.div_(self._norm)


_SOLVE = Schedule(3_000, (0.1, 1e-3), (0.03, 1e-3))
_DESCEND = Schedule(4_000, (0.1, 1e-4), (0.02, 3e-4))


class Embedding(NamedTuple):
    """Integer vectors that serve a matrix; `gap` (>= 1) is exact, by `smallest_gap`."""

    dimension: int
    queries: NDArray[np.int64]
    documents: NDArray[np.int64]
    gap: int


def smallest(
    matrix: QrelMatrix,
    highest: int,
    *,
    lowest: int = 1,
    seeds: int = 2,
    until: float = math.inf,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> Embedding | None:
    """The embedding of fewest dimensions, lowest <= d <= highest, that was found; or None.

    The first is sought at `highest` from random starts. Then the directions in which its vectors
    vary least are dropped, and the rest optimised again: a quarter of them at first, half as many
    after each failure, until dropping a single one has failed for every seed. Every row must
    have a relevant document and another one.
    """
    relevant = torch.from_numpy(matrix.dense().astype(bool)).to(device)
    units = best = None
    for seed in range(seeds):
        units = _random(matrix, highest, seed).to(device)
        if optimise(relevant, units, _SOLVE, until):
            best = _exact(matrix, units)
            break
    d, fraction, misses = highest, _DROP, 0
    while best is not None and units is not None and d > lowest and time.monotonic() < until:
        progress("dimensions", highest - d, highest - lowest)
        less = min(d - lowest, max(1, int(d * fraction)))
        fewer = _dropped(units, d - less, misses)
        solved = optimise(relevant, fewer, _DESCEND, until)
        result = _exact(matrix, fewer) if solved else None
        if result is not None:
            best, units, d, misses = result, fewer, d - less, 0
        else:
            fraction /= 2
            misses += less == 1
            if misses > seeds:
                break
    return best


def _exact(matrix: QrelMatrix, units: Tensor) -> Embedding | None:
    """The vectors as integers, if these serve the matrix as well."""
    whole = whole_numbers(units.double().cpu().numpy())
    queries, documents = whole[: matrix.queries], whole[matrix.queries :]
    gap = smallest_gap(matrix, queries, documents)
    return Embedding(units.shape[1], queries, documents, gap) if gap > 0 else None


def _dropped(units: Tensor, dimension: int, again: int) -> Tensor:
    """The `dimension` directions of most weight, turned to axes; noise where it is tried again."""
    directions = torch.linalg.svd(units, full_matrices=False)[2]
    generator = torch.Generator().manual_seed(again * 1_000_003 + dimension)
    noise = torch.randn(len(units), dimension, generator=generator).to(units.device)
    kept = units @ directions[:dimension].T
    return normalize(kept + 0.02 * again / math.sqrt(dimension) * noise, dim=-1).contiguous()


def _random(matrix: QrelMatrix, dimension: int, seed: int) -> Tensor:
    """Documents at random, queries at the middle of their documents: (queries + documents, d)."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + dimension)
    documents = normalize(torch.randn(matrix.documents, dimension, generator=generator), dim=-1)
    dense = torch.from_numpy(matrix.dense().astype(np.float32))
    noise = torch.randn(matrix.queries, dimension, generator=generator)
    queries = normalize(dense @ documents + 0.1 * noise, dim=-1)
    return torch.cat((queries, documents))


def optimise(relevant: Tensor, units: Tensor, schedule: Schedule, until: float) -> bool:
    """Adam with projection, in place; it ends, True, once every query is right.

    `relevant` (queries, documents) bool, `units` (queries + documents, dimension).
    """
    rows = len(relevant)
    adam = SphereAdam(units, eps=1e-12)
    queries, documents = units[:rows], units[rows:]
    by_query, by_document = adam.gradient[:rows], adam.gradient[rows:]
    for step in range(1, schedule.steps + 1):
        done = (step - 1) / (schedule.steps - 1)
        t = _falling(schedule.temperature, done)
        scores = queries @ documents.T
        worst = scores.masked_fill(~relevant, math.inf).amin(1, True)
        other = scores.masked_fill(relevant, -math.inf).amax(1, True)
        if step % CHECK_EVERY == 0:
            if bool((worst > other).all()):
                return True
            if time.monotonic() >= until:
                break
        # shares of each document in the two smooth extremes; below e^-35 it has no say, and
        # results near the smallest floats take 20 times as long
        low = ((worst - scores) / t).clamp_(-35.0, 0.0).exp_().masked_fill_(~relevant, 0.0)
        high = ((scores - other) / t).clamp_(-35.0, 0.0).exp_().masked_fill_(relevant, 0.0)
        in_low, in_high = low.sum(1, True), high.sum(1, True)
        z = (other - worst) / t + in_low.log() + in_high.log()
        weight = torch.sigmoid(z).clamp_(min=1e-15)
        gradient = high / in_high - low / in_low
        # a query moves by its own margin alone, so its weight is only for the documents
        torch.mm(gradient, documents, out=by_query)
        gradient.mul_(weight)
        torch.mm(gradient.T, queries, out=by_document)
        adam.step(_falling(schedule.rate, done))
    return False


# --- whole numbers ---


def whole_numbers(vectors: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n, d) real vectors to integers of at most 2^b, d 2^(2b) < 2^62, the scale being one for all.

    So no sum of products of two of them leaves 64 bits.
    """
    bits = (62 - math.ceil(math.log2(vectors.shape[1] + 1))) // 2
    whole: NDArray[np.float64] = np.rint(vectors * (2.0**bits / np.abs(vectors).max()))
    return whole.astype(np.int64)


def smallest_gap(
    matrix: QrelMatrix, queries: NDArray[np.int64], documents: NDArray[np.int64]
) -> int:
    """Over all queries the least of: worst relevant score minus best other score, exactly.

    queries (matrix.queries, d), documents (matrix.documents, d), of `whole_numbers`. The embedding
    serves the matrix in row order iff the result is positive. Every query must have a relevant
    document and another one.
    """
    least = math.inf
    rows = max(1, _BLOCK // matrix.documents)
    for start in range(0, matrix.queries, rows):
        part = matrix.take_rows(np.arange(start, min(start + rows, matrix.queries)))
        relevant = part.dense().astype(bool)
        scores = queries[start : start + rows] @ documents.T
        worst = np.where(relevant, scores, 2**62).min(1)
        best = np.where(relevant, -(2**62), scores).max(1)
        least = min(least, int((worst - best).min()))
    return int(least)
