"""Measurements as rows, and how the values of a measure are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from retgen.statistics.clustered import SHARE, Bounds, Estimate
from retgen.write import json_line, write_lines

Better = Literal["higher", "lower", ""]

MISSING = "–"  # stands where there is no value


def level_text(level: Any) -> str:
    """A level of a factor in tables; "" for none."""
    if isinstance(level, set):
        return " or ".join(sorted(map(level_text, level)))
    return f"{level:,}" if isinstance(level, int) else "" if level is None else str(level)


class Measurement(NamedTuple):
    """What `system` reached in `measure` for the levels `by` of some factors (factor -> level).

    `low`, `high`: its 95% interval; `n`: how many values it is the mean of; `note`: what stands
    beside the number, as the star of a text that was not read whole, or instead of a missing one.
    """

    system: str
    measure: str
    by: Mapping[str, str]
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    note: str = ""

    @classmethod
    def of(
        cls,
        system: str,
        measure: str,
        estimate: Estimate | None,
        by: Mapping[str, str] | None = None,
        *,
        note: str = "",
    ) -> Measurement:
        """The row of an estimate; without a value where there is no estimate."""
        by = by or {}
        if estimate is None:
            return cls(system, measure, by, None, note=note)
        return cls(system, measure, by, *estimate, note=note)

    @property
    def span(self) -> tuple[float, float] | None:
        """The interval; None where there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def to_json(self) -> dict[str, Any]:
        """The row of measurements.jsonl, a column a factor."""
        row = self._asdict()
        return {"system": row.pop("system"), "measure": row.pop("measure"), **row.pop("by"), **row}


@dataclass(frozen=True)
class Measure:
    """What a value is and how it is written: `digits` after the point, in percent, with a sign.

    `chance`: the value of a random order, None if it has none. `better`: which values are better,
    "" if neither. `tiny`: a value that would be printed as 0 gets the digits that it needs.
    `small_digits`: of intervals, if not `digits`. `sign`: what stands behind a value, as "%".
    `title`: over a table; `head`: of a column. `bounds`: the range of values, None without one.
    `even`: in a mean, cells weigh the same instead of values. `per`: the measure by whose mean over
    all rows a mean is divided.
    """

    name: str
    digits: int = 4
    percent: bool = False
    signed: bool = False
    chance: float | None = None
    better: Better = "higher"
    tiny: bool = False
    small_digits: int | None = None
    sign: str = ""
    title: str = ""
    head: str = ""
    bounds: Bounds = SHARE
    even: bool = False
    per: str = ""

    def text(self, value: float | None) -> str:
        """A value in a cell."""
        if value is None:
            return MISSING
        value = 100 * value if self.percent else value
        if self.tiny and 0 < abs(value) < 10**-self.digits:
            return f"{value:.{-math.floor(math.log10(abs(value)))}f}"
        return f"{value:{'+' if self.signed else ''},.{self.digits}f}{self.sign}"

    def interval_text(self, span: tuple[float, float] | None, between: str = " to ") -> str:
        """An interval; "" where there is none."""
        if span is None:
            return ""
        digits = self.digits if self.small_digits is None else self.small_digits
        sign = "+" if self.signed else ""
        between = " to " if span[0] < 0 else between
        low, high = (100 * one if self.percent else one for one in span)
        return f"{low:{sign}.{digits}f}{between}{high:{sign}.{digits}f}"

    def spanned(self, estimate: Estimate) -> str:
        """A value with its interval, if it has one, for a sentence."""
        span = self.interval_text(estimate.span)
        return self.text(estimate.value) + (f" (95% interval {span})" if span else "")


def write_measurements(path: Path, measurements: Iterable[Measurement]) -> None:
    """PATH.jsonl: every row once."""
    write_lines(path, dict.fromkeys(json_line(one.to_json()) for one in measurements))
