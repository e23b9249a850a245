"""Is a diagnosis reliable? The same systems on several seeds: do scores and verdicts stay?

By ability, over seeds: the standard deviation of a system's score in points, the intraclass
correlation ICC(A,1) of scores (two-way, absolute agreement, one seed: McGraw and Wong,
Psychological Methods 1 (1996)), Kendall's tau of the order of systems (mean over pairs of seeds,
in which ties count as neither), how far half the seeds are from the other half, with its 90%
interval (within 2 points: equivalent by two one-sided tests), and how many verdicts are those of
most seeds.

    .venv/bin/python benchmarks/diagnose.py FOLDER [--seeds 20] [--quick] [--system NAME]
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from retgen.diagnosis.diagnose import diagnose

SYSTEMS = ("bm25", "tfidf", "static:minilm", "minilm")
EQUIVALENT = 2.0  # points


class Reliability(NamedTuple):
    """Of one ability. `deviation`: points; `apart`: halves of the seeds, points and half-width."""

    deviation: float
    icc: float
    tau: float
    apart: float
    half_width: float
    verdicts: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--system", action="append", help=f"default: {', '.join(SYSTEMS)}")
    parser.add_argument("--ability", action="append")
    args = parser.parse_args()
    first, *others = args.system or SYSTEMS
    scores: dict[str, list[list[float]]] = {}
    verdicts: dict[str, list[list[str]]] = {}
    for seed in range(args.first, args.first + args.seeds):
        made = diagnose(
            first,
            against=others,
            references=(),
            seed=seed,
            quick=args.quick,
            abilities=args.ability or (),
            out=args.folder / f"seed-{seed}",
        )
        if made.failures:
            raise SystemExit(f"seed {seed}: " + "; ".join(set(made.failures.values())))
        for ability in made.abilities:
            of = [made.scores[system][ability.name] for system in made.systems]
            scores.setdefault(ability.title, []).append([100 * one.test.value for one in of])
            verdicts.setdefault(ability.title, []).append([one.verdict for one in of])
        print(f"seed {seed} done", flush=True)
    print(table({name: reliability(np.array(scores[name]), verdicts[name]) for name in scores}))


def reliability(values: NDArray[np.float64], verdicts: list[list[str]]) -> Reliability:
    """`values` (seeds, systems), in points."""
    seeds, _ = values.shape
    taus = [tau(values[i], values[j]) for i, j in combinations(range(seeds), 2)]
    half = seeds // 2
    differences = values[:half] - values[half : 2 * half]
    flat = differences.mean(axis=1)  # over systems, a difference a pair of seeds
    width = (
        float(stats.t.ppf(0.95, half - 1) * flat.std(ddof=1) / np.sqrt(half))
        if half > 1
        else float("nan")
    )
    agreed = [Counter(column).most_common(1)[0][1] for column in zip(*verdicts, strict=True)]
    return Reliability(
        float(values.std(axis=0, ddof=1).mean()),
        icc(values),
        float(np.mean(taus)),
        float(flat.mean()),
        width,
        sum(agreed) / (seeds * len(agreed)),
    )


def icc(values: NDArray[np.float64]) -> float:
    """ICC(A,1) of values (seeds, systems): systems are what is measured, seeds measure."""
    k, n = values.shape
    mean = values.mean()
    between = k * ((values.mean(axis=0) - mean) ** 2).sum() / (n - 1)
    raters = n * ((values.mean(axis=1) - mean) ** 2).sum() / (k - 1)
    rest = ((values - mean) ** 2).sum() - (n - 1) * between - (k - 1) * raters
    error = rest / ((n - 1) * (k - 1))
    total = between + (k - 1) * error + k / n * (raters - error)
    return float((between - error) / total) if total > 0 else float("nan")


def tau(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Kendall's tau-b; 1 where both have one order of ties only."""
    value = float(stats.kendalltau(first, second).statistic)
    return value if np.isfinite(value) else 1.0


def table(rows: dict[str, Reliability]) -> str:
    """Markdown."""
    lines = [
        "| ability | SD over seeds | ICC | tau | halves apart (90%) | same verdict |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, one in rows.items():
        sure = abs(one.apart) + one.half_width < EQUIVALENT
        lines.append(
            f"| {name} | {one.deviation:.1f} | {one.icc:.3f} | {one.tau:.2f} | "
            f"{one.apart:+.1f} ± {one.half_width:.1f}{'' if sure else ' (not within 2)'} | "
            f"{one.verdicts:.0%} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
