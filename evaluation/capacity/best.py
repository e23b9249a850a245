"""The best optimiser for all pairs of n documents: how many d dimensions are found to hold.

A margin loss with a temperature that falls replaces the paper's InfoNCE, and a solved set grows by
new documents half-way between old ones instead of starting again from random vectors.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

from retgen.evaluation.capacity.embedding import Schedule, optimise
from retgen.evaluation.capacity.paper import Critical, margins, pairs
from retgen.progress import Progress, no_progress

START = 4  # documents per dimension of a random start
GROWTH = 0.25  # of the documents, added at once at most
MISSES = 8  # failures in a row to add a single document that end a seed
NOISE = 0.2  # of the distance to the nearest neighbour


_FROM_RANDOM = Schedule(4_000, (0.1, 5e-4), (0.02, 1e-3))
_AFTER_GROWTH = Schedule(2_000, (0.02, 1e-5), (0.02, 5e-4))


class _Solved(NamedTuple):
    """Queries in the order of `pairs`, documents, the margin in float64."""

    queries: Tensor
    documents: Tensor
    margin: float


def critical(
    dimensions: Iterable[int],
    *,
    seeds: int = 4,
    deadline: float | None = None,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> Iterator[Critical]:
    """The largest n that each dimension was grown to, yielded as it is found.

    Seeds are grown one after the other. What is left of `deadline` (seconds for all together) is
    shared evenly among the dimensions still to come; seeds that it leaves no time for are absent
    from `by_seed`, and `complete` is False when not even the first came to its end. Without a
    deadline dimensions from about 6 on run for hours.
    """
    wanted = list(dimensions)
    end = math.inf if deadline is None else time.monotonic() + deadline
    for place, dimension in enumerate(wanted):
        began = time.monotonic()
        until = began + (end - began) / (len(wanted) - place)
        by_seed: list[int] = []
        margin = None
        complete = False
        for seed in range(seeds):
            if time.monotonic() >= until:
                break
            reached = 2  # two documents are the top 2 of any query
            for result in lineage(dimension, seed, device, until):
                reached = len(result.documents)
                progress(f"d={dimension}: documents", reached, reached)
                if reached > max(by_seed, default=2):
                    margin = result.margin
            by_seed.append(reached)
            complete = complete or time.monotonic() < until
        seconds = time.monotonic() - began
        best = max(by_seed, default=2)
        yield Critical(dimension, best, tuple(by_seed), complete, seconds, margin)


def lineage(dimension: int, seed: int, device: str, until: float) -> Iterator[_Solved]:
    """Ever larger solved sets of one seed, until it fails or `until` (monotonic seconds)."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + dimension)
    size = START * dimension
    result = None
    while result is None:
        start = normalize(torch.randn(size, dimension, generator=generator), dim=-1).to(device)
        first, second = pairs(size, device)
        queries = normalize(start[first] + start[second], dim=-1)
        result = _anneal(queries, start, _FROM_RANDOM, until)
        if result is None and (size == 3 or time.monotonic() >= until):
            return
        size = max(3, size * 3 // 4)
    fraction, misses = GROWTH, 0
    while True:
        yield result
        size = len(result.documents)
        grown = None
        while grown is None:
            more = max(1, int(size * fraction))
            grown = _anneal(*_insert(result, more, generator), _AFTER_GROWTH, until)
            if grown is None:
                fraction /= 2
                misses += more == 1
                if misses == MISSES or time.monotonic() >= until:
                    return
        result, fraction, misses = grown, min(GROWTH, fraction * 1.5), 0


def _insert(result: _Solved, more: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Queries and documents with up to `more` documents put half-way to a nearest neighbour."""
    old, device = result.documents, result.documents.device
    size, dimension = old.shape
    chosen = torch.randperm(size, generator=generator)[:more].to(device)
    noise = torch.randn(len(chosen), dimension, generator=generator).to(device)
    nearest = (old @ old.T).fill_diagonal_(-math.inf).argmax(1)[chosen]
    distance = (old[chosen] - old[nearest]).norm(dim=-1, keepdim=True)
    new = normalize(old[chosen] + old[nearest] + NOISE * distance * noise, dim=-1)
    documents = torch.cat((old, new))
    first, second = pairs(len(documents), device)
    parent = torch.cat((torch.arange(size, device=device), chosen))
    one, other = parent[first], parent[second]
    small, large = torch.minimum(one, other), torch.maximum(one, other)
    row = (large * (large - 1) // 2 + small).clamp_(max=len(result.queries) - 1)
    between = normalize(documents[first] + documents[second], dim=-1)
    queries = torch.where((one == other)[:, None], between, result.queries[row])
    return queries, documents


def _anneal(queries: Tensor, documents: Tensor, schedule: Schedule, until: float) -> _Solved | None:
    """What the optimiser makes of this start; None when it does not succeed."""
    rows, size = len(queries), len(documents)
    units = torch.cat((queries, documents))
    relevant = torch.zeros(rows, size, dtype=torch.bool, device=units.device)
    relevant.scatter_(1, pairs(size, units.device).T, True)
    if optimise(relevant, units, schedule, until):
        single, double = margins(units[:rows], units[rows:])
        if single > 0 and double > 0:
            return _Solved(units[:rows], units[rows:], double)
    return None
