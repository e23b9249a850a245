"""The leaderboard of `gen eval`: which systems can be told apart, and how many queries would.

Systems share a letter where no difference between them holds: two-sided p-values of paired
differences over what queries share, after Holm's correction over all pairs. The letters are a
compact letter display (Piepho, Journal of Computational and Graphical Statistics 13 (2004)). Over
several data sets, each has the same weight, and they are taken as they are: intervals say what
other queries of the same data sets would give.

Power: of two neighbours, the share of samples of n queries in which a paired test finds the
difference, if it is as large as it is here. Queries are drawn with replacement; where they share
documents, deviations grow by the design effect (the variance over that of independent queries).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.evaluation.scoring.panels import p_value, score_measure
from retgen.evaluation.scoring.result import AnalysisResult, DatasetScores
from retgen.evaluation.scoring.scores import at_largest
from retgen.evaluation.scoring.significance import PairedDifference, holm
from retgen.results.measurements import Measure, Measurement
from retgen.results.numbers import listed
from retgen.results.page import Section
from retgen.results.panel import Column, Panel, columns_by
from retgen.search.base import slug
from retgen.statistics.clustered import CHANGE, FEWEST, Estimate, Units

Values = NDArray[np.float64]  # (queries,) of one measure

LEVEL = 0.05  # of p after correction
POWER, _MOST = 0.8, 100_000  # wanted; queries beyond which nobody goes
_SAMPLES, _SEED = 400, 42


class Entry(NamedTuple):
    """A system. `mean`: over the data sets, `each`: on each. `groups`: its letters."""

    system: str
    mean: Estimate
    each: list[Estimate]
    groups: str


class Power(NamedTuple):
    """Two neighbours. `now`: the chance to tell them apart with as many queries as there are.

    `queries`: of each data set, for a chance of 80%; None where 100,000 are too few.
    """

    first: str
    second: str
    now: float
    queries: int | None


@dataclass(frozen=True)
class Leaderboard:
    """All systems, the best first. `note`: why nothing is told apart, or ""."""

    measure: str
    sets: list[str]
    entries: list[Entry]
    comparisons: list[PairedDifference]
    powers: list[Power]
    units: str
    note: str
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        """The key `leaderboard` of eval.json."""
        return {
            "measure": self.measure,
            "datasets": self.sets,
            "systems": [
                {"system": one.system, "groups": one.groups, "mean": one.mean._asdict()}
                | {"each": dict(zip(self.sets, (e._asdict() for e in one.each), strict=True))}
                for one in self.entries
            ],
            "comparisons": [one._asdict() for one in self.comparisons],
            "power": [one._asdict() for one in self.powers],
            "note": self.note or None,
            "notes": self.notes,
        }

    def sentence(self) -> str:
        """Who leads."""
        first, *others = self.entries
        over = f" over {len(self.sets)} data sets" if len(self.sets) > 1 else ""
        if not others:
            return f"{first.system} is the only system on the leaderboard."
        if self.note:
            return f"The leaderboard by {self.measure}{over} tells nothing apart: {self.note}."
        level = [one.system for one in others if {*one.groups} & {*first.groups}]
        if not level:
            return f"{first.system} leads by {self.measure}{over}; its lead over each other holds."
        return (
            f"By {self.measure}{over}, {listed([first.system, *level])} cannot be told apart at "
            "the top."
        )

    def section(self) -> Section:
        """The part of the page and of the terminal."""
        several = len(self.sets) > 1
        where = " and with the same weight" if several else ""
        text = [
            "Systems that share a letter cannot be told apart: their difference does not hold "
            f"after Holm's correction over all {len(self.comparisons):,} pairs. Intervals are 95%, "
            f"over {self.units}{where}."
        ]
        return Section(
            "Leaderboard",
            [self.sentence(), *([] if self.note else text)],
            [self._panel(), *([self._power_panel()] if self.powers else [])],
            notes=self.notes,
            terminal_title=self.sentence(),
        )

    def _panel(self) -> Panel:
        mean = f"mean of {len(self.sets)}"
        rows = []
        for one in self.entries:
            rows.append(Measurement(one.system, "group", {}, None, note=one.groups))
            for name, estimate in zip(self._columns(mean), self._estimates(one), strict=True):
                rows.append(Measurement.of(one.system, self.measure, estimate, {"data set": name}))
        scores = columns_by(score_measure(self.measure), "data set", self._columns(mean))
        return Panel(
            "",
            rows,
            [Column("group", Measure("group", better="")), *scores],
            interval="inside",
            terminal_interval="inside",
            best=False,
        )

    def _columns(self, mean: str) -> list[str]:
        return [mean, *self.sets] if len(self.sets) > 1 else self.sets

    def _estimates(self, one: Entry) -> list[Estimate]:
        return [one.mean, *one.each] if len(self.sets) > 1 else one.each

    def _power_panel(self) -> Panel:
        tested = {frozenset((c.first, c.second)): c for c in self.comparisons}
        rows = []
        for one in self.powers:
            c = tested[frozenset((one.first, one.second))]
            pair = f"{one.first} − {one.second}"
            needed = None if one.queries is None else float(one.queries)
            none = f"> {_MOST:,}" if c.difference else "equal means"
            rows += [
                Measurement(pair, "difference", {}, c.difference, c.low, c.high),
                Measurement(pair, "p", {}, None, note=p_value(c.adjusted) or " "),
                Measurement(pair, "power", {}, one.now),
                Measurement(pair, "queries", {}, needed, note="" if needed else none),
            ]
        each = " of each" if len(self.sets) > 1 else ""
        columns = [
            Column("difference", Measure("difference", signed=True, better="")),
            Column("p", Measure("p", better="")),
            Column("power now", Measure("power", 0, percent=True, sign="%", better="")),
            Column(f"queries{each} for 80%", Measure("queries", 0, better="")),
        ]
        return Panel(
            "",
            rows,
            columns,
            heads=["neighbours"],
            interval="inside",
            terminal_interval="inside",
            best=False,
        )


def analysis(
    sets: Sequence[DatasetScores], earlier: Sequence[Sequence[Path]]
) -> AnalysisResult | None:
    """What the leaderboard adds to an evaluation; see `leaderboard`."""
    board = leaderboard(sets, earlier)
    if board is None:
        return None
    return AnalysisResult({"leaderboard": board.to_json()}, [board.section()])


def leaderboard(
    sets: Sequence[DatasetScores], earlier: Sequence[Sequence[Path]]
) -> Leaderboard | None:
    """Of the systems that were scored on all data sets; None where there is none.

    `earlier`: of each data set, folders whose per_query/ may hold what earlier calls scored.
    """
    measure = sets[0].primary
    notes = [
        f"{one.name}: has no {measure}, so it is left out"
        for one in sets
        if measure not in one.measures.names
    ]
    used = [
        (one, of) for one, of in zip(sets, earlier, strict=True) if measure in one.measures.names
    ]
    values: list[dict[str, Values]] = []
    for scored, folders in used:
        at = scored.measures.names.index(measure)
        own = {score.label: score.values[:, at] for score in at_largest(scored.scores)}
        kept = _kept(scored, folders, measure)
        if fresh := [name for name in kept if name not in own]:
            notes.append(f"{scored.name}: of earlier calls {listed(fresh)}")
        values.append({**kept, **own})
    names = [name for name in values[0] if all(name in one for one in values)]
    if missing := [n for n in dict.fromkeys(n for v in values for n in v) if n not in names]:
        notes.append(f"not scored on all data sets: {listed(missing)}")
    if not names:
        return None
    columns = {name: [one[name] for one in values] for name in names}
    names.sort(key=lambda name: (-np.mean([v.mean() for v in columns[name]]), name))
    units = [scored.units for scored, _ in used]
    whole = units[0] if len(units) == 1 else Units.together(units)
    comparisons = _compared({name: columns[name] for name in names}, whole, measure)
    return Leaderboard(
        measure,
        [scored.name for scored, _ in used],
        _entries(names, columns, units, whole, comparisons),
        comparisons,
        []
        if whole.note
        else [power(a, b, columns[a], columns[b], units) for a, b in pairwise(names)],
        whole.name,
        whole.note,
        notes,
    )


def _kept(scored: DatasetScores, folders: Sequence[Path], measure: str) -> dict[str, Values]:
    """What earlier calls scored on the same queries, since the data set was made."""
    ids = [query.query_id for query in scored.collection.queries]
    manifest = scored.collection.path / "manifest.json"
    made = manifest.stat().st_mtime if manifest.is_file() else 0.0
    own = {slug(score.model) for score in scored.scores}
    own |= {slug(score.model, score.dim) for score in scored.scores}
    result: dict[str, tuple[int, Values]] = {}
    for file in (f for folder in folders for f in sorted(folder.glob("per_query/*.jsonl"))):
        base, _, dim = file.stem.rpartition("-")
        base, size = (base, int(dim)) if base and re.fullmatch(r"\d+", dim) else (file.stem, 0)
        if {base, file.stem} & own or file.stat().st_mtime < made:
            continue
        values = _read(file, ids, measure)
        if values is not None and size >= result.get(base, (0,))[0]:
            result[base] = size, values
    return {name: values for name, (_, values) in result.items()}


def _read(file: Path, ids: Sequence[str], measure: str) -> Values | None:
    """None for other queries, another measure, or a file that is damaged."""
    try:
        rows = [orjson.loads(line) for line in file.read_bytes().splitlines()]
        if [row["query-id"] for row in rows] == list(ids):
            return np.array([float(row[measure]) for row in rows])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def stacked(columns: Sequence[Values]) -> Values:
    """The values of several data sets as one column, whose mean is the mean of their means, and
    whose variance is that of this mean with the data sets as they are.
    """
    total, count = sum(map(len, columns)), len(columns)
    means = [one.mean() for one in columns]
    return np.concatenate(
        [
            (one - mean) * total / (count * len(one)) + np.mean(means)
            for one, mean in zip(columns, means, strict=True)
        ]
    )


def _compared(
    columns: dict[str, list[Values]], units: Units, measure: str
) -> list[PairedDifference]:
    rows = []
    for first, second in combinations(columns, 2):
        pairs = zip(columns[first], columns[second], strict=True)
        change = stacked([a - b for a, b in pairs])[:, None]
        numbers = [*units.interval(change, CHANGE)[0].tolist(), *units.p_value(change).tolist()]
        low, high, p = (None if np.isnan(number) else float(number) for number in numbers)
        mean = float(change.mean())
        rows.append((first, second, measure, mean if abs(mean) > 1e-12 else 0.0, low, high, p))
    return holm(rows)


def _entries(
    names: Sequence[str],
    columns: dict[str, list[Values]],
    units: Sequence[Units],
    whole: Units,
    comparisons: Sequence[PairedDifference],
) -> list[Entry]:
    place = {name: i for i, name in enumerate(names)}
    apart = [
        (place[c.first], place[c.second])
        for c in comparisons
        if c.adjusted is not None and c.adjusted < LEVEL
    ]
    groups = letter_groups(len(names), apart)
    result = []
    for i, name in enumerate(names):
        letters = "".join(_letter(number) for number, of in enumerate(groups) if i in of)
        result.append(
            Entry(
                name,
                _estimate(stacked(columns[name]), whole),
                [_estimate(v, one) for v, one in zip(columns[name], units, strict=True)],
                letters,
            )
        )
    return result


def _estimate(values: Values, units: Units) -> Estimate:
    return Estimate.of(float(values.mean()), units.interval(values[:, None])[0])


def _letter(number: int) -> str:
    times, place = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(times) if times else "")


def letter_groups(count: int, apart: Sequence[tuple[int, int]]) -> list[frozenset[int]]:
    """Groups of `count` systems such that two are in one together if they are not told apart."""
    groups = [frozenset(range(count))]
    for pair in apart:
        split = [part for one in groups for part in _parts(one, pair)]
        distinct = list(dict.fromkeys(split))
        groups = [one for one in distinct if not any(one < other for other in distinct)]
    return sorted(groups, key=sorted)


def _parts(group: frozenset[int], pair: tuple[int, int]) -> Iterator[frozenset[int]]:
    if group.issuperset(pair):
        yield from (group - {one} for one in pair)
    else:
        yield group


# --- power ----------------------------------------------------------------------------------------


def power(
    first: str, second: str, one: Sequence[Values], other: Sequence[Values], units: Sequence[Units]
) -> Power:
    """Of two systems, whose values (queries,) on each data set are given."""
    changes = [a - b for a, b in zip(one, other, strict=True)]
    effects = [_design_effect(v, of) for v, of in zip(changes, units, strict=True)]
    now = _share([len(v) for v in changes], changes, effects)

    def reached(count: int) -> bool:
        return _share([count] * len(changes), changes, effects) >= POWER

    high = 16
    while not reached(high):
        high *= 2
        if high > _MOST:
            return Power(first, second, now, None)
    low = high // 2
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return Power(first, second, now, _rounded(max(high, FEWEST)))


def _design_effect(changes: Values, units: Units) -> float:
    """The variance of the mean over that of as many independent queries."""
    alone = changes.var(ddof=1) / len(changes)
    return max(1.0, float(units.variance(changes[:, None])[0] / alone)) if alone > 0 else 1.0


def _share(counts: Sequence[int], changes: Sequence[Values], effects: Sequence[float]) -> float:
    """In how many of the samples a paired test finds the difference of the means."""
    from scipy.special import stdtrit

    draws = np.random.default_rng(_SEED)
    total, variance = np.zeros(_SAMPLES), np.zeros(_SAMPLES)
    for count, of, effect in zip(counts, changes, effects, strict=True):
        levels, times = np.unique(of, return_counts=True)
        drawn = draws.multinomial(count, times / len(of), size=_SAMPLES)
        means = drawn @ levels / count
        spread = np.maximum(drawn @ levels**2 / count - means**2, 0) * count / (count - 1)
        total += of.mean() + np.sqrt(effect) * (means - of.mean())
        variance += effect * spread / count
    quantile = float(stdtrit(min(counts) - 1, 1 - LEVEL / 2))
    sign = np.sign(sum(float(of.mean()) for of in changes))
    return float(np.mean((total * sign > quantile * np.sqrt(variance)) & (variance > 0)))


def _rounded(count: int) -> int:
    """Two digits: the simulation tells no more."""
    size = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // size) * size
