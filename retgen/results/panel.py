"""A panel: which measurements stand in which rows and columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from retgen.results.measurements import MISSING, Measure, Measurement, level_text
from retgen.results.tables import Place, TableView, best_places

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
        compared = [i for i, row in enumerate(rows) if not self.baselines & {*row}]
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
                best |= self._best(column, at, found, rows, compared)
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
        self,
        column: Column,
        at: int,
        found: Sequence[Measurement | None],
        rows: Sequence[RowKey],
        compared: Sequence[int],
    ) -> set[Place]:
        lowest = [at] if column.measure.better == "lower" else []
        groups: dict[str, list[int]] = {}
        for i in compared:
            level = rows[i][self.rows.index(self.best_within)] if self.best_within else ""
            groups.setdefault(level, []).append(i)
        result: set[Place] = set()
        for mine in groups.values():
            values = [one.value if (one := found[i]) else None for i in mine]
            result |= {(mine[i], at) for i, _ in best_places({at: values}, lowest)}
        return result
