"""How often intervals of `gen audit` hold the truth, and how many labels take them to +-2 points.

Positives of complete sets are hidden at random or by a pool (what bm25 does not rank among its
first documents has no label), one in twenty is invented, and the first pairs of the audit's order
get their true labels. A good judge finds 85% of the relevant pairs and calls 5% of the others
relevant; a poor one is right in 80% of both. Uniform: the same pairs, drawn with equal chances,
without guesses.

    .venv/bin/python benchmarks/audit.py [--simulations 200] [--labels 200] [--sets NAME ...]
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from common import options
from numpy.typing import NDArray

from retgen.audits.pool import LabelErrors, Pool
from retgen.evaluation.retrievers import Options, retriever
from retgen.evaluation.scoring.misses import relevant_documents
from retgen.progress import no_progress
from retgen.run import run
from retgen.search.collection import load
from retgen.statistics.bottom import BottomSample, CorrectedSample
from retgen.statistics.clustered import Estimate

SETS: Mapping[str, Mapping[str, Any]] = {
    "capretrieval_album": {"params.captions": 800, "params.queries": 150, "params.training": 0},
    "world_small": {"params.documents": 3000},
    "capretrieval": {},
}
SYSTEMS = ("bm25", "tfidf", "static:minilm")
DESIGNS = ("uniform", "people", "good judge", "poor judge", "poor judge of some")
SOME = 1000  # pairs that it labels
POOL, GOAL, POINTS = 20, 0.93, 0.02
HIDDEN, INVENTED, FIRST = 0.3, 0.05, 5
Sets = list[set[int]]


class Truth:
    """A complete set: rankings of some systems, and what is relevant."""

    def __init__(self, recipe: str, folder: Path) -> None:
        changes = SETS[recipe]
        collection = load(run(recipe, out=folder / recipe, overrides=dict(changes)).path)
        self.positives: Sets = [set(one) for one in relevant_documents(collection)]
        self.rankings = [
            next(iter(made.rank(collection, POOL, no_progress))).rankings.documents
            for name in SYSTEMS
            if (made := retriever(name, Options())) is not None
        ]

    def labelled(self, how: str, draws: np.random.Generator) -> Sets:
        """The positives that labels have: some are hidden, some invented."""
        result = []
        for row, true in enumerate(self.positives):
            first = set(self.rankings[0][row, :FIRST].tolist())
            kept = {
                d
                for d in sorted(true)
                if (draws.random() > HIDDEN if how == "random" else d in first)
            }
            others = sorted({d for r in self.rankings for d in r[row].tolist()} - true - {-1})
            count = draws.binomial(max(1, len(kept)), INVENTED)
            result.append(kept | set(draws.permutation(others)[:count].tolist()))
        return result

    def of(self, pool: Pool) -> NDArray[np.float64]:
        """(pairs,): whether they are relevant."""
        pairs = zip(pool.rows.tolist(), pool.documents.tolist(), strict=True)
        return np.array([float(document in self.positives[row]) for row, document in pairs])


def estimates(pool: Pool, found: LabelErrors) -> dict[str, Estimate | None]:
    """By name."""
    return {
        "missing": found.missing,
        "wrong": found.wrong,
        **{f"P@10 {s}": one for s, one in zip(SYSTEMS, found.precision, strict=True)},
        **{f"recall@10 {s}": one for s, one in zip(SYSTEMS, found.recall, strict=True)},
        f"{SYSTEMS[0]} - {SYSTEMS[2]}": found.difference(pool, 0, 2),
    }


def uniform(pool: Pool, truth: NDArray[np.float64], labels: int) -> LabelErrors:
    """A simple random sample of the pool, without guesses."""
    draws = np.random.default_rng(pool.seed)
    keys, none = draws.exponential(size=len(pool)), np.zeros(len(pool))
    order = np.argsort(keys)
    sample = BottomSample(order, keys, none + 1, truth[order[:labels]])
    fit = CorrectedSample.of(sample, none, none[:, None])
    return LabelErrors.of(pool, fit)


def judge(
    truth: NDArray[np.float64], number: int, found: float, alarms: float
) -> NDArray[np.float64]:
    """A model's labels of all pairs. Shares: of the relevant ones found, of alarms in others."""
    draws = np.random.default_rng([number, len(truth)])
    return (draws.random(len(truth)) < np.where(truth > 0, found, alarms)).astype(float)


