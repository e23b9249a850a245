"""How often 95% intervals hold the true mean, and how wide they are: now, and by the percentile
bootstrap that was there before.

    python benchmarks/intervals.py --simulations 2000

A shape says how values vary and what they share. Means of a shape with too few independent units
have no interval, and the reason is printed; so has no difference where no value differs.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.statistics.clustered import CHANGE, SHARE, Units, estimate, left_out

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]  # simulations -> values (values, simulations)
_REPLICATES = 1000
_GOAL = 0.93


class Shape(NamedTuple):
    """`of`, `unit`: which units each value has. `mean`: the true one; None: of many draws."""

    name: str
    of: NDArray[np.int64]
    unit: NDArray[np.int64]
    draw: Draw
    mean: float | None = None
    bounds: tuple[float, float] | None = SHARE


def shapes() -> Iterator[Shape]:
    """All of them."""
    for n in (5, 10, 12, 20, 50, 200):
        yield _alone(f"independent, uniform, n = {n}", n, _uniform(n), 0.5)
        yield _alone(f"independent, like nDCG, n = {n}", n, _high(n))
    for n in (12, 20, 50, 200):
        for rate in (0.03, 0.97):
            yield _alone(f"hits, mean {rate}, n = {n}", n, _hits(n, rate), rate)
        yield _alone(f"exponential, n = {n}", n, _exponential(n), 1.0, None)
        yield _alone(f"paired difference, n = {n}", n, _change(n), None, CHANGE)
    for name, sizes in (
        ("8 clusters of 10", [10] * 8),
        ("10 clusters of 10", [10] * 10),
        ("12 clusters of 10", [10] * 12),
        ("30 clusters of 1 to 30", list(range(1, 31))),
        ("30 clusters, 5 hold most", [1] * 15 + [3] * 10 + [20] * 5),
    ):
        group = np.repeat(np.arange(len(sizes)), sizes)
        yield Shape(name, np.arange(len(group)), group, _clusters(group), 0.5)
    for documents, each, count in ((46, 2, 1000), (12, 2, 66), (60, 5, 1000), (40, 12, 500)):
        rows = _queries(documents, each, count)
        of, unit = np.repeat(np.arange(len(rows)), each), rows.ravel()
        name = f"{count:,} queries of {each} of {documents} documents"
        yield Shape(f"{name}, recall", of, unit, _recall(rows, 0.0), 0.5)
        yield Shape(f"{name}, low recall", of, unit, _recall(rows, -4.0))
        yield Shape(f"{name}, alone", of, unit, lambda r, s, n=count: r.random((n, s)), 0.5)


def _alone(
    name: str, n: int, draw: Draw, mean: float | None = None, bounds: object = SHARE
) -> Shape:
    return Shape(name, np.arange(n), np.arange(n), draw, mean, bounds)  # type: ignore[arg-type]


def _uniform(n: int) -> Draw:
    return lambda random, count: random.random((n, count))


def _high(n: int) -> Draw:
    """Two thirds are 1, most others near it, and one in ten is anywhere."""

    def draw(random: np.random.Generator, count: int) -> Floats:
        kind, size = random.random((n, count)), (n, count)
        near = random.beta(8, 1, size)
        return np.where(kind < 0.1, 0.8 * random.beta(2, 1, size), np.where(kind < 0.75, 1, near))

    return draw


def _hits(n: int, rate: float) -> Draw:
    return lambda random, count: (random.random((n, count)) < rate).astype(np.float64)


def _exponential(n: int) -> Draw:
    return lambda random, count: random.exponential(size=(n, count))


def _change(n: int) -> Draw:
    """Two systems that agree on seven queries of ten, the second a little better."""

    def draw(random: np.random.Generator, count: int) -> Floats:
        ease = random.beta(0.6, 0.6, (n, count))
        first = random.random((n, count)) < ease
        other = random.random((n, count)) < np.minimum(1, ease + 0.2)
        second = np.where(random.random((n, count)) < 0.7, first, other)
        return second.astype(np.float64) - first

    return draw


def _clusters(group: NDArray[np.int64]) -> Draw:
    def draw(random: np.random.Generator, count: int) -> Floats:
        rates = random.beta(0.8, 0.8, (group.max() + 1, count))[group]
        return (random.random(rates.shape) < rates).astype(np.float64)

    return draw


def _queries(documents: int, each: int, count: int) -> NDArray[np.int64]:
    """Distinct sets of documents: all of them where there are no more, else drawn."""
    random = np.random.default_rng(1)
    if each == 2:
        pairs = np.array(list(itertools.combinations(range(documents), 2)))
        return pairs[random.permutation(len(pairs))[:count]]
    return np.argsort(random.random((count, documents)), axis=1)[:, :each]


def _recall(rows: NDArray[np.int64], level: float) -> Draw:
    """Each document is found at a rate of its own."""

    def draw(random: np.random.Generator, count: int) -> Floats:
        ease = level + 1.5 * random.normal(size=(rows.max() + 1, count))
        rates = 1 / (1 + np.exp(-ease))
        hits = [random.random((len(rows), count)) < rates[column] for column in rows.T]
        return np.mean(hits, axis=0)

    return draw


def before(shape: Shape, values: Floats, random: np.random.Generator) -> Floats:
    """Percentile intervals (simulations, 2), units drawn; a value counts by its units' product."""
    units, each = int(shape.unit.max()) + 1, np.bincount(shape.of)
    starts = np.concatenate([[0], np.cumsum(each)[:-1]])
    drawn = random.multinomial(units, np.full(units, 1 / units), _REPLICATES)
    weights = np.multiply.reduceat(drawn[:, shape.unit].astype(np.float32), starts, axis=1)
    weights = weights[weights.any(axis=1)]
    means = (weights @ values.astype(np.float32)) / weights.sum(axis=1)[:, None]
    return np.quantile(means, [0.025, 0.975], axis=0).T


