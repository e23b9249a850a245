"""How far two passes agree: raw, positive agreement, Gwet's AC1 (`retgen.statistics.agreement`).

Hardly any pair is relevant (0.4% in the paper's data). Two judges who call nothing relevant agree
on all but those, so raw agreement says little, and so does Cohen's kappa.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from retgen.statistics.agreement import UndefinedAgreement, ac1, positive

_PATTERNS = np.array([[2.0, 0], [1, 1], [0, 2]])  # verdicts (not relevant, relevant) on a pair
_RELEVANT = np.array([False, True])


def agreement(pairs: Iterable[tuple[int, int]], grades: int = 3) -> dict[str, Any]:
    """Of pairs of grades 0..grades-1; what is above 0 is relevant. Shares are None of nothing.

    "counts": rows are the first's grades, columns the second's. "raw": share of equal grades.
    "positive": 2 a / (2 a + b + c), a pairs relevant to both, b and c to one. "ac1": of relevant
    or not.
    """
    counts = [[0] * grades for _ in range(grades)]
    for first, second in pairs:
        counts[first][second] += 1
    total = sum(map(sum, counts))
    neither = counts[0][0]
    only_second = sum(counts[0]) - neither
    only_first = sum(row[0] for row in counts) - neither
    both = total - neither - only_first - only_second
    equal = sum(counts[i][i] for i in range(grades))
    times = np.array([neither, only_first + only_second, both], float)
    return {
        "pairs": total,
        "counts": counts,
        "raw": _share(equal, total),
        "positive": _measure(lambda: positive(_PATTERNS, _RELEVANT, times)),
        "ac1": _measure(lambda: ac1(_PATTERNS, times)),
    }


def _measure(measure: Callable[[], float]) -> float | None:
    try:
        return round(measure(), 4)
    except UndefinedAgreement:
        return None


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def in_words(result: dict[str, Any]) -> str:
    """The measurement in a few words."""
    if not result["pairs"]:
        return "no pair was judged twice"
    positive = "undefined, as no pair is relevant" if result["positive"] is None else (
        f"{result['positive']:.3f}"
    )  # fmt: skip
    return (
        f"two passes gave {result['raw']:.1%} of {result['pairs']:,} pairs the same grade "
        f"(positive agreement {positive}, AC1 {result['ac1']:.3f})"
    )
