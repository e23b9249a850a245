"""A panel: which measurements stand in which rows and columns of a table.

`pivot` declares one over results: which levels of factors are rows, which are columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from retgen.results.measurements import MISSING, Measure, Measurement, level_text
from retgen.results.rows import Results
from retgen.results.tables import Place, TableView

RowKey = tuple[str, ...]  # the levels of a panel's factors
Key = tuple[RowKey, str, frozenset[tuple[str, str]]]


@dataclass(frozen=True)
class Column:
    """The values of `measure` at the levels `by` of factors that rows are not told apart by.

    `less`: levels whose mean is taken off, in a table of results. `interval`: a column of its own
    for intervals follows. `count`: how many values there are (`n`) instead of their mean.
    `chance`: the value of random order, where it is not the measure's.
    """

    head: str
    measure: Measure
    by: Mapping[str, Any] = field(default_factory=dict)
    less: Mapping[str, Any] = field(default_factory=dict)
    interval: bool = False
    count: bool = False
    chance: float | None = None

    @property
    def texts(self) -> dict[str, str]:
        """The levels as a measurement has them."""
        less = {factor: f" less {level_text(level)}" for factor, level in self.less.items()}
        return {
            factor: level_text(level) + less.get(factor, "") for factor, level in self.by.items()
        }

    @property
    def chance_text(self) -> str:
        """The value of random order; "" where there is none."""
        value = self.measure.chance if self.chance is None else self.chance
        return "" if value is None or self.count else self.measure.text(value)


def columns_by(measure: Measure, factor: str, levels: Iterable[Any], **by: Any) -> list[Column]:
    """A column for each level of a factor, at some levels of others."""
    return [Column(level_text(level), measure, {**by, factor: level}) for level in levels]


@dataclass(frozen=True)
class Panel:
    """A table of measurements: a row for each combination of levels of the factors `rows`.

    "system" is such a factor too. `heads`: of the columns that name a row, where these are not the
    names of the factors. `whole`: what stands for a factor that a measurement is not told apart by.
    `interval`: "small" prints intervals small on a page and in brackets in Markdown,
    "inside" prints them in brackets everywhere; `terminal_interval`: the same for a terminal.
    `baselines`: systems to compare with. `chance`: the name of a last row with the values of a
    random order, "" for none. `best`: mark the best values, of each level of `best_within` if that
    is a factor. `missing`: stands where there is no measurement.
    """

    title: str
    measurements: Sequence[Measurement]
    columns: Sequence[Column]
    rows: Sequence[str] = ("system",)
    heads: Sequence[str] = ()
    whole: str = "all"
    missing: str = MISSING
    interval: Literal["small", "inside", ""] = "small"
    terminal_interval: Literal["inside", ""] = ""
    between: str = " to "
    baselines: frozenset[str] = frozenset()
    chance: str = ""
    best: bool = True
    best_within: str = ""

    def _index(self) -> tuple[list[RowKey], dict[Key, Measurement]]:
        wanted = {(one.measure.name, frozenset(one.texts.items())) for one in self.columns}
        rows: dict[RowKey, None] = {}
        cells: dict[Key, Measurement] = {}
        for one in self.measurements:
            rest = frozenset((k, v) for k, v in one.by.items() if k not in self.rows)
            if (one.measure, rest) in wanted:
                levels = {"system": one.system, **one.by}
                row = tuple(levels.get(factor, "") for factor in self.rows)
                rows[row] = None
                cells.setdefault((row, one.measure, rest), one)
        return list(rows), cells

    def table(self, *, terminal: bool = False) -> TableView:
        """The table of texts; `terminal`: with intervals as a terminal shows them."""
        if terminal:
            return replace(self, interval=self.terminal_interval).table()
        rows, cells = self._index()
        head = list(self.heads or self.rows)
        lines = [[level or self.whole for level in row] for row in rows]
        beside: dict[Place, str] = {}
        best: set[Place] = set()
        names = len(head)
        chance = [self.chance, *[""] * (names - 1)]
        compared = {i: row for i, row in enumerate(rows) if not self.baselines & {*row}}
        for column in self.columns:
            at = len(head)
            found = [
                cells.get((row, column.measure.name, frozenset(column.texts.items())))
                for row in rows
            ]
            for i, one in enumerate(found):
                lines[i].append(self._text(column, one))
                small = one and column.measure.interval_text(one.span, self.between)
                apart = column.interval or column.count
                if small and self.interval == "small" and not apart:
                    beside[i, at] = small
            if self.best and column.measure.better and not column.count:
                best |= {(i, at) for i in self._best(column, found, compared)}
            head.append(column.head)
            chance.append(column.chance_text)
            if column.interval:
                head.append("95% interval")
                chance.append("")
                for i, one in enumerate(found):
                    span = one and column.measure.interval_text(one.span)
                    lines[i].append(span or "")
        faint = [i for i in range(len(rows)) if i not in compared]
        if self.chance:
            faint.append(len(lines))
            lines.append(chance)
        return TableView(head, lines, names, faint, best, beside, self.title)

    def _text(self, column: Column, one: Measurement | None) -> str:
        if one is None:
            return self.missing
        if column.count:
            return "" if one.n is None else f"{one.n:,}"
        if one.value is None:
            return one.note or MISSING
        text = column.measure.text(one.value)
        if self.interval == "inside" and (
            span := column.measure.interval_text(one.span, self.between)
        ):
            text += f" ({span})"
        return text + one.note

    def _best(
        self, column: Column, found: Sequence[Measurement | None], rows: Mapping[int, RowKey]
    ) -> set[int]:
        """The rows with the best value, as it is printed: ties are all best, one value is not."""
        groups: dict[str, dict[int, float]] = {}
        for i, row in rows.items():
            level = row[self.rows.index(self.best_within)] if self.best_within else ""
            if (one := found[i]) and one.value is not None:
                groups.setdefault(level, {})[i] = round(one.value, 4)
        best = min if column.measure.better == "lower" else max
        return {
            i
            for values in groups.values()
            if len(values) > 1
            for i, value in values.items()
            if value == best(values.values())
        }


# --- panels of results ----------------------------------------------------------------------------


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


def levels_of(slices: Iterable[Slice], factor: str, measure: Measure, **where: Any) -> list[Any]:
    """The levels of a factor in any of the slices."""
    each = (one.results.levels(factor, measure.name, **where) for one in slices)
    return list(dict.fromkeys(level for levels in each for level in levels))


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
