"""Tables of ladders as panels: the paper's, and the controls beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from retgen.evaluation.tasks.multiconir.compare import mean_rates
from retgen.evaluation.tasks.multiconir.pairs import Cell
from retgen.evaluation.tasks.multiconir.rates import Rates
from retgen.evaluation.tasks.multiconir.summary import AVERAGE, RANDOM, RateTable, Series
from retgen.evaluation.tasks.task import SystemResult
from retgen.results.measurements import Measure, Measurement
from retgen.results.panel import Column, Panel, columns_by
from retgen.statistics.clustered import Estimate

Systems = Mapping[str, RateTable]

RANDOM_ORDER = "random order"
_MATRICES = 4  # systems whose win rates are shown by conditions and violations


def _rate(name: str, digits: int = 2, small_digits: int = 1, chance: float = 0.5) -> Measure:
    return Measure(name, digits, percent=True, chance=chance, small_digits=small_digits)


TASK1, TASK2 = _rate("task 1"), _rate("task 2")
FLIPS = replace(_rate("task 3", chance=RANDOM["flip_rate"]), better="lower")
DECLINE = replace(_rate("decline", chance=0.0), better="")
SINGLE, TIES_HALF = _rate("single violation", 1), _rate("ties as half", 1)
CONTROLS, TIED = replace(_rate("control", 1), better=""), _rate("tied", 1, chance=0.0)


def by_label(results: Sequence[SystemResult[Rates]]) -> dict[str, RateTable]:
    """The measures of each system by its label, the highest average of Task 1 first."""
    systems = [(one.label, RateTable(mean_rates(one))) for one in results]
    averages = {label: one.value for label, read in systems if (one := read.task1().average)}
    return dict(sorted(systems, key=lambda one: -averages.get(one[0], 0.0)))


def _average(measure: Measure, **by: str) -> Column:
    return Column(AVERAGE, measure, by, interval=True)


def _levels(systems: Systems, series: Callable[[RateTable], Series]) -> list[str]:
    """The levels of a series, of the system that has most."""
    return max((list(series(read).levels) for read in systems.values()), key=len)


def task1(systems: Systems) -> Panel:
    """Table 2 of the paper: by number of conditions, in all and by style; and the decline."""
    rows = []
    for label, read in systems.items():
        rows += read.task1().measurements(label, TASK1.name)
        for style in read.styles if len(read.styles) > 1 else ():
            rows += read.task1(style).measurements(label, TASK1.name, {"style": style})
        rows.append(Measurement.of(label, DECLINE.name, read.decline()))
    return _of_paper(
        "Task 1: win rate (%) of the positive over HN1, by conditions asked for (Table 2)",
        rows,
        TASK1,
        "query",
        _levels(systems, RateTable.task1),
        Column("decline", DECLINE),
    )


def task2(systems: Systems) -> Panel:
    """Table 13 of the paper: by neighbours, in all, by style and by words of the documents."""
    rows = []
    for label, read in systems.items():
        groups: list[tuple[dict[str, str], Series]] = [({}, read.task2())]
        groups += [({"style": s}, read.task2(s)) for s in read.styles if len(read.styles) > 1]
        groups += [({"words": "as they are"}, read.task2()) for _ in read.words[:1]]
        groups += [({"words": f"{w:,}"}, read.task2(None, ("length", w))) for w in read.words]
        for by, series in groups:
            rows += series.measurements(label, TASK2.name, by)
    return _of_paper(
        "Task 2: win rate (%) of neighbours on the ladder under the longest query (Table 13)",
        rows,
        TASK2,
        "pair",
        _levels(systems, RateTable.task2),
    )


def task3(results: Sequence[SystemResult[Rates]], systems: Systems) -> Panel | None:
    """Table 3 of the paper; None without two styles."""
    if not any(read.rates.where("flip") for read in systems.values()):
        return None
    domains = list(dict.fromkeys(name for one in results for name in one.domains))
    order = list(systems)
    rows = []
    for one in sorted(results, key=lambda one: order.index(one.label)):
        for name, rates in [*one.domains.items(), (AVERAGE, mean_rates(one))]:
            flips = RateTable(rates).flips().average
            rows.append(Measurement.of(one.label, FLIPS.name, flips, {"domain": name}))
    return _of_paper(
        "Task 3: flip rate (%), neighbours that change places between styles (Table 3)",
        rows,
        FLIPS,
        "domain",
        domains,
    )


def _of_paper(
    title: str,
    rows: Sequence[Measurement],
    measure: Measure,
    factor: str,
    levels: Sequence[str],
    *more: Column,
) -> Panel:
    """A column a level, and the average with its interval; below them a random order."""
    columns = [*columns_by(measure, factor, levels), *more, _average(measure, **{factor: AVERAGE})]
    return Panel(title, rows, columns, interval="", chance=RANDOM_ORDER)


def singles(systems: Systems) -> list[Panel]:
    """Win rates over single violations, and how often all are beaten; by wording; if any."""
    if not any(read.rates.where("single") for read in systems.values()):
        return []
    queries = _levels(systems, RateTable.singles)
    rows = []
    for label, read in systems.items():
        for name, kind in (("wins", "single"), ("beats all", "beats all")):
            rows += read.singles(kind).measurements(label, SINGLE.name, {"of": name})
    chance = {
        "wins": [0.5] * len(queries),
        "beats all": [1 / (n + 1) for n in range(1, len(queries) + 1)],
    }
    for name, values in chance.items():
        each = [*values, sum(values) / len(values)]
        for query, value in zip([*queries, AVERAGE], each, strict=True):
            by = {"of": name, "query": query}
            rows.append(Measurement(RANDOM_ORDER, SINGLE.name, by, value))
    first = Panel(
        "Win rate (%) of the positive over documents that violate one of n conditions alone, at a "
        "random place, and how often it beats all n of them",
        rows,
        [*columns_by(SINGLE, "query", queries), _average(_rate(SINGLE.name), query=AVERAGE)],
        rows=["system", "of"],
        heads=["system", ""],
        interval="",
        best=False,
        baselines=frozenset({RANDOM_ORDER}),
    )
    names = list(dict.fromkeys(name for read in systems.values() for name in read.wordings))
    if not names:
        return [first]
    halves = [
        Measurement.of(label, TIES_HALF.name, estimate, {"wording": name})
        for label, read in systems.items()
        for name, estimate in [
            ("Task 1", read.rates.halved(read.task1().cells)),
            *((name, read.by_wording(name)[1]) for name in names),
        ]
    ]
    second = Panel(
        "The same of the longest query, by how the violated condition asks; ties as half",
        halves,
        columns_by(TIES_HALF, "wording", ["Task 1", *names]),
        interval="inside",
        terminal_interval="inside",
        between="–",
        chance=RANDOM_ORDER,
        best=False,
    )
    return [first, second]


def averages(systems: Systems) -> Panel:
    """A row a system: its average in each task, and of the blind control."""
    known: list[tuple[str, Measure, Callable[[RateTable], Estimate | None]]] = [
        ("Task 1", _rate("task 1", 1), lambda read: read.task1().average),
        ("decline", replace(DECLINE, digits=1), RateTable.decline),
        ("Task 2", _rate("task 2", 1), lambda read: read.task2().average),
        ("Task 3: flips", replace(FLIPS, digits=1), lambda read: read.flips().average),
        ("Task 1, blind", CONTROLS, lambda read: read.blind().average),
    ]
    columns, rows = [], []
    for head, measure, value in known:
        each = {label: value(read) for label, read in systems.items()}
        if any(each.values()):
            columns.append(Column(head, measure, {"average of": head}))
            rows += [
                Measurement.of(label, measure.name, one, {"average of": head})
                for label, one in each.items()
            ]
    return Panel("Averages (%)", rows, columns, between="–", chance=RANDOM_ORDER)


def controls(systems: Systems) -> Panel:
    """Win rates that hold one thing apart; of the blind ones also the share that ties."""
    words = sorted({w for read in systems.values() for w in read.words})
    rows = []
    for label, read in systems.items():
        every: dict[str, list[Cell]] = {
            "Task 1": read.task1().cells,
            "Task 1 blind": read.blind().cells,
            "all violated": read.all_violated().cells if read.has_violations else [],
            "Task 2": read.task2().cells,
            "Task 2 blind": read.task2(None, ("blind rung",)).cells,
            **{f"{w:,} words": read.task2(None, ("length", w)).cells for w in words},
        }
        ties: dict[str, list[Cell]] = {
            f"Task {n} blind": [("tied", f"blind task{n}")] for n in (1, 2)
        }
        for measure, cells in ((CONTROLS, every), (TIED, ties)):
            series = Series(read.rates, "control", cells)
            rows += series.measurements(label, measure.name, average=False)
    columns = columns_by(CONTROLS, "control", every)
    for name in ties:
        at = next(i for i, one in enumerate(columns) if one.head == name)
        columns.insert(at + 1, Column("tied", TIED, {"control": name}))
    return Panel(
        "Controls: win rates (%), and of the blind ones the share that ties, so is lost",
        rows,
        columns,
        terminal_interval="inside",
        between="–",
        chance=RANDOM_ORDER,
        best=False,
    )


def by_style(panel: Panel) -> list[Panel]:
    """Task 1 or 2, a row a system and style, if there are two."""
    return _by(panel, "style", ["system", "style"])


def by_words(panel: Panel) -> list[Panel]:
    """Task 4: Task 2 by length of the documents, if there are several."""
    return _by(panel, "words", ["Task 4", "words"])


def _by(panel: Panel, factor: str, heads: Sequence[str]) -> list[Panel]:
    """The measurements of a panel by another factor, too, with a digit less; nothing if none is."""
    rows = [one for one in panel.measurements if factor in one.by]
    columns = [
        replace(c, measure=replace(c.measure, digits=c.measure.digits - (not c.interval)))
        for c in panel.columns
        if c.measure.name != DECLINE.name
    ]
    named = Panel("", rows, columns, ["system", factor], heads, interval="", best=False)
    return [named] if rows else []


def by_condition(systems: Systems) -> list[Panel]:
    """Where ladders violate conditions in several orders: win rates by the violated condition."""
    shown = {label: read for label, read in systems.items() if read.rates.where("condition")}
    if not shown:
        return []
    measure = _rate("by condition")
    rows = [
        row
        for label, read in shown.items()
        for row in read.by_condition().measurements(label, measure.name)
    ]
    columns = columns_by(measure, "condition", _levels(shown, RateTable.by_condition))
    n = max(read.conditions for read in shown.values())
    return [Panel("", rows, columns, heads=[f"Q{n}, violated is"], interval="", best=False)]


def by_violations(systems: Systems) -> Iterator[Panel]:
    """Win rates by conditions asked for and violated, a panel a system."""
    measure = _rate("by violations")
    shown = {label: read for label, read in systems.items() if read.has_violations}
    for label, read in list(shown.items())[:_MATRICES]:
        steps = range(1, read.conditions + 1)
        rows = [
            row
            for n in steps
            for row in read.violations(n).measurements(
                label, measure.name, {"query": f"Q{n}"}, average=False
            )
        ]
        yield Panel(
            "",
            rows,
            columns_by(measure, "violated", map(str, steps)),
            rows=["query"],
            heads=[f"{label}: violated"],
            missing="",
            interval="",
            best=False,
        )
