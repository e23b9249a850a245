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

from retgen.evaluation.capacity.embedding import Schedule, SphereAdam, falling
from retgen.evaluation.capacity.paper import Critical, margins, pairs
from retgen.progress import Progress, no_progress

CHECK_EVERY = 25  # steps
START = 4  # documents per dimension of a random start
GROWTH = 0.25  # of the documents, added at once at most
MISSES = 8  # failures in a row to add a single document that end a seed
NOISE = 0.2  # of the distance to the nearest neighbour


_FROM_RANDOM = Schedule(4_000, (0.1, 5e-4), (0.02, 1e-3))
_AFTER_GROWTH = Schedule(2_000, (0.02, 1e-5), (0.02, 5e-4))


class _Solved(NamedTuple):
    """Queries in the order of `pairs`, documents, the margin in float64, steps spent so far."""

    queries: Tensor
    documents: Tensor
    margin: float
    steps: int


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
        margin = math.inf
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
    size, steps = START * dimension, 0
    result = None
    while result is None:
        start = normalize(torch.randn(size, dimension, generator=generator), dim=-1).to(device)
        first, second = pairs(size, device)
        queries = normalize(start[first] + start[second], dim=-1)
        result = _anneal(queries, start, _FROM_RANDOM, steps, until)
        steps += _FROM_RANDOM.steps
        if result is None and (size == 3 or time.monotonic() >= until):
            return
        size = max(3, size * 3 // 4)
    fraction, misses = GROWTH, 0
    while True:
        yield result
        size = len(result.documents)
        grown, steps = None, result.steps
        while grown is None:
            more = max(1, int(size * fraction))
            grown = _anneal(*_insert(result, more, generator), _AFTER_GROWTH, steps, until)
            if grown is None:
                steps += _AFTER_GROWTH.steps
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


def _anneal(
    queries: Tensor, documents: Tensor, schedule: Schedule, steps: int, until: float
) -> _Solved | None:
    """Adam with projection on the margin loss from this start; None when it does not succeed.

    `steps` have been spent before. The loss of a query with relevant scores a, b and irrelevant
    ones c is log(1 + (sum_c exp c/t)(exp -a/t + exp -b/t)).
    """
    rows, size = len(queries), len(documents)
    flat = torch.arange(rows, device=queries.device) * size + pairs(size, queries.device)
    flat = flat.reshape(-1)
    units = torch.cat((queries, documents))
    queries, documents = units[:rows], units[rows:]
    adam = SphereAdam(units)
    by_query, by_document = adam.gradient[:rows], adam.gradient[rows:]
    scores = torch.empty(rows, size, device=units.device)
    cells, documents_t, scores_t = scores.view(-1), documents.T, scores.T
    for step in range(1, schedule.steps + 1):
        done = (step - 1) / (schedule.steps - 1)
        temperature = falling(schedule.temperature, done)
        torch.mm(queries, documents_t, out=scores)
        relevant = cells.index_select(0, flat).view(2, rows)
        worse = relevant.amin(0)
        scores.sub_(worse[:, None])
        if step % CHECK_EVERY == 0:
            cells.index_fill_(0, flat, -math.inf)
            if bool((scores.amax() < 0).item()):
                single, double = margins(queries, documents)
                if single > 0 and double > 0:
                    return _Solved(queries.clone(), documents.clone(), double, steps + step)
            if time.monotonic() >= until:
                return None
        # Exponents are relative to the worse relevant score. Above 80 only overflow is new; below
        # -35 a document has no say, and results near the smallest floats take 20 times as long.
        scores.mul_(1 / temperature).clamp_(-35.0, 80.0).exp_()
        cells.index_fill_(0, flat, 0.0)
        total = scores.sum(1)
        relevant.sub_(worse).mul_(-1 / temperature).clamp_(min=-35.0).exp_()
        both = relevant.sum(0)
        # a row's gradient by its scores is `weight` times the row after this
        weight = (both / (1 + total * both))[:, None]
        cells.index_copy_(0, flat, relevant.mul_(-total / both).view(-1))
        torch.mm(scores, documents, out=by_query).mul_(weight)
        torch.mm(scores_t, queries * weight, out=by_document)
        adam.step(falling(schedule.rate, done), eps=1e-12)
    return None
