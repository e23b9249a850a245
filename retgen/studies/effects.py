"""Effects: what a paper found, beside what a study found here, and whether it came out.

An effect names a cell (a filter over measurements), or two, the second to be subtracted, and the
range in which the paper's claim holds. It came out if the 95% interval lies within that range, did
not if it lies outside, and is not sure in between.

Two cells of the same queries are compared pair by pair. The interval of others is that of Zou and
Donner (Statistics in Medicine 27 (2008)), which takes them as independent. The mean of several
cells has the means of their bounds, as if they rose and fell together: never too narrow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.audits.order import SystemScores, agreement
from retgen.errors import RecipeError
from retgen.evaluation.scoring.panels import bound_rows
from retgen.evaluation.scoring.result import AnalysisResult
from retgen.evaluation.scoring.scores import at_largest
from retgen.evaluation.scoring.significance import units_of
from retgen.evaluation.training.subgroups import split_by
from retgen.messages import did_you_mean
from retgen.results.measurements import MISSING, Measure, Measurement
from retgen.results.page import Section
from retgen.results.tables import TableView
from retgen.statistics.clustered import CHANGE, Estimate, Units
from retgen.studies import UNTRAINED, WHOLE, Cell, Effect

if TYPE_CHECKING:
    from retgen.evaluation.scoring.result import Evaluation
    from retgen.studies.page import Trainings

CameOut = Literal["yes", "no", "not sure", "not measured"]

_VALUE, _CHANGE = Measure("value", 3), Measure("difference", 3, signed=True)
_NUMBER = re.compile(r"\d{1,3}(,\d{3})+")


class QueryValues(NamedTuple):
    """Values (queries,) of one data set, NaN where one has none, and what its queries vary by."""

    dataset: str
    units: Units
    values: NDArray[np.float64]


class Row(NamedTuple):
    """A measurement, with its values query by query where it is the mean of these."""

    measurement: Measurement
    sample: QueryValues | None = None

    @property
    def levels(self) -> dict[str, str]:
        """Every factor, `system` and `measure` among them, to its level; numbers without commas."""
        one = self.measurement
        every = {"system": one.system, "measure": one.measure, **one.by}
        return {factor: _plain(level) for factor, level in every.items()}


class Outcome(NamedTuple):
    """What became of an effect.

    `cells`: the estimates of its one or two cells; `estimate`: their difference, or the one.
    `note`: why there is no number, or no interval.
    """

    effect: Effect
    came_out: CameOut
    estimate: Estimate | None = None
    cells: Sequence[Estimate] = ()
    note: str = ""

    @property
    def here(self) -> str:
        """The number, for the table."""
        if self.estimate is None:
            return self.note or MISSING
        if len(self.cells) == 1:
            text = _VALUE.spanned(self.estimate)
        else:
            first, second = (_VALUE.text(one.value) for one in self.cells)
            text = f"{first} − {second} = {_CHANGE.spanned(self.estimate)}"
        text = text.replace("95% interval ", "")
        return f"{text} ({self.note})" if self.note else text

    def to_json(self) -> dict[str, Any]:
        """The row of eval.json or study.json."""
        value, low, high = self.estimate or (None, None, None)
        return {
            **self.effect.model_dump(),
            "values": [one.value for one in self.cells],
            "value": value,
            "low": low,
            "high": high,
            "came_out": self.came_out,
            "note": self.note or None,
        }


class NotMeasured(RecipeError):
    """Nothing was measured at the levels of a cell. `unknown`: nor in any other cell."""

    def __init__(self, message: str, *, unknown: bool) -> None:
        super().__init__(message)
        self.unknown = unknown


def outcomes(effects: Sequence[Effect], rows: Sequence[Row], *, strict: bool) -> list[Outcome]:
    """What became of each effect.

    A cell that nothing matches is not measured. Raises `RecipeError` for a cell that more than one
    measurement matches, and with `strict` for a factor or a measure that nothing has.
    """
    result = []
    for number, effect in enumerate(effects, start=1):
        try:
            result.append(_outcome(effect, rows))
        except RecipeError as error:
            if isinstance(error, NotMeasured) and not (strict and error.unknown):
                result.append(Outcome(effect, "not measured", note=str(error)))
                continue
            raise RecipeError(f"effects, number {number}: {error}") from error
    return result


def _outcome(effect: Effect, rows: Sequence[Row]) -> Outcome:
    cells = [_matched(effect.cell, rows)]
    if effect.less:
        cells.append(_matched({**effect.cell, **effect.less}, rows))
    known = [_mean(one) for one in cells]
    missing = next((row for cell in cells for row in cell if row.measurement.value is None), None)
    estimates = [one for one in known if one is not None]
    if missing is not None or len(estimates) < len(known):
        note = missing.measurement.note.strip("– ()") if missing is not None else ""
        return Outcome(effect, "not measured", note=note or "no value")
    estimate = estimates[0] if len(estimates) == 1 else _difference(cells, estimates)
    note = "" if estimate.span else "no interval: too few units"
    return Outcome(effect, _came_out(effect, estimate), estimate, estimates, note)


def _came_out(effect: Effect, of: Estimate) -> CameOut:
    """Whether the interval lies within the range, or outside of it."""
    if of.low is None or of.high is None:
        return "not sure"
    lowest = -math.inf if effect.above is None else effect.above
    highest = math.inf if effect.below is None else effect.below
    if lowest < of.low and of.high < highest:
        return "yes"
    return "no" if of.high <= lowest or of.low >= highest else "not sure"


def _matched(cell: Cell, rows: Sequence[Row]) -> list[Row]:
    """A row for each combination of the levels of a cell."""
    each = [level if isinstance(level, list) else [level] for level in cell.values()]
    return [_row(dict(zip(cell, levels, strict=True)), rows) for levels in product(*each)]


def _row(wanted: Mapping[str, object], rows: Sequence[Row]) -> Row:
    """The one row of these levels that has the fewest other factors."""
    left = list(rows)
    for factor, level in sorted(wanted.items(), key=lambda one: one[0] != "measure"):
        known = dict.fromkeys(one for row in left if (one := row.levels.get(factor)) is not None)
        matching = [row for row in left if _is(row.levels.get(factor), level)]
        if not matching:
            raise _not_measured(factor, level, wanted, list(known), rows)
        left = matching
    fewest = min(len(row.levels) for row in left)
    left = [row for row in left if len(row.levels) == fewest]
    if len({(row.measurement.value, *row.levels.items()) for row in left}) > 1:
        levels: dict[str, dict[str, None]] = {}
        for row in left:
            for factor, level in row.levels.items():
                levels.setdefault(factor, {})[level] = None
        more = "; ".join(f"{f}: {_listed(of)}" for f, of in levels.items() if len(of) > 1)
        asked = ", ".join(f"{k} {v}" for k, v in wanted.items())
        raise RecipeError(f"{asked}: {len(left)} measurements match. Name one of {more}")
    return left[0]


def _not_measured(
    factor: str, level: object, wanted: Mapping[str, object], known: list[str], rows: Sequence[Row]
) -> NotMeasured:
    """The error of a cell without measurement. `known`: the levels of the others like it."""
    hint = did_you_mean(str(level), known) or "."
    if factor == "measure":
        message = f"no measure is called {level}{hint} There are {_listed(known)}"
        return NotMeasured(message, unknown=True)
    if not any(factor in row.levels for row in rows):
        factors = list(dict.fromkeys(name for row in rows for name in row.levels))
        hint = did_you_mean(factor, factors) or "."
        message = f"no measurement has a {factor}{hint} There are {_listed(factors)}"
        return NotMeasured(message, unknown=True)
    what = f"{wanted['measure']} is not measured with {factor} {level}"
    there = f"There are {_listed(known)}" if known else f"It has no {factor}"
    return NotMeasured(f"{what}{hint} {there}", unknown=False)


def _is(level: str | None, wanted: object) -> bool:
    """Whether a level is the one wanted, or of its pattern ("rerank:*")."""
    text = _plain(wanted)
    return level is not None and (fnmatchcase(level, text) if "*" in text else level == text)


def _plain(level: object) -> str:
    """A level as text; of a number without the commas of tables."""
    text = str(level)
    return text.replace(",", "") if _NUMBER.fullmatch(text) else text


_LISTED = 12  # levels that a message names


def _listed(levels: Iterable[str]) -> str:
    names = [one or "(none)" for one in levels]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _mean(rows: Sequence[Row]) -> Estimate | None:
    values = [row.measurement.value for row in rows]
    if any(value is None for value in values):
        return None
    spans = [row.measurement.span for row in rows]
    mean = float(np.mean([value for value in values if value is not None]))
    if any(span is None for span in spans):
        return Estimate(mean)
    low, high = np.mean([span for span in spans if span is not None], axis=0).tolist()
    return Estimate(mean, low, high)


def _difference(cells: Sequence[Sequence[Row]], estimates: Sequence[Estimate]) -> Estimate:
    """Of the first cell less the second; pair by pair where both are of the same queries."""
    first, second = estimates
    value = first.value - second.value
    samples = [row.sample for cell in cells for row in cell if row.sample is not None]
    if len(samples) == sum(map(len, cells)) and len({one.dataset for one in samples}) == 1:
        each = [
            np.mean([row.sample.values for row in cell if row.sample], axis=0) for cell in cells
        ]
        change = each[0] - each[1]
        known = np.flatnonzero(~np.isnan(change))
        if not change[known].any():
            return Estimate(0.0, 0.0, 0.0)
        units = samples[0].units.within(known)
        bounds = CHANGE if np.abs(each).max(initial=0, where=~np.isnan(each)) <= 1 else None
        span = units.interval(change[known, None], bounds)[0]
        return Estimate.of(float(change[known].mean()), span)
    if first.span is None or second.span is None:
        return Estimate(value)
    low = math.hypot(first.value - first.span[0], second.span[1] - second.value)
    high = math.hypot(first.span[1] - first.value, second.value - second.span[0])
    return Estimate(value, value - low, value + high)


class _EffectsTable(TableView):
    """Claims, the paper's figures, the range, what came out; on a terminal without the paper's."""

    def table(self, *, terminal: bool = False) -> TableView:
        if not terminal:
            return self
        rows = [[came_out, claim, here] for claim, _, _, here, came_out in self.rows]
        return TableView(["came out", "effect", "here"], rows, names=3)


def conclusion(outcomes: Sequence[Outcome]) -> AnalysisResult:
    """The section of the page, and `effects` of the JSON."""
    counts = {
        word: [one.came_out for one in outcomes].count(word)
        for word in ("yes", "no", "not sure", "not measured")
    }
    counted = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    section = Section(
        "The paper's effects",
        [
            f"Of {len(outcomes)} effects came out: {counted}. An effect came out (yes) if its 95% "
            "interval lies where the claim puts it, did not (no) if it lies outside of that, and "
            "is not sure where it reaches over the border."
        ],
        [
            _EffectsTable(
                ["effect", "paper", "claim holds", "here", "came out"],
                [
                    [one.effect.claim, one.effect.paper, one.effect.range, one.here, one.came_out]
                    for one in outcomes
                ],
                names=5,
            )
        ],
    )
    return AnalysisResult({"effects": [one.to_json() for one in outcomes]}, [section])


def evaluation_rows(result: Evaluation) -> Iterator[Row]:
    """All that was measured, with `dataset` among the factors."""
    for scored in result.datasets:
        name = {"dataset": scored.name}
        for score in scored.scores:
            by = {**name, "dim": str(score.dim or "")}
            yield from _means(score.model, score.names, by, score.values, scored.name, scored.units)
        bounds = bound_rows(scored.ceiling, scored.baselines, scored.measures.names)
        yield from (Row(one._replace(by=name)) for one in bounds)
        yield from _of_sections((s for part in scored.parts for s in part.sections), scored.name)
        if scored.task is not None:
            for one, values in scored.task.task.samples(scored.task.results):
                each = np.arange(len(values))
                units = Units(each, each, f"{len(values):,} {scored.task.task.item}s")
                part = f"{scored.name}: {scored.task.task.item}s"
                yield Row(one._replace(by={**one.by, **name}), QueryValues(part, units, values))
            yield from _of_sections(scored.task.task.sections(scored.task.results), scored.name)
    if len(result.datasets) > 1:
        for task, results in result.of_tasks():
            yield from _of_sections(task.sections(results), WHOLE)


def _of_sections(sections: Iterable[Section], dataset: str) -> Iterator[Row]:
    for section in sections:
        for table in (*section.tables, *(one for fold in section.folded for one in fold.tables)):
            for one in table.measurements:
                yield Row(one._replace(by={**one.by, "dataset": dataset}))


def order_rows(result: Evaluation, effects: Sequence[Effect]) -> Iterator[Row]:
    """Kendall's tau of the orders of all systems on two data sets ("dataset", "with"), for the
    measures that effects name as tau(MEASURE).
    """
    asked = {str(one.cell["measure"]) for one in effects}
    for one, other in combinations(result.datasets, 2):
        systems = [score.label for score in at_largest(one.scores)]
        systems = [score.label for score in at_largest(other.scores) if score.label in systems]
        for measure in one.measures.names if len(systems) > 1 else []:
            if (name := f"tau({measure})") in asked and measure in other.measures.names:
                scores = [SystemScores.of(of, systems, measure) for of in (one, other)]
                by = {"dataset": one.name, "with": other.name}
                yield Row(Measurement.of("all", name, agreement(*scores).tau, by))


def training_rows(result: Trainings) -> Iterator[Row]:
    """Scores after each training, and before (`on` nothing, at each dimension); what is beside."""
    first = next(iter(result.trained.values()))
    dims = dict.fromkeys(dim for _, dim in result.trained)
    runs = [(UNTRAINED, dim, first, "before") for dim in dims]
    runs += [(on, dim, one, "after") for (on, dim), one in result.trained.items()]
    for at, scored in enumerate(first.scored_sets):
        units, name = units_of(scored.collection), scored.collection.name
        column = result.study.train.by if result.study.train else None
        split = split_by(column, scored.collection, needed=False)
        for on, dim, training, when in runs:
            values = training.scored_sets[at].per_query(training.trained, when)
            by = {"on": on, "dataset": name, **({"dim": str(dim)} if dim else {})}
            yield from _means(first.model, scored.measures.names, by, values, name, units)
            for level, rows in split.rows.items() if split is not None else ():
                of, part = {**by, str(column): level}, f"{name}: {level}"
                within = units.within(rows)
                yield from _means(
                    first.model, scored.measures.names, of, values[rows], part, within
                )
    if result.beside is not None:
        for row in evaluation_rows(result.beside):
            yield row._replace(
                measurement=row.measurement._replace(
                    by={k: v for k, v in row.measurement.by.items() if k != "dim" or v}
                )
            )


def _means(
    system: str,
    measures: Sequence[str],
    by: Mapping[str, str],
    values: NDArray[np.float64],
    dataset: str,
    units: Units,
) -> Iterator[Row]:
    """Rows of the means of values (queries, measures)."""
    spans = units.interval(values)
    for at, measure in enumerate(measures):
        of = Estimate.of(float(values[:, at].mean()), spans[at])
        sample = QueryValues(dataset, units, values[:, at])
        yield Row(Measurement.of(system, measure, of, by), sample)