def labelled(design: str, pool: Pool, true: NDArray[np.float64], labels: int) -> LabelErrors:
    """What so many labels of people say."""
    if design == "uniform":
        return uniform(pool, true, labels)
    seen, judges = true[pool.order[:labels]], {"good judge": (0.85, 0.05)}
    if design == "people":
        return LabelErrors.of(pool, pool.corrected(seen))
    word = judge(true, pool.seed, *judges.get(design, (0.8, 0.2)))
    count = max(SOME, labels) if design == "poor judge of some" else None
    return LabelErrors.of(pool, pool.corrected(seen, word, count))


def simulate(truth: Truth, how: str, design: str, labels: int, count: int) -> dict[str, list[Any]]:
    """By estimate: (held, half the interval's width)."""
    result: dict[str, list[Any]] = {}
    for number in range(count):
        draws = np.random.default_rng([number, labels])
        positives = truth.labelled(how, draws)
        pool = Pool.of(truth.rankings, positives, positives, number)
        true = truth.of(pool)
        known = estimates(pool, LabelErrors.of(pool, pool.corrected(true[pool.order])))
        for name, one in estimates(pool, labelled(design, pool, true, labels)).items():
            fact = known[name]
            if one is None or fact is None or one.low is None or one.high is None:
                continue
            held = one.low - 1e-9 <= fact.value <= one.high + 1e-9
            result.setdefault(name, []).append((held, (one.high - one.low) / 2))
    return result


def width(rows: Mapping[str, list[Any]]) -> float:
    """Half an interval of P@10 of bm25, the mean."""
    return float(np.mean([half for _, half in rows[f"P@10 {SYSTEMS[0]}"]]))


def labels_needed(truth: Truth, how: str, design: str, goal: float) -> int:
    """For half an interval of P@10 of bm25, by bisection over sizes; the mean of 10 simulations."""
    low, high = 12, sum(map(len, truth.rankings[0])) * len(SYSTEMS)
    while high - low > max(2, low // 50):
        middle = (low + high) // 2
        enough = width(simulate(truth, how, design, middle, 10)) <= goal
        low, high = (low, middle) if enough else (middle, high)
    return high


def main() -> None:
    given = options(__doc__, simulations=200, labels=200, needed=1, sets=list(SETS))
    with tempfile.TemporaryDirectory() as folder:
        for recipe in given.sets:
            truth = Truth(recipe, Path(folder))
            for how in ("random", "pool"):
                case, halves = f"{recipe}, {how}", dict[str, float]()
                for design in DESIGNS:
                    rows = simulate(truth, how, design, given.labels, given.simulations)
                    held = {n: np.mean([h for h, _ in one]) for n, one in rows.items()}
                    worst, halves[design] = min(held, key=held.__getitem__), width(rows)
                    points = f"{held['P@10 bm25']:.3f}, +-{100 * halves[design]:.1f} points"
                    print(
                        f"{case}, {design}: intervals hold {held[worst]:.3f} at worst "
                        f"({worst}; {GOAL} asked), {np.mean([*held.values()]):.3f} on average, "
                        f"P@10 of bm25 {points}",
                        flush=True,
                    )
                if given.needed:
                    needed = {one: labels_needed(truth, how, one, POINTS) for one in DESIGNS[:2]}
                    print(f"{case}: labels for +-2 points of P@10: {needed}")
                    alone = {
                        one: labels_needed(truth, how, "people", halves[one]) for one in DESIGNS[2:]
                    }
                    print(
                        f"{case}: people alone, as exact as {given.labels} with a judge: {alone}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
