"""Tables of ladders as panels: the paper's, and the controls beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from retgen.evaluation.tasks.multiconir.compare import mean_rates
from retgen.evaluation.tasks.multiconir.pairs import Cell
from retgen.evaluation.tasks.multiconir.rates import Rates
from retgen.evaluation.tasks.multiconir.summary import RANDOM, RateTable
from retgen.evaluation.tasks.task import SystemResult
from retgen.results.measurements import Measure, Measurement
from retgen.results.panel import Column, Panel, columns_by
from retgen.statistics.clustered import Estimate

Systems = Mapping[str, RateTable]

AVERAGE, RANDOM_ORDER = "average", "random order"
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
    averages = {label: one.value for label, read in systems if (one := read(*read.task1()))}
    return dict(sorted(systems, key=lambda one: -averages.get(one[0], 0.0)))


def _average(measure: Measure, **by: str) -> Column:
    return Column(AVERAGE, measure, by, interval=True)


def _neighbours(count: int) -> list[str]:
    """P>1 is the positive against HN1, 1>2 is HN1 against HN2."""
    names = ["P", *map(str, range(1, count + 1))]
    return [f"{one}>{other}" for one, other in pairwise(names)]


def _queries(systems: Systems) -> list[str]:
    return [f"Q{n}" for n in range(1, max(read.conditions for read in systems.values()) + 1)]


def _pairs(systems: Systems) -> list[str]:
    return _neighbours(max(read.rungs for read in systems.values()))


def _measured(
    label: str, read: RateTable, measure: Measure, factor: str, cells: Mapping[str, list[Cell]]
) -> list[Measurement]:
    """A measurement for each level of a factor, whose cells are given."""
    return [
        Measurement.of(label, measure.name, read(*of), {factor: level})
        for level, of in cells.items()
    ]


def task1_rows(systems: Systems) -> list[Measurement]:
    """Task 1 by number of conditions, in all and by style; and the decline from first to last."""
    rows = []
    for label, read in systems.items():
        for style in (None, *(read.styles if len(read.styles) > 1 else ())):
            by = {"style": style} if style else {}
            for n in range(1, read.conditions + 1):
                estimate = read(*read.query(n, style))
                rows.append(Measurement.of(label, TASK1.name, estimate, {"query": f"Q{n}", **by}))
            average = read(*read.task1(style))
            rows.append(Measurement.of(label, TASK1.name, average, {"query": AVERAGE, **by}))
        rows.append(Measurement.of(label, DECLINE.name, decline(read)))
    return rows


def task2_rows(systems: Systems) -> list[Measurement]:
    """Task 2 by neighbours: in all, by style, and by words of the documents (Task 4)."""
    rows = []
    for label, read in systems.items():
        groups: list[tuple[dict[str, str], str | None, Sequence[str | int]]] = [
            ({}, None, ("rung",))
        ]
        groups += [({"style": s}, s, ("rung",)) for s in read.styles if len(read.styles) > 1]
        groups += [({"words": "as they are"}, None, ("rung",)) for _ in read.words[:1]]
        groups += [({"words": f"{w:,}"}, None, ("length", w)) for w in read.words]
        for by, style, kind in groups:
            cells = [read.rung(i, style, kind) for i in range(1, read.rungs + 1)]
            for pair, of in zip(_neighbours(read.rungs), cells, strict=True):
                rows.append(Measurement.of(label, TASK2.name, read(*of), {"pair": pair, **by}))
            average = read(*read.task2(style, kind))
            rows.append(Measurement.of(label, TASK2.name, average, {"pair": AVERAGE, **by}))
    return rows


def decline(read: RateTable) -> Estimate | None:
    """Q1 less the longest query."""
    return read.rates.difference(read.query(1), read.query(read.conditions))


def task1(systems: Systems) -> Panel:
    """Table 2 of the paper."""
    return Panel(
        "Task 1: win rate (%) of the positive over HN1, by conditions asked for (Table 2)",
        task1_rows(systems),
        [
            *columns_by(TASK1, "query", _queries(systems)), Column("decline", DECLINE),
            _average(TASK1, query=AVERAGE),
        ],
        interval="", chance=RANDOM_ORDER,
    )  # fmt: skip


def task2(systems: Systems) -> Panel:
    """Table 13 of the paper."""
    return Panel(
        "Task 2: win rate (%) of neighbours on the ladder under the longest query (Table 13)",
        task2_rows(systems),
        [*columns_by(TASK2, "pair", _pairs(systems)), _average(TASK2, pair=AVERAGE)],
        interval="", chance=RANDOM_ORDER,
    )  # fmt: skip


def task3(results: Sequence[SystemResult[Rates]], systems: Systems) -> Panel | None:
    """Table 3 of the paper; None without two styles."""
    if not any(read.rates.where("flip") for read in systems.values()):
        return None
    domains = list(dict.fromkeys(name for one in results for name in one.domains))
    order = list(systems)
    rows = []
    for one in sorted(results, key=lambda one: order.index(one.label)):
        for name, rates in [*one.domains.items(), (AVERAGE, mean_rates(one))]:
            flips = rates.mean(rates.where("flip"))
            rows.append(Measurement.of(one.label, FLIPS.name, flips, {"domain": name}))
    return Panel(
        "Task 3: flip rate (%), neighbours that change places between styles (Table 3)", rows,
        [*columns_by(FLIPS, "domain", domains), _average(FLIPS, domain=AVERAGE)],
        interval="", chance=RANDOM_ORDER,
    )  # fmt: skip


def singles(systems: Systems) -> list[Panel]:
    """Win rates over single violations, and how often all are beaten; by wording; if any."""
    if not any(read.rates.where("single") for read in systems.values()):
        return []
    queries = _queries(systems)
    rows = []
    for label, read in systems.items():
        for name, kind in (("wins", "single"), ("beats all", "beats all")):
            for n, query in enumerate(queries, start=1):
                estimate = read(*read.single(n, kind))
                by = {"query": query, "of": name}
                rows.append(Measurement.of(label, SINGLE.name, estimate, by))
            mean = read(*read.singles(kind))
            rows.append(Measurement.of(label, SINGLE.name, mean, {"query": AVERAGE, "of": name}))
    chance = {"wins": [0.5] * len(queries),
              "beats all": [1 / (n + 1) for n in range(1, len(queries) + 1)]}  # fmt: skip
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
        rows=["system", "of"], heads=["system", ""], interval="", best=False,
        baselines=frozenset({RANDOM_ORDER}),
    )  # fmt: skip
    names = list(dict.fromkeys(name for read in systems.values() for name in read.wordings))
    if not names:
        return [first]
    halves = [
        Measurement.of(label, TIES_HALF.name, estimate, {"wording": name})
        for label, read in systems.items()
        for name, estimate in [
            ("Task 1", read.rates.halved(read.task1())),
            *((name, read.by_wording(name)[1]) for name in names),
        ]
    ]
    second = Panel(
        "The same of the longest query, by how the violated condition asks; ties as half", halves,
        columns_by(TIES_HALF, "wording", ["Task 1", *names]),
        interval="inside", terminal_interval="inside", between="–", chance=RANDOM_ORDER, best=False,
    )  # fmt: skip
    return [first, second]


def averages(systems: Systems) -> Panel:
    """A row a system: its average in each task, and of the blind control."""
    known: list[tuple[str, Measure, Callable[[RateTable], Estimate | None]]] = [
        ("Task 1", _rate("task 1", 1), lambda read: read(*read.task1())),
        ("decline", replace(DECLINE, digits=1), decline),
        ("Task 2", _rate("task 2", 1), lambda read: read(*read.task2())),
        ("Task 3: flips", replace(FLIPS, digits=1), lambda read: read(*read.rates.where("flip"))),
        ("Task 1, blind", CONTROLS, lambda read: read(*read.blind())),
    ]
    columns, rows = [], []
    for head, measure, value in known:
        each = {label: value(read) for label, read in systems.items()}
        if any(each.values()):
            columns.append(Column(head, measure, {"average of": head}))
            rows += [Measurement.of(label, measure.name, one, {"average of": head})
                     for label, one in each.items()]  # fmt: skip
    return Panel("Averages (%)", rows, columns, between="–", chance=RANDOM_ORDER)


def controls(systems: Systems) -> Panel:
    """Win rates that hold one thing apart; of the blind ones also the share that ties."""
    words = sorted({w for read in systems.values() for w in read.words})
    places = max(read.places for read in systems.values())
    rows = []
    for label, read in systems.items():
        cells: dict[str, list[Cell]] = {
            "Task 1": read.task1(),
            "Task 1 blind": read.blind(),
            "all violated": read.all_violated() if has_violations(read) else [],
            "Task 2": read.task2(),
            "Task 2 blind": read.task2(None, ("blind rung",)),
            **{f"{w:,} words": read.task2(None, ("length", w)) for w in words},
            **{f"{name} place": [("place", i)]
               for name, i in (("first", 1), ("last", places)) if places},
        }  # fmt: skip
        rows += _measured(label, read, CONTROLS, "control", cells)
        ties: dict[str, list[Cell]] = {
            f"Task {n} blind": [("tied", f"blind task{n}")] for n in (1, 2)
        }
        rows += _measured(label, read, TIED, "control", ties)
    columns = columns_by(CONTROLS, "control", cells)
    for name in ties:
        at = next(i for i, one in enumerate(columns) if one.head == name)
        columns.insert(at + 1, Column("tied", TIED, {"control": name}))
    return Panel(
        "Controls: win rates (%), and of the blind ones the share that ties, so is lost", rows,
        columns, terminal_interval="inside", between="–", chance=RANDOM_ORDER, best=False,
    )  # fmt: skip


def has_violations(read: RateTable) -> bool:
    """Whether documents violate more than one condition."""
    return any(int(cell[3]) > 1 for cell in read.rates.where("violated"))


def by_style(systems: Systems, panel: Panel) -> list[Panel]:
    """Task 1 or 2, a row a system and style, if there are two."""
    rows = [one for one in panel.measurements if "style" in one.by]
    columns = [replace(c, measure=replace(c.measure, digits=c.measure.digits - (not c.interval)))
               for c in panel.columns if c.measure.name != DECLINE.name]  # fmt: skip
    return (
        [Panel("", rows, columns, rows=["system", "style"], interval="", best=False)]
        if rows
        else []
    )


def by_words(panel: Panel) -> list[Panel]:
    """Task 4: Task 2 by length of the documents, if there are several."""
    rows = [one for one in panel.measurements if "words" in one.by]
    columns = [replace(c, measure=replace(c.measure, digits=c.measure.digits - (not c.interval)))
               for c in panel.columns]  # fmt: skip
    heads = ["Task 4", "words"]
    named = Panel("", rows, columns, ["system", "words"], heads, interval="", best=False)
    return [named] if rows else []


def by_place(systems: Systems) -> list[Panel]:
    """Section 5.2: win rates and margins with the violated condition at each place of the query."""
    systems = {label: read for label, read in systems.items() if read.places}
    if not systems:
        return []
    places = range(1, max(read.places for read in systems.values()) + 1)
    wins, margin = _rate("wins by place", 1), Measure("margin by place", 3, signed=True)
    result = []
    for kind, measure, average, head in (
        ("place", wins, replace(wins, digits=2), "wins (%), violated one at place"),
        ("margin", margin, margin, "margin, violated one at place"),
    ):
        cells: dict[str, list[Cell]] = {str(i): [(kind, i)] for i in places}
        cells[AVERAGE] = [(kind, i) for i in places]
        rows = [one for label, read in systems.items()
                for one in _measured(label, read, measure, "place", cells)]  # fmt: skip
        columns = columns_by(measure, "place", map(str, places))
        columns.append(_average(average, place=AVERAGE))
        result.append(Panel("", rows, columns, heads=[head], interval="", best=False))
    return result


def by_condition(systems: Systems) -> list[Panel]:
    """Where ladders violate conditions in several orders: win rates by the violated condition."""
    systems = {label: read for label, read in systems.items() if read.rates.where("condition")}
    if not systems:
        return []
    n = max(read.conditions for read in systems.values())
    measure = _rate("by condition")
    rows = []
    for label, read in systems.items():
        cells: dict[str, list[Cell]] = {
            str(c): [("condition", s, n, c) for s in read.styles] for c in range(1, n + 1)
        }
        rows += _measured(label, read, measure, "condition", cells)
    columns = columns_by(measure, "condition", map(str, range(1, n + 1)))
    return [Panel("", rows, columns, heads=[f"Q{n}, violated is"], interval="", best=False)]


def by_violations(systems: Systems) -> Iterator[Panel]:
    """Win rates by conditions asked for and violated, a panel a system."""
    measure = _rate("by violations")
    shown = {label: read for label, read in systems.items() if has_violations(read)}
    for label, read in list(shown.items())[:_MATRICES]:
        steps = range(1, read.conditions + 1)
        rows = [
            Measurement.of(label, measure.name, read(*read.query(n, violated=v)),
                           {"query": f"Q{n}", "violated": str(v)})
            for n in steps for v in steps if v <= n
        ]  # fmt: skip
        yield Panel(
            "", rows, columns_by(measure, "violated", map(str, steps)), rows=["query"],
            heads=[f"{label}: violated"], missing="", interval="", best=False,
        )  # fmt: skip
