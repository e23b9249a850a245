"""A free embedding of any qrel matrix: an upper bound that can be checked, and the widest margin.

Vectors of queries and documents are optimised directly, from random starts, as in section 4 of
"On the Theoretical Limitations of Embedding-Based Retrieval" (arXiv 2508.21038), for queries with
any numbers of relevant documents. With scores s of a query, R its relevant documents and N all
others, z = log(sum_N exp(s/t)) + log(sum_R exp(-s/t)) is a smooth form of -margin/t. Two losses of
it, both with a temperature t that falls while the optimiser runs:

- `smallest`: the sum of log(1 + exp(z)), which is nothing once a query is in order: feasibility;
- `widen_margin`: the log of the sum of exp(z) over the queries, to which only the worst matter:
  the largest margin for unit vectors.

Not finding an embedding proves nothing.
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

from retgen.evaluation.capacity.exact import smallest_gap, whole_numbers
from retgen.evaluation.capacity.sphere import Schedule, SphereAdam
from retgen.progress import Progress, no_progress
from retgen.qrels import QrelMatrix

CELLS = 4_000_000  # of a matrix that is optimised
CHECK_EVERY = 25  # steps
_DROP = 0.25  # of the dimensions, dropped at once at most


_SOLVE = Schedule(3_000, (0.1, 1e-3), (0.03, 1e-3))
_DESCEND = Schedule(4_000, (0.1, 1e-4), (0.02, 3e-4))
_WIDEN = Schedule(1_500, (0.1, 1e-3), (0.1, 1e-3))


class Embedding(NamedTuple):
    """Integer vectors that serve a matrix; `gap` (>= 1) is exact, by `exact.smallest_gap`."""

    dimension: int
    queries: NDArray[np.int64]
    documents: NDArray[np.int64]
    gap: int


class Widest(NamedTuple):
    """Unit vectors, float64 (queries, d) and (documents, d), and their smallest margin."""

    dimension: int
    margin: float
    queries: NDArray[np.float64]
    documents: NDArray[np.float64]


def widen_margin(
    matrix: QrelMatrix,
    dimension: int,
    start: Widest | None = None,
    *,
    seed: int = 0,
    until: float = math.inf,
    device: str = "cpu",
) -> Widest:
    """Unit vectors with the largest smallest margin found (negative where a query stays wrong).

    From a random start, and from `start`, an embedding of no more dimensions, if there is one: so
    margins do not fall as dimensions are added. Every row must have a relevant document and
    another one.
    """
    relevant = _relevant(matrix, device)
    starts = [_random(matrix, dimension, seed)]
    if start is not None:
        known = np.concatenate((start.queries, start.documents))
        padded = torch.zeros_like(starts[0])
        padded[:, : start.dimension] = torch.from_numpy(known).float()
        starts.append(normalize(padded + 0.02 * starts[0], dim=-1))
    best: Widest | None = None
    if start is not None:
        wider = [np.pad(v, ((0, 0), (0, dimension - start.dimension)))
                 for v in (start.queries, start.documents)]  # fmt: skip
        best = Widest(dimension, start.margin, *wider)
    for units in starts:
        units = units.to(device)
        _optimise(relevant, units, _WIDEN, until, wide=True)
        result = _measured(matrix, dimension, units)
        if best is None or result.margin > best.margin:
            best = result
    assert best is not None
    return best


def as_widest(matrix: QrelMatrix, result: Embedding) -> Widest:
    """An embedding scaled to unit vectors, with its margin."""
    units = torch.from_numpy(np.concatenate((result.queries, result.documents)).astype(np.float64))
    return _measured(matrix, result.dimension, units)


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
    after each failure, until dropping a single one has failed for every seed. Rows: as in
    `widen_margin`.
    """
    relevant = _relevant(matrix, device)
    units = best = None
    for seed in range(seeds):
        units = _random(matrix, highest, seed).to(device)
        if _optimise(relevant, units, _SOLVE, until, wide=False):
            best = _exact(matrix, units)
            break
    d, fraction, misses = highest, _DROP, 0
    while best is not None and units is not None and d > lowest and time.monotonic() < until:
        progress("dimensions", highest - d, highest - lowest)
        less = min(d - lowest, max(1, int(d * fraction)))
        fewer = _dropped(units, d - less, misses)
        solved = _optimise(relevant, fewer, _DESCEND, until, wide=False)
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
    vectors = units.double().cpu().numpy()
    whole = whole_numbers(vectors)
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


def _relevant(matrix: QrelMatrix, device: str) -> Tensor:
    return torch.from_numpy(matrix.dense().astype(bool)).to(device)


def _random(matrix: QrelMatrix, dimension: int, seed: int) -> Tensor:
    """Documents at random, queries at the middle of their documents: (queries + documents, d)."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + dimension)
    documents = normalize(torch.randn(matrix.documents, dimension, generator=generator), dim=-1)
    dense = torch.from_numpy(matrix.dense().astype(np.float32))
    noise = torch.randn(matrix.queries, dimension, generator=generator)
    queries = normalize(dense @ documents + 0.1 * noise, dim=-1)
    return torch.cat((queries, documents))


def _measured(matrix: QrelMatrix, dimension: int, units: Tensor) -> Widest:
    vectors = units.double().cpu()
    vectors = normalize(vectors, dim=-1)
    queries, documents = vectors[: matrix.queries], vectors[matrix.queries :]
    relevant = _relevant(matrix, "cpu")
    scores = queries @ documents.T
    worst = scores.masked_fill(~relevant, math.inf).amin(1)
    other = scores.masked_fill(relevant, -math.inf).amax(1)
    return Widest(dimension, float((worst - other).amin()), queries.numpy(), documents.numpy())


def _optimise(
    relevant: Tensor, units: Tensor, schedule: Schedule, until: float, *, wide: bool
) -> bool:
    """Adam with projection, in place. Without `wide` it ends, True, once every query is right."""
    rows = len(relevant)
    adam = SphereAdam(units)
    queries, documents = units[:rows], units[rows:]
    by_query, by_document = adam.gradient[:rows], adam.gradient[rows:]
    for step in range(1, schedule.steps + 1):
        done = (step - 1) / (schedule.steps - 1)
        t = schedule.temperature[0] * (schedule.temperature[1] / schedule.temperature[0]) ** done
        scores = queries @ documents.T
        worst = scores.masked_fill(~relevant, math.inf).amin(1, True)
        other = scores.masked_fill(relevant, -math.inf).amax(1, True)
        if step % CHECK_EVERY == 0:
            if not wide and bool((worst > other).all()):
                return True
            if time.monotonic() >= until:
                break
        # shares of each document in the two smooth extremes; below e^-35 it has no say, and
        # results near the smallest floats take 20 times as long
        low = ((worst - scores) / t).clamp_(-35.0, 0.0).exp_().masked_fill_(~relevant, 0.0)
        high = ((scores - other) / t).clamp_(-35.0, 0.0).exp_().masked_fill_(relevant, 0.0)
        in_low, in_high = low.sum(1, True), high.sum(1, True)
        z = (other - worst) / t + in_low.log() + in_high.log()
        weight = torch.softmax(z, 0) if wide else torch.sigmoid(z)
        weight = weight.clamp_(min=1e-15)
        gradient = high / in_high - low / in_low
        # a query moves by its own margin alone, so its weight is only for the documents
        torch.mm(gradient, documents, out=by_query)
        gradient.mul_(weight)
        torch.mm(gradient.T, queries, out=by_document)
        adam.step(schedule.rate[0] * (schedule.rate[1] / schedule.rate[0]) ** done, eps=1e-12)
    return False
