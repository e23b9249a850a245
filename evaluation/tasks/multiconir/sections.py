"""What `gen eval` shows of ladders: the paper's tables and pictures, the controls, sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from retgen.evaluation.tasks.multiconir.pairs import FLIPS, MEASURES, TIED, TIES_HALF, WON
from retgen.evaluation.tasks.task import SystemResult
from retgen.results.measurements import Measure, Measurement
from retgen.results.numbers import listed
from retgen.results.page import Fold, Section
from retgen.results.panel import Column, Panel, columns_by
from retgen.results.pictures import CHANCE, Line, Lines
from retgen.results.rows import Results, over_data_sets
from retgen.statistics.clustered import Estimate, too_few

Systems = Mapping[str, Results]

WORDINGS = ("literal", "paraphrase", "entailed")
_AVERAGE, _RANDOM = "average", "random order"
_CURVES = 6  # systems in a picture
_NAMED = 3  # systems named in a sentence
_DECLINE = replace(WON, name="decline", chance=0.0, better="")
_PLAIN = replace(WON, digits=1, better="")  # where no column has a best one
_SENTENCE = Measure("rate", 1, percent=True, sign="%")


def systems_of(results: Sequence[SystemResult]) -> dict[str, Results]:
    """The rows of each system by its label, the highest average of Task 1 first."""
    systems = {one.label: over_data_sets([*one.domains.values()]) for one in results}
    averages = {label: one.value(WON, part="task 1") or 0.0 for label, one in systems.items()}
    return dict(sorted(systems.items(), key=lambda one: -averages[one[0]]))


def conditions_of(results: Results) -> int:
    """How many conditions the longest query has."""
    queries = results.levels("query", WON.name, part={"task 1", "all violated"})
    return max((int(query[1:]) for query in queries), default=0)


def queries_of(results: Results) -> list[str]:
    """Q1, Q2, ..."""
    return [f"Q{n}" for n in range(1, conditions_of(results) + 1)]


def pairs_of(results: Results) -> list[str]:
    """P>1, 1>2, ..."""
    return results.levels("pair", WON.name, part="task 2")


def decline(results: Results, **where: Any) -> Estimate | None:
    """Q1 less the longest query."""
    first, last = (
        {"part": "task 1", "query": f"Q{n}", **where} for n in (1, conditions_of(results))
    )
    return results.difference(WON, first, last)


def ordered(names: Sequence[str], order: Sequence[str]) -> list[str]:
    """Known names in their order, then others by the alphabet."""
    return sorted(names, key=lambda one: (order.index(one) if one in order else len(order), one))


def _longest(systems: Systems, levels: Callable[[Results], list[str]]) -> list[str]:
    """Levels of the system that has most."""
    return max(map(levels, systems.values()), key=len)


def _series(
    system: str,
    results: Results,
    measure: Measure,
    factor: str,
    more: Mapping[str, str] | None = None,
    **where: Any,
) -> list[Measurement]:
    """A measurement a level of the factor, and one of the average over all cells."""
    average = results.mean(measure, **where)
    at = {factor: _AVERAGE, **(more or {})}
    rows = results.rows(system, measure, (factor,), more=more, **where)
    return [*rows, Measurement.of(system, measure.name, average, at)]


def _of_paper(
    title: str,
    rows: Sequence[Measurement],
    measure: Measure,
    factor: str,
    levels: Sequence[str],
    *more: Column,
) -> Panel:
    """A column a level, and the average with its interval; below them a random order."""
    average = Column(_AVERAGE, measure, {factor: _AVERAGE}, interval=True)
    columns = [*columns_by(measure, factor, levels), *more, average]
    return Panel(title, rows, columns, interval="", chance=_RANDOM)


def sections(results: Sequence[SystemResult]) -> Iterable[Section]:
    """The sections of the page."""
    systems = systems_of(results)
    ladders = max(one.units for one in systems.values())
    domains = list(dict.fromkeys(name for one in results for name in one.domains))
    over = f" and {len(domains)} domains, which weigh the same" if len(domains) > 1 else ""
    yield Section(
        "Ladders",
        [
            f"Averages over {ladders:,} ladders{over}, in percent, the best of a column in bold. "
            "Below each stands its 95% interval over ladders. Decline is "
            "Q1 less the longest query; blind is under the query of another ladder.",
        ],
        [_averages(systems)],
    )
    first, second = _task1(systems), _task2(systems)
    yield Section(
        "Task 1: more conditions",
        [
            "The share of ladders in which the positive scores strictly higher than HN1, which "
            "violates one of the conditions asked for; a tie is a loss. Qn asks for conditions 1 "
            "to n; decline is Q1 less the last. The table has the mean of the query styles.",
        ],
        [first],
        [_by_length(systems)],
        folded=_folded("Each query style by itself", first, "style", ["system", "style"]),
    )
    yield Section(
        "Task 2: down the ladder",
        [
            "Neighbours on the ladder under the longest query: HN1 violates one condition, HN2 two "
            "and so on. P is the positive. The paper's Table 13 runs the other way, from the "
            "documents that violate most.",
        ],
        [second],
        [
            _picture(
                "ladders_task2",
                "Task 2: win rate of neighbours",
                [
                    _curve(label, one, "pair", part="task 2")
                    for label, one in list(systems.items())[:_CURVES]
                ],
                "HN(i-1) against HNi, at i",
                "At 1 stands the positive against HN1. Bands are 95% intervals.",
            )
        ],
        folded=_folded("Each query style by itself", second, "style", ["system", "style"]),
    )
    if any(one.select(FLIPS.name) for one in systems.values()):
        yield Section(
            "Task 3: the style of the query",
            [
                "Of the same neighbours, how many are won under one style of the query and not won "
                "under the other; by domain, and the unweighted mean.",
            ],
            [_task3(results, systems, domains)],
        )
    if violated := _singles(systems):
        yield Section(
            "One condition violated, wherever it stands",
            [
                "Against the positive stands each document that violates one of the n conditions "
                "alone. Pair by pair a longer query changes little, but the positive seldom beats "
                "all n of them, as it must to be ranked first.",
            ],
            violated,
        )
    notes = [
        "blind: under the query of another ladder, so from the documents alone. Chance is 50% less "
        "half of what ties, since a tie is lost; what is above or below is a trace of the rewriting"
    ]
    yield Section(
        "Controls",
        [
            "With n conditions a single violation is one n-th of the evidence, so a falling curve "
            "in Task 1 mixes two things: longer queries, and smaller differences. Held apart: the "
            "win rate where all of the conditions asked for are violated, however many they are.",
        ],
        [_controls(systems), *_further(systems)],
        notes=[*notes, *filter(None, [too_few(ladders, f"{ladders} ladders")])],
        folded=_folded("Task 4: longer documents", second, "words", ["Task 4", "words"]),
    )


def _averages(systems: Systems) -> Panel:
    """A row a system: its average in each task, and of the blind control."""
    known: list[tuple[str, Measure, Callable[[Results], Estimate | None]]] = [
        ("Task 1", WON, lambda one: one.mean(WON, part="task 1")),
        ("decline", _DECLINE, decline),
        ("Task 2", WON, lambda one: one.mean(WON, part="task 2")),
        ("Task 3: flips", FLIPS, lambda one: one.mean(FLIPS)),
        ("Task 1, blind", _PLAIN, lambda one: one.mean(WON, part="task 1 blind")),
    ]
    columns, rows = [], []
    for head, measure, value in known:
        each = {label: value(one) for label, one in systems.items()}
        if any(each.values()):
            columns.append(Column(head, replace(measure, digits=1), {"average of": head}))
            rows += [
                Measurement.of(label, measure.name, one, {"average of": head})
                for label, one in each.items()
            ]
    return Panel("Averages (%)", rows, columns, between="–", chance=_RANDOM)


def _task1(systems: Systems) -> Panel:
    """Table 2 of the paper: by number of conditions, in all and by style; and the decline."""
    rows = []
    for label, one in systems.items():
        rows += _series(label, one, WON, "query", part="task 1")
        styles = one.levels("style", WON.name, part="task 1")
        for style in styles if len(styles) > 1 else ():
            rows += _series(label, one, WON, "query", {"style": style}, part="task 1", style=style)
        rows.append(Measurement.of(label, _DECLINE.name, decline(one)))
    return _of_paper(
        "Task 1: win rate (%) of the positive over HN1, by conditions asked for (Table 2)",
        rows,
        WON,
        "query",
        _longest(systems, queries_of),
        Column("decline", _DECLINE),
    )


def _task2(systems: Systems) -> Panel:
    """Table 13 of the paper: by neighbours, in all, by style and by words of the documents."""
    rows = []
    for label, one in systems.items():
        rows += _series(label, one, WON, "pair", part="task 2")
        styles = one.levels("style", WON.name, part="task 2")
        for style in styles if len(styles) > 1 else ():
            rows += _series(label, one, WON, "pair", {"style": style}, part="task 2", style=style)
        words = one.levels("words", WON.name, part="task 4")
        for _ in words[:1]:
            rows += _series(label, one, WON, "pair", {"words": "as they are"}, part="task 2")
        for count in words:
            rows += _series(label, one, WON, "pair", {"words": count}, part="task 4", words=count)
    return _of_paper(
        "Task 2: win rate (%) of neighbours on the ladder under the longest query (Table 13)",
        rows,
        WON,
        "pair",
        _longest(systems, pairs_of),
    )


def _task3(results: Sequence[SystemResult], systems: Systems, domains: Sequence[str]) -> Panel:
    """Table 3 of the paper."""
    rows = []
    each = {one.label: one.domains for one in results}
    for label, mean in systems.items():
        for name, one in [*each[label].items(), (_AVERAGE, mean)]:
            rows.append(Measurement.of(label, FLIPS.name, one.mean(FLIPS), {"domain": name}))
    title = "Task 3: flip rate (%), neighbours that change places between styles (Table 3)"
    return _of_paper(title, rows, FLIPS, "domain", domains)


def _folded(title: str, panel: Panel, factor: str, heads: Sequence[str]) -> list[Fold]:
    """The measurements of a panel by another factor, too, with a digit less; nothing if none is."""
    rows = [one for one in panel.measurements if factor in one.by]
    columns = [
        replace(c, measure=replace(c.measure, digits=c.measure.digits - (not c.interval)))
        for c in panel.columns
        if c.measure.name != _DECLINE.name
    ]
    named = Panel("", rows, columns, ["system", factor], heads, interval="", best=False)
    return [Fold(title, [named])] if rows else []


def _singles(systems: Systems) -> list[Panel]:
    """Win rates over single violations, and how often all are beaten; by wording; if any."""
    shown = {label: one for label, one in systems.items() if one.select(WON.name, part="single")}
    if not shown:
        return []
    queries, panels = _longest(systems, queries_of), []
    for title, part, chance in (
        (
            "Win rate (%) of the positive over documents that violate one of n conditions alone, "
            "at a random place",
            "single",
            [0.5 for _ in queries],
        ),
        (
            "How often (%) the positive beats all n of them",
            "beats all",
            [1 / n for n in range(2, len(queries) + 2)],
        ),
    ):
        mean = sum(chance) / len(chance)
        columns = [
            Column(query, _PLAIN, {"query": query}, chance=value)
            for query, value in zip(queries, chance, strict=True)
        ]
        columns.append(Column(_AVERAGE, WON, {"query": _AVERAGE}, interval=True, chance=mean))
        rows = [
            row
            for label, one in shown.items()
            for row in _series(label, one, WON, "query", part=part)
        ]
        panels.append(Panel(title, rows, columns, interval="", chance=_RANDOM, best=False))
    names = [
        name for one in shown.values() for name in one.levels("wording", WON.name, part="wording")
    ]
    if names := ordered(list(dict.fromkeys(names)), WORDINGS):
        halves = []
        for label, one in shown.items():
            halves += one.rows(label, TIES_HALF, more={"wording": "Task 1"}, part="task 1")
            halves += one.rows(label, TIES_HALF, ("wording",), part="wording")
        panels.append(
            Panel(
                "The same of the longest query, by how the violated condition asks; ties as half",
                halves,
                columns_by(TIES_HALF, "wording", ["Task 1", *names]),
                interval="inside",
                terminal_interval="inside",
                between="–",
                chance=_RANDOM,
                best=False,
            )
        )
    return panels


def _controls(systems: Systems) -> Panel:
    """Win rates that hold one thing apart; of the blind ones also the share that ties."""
    words = [w for one in systems.values() for w in one.levels("words", WON.name, part="task 4")]
    parts: dict[str, dict[str, Any]] = {
        "Task 1": {"part": "task 1"},
        "Task 1 blind": {"part": "task 1 blind"},
        "all violated": {"part": "all violated"},
        "Task 2": {"part": "task 2"},
        "Task 2 blind": {"part": "task 2 blind"},
        **{f"{count} words": {"part": "task 4", "words": count} for count in dict.fromkeys(words)},
    }
    columns, rows = [], []
    for name, where in parts.items():
        measures = (_PLAIN, TIED) if name.endswith("blind") else (_PLAIN,)
        for measure in measures:
            columns.append(Column("tied" if measure is TIED else name, measure, {"control": name}))
            for label, one in systems.items():
                rows += one.rows(label, measure, more={"control": name}, **where)
    return Panel(
        "Controls: win rates (%), and of the blind ones the share that ties, so is lost",
        rows,
        columns,
        terminal_interval="inside",
        between="–",
        chance=_RANDOM,
        best=False,
    )


def _further(systems: Systems) -> list[Panel]:
    """A table for each measure that has a title: a column a part."""
    panels = []
    for measure in (one for one in MEASURES if one.title):
        rows = [
            row for label, one in systems.items() for row in one.rows(label, measure, ("part",))
        ]
        parts = dict.fromkeys(row.by["part"] for row in rows)
        panels.append(Panel(measure.title, rows, columns_by(measure, "part", parts), best=False))
    return panels


# --- pictures -------------------------------------------------------------------------------------


def _by_length(systems: Systems) -> Lines:
    shown = list(systems.items())[:_CURVES]
    curves = [_curve(label, one, "query", part="task 1") for label, one in shown]
    curves += [
        _curve(f"{label}, blind", one, "query", part="task 1 blind")._replace(
            low=None, high=None, dashed=True, like=label
        )
        for label, one in shown[: _CURVES // 2]
        if one.select(WON.name, part="task 1 blind")
    ]
    return _picture(
        "ladders_task1",
        "Task 1: win rate by conditions asked for",
        curves,
        "conditions in the query",
        "The positive against HN1, with bands of 95%; dashed: under the query of another ladder.",
    )


def _curve(name: str, results: Results, factor: str, **where: Any) -> Line:
    """A point for each level, from 1."""
    levels = queries_of(results) if factor == "query" else pairs_of(results)
    points = [
        (float(x), Measurement.of(name, WON.name, results.mean(WON, **where, **{factor: level})))
        for x, level in enumerate(levels, start=1)
    ]
    return Line.of(name, points)


def _picture(file: str, title: str, curves: Sequence[Line], x: str, caption: str) -> Lines:
    return Lines(
        file=file,
        title=title,
        curves=curves,
        levels=[CHANCE],
        x=x,
        y="win rate",
        fraction=True,
        caption=caption,
    )


# --- sentences ------------------------------------------------------------------------------------


def sentences(systems: Systems) -> list[str]:
    """The summary of a page, of systems by their labels."""
    result = [_winners(systems), _declines(systems), _others(systems), _blind(systems)]
    return [sentence for sentence in result if sentence]


def _of(systems: Systems, measure: Callable[[Results], Estimate | None]) -> dict[str, Estimate]:
    return {label: one for label, rows in systems.items() if (one := measure(rows)) is not None}


def _winners(systems: Systems) -> str:
    rates = _of(systems, lambda one: one.mean(WON, part="task 1"))
    if not rates:
        return ""
    order = sorted(rates, key=lambda label: -rates[label].value)
    message = [f"{label} {_SENTENCE.spanned(rates[label])}" for label in order[:_NAMED]]
    more = f", {len(order) - _NAMED} more below" if len(order) > _NAMED else ""
    return f"Average win rate of the positive over HN1 (Task 1): {', '.join(message)}{more}."


def _declines(systems: Systems) -> str:
    """Where the interval of Q1 less the longest query excludes 0."""
    conditions = max(conditions_of(one) for one in systems.values())
    declines = _of(systems, decline)
    if conditions < 2 or not declines:
        return ""
    falls = [f"{name} ({_points(d)})" for name, d in declines.items() if d.above(0)]
    rises = [f"{name} ({_points(d)})" for name, d in declines.items() if d.below(0)]
    parts = [f"falls for {', '.join(falls)}"] * bool(falls)
    parts += [f"rises for {', '.join(rises)}"] * bool(rises)
    same = len(declines) - len(falls) - len(rises)
    if same:
        which = "every system" if same == len(declines) else f"{same} of {len(declines)} systems"
        parts.append(f"shows no clear change for {which}")
    return f"From 1 to {conditions} conditions the win rate {listed(parts)}."


def _others(systems: Systems) -> str:
    rates = _of(systems, lambda one: one.mean(WON, part="task 2"))
    flips = _of(systems, lambda one: one.mean(FLIPS))
    parts = []
    if rates:
        best = max(rates, key=lambda label: rates[label].value)
        parts.append(
            f"Among neighbours down the ladder (Task 2) {best} wins most, "
            f"{_SENTENCE.spanned(rates[best])}"
        )
    if flips:
        text = _SENTENCE.spanned(min(flips.values(), key=lambda one: one.value))
        equal = [label for label, one in flips.items() if _SENTENCE.spanned(one) == text]
        begin = "between query styles" if parts else "Between query styles"
        who = f"{equal[0]} changes least" if len(equal) == 1 else f"{listed(equal)} change least"
        parts.append(f"{begin} (Task 3) {who}, {text}")
    return "; ".join(parts) + "." if parts else ""


def _blind(systems: Systems) -> str:
    """Win rates from the documents alone, against chance, where ties are lost."""
    rates = _of(systems, lambda one: one.mean(WON, part="task 1 blind"))
    if not rates:
        return ""
    apart = []
    for label, rate in rates.items():
        chance = (1 - (systems[label].value(TIED, part="task 1 blind") or 0.0)) / 2
        if rate.above(chance) or rate.below(chance):
            apart.append(f"{label} {100 * rate.value:.1f}% where chance is {100 * chance:.1f}%")
    if not apart:
        return "Blind control: under the query of another ladder every system is at chance."
    return (
        f"Blind control: under the query of another ladder {'; '.join(apart)}: the documents "
        "alone give some of the order away."
    )


def _points(estimate: Estimate) -> str:
    return f"by {100 * abs(estimate.value):.1f} points"
