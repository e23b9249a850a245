"""Numbers for people: thousands separated, small ones never printed as 0."""

from __future__ import annotations

import math


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