def _line(name: str, spans: Floats, mean: float) -> str:
    given = ~np.isnan(spans[:, 0])
    low, high = spans[given].T
    # a hair of slack for sums of floats
    held = float(np.mean((low <= mean + 1e-9) & (mean - 1e-9 <= high)))
    share = "" if given.all() else f" ({np.mean(given):.0%} have one)"
    return f"{name} {held:.3f}, width {np.mean(high - low):.3f}{share}"


def ratio(simulations: int, questions: int = 20) -> str:
    """AUC of needles in haystacks, clustered by question, of 2 haystacks and 4 controls each."""
    random = np.random.default_rng(3)
    spans, truth = [], []
    for _ in range(simulations):
        shift = random.normal(1, 1, (questions, 1, 1))
        won = shift + random.normal(size=(questions, 2, 1)) > random.normal(size=(questions, 1, 4))
        areas = won.mean(axis=(1, 2))
        without = (areas.sum() - areas) / (questions - 1)
        one = estimate(float(areas.mean()), left_out(without, questions), questions)
        spans.append(one[1:])
        truth.append(areas.mean())
    mean = float(np.mean(truth))
    return _line("now", np.array(spans, np.float64), mean)


def main(simulations: int) -> int:
    """Print a line a shape; 1 where an interval is given and holds the mean too rarely."""
    # chance alone moves a share of so many simulations
    slack = 3 * (_GOAL * (1 - _GOAL) / simulations) ** 0.5 if simulations < 2000 else 0.0
    worst = 1.0
    for number, shape in enumerate(shapes()):
        random = np.random.default_rng(number)
        values = shape.draw(random, simulations)
        mean = shape.mean
        if mean is None:
            mean = float(np.mean([shape.draw(random, 200).mean() for _ in range(50)]))
        units = Units(shape.of, shape.unit, f"{int(shape.unit.max()) + 1} units")
        spans = units.interval(values, shape.bounds)
        old = _line("before", before(shape, values, random), mean)
        if units.note:
            print(f"{shape.name}: {units.note}; {old}")
            continue
        text = _line("now", spans, mean)
        worst = min(worst, float(text.split()[1].rstrip(",")))
        print(f"{shape.name}: {text}; {old}", flush=True)
    text = ratio(simulations)
    worst = min(worst, float(text.split()[1].rstrip(",")))
    print(f"AUC by question, n = 20: {text}")
    print(f"lowest coverage: {worst:.3f} (at least {_GOAL} asked)")
    return int(worst < _GOAL - slack)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    sys.exit(main(parser.parse_args().simulations))
