"""How often nominal 95% intervals hold the true mean, and how wide they are, beside those of the
percentile bootstrap: of units, a value counting by the product of its units' draws.

A shape with too few independent units has no interval, nor has a difference where no value differs.

    .venv/bin/python benchmarks/intervals.py [--simulations 2000]
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from retgen.statistics.clustered import CHANGE, SHARE, Units

GOAL, REPLICATES = 0.93, 1000
Floats = NDArray[np.float64]
Random = np.random.Generator
Draw = Callable[[Random, int], Floats]  # how many simulations -> values (values, simulations)
Bounds = tuple[float, float] | None


def shapes() -> Iterator[tuple[str, NDArray[np.int64], Draw, Bounds]]:
    """Name, the units of each value (values, units of one), how values are drawn, their bounds."""
    for n in (5, 10, 12, 20, 50, 200):
        alone = np.arange(n)[:, None]
        yield f"independent, uniform, n = {n}", alone, _uniform(n), SHARE
        yield f"independent, like nDCG, n = {n}", alone, _high(n), SHARE
        if n >= 12:
            yield f"hits, mean 0.03, n = {n}", alone, _hits(n, 0.03), SHARE
            yield f"hits, mean 0.97, n = {n}", alone, _hits(n, 0.97), SHARE
            yield f"exponential, n = {n}", alone, _exponential(n), None
            yield f"paired difference, n = {n}", alone, _change(n), CHANGE
    for name, sizes in (
        ("8 clusters of 10", [10] * 8),
        ("10 clusters of 10", [10] * 10),
        ("12 clusters of 10", [10] * 12),
        ("30 clusters of 1 to 30", list(range(1, 31))),
        ("30 clusters, 5 hold most", [1] * 15 + [3] * 10 + [20] * 5),
    ):
        group = np.repeat(np.arange(len(sizes)), sizes)
        yield name, group[:, None], _clusters(group), SHARE
    yield "AUC of haystacks, 20 questions", np.arange(20)[:, None], _areas(20), SHARE
    for documents, each, count in ((46, 2, 1000), (12, 2, 66), (60, 5, 1000), (40, 12, 500)):
        rows = _queries(documents, each, count)
        name = f"{count:,} queries of {each} of {documents} documents"
        yield f"{name}, recall", rows, _recall(rows, 0.0), SHARE
        yield f"{name}, low recall", rows, _recall(rows, -4.0), SHARE
        yield f"{name}, nothing shared", rows, _uniform(count), SHARE


def _uniform(n: int) -> Draw:
    return lambda random, count: random.random((n, count))


def _exponential(n: int) -> Draw:
    return lambda random, count: random.exponential(size=(n, count))


def _hits(n: int, rate: float) -> Draw:
    return lambda random, count: (random.random((n, count)) < rate) * 1.0


def _high(n: int) -> Draw:
    """Two thirds are 1, most others near it, and one in ten is anywhere."""

    def draw(random: Random, count: int) -> Floats:
        kind, near = random.random((n, count)), random.beta(8, 1, (n, count))
        low = 0.8 * random.beta(2, 1, (n, count))
        return np.where(kind < 0.1, low, np.where(kind < 0.75, 1, near))

    return draw


def _change(n: int) -> Draw:
    """Two systems that agree on seven queries of ten, the second a little better."""

    def draw(random: Random, count: int) -> Floats:
        ease, first, second, same = random.beta(0.6, 0.6, (n, count)), *random.random((3, n, count))
        return np.where(same < 0.7, 0.0, (second < ease + 0.2) * 1.0 - (first < ease))

    return draw


def _clusters(group: NDArray[np.int64]) -> Draw:
    def draw(random: Random, count: int) -> Floats:
        rates = random.beta(0.8, 0.8, (group.max() + 1, count))[group]
        return (random.random(rates.shape) < rates) * 1.0

    return draw


def _areas(questions: int) -> Draw:
    """Of two haystacks and four controls each, some questions easier than others."""

    def draw(random: Random, count: int) -> Floats:
        needles = random.normal(1, 1, (questions, count)) + random.normal(
            size=(2, questions, count)
        )
        return (needles[:, None] > random.normal(size=(4, questions, count))).mean(axis=(0, 1))

    return draw


def _queries(documents: int, each: int, count: int) -> NDArray[np.int64]:
    random = np.random.default_rng(1)
    if each == 2:
        return random.permutation(list(itertools.combinations(range(documents), 2)))[:count]
    return np.argsort(random.random((count, documents)), axis=1)[:, :each]


def _recall(rows: NDArray[np.int64], level: float) -> Draw:
    """Each document is found at a rate of its own."""

    def draw(random: Random, count: int) -> Floats:
        rates = expit(level + 1.5 * random.normal(size=(rows.max() + 1, count)))
        return np.mean([random.random((len(rows), count)) < rates[of] for of in rows.T], axis=0)

    return draw


def bootstrap(units: NDArray[np.int64], values: Floats, random: Random) -> Floats:
    """Percentile intervals (simulations, 2)."""
    count = int(units.max()) + 1
    drawn = random.multinomial(count, np.full(count, 1 / count), REPLICATES).astype(np.float32)
    weights = drawn[:, units].prod(axis=2)
    weights = weights[weights.any(axis=1)]
    means = weights @ values.astype(np.float32) / weights.sum(axis=1)[:, None]
    return np.quantile(means, [0.025, 0.975], axis=0).T


def held(spans: Floats, mean: float) -> tuple[float, str]:
    """The share of intervals that hold the mean; in words, with how many there are."""
    given = spans[~np.isnan(spans[:, 0])]
    low, high = given.T
    share = float(np.mean((low <= mean + 1e-9) & (mean - 1e-9 <= high)))  # sums of floats
    part = "" if len(given) == len(spans) else f" ({len(given) / len(spans):.0%} have one)"
    return share, f"{share:.3f}, width {np.mean(high - low):.3f}{part}"


def main(simulations: int) -> int:
    """A line a shape; 1 where intervals are given that hold the mean too rarely."""
    lowest = 1.0
    for number, (name, of, draw, bounds) in enumerate(shapes()):
        random = np.random.default_rng(number)
        values = draw(random, simulations)
        mean = float(np.mean([draw(random, 500).mean() for _ in range(40)]))
        before = f"bootstrap {held(bootstrap(of, values, random), mean)[1]}"
        rows = np.repeat(np.arange(len(of)), of.shape[1])
        units = Units(rows, of.ravel(), f"{int(of.max()) + 1} units")
        if units.note:
            print(f"{name}: {units.note}; {before}", flush=True)
            continue
        share, text = held(units.interval(values, bounds), mean)
        lowest = min(lowest, share)
        print(f"{name}: {text}; {before}", flush=True)
    print(f"lowest coverage: {lowest:.3f} ({GOAL} asked)")
    # few simulations tell no more than chance
    return int(lowest < GOAL and simulations >= 2000)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=2000)
    sys.exit(main(parser.parse_args().simulations))
