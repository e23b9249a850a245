"""Numbers and lists for people: thousands separated, small numbers never printed as 0."""

from __future__ import annotations

import math
from collections.abc import Sequence


def number(value: float | None, digits: int = 4) -> str:
    """A number for people: thousands separators, at most `digits` decimals; "–" for None."""
    if value is None:
        return "–"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if 0 < abs(value) < 10**-digits:  # 0.00004 must not be printed as 0
        return f"{value:.{1 - math.floor(math.log10(abs(value)))}f}".rstrip("0")
    return f"{value:,.{digits}f}".rstrip("0").rstrip(".")


def score(value: float | None) -> str:
    """A fraction in 0..1 with four decimals, more where it would else be 0; "–" for None."""
    if value is None or value == 0 or value >= 1e-4:
        return "–" if value is None else f"{value:.4f}"
    return f"{value:.{-math.floor(math.log10(value))}f}"


def duration(seconds: float) -> str:
    """Seconds for people: 80 s, 45 min, 1.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def listed(names: Sequence[str], most: int = 6) -> str:
    """a; a and b; a, b and c. Of more than `most` the first ones, and how many more there are."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def count_text(count: int, one: str, many: str = "") -> str:
    """A count and its noun."""
    return f"{number(count)} {one if count == 1 else many or one + 's'}"
