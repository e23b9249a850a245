"""Tables and series of results by declaration: which levels stand in which rows and columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from retgen.results.measurements import Measure, Measurement, level_text
from retgen.results.panel import Column, Panel
from retgen.results.rows import Results


@dataclass(frozen=True)
class Slice:
    """The results of a system at some levels, by the name that tables and pictures give them.

    `less`: levels whose mean is taken off.
    """

    name: str
    results: Results
    where: Mapping[str, Any] = field(default_factory=dict)
    less: Mapping[str, Any] = field(default_factory=dict)

    def note(self, at: Mapping[str, Any]) -> str:
        """What stands beside the value at some levels."""
        return ""

    def rows(self, column: Column, by: Sequence[str] = ()) -> list[Measurement]:
        """The values of a column, one for each combination of levels of the factors `by`."""
        results, measure, at = self.results, column.measure, {**self.where, **column.by}
        combinations = dict.fromkeys(
            tuple(results.cells[i].get(factor) for factor in by)
            for i in results.select(measure.name, **at)
        )
        rows = []
        for levels in combinations:
            own = dict(zip(by, levels, strict=True))
            here = {**at, **own}
            if less := {**self.less, **column.less}:
                value = results.difference(measure, here, {**here, **less})
            else:
                value = results.mean(measure, **here)
            texts = {**column.texts, **{factor: level_text(level) for factor, level in own.items()}}
            note = self.note(here) if value else ""
            row = Measurement.of(self.name, measure.name, value, texts, note=note)
            rows.append(row._replace(n=results.count(measure.name, **here)))
        return rows

    def series(
        self, measure: Measure, factor: str, levels: Iterable[Any], **where: Any
    ) -> list[Measurement | None]:
        """A measurement a level, None where there is none."""
        columns = (Column("", measure, {**where, factor: level}) for level in levels)
        return [next(iter(self.rows(column)), None) for column in columns]


def pivot(
    title: str,
    slices: Iterable[Slice],
    columns: Sequence[Column],
    by: Sequence[str] = (),
    *,
    total: bool = False,
    **style: Any,
) -> Panel:
    """A table with a row for each slice and combination of levels of the factors `by`.

    `total`: before these a row over all of their levels. A column without any value is left out.
    `style`: further fields of `Panel`.
    """
    columns, measured, used = list(columns), list[Measurement](), set[int]()
    for one in slices:
        each = [
            [row for of in ([(), by] if total else [by]) for row in one.rows(column, of)]
            for column in columns
        ]
        used.update(at for at, rows in enumerate(each) if rows)
        missing = [Measurement(one.name, c.measure.name, c.texts, None) for c in columns]
        measured += [row for rows in each for row in rows] or missing
    shown = [column for at, column in enumerate(columns) if at in used]
    return Panel(title, measured, shown, ["system", *by], **style)
