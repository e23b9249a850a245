"""Tables of ladders: the paper's, and the controls beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from retgen.evaluation.tasks.multiconir.compare import mean_rates
from retgen.evaluation.tasks.multiconir.pairs import Cell
from retgen.evaluation.tasks.multiconir.rates import Rates
from retgen.evaluation.tasks.multiconir.summary import RANDOM, Reading
from retgen.evaluation.tasks.task import SystemResult
from retgen.pages import Place, TableView, best_places
from retgen.statistics.clustered import Estimate

_MATRICES = 4  # systems whose win rates are shown by conditions and violations
TITLES = {
    "task1": "Task 1: win rate (%) of the positive over HN1, by conditions asked for (Table 2)",
    "task2": "Task 2: win rate (%) of neighbours on the ladder under the longest query (Table 13)",
    "task3": "Task 3: flip rate (%), neighbours that change places between styles (Table 3)",
    "singles": "Win rate (%) of the positive over documents that violate one of n conditions "
    "alone, at a random place, and how often it beats all n of them",
    "wordings": "The same of the longest query, by how the violated condition asks; ties as half",
    "controls": "Controls: win rates (%), and of the blind ones the share that ties, so is lost",
}


def readings(results: Sequence[SystemResult[Rates]]) -> dict[str, Reading]:
    """The measures of each system by its label, the highest average of Task 1 first."""
    reads = [(one.label, Reading(mean_rates(one))) for one in results]
    averages = {label: result.value for label, read in reads if (result := read(*read.task1()))}
    return dict(sorted(reads, key=lambda one: -averages.get(one[0], 0.0)))


def tables(results: Sequence[SystemResult[Rates]]) -> dict[str, TableView]:
    reads = readings(results)
    conditions = max(read.conditions for read in reads.values())
    rungs = max(read.rungs for read in reads.values())
    result = {
        "task1": _table(
            [f"Q{n}" for n in range(1, conditions + 1)], reads,
            lambda read: [read(*read.query(n)) for n in range(1, conditions + 1)],
            lambda read: read(*read.task1()),
            lambda read: [_decline(read)],
            ["50.00"] * conditions, ["0.00", "50.00"],
        ),
        "task2": _table(
            [f"{_rung(i - 1)}>{_rung(i)}" for i in range(1, rungs + 1)], reads,
            lambda read: [read(*read.rung(i)) for i in range(1, rungs + 1)],
            lambda read: read(*read.task2()),
            lambda read: [],
            ["50.00"] * rungs, ["50.00"],
        ),
    }  # fmt: skip
    if any(read.rates.where("flip") for read in reads.values()):
        result["task3"] = _flips(results, list(reads))
    if any(read.rates.where("single") for read in reads.values()):
        result["singles"] = _singles(reads)
        if any(read.wordings for read in reads.values()):
            result["wordings"] = _wordings(reads)
    result["controls"] = controls(reads)
    return result


def _singles(reads: dict[str, Reading]) -> TableView:
    """Two rows a system: its win rates over single violations, and how often it beats them all."""
    lengths = range(1, max(read.conditions for read in reads.values()) + 1)
    rows = []
    for label, read in reads.items():
        for name, kind in (("wins", "single"), ("beats all", "beats all")):
            cells = [_percent(read(*read.single(n, kind)), 1) for n in lengths]
            rows.append([label, name, *cells, *_whole(read(*read.singles(kind)))])
    rows.append(["random order", "wins", *("50.0" for _ in lengths), "50.00", ""])
    chance = [100 / (n + 1) for n in lengths]
    mean = sum(chance) / len(chance)
    rows.append(["random order", "beats all", *(f"{one:.1f}" for one in chance), f"{mean:.2f}", ""])
    head = ["system", "", *(f"Q{n}" for n in lengths), "average", "95% interval"]
    return TableView(head, rows, names=2, faint=[len(rows) - 2, len(rows) - 1])


def _wordings(reads: dict[str, Reading]) -> TableView:
    """A row a system: win rates with ties as half, of Task 1 and by wording."""
    names = list(dict.fromkeys(name for read in reads.values() for name in read.wordings))
    rows = []
    for label, read in reads.items():
        task1 = read.rates.halved(read.task1())
        halves = [read.by_wording(name)[1] for name in names]
        rows.append([label, _spanned(task1), *map(_spanned, halves)])
    rows.append(["random order", *("50.0" for _ in (0, *names))])
    return TableView(["system", "Task 1", *names], rows, faint=[len(rows) - 1])


def _decline(read: Reading) -> Estimate | None:
    return read.rates.difference(read.query(1), read.query(read.conditions))


def _table(
    columns: Sequence[str],
    reads: dict[str, Reading],
    cells: Callable[[Reading], list[Estimate | None]],
    average: Callable[[Reading], Estimate | None],
    decline: Callable[[Reading], list[Estimate | None]],
    chance: Sequence[str],
    chances: Sequence[str],
) -> TableView:
    """A row a system: `cells`, a decline where asked for, the average, its interval."""
    values = {label: [*cells(read), *decline(read), average(read)] for label, read in reads.items()}
    rows = [[label, *map(_percent, of[:-1]), *_whole(of[-1])] for label, of in values.items()]
    rows.append(["random order", *chance, *chances, ""])
    decline_at = len(columns) + 1 if len(chances) > 1 else None  # neither is better
    more = ["decline"] * (len(chances) - 1)
    head = ["system", *columns, *more, "average", "95% interval"]
    best = {(row, column) for row, column in _best(list(values.values())) if column != decline_at}
    return TableView(head, rows, faint=[len(rows) - 1], best=best)


def _best(rows: Sequence[Sequence[Estimate | None]], lowest: Sequence[int] = ()) -> set[Place]:
    """The best cells of rows that begin in column 1."""
    columns = {
        at: [one.value if one else None for one in column]
        for at, column in enumerate(zip(*rows, strict=True), start=1)
    }
    return best_places(columns, lowest)


def averages(reads: dict[str, Reading]) -> TableView:
    """A row a system: its average in each task, and of the blind control."""
    columns: list[tuple[str, str, Callable[[Reading], Estimate | None]]] = [
        ("Task 1", "50.0", lambda read: read(*read.task1())),
        ("decline", "0.0", _decline),
        ("Task 2", "50.0", lambda read: read(*read.task2())),
        ("Task 3: flips", "50.0", lambda read: read(*read.rates.where("flip"))),
        ("Task 1, blind", "50.0", lambda read: read(*read.blind())),
    ]
    result = [[get(read) for _, _, get in columns] for read in reads.values()]
    there = [i for i in range(len(columns)) if any(row[i] for row in result)]
    result = [[row[i] for i in there] for row in result]
    names = [columns[i][0] for i in there]
    rows = [
        [label, *(_percent(one, 1) for one in row)]
        for label, row in zip(reads, result, strict=True)
    ]
    lowest = [names.index(name) + 1 for name in ("Task 3: flips",) if name in names]
    plain = ("decline", "Task 1, blind")  # of which neither more nor less is better
    every = _best(result, lowest)
    best = {(row, column) for row, column in every if names[column - 1] not in plain}
    rows.append(["random order", *(columns[i][1] for i in there)])
    return TableView(
        ["system", *names], rows, faint=[len(rows) - 1], best=best, beside=_intervals(result)
    )


def _intervals(rows: Sequence[Sequence[Estimate | None]]) -> dict[Place, str]:
    """The interval of each cell, for rows that begin in column 1."""
    return {
        (at, column): _span(one, "–" if one.above(0) else " to ")
        for at, row in enumerate(rows)
        for column, one in enumerate(row, start=1)
        if one is not None and one.low is not None
    }


def _rung(i: int) -> str:
    return str(i) if i else "P"


def _flips(results: Sequence[SystemResult[Rates]], order: Sequence[str]) -> TableView:
    domains = list(dict.fromkeys(name for one in results for name in one.domains))
    rows, values = [], []
    for one in sorted(results, key=lambda one: order.index(one.label)):
        each = {name: rates.mean(rates.where("flip")) for name, rates in one.domains.items()}
        rates = mean_rates(one)
        values.append([*(each.get(name) for name in domains), rates.mean(rates.where("flip"))])
        rows.append([one.label, *map(_percent, values[-1][:-1]), *_whole(values[-1][-1])])
    chance = f"{100 * RANDOM['flip_rate']:.2f}"
    rows.append(["random order", *(chance for _ in domains), chance, ""])
    head = ["system", *domains, "average", "95% interval"]
    best = _best(values, lowest=range(1, len(domains) + 2))
    return TableView(head, rows, faint=[len(rows) - 1], best=best)


def controls(reads: dict[str, Reading], small: bool = False) -> TableView:
    """Win rates that hold one thing apart. `small`: intervals stand below the cells of a page."""
    words = sorted({w for read in reads.values() for w in read.words})
    places = max(read.places for read in reads.values())
    columns: list[tuple[str, Callable[[Reading], list[Cell]]]] = [
        ("Task 1", lambda read: read.task1()),
        ("Task 1 blind", lambda read: read.blind()),
        ("tied", lambda read: [("tied", "blind task1")]),
        ("all violated", lambda read: read.all_violated() if has_violations(read) else []),
        ("Task 2", lambda read: read.task2()),
        ("Task 2 blind", lambda read: read.task2(None, ("blind rung",))),
        ("tied", lambda read: [("tied", "blind task2")]),
        *((f"{w:,} words", lambda read, w=w: read.task2(None, ("length", w))) for w in words),
    ]
    if places:
        columns += [
            ("first place", lambda read: [("place", 1)]),
            ("last place", lambda read: [("place", places)]),
        ]
    result = [[read(*cells(read)) for _, cells in columns] for read in reads.values()]
    rows = [
        [label, *(_percent(one, 1) if small else _spanned(one) for one in row)]
        for label, row in zip(reads, result, strict=True)
    ]
    rows.append(["random order", *("0.0" if name == "tied" else "50.0" for name, _ in columns)])
    return TableView(
        ["system", *(name for name, _ in columns)], rows, faint=[len(rows) - 1],
        beside=_intervals(result) if small else {},
    )  # fmt: skip


def has_violations(read: Reading) -> bool:
    return any(int(cell[3]) > 1 for cell in read.rates.where("violated"))


def by_style(reads: dict[str, Reading], task: str) -> list[TableView]:
    """A row a system and style, where there are two."""
    head: list[str] = []
    rows = []
    for label, read in reads.items():
        lengths, rungs = range(1, read.conditions + 1), range(1, read.rungs + 1)
        for style in read.styles if len(read.styles) > 1 else ():
            if task == "task1":
                head = [f"Q{n}" for n in lengths]
                cells, whole = [read.query(n, style) for n in lengths], read.task1(style)
            else:
                head = [f"{_rung(i - 1)}>{_rung(i)}" for i in rungs]
                cells, whole = [read.rung(i, style) for i in rungs], read.task2(style)
            row = [_percent(read(*one), 1) for one in cells]
            rows.append([label, style, *row, *_whole(read(*whole))])
    view = TableView(["system", "style", *head, "average", "95% interval"], rows, names=2)
    return [view] if rows else []


def by_words(reads: dict[str, Reading]) -> list[TableView]:
    """Task 4: the neighbours by length of the documents."""
    rows = []
    rungs = max(read.rungs for read in reads.values())
    for label, read in reads.items():
        for words in [0, *read.words] if read.words else ():
            kind: Sequence[str | int] = ("length", words) if words else ("rung",)
            cells = [_percent(read(*read.rung(i, None, kind)), 1) for i in range(1, rungs + 1)]
            average = _whole(read(*read.task2(None, kind)))
            rows.append([label, f"{words:,}" if words else "as they are", *cells, *average])
    head = ["Task 4", "words", *(f"{_rung(i - 1)}>{_rung(i)}" for i in range(1, rungs + 1))]
    return [TableView([*head, "average", "95% interval"], rows, names=2)] if rows else []


def by_place(reads: dict[str, Reading]) -> list[TableView]:
    """Section 5.2: the violated condition at each place of the query."""
    rows = []
    places = max(read.places for read in reads.values())
    for label, read in reads.items():
        if read.places:
            won: list[Cell] = [("place", i) for i in range(1, places + 1)]
            far: list[Cell] = [("margin", i) for i in range(1, places + 1)]
            rows.append(
                [label, "wins (%)", *(_percent(read(c), 1) for c in won), *_whole(read(*won))]
            )
            mean = read(*far)
            span = (
                "" if mean is None or mean.low is None else "{:+.3f} to {:+.3f}".format(*mean[1:])
            )
            rows.append([label, "margin", *(_margin(read(c)) for c in far), _margin(mean), span])
    head = ["violated one at place", "", *map(str, range(1, places + 1)), "average", "95% interval"]
    return [TableView(head, rows, names=2)] if rows else []


def _margin(estimate: Estimate | None) -> str:
    return f"{estimate.value:+.3f}" if estimate else "–"


def by_condition(reads: dict[str, Reading]) -> list[TableView]:
    """Where ladders break conditions in several orders: which of them is the violated one."""
    rows = []
    n = max(read.conditions for read in reads.values())
    for label, read in reads.items():
        if read.rates.where("condition"):
            cells = [[("condition", s, n, c) for s in read.styles] for c in range(1, n + 1)]
            rows.append([label, *(_percent(read(*one)) for one in cells)])
    head = [f"Q{n}, violated is", *map(str, range(1, n + 1))]
    return [TableView(head, rows)] if rows else []


def by_violations(reads: dict[str, Reading]) -> Iterable[TableView]:
    """Win rates by conditions asked for and violated."""
    shown = {label: read for label, read in reads.items() if has_violations(read)}
    for label, read in list(shown.items())[:_MATRICES]:
        steps = range(1, read.conditions + 1)
        rows = []
        for n in steps:
            cells = [read.query(n, violated=v) if v <= n else [] for v in steps]
            rows.append([f"Q{n}", *(_percent(read(*one)) if one else "" for one in cells)])
        yield TableView([f"{label}: violated", *map(str, steps)], rows)


def _percent(estimate: Estimate | None, digits: int = 2) -> str:
    return f"{100 * estimate.value:.{digits}f}" if estimate else "–"


def _whole(estimate: Estimate | None) -> list[str]:
    """An average and its interval, two cells."""
    if estimate is None:
        return ["–", ""]
    return [_percent(estimate), _span(estimate, " to ")]


def _spanned(estimate: Estimate | None) -> str:
    """The same in one cell."""
    if estimate is None:
        return "–"
    span = _span(estimate, "–")
    return _percent(estimate, 1) + (f" ({span})" if span else "")


def _span(estimate: Estimate, between: str) -> str:
    """An interval in percent; "" where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{100 * estimate.low:.1f}{between}{100 * estimate.high:.1f}"
