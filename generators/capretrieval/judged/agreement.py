"""How far two passes agree: raw, positive agreement, and Gwet's AC1.

Hardly any pair is relevant (0.4% in the paper's data). Two judges who call nothing relevant agree
on all but those, so raw agreement says little; and Cohen's kappa takes nearly all agreement for
chance, so that it is low for good judges too (Feinstein and Cicchetti, 1990). Positive agreement
asks only of pairs that one of them calls relevant; AC1 (Gwet, 2008) keeps chance small there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


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
    relevant = 2 * both + only_first + only_second
    return {
        "pairs": total,
        "counts": counts,
        "raw": _share(equal, total),
        "positive": _share(2 * both, relevant),
        "ac1": _ac1(both + neither, relevant, total),
    }


def _ac1(equal: int, relevant: int, total: int) -> float | None:
    """Gwet's first-order coefficient for two raters and two categories.

    Chance agreement is 2 p (1 - p), with p the mean share of pairs that the two call relevant.
    """
    if not total:
        return None
    p = relevant / (2 * total)
    chance = 2 * p * (1 - p)
    return round((equal / total - chance) / (1 - chance), 4)


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
