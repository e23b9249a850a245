"""Speed of the free-embedding optimisation against two plain scripts, as ratios.

Both references are the paper's protocol as one would first write it: autograd, `torch.optim.Adam`,
a normalisation after each step, and after each step a look whether all queries are solved. They
differ in that look: the stock one loops over the queries in Python, the other is vectorised. All
three begin at the same vectors and stop at success or the same plateau. They look for success at
different steps (ours every ten), and rounding differs, so steps are printed beside the times.

    .venv/bin/python benchmarks/free_embedding.py [--rounds 3] [--cases 4,9,1 5,14,8]
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import torch
from common import in_turn, options, ratio
from torch import Tensor

from retgen.evaluation.capacity import paper as free

CASES = ["4,9,1", "5,14,1", "4,9,8", "5,14,8"]


def main() -> None:
    given = options(__doc__, rounds=3, cases=CASES)
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, one thread, median of {given.rounds}")
    for case in given.cases:
        dimension, documents, starts = map(int, case.split(","))
        print(f"d={dimension} n={documents}, {starts} random start{'s' * (starts > 1)}")
        compare(dimension, documents, range(starts), given.rounds)


def compare(dimension: int, documents: int, seeds: range, rounds: int) -> None:
    """Measure the three in turn and print medians and ratios."""

    def ours() -> list[tuple[bool, int]]:
        return [(a.solved, a.steps) for a in free.solve(dimension, documents, seeds)]

    def stock() -> list[tuple[bool, int]]:
        return [plain(dimension, documents, seed, solved_in_a_loop) for seed in seeds]

    def vectorised() -> list[tuple[bool, int]]:
        return [plain(dimension, documents, seed, solved_at_once) for seed in seeds]

    works = {"retgen": ours, "stock": stock, "vectorised check": vectorised}
    for name, work in works.items():
        done = work()
        solved = sum(one for one, _ in done)
        print(f"    {name}: {solved} solved, {sum(n for _, n in done):,} steps in all")
    times = in_turn(works, rounds)
    for name, taken in times.items():
        shown = ratio(taken, times["retgen"])
        print(f"    {statistics.median(taken):8.3f} s  {name:16s} ratio {shown}")


def plain(
    dimension: int, documents: int, seed: int, solved: Callable[[Tensor, Tensor, Tensor], bool]
) -> tuple[bool, int]:
    """The protocol with autograd from one start; whether it was solved, and the steps."""
    both = free.pairs(documents).T
    qrels = torch.zeros(len(both), documents).scatter_(1, both, 1.0)
    start = free.random_units(len(both) + documents, dimension, seed)
    queries = start[: len(both)].clone().requires_grad_()
    vectors = start[len(both) :].clone().requires_grad_()
    optimiser = torch.optim.Adam([queries, vectors], lr=0.01)
    best, since, step = math.inf, 0, 0
    while since < 1_000:
        step += 1
        optimiser.zero_grad()
        each = torch.log_softmax(queries @ vectors.T / 0.1, dim=1) * qrels
        loss = -each.sum() / qrels.sum()
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            queries /= queries.norm(dim=1, keepdim=True)
            vectors /= vectors.norm(dim=1, keepdim=True)
            if solved(queries, vectors, qrels):
                return True, step
        if loss.item() < best - 1e-5:
            best, since = loss.item(), 0
        else:
            since += 1
    return False, step


def solved_in_a_loop(queries: Tensor, vectors: Tensor, qrels: Tensor) -> bool:
    """All queries, one by one, without stopping at the first failure: the accuracy is wanted."""
    right = 0
    for row in range(len(queries)):
        top = torch.topk(vectors @ queries[row], 2).indices
        relevant = torch.nonzero(qrels[row]).flatten()
        right += set(top.tolist()) == set(relevant.tolist())
    return right == len(queries)


def solved_at_once(queries: Tensor, vectors: Tensor, qrels: Tensor) -> bool:
    """The same for all queries in one go."""
    top = torch.topk(queries @ vectors.T, 2, dim=1).indices
    return bool(qrels.gather(1, top).all())


if __name__ == "__main__":
    main()
