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
from retgen.results.panel import Column, Panel, Slice, columns_by, levels_of, pivot
from retgen.results.pictures import CHANCE, Line, Lines
from retgen.results.rows import Results, over_data_sets
from retgen.statistics.clustered import Estimate, too_few

Systems = Mapping[str, Results]

WORDINGS = ("literal", "paraphrase", "entailed")
_AVERAGE, _RANDOM = "average", "random order"
_CURVES = 6  # systems in a picture
_NAMED = 3  # systems named in a sentence
_CHANGE = replace(WON, chance=0.0, better="")
_PLAIN = replace(WON, digits=1, better="")  # where no column has a best one
_SENTENCE = Measure("rate", 1, percent=True, sign="%")
_INSIDE: dict[str, Any] = {"terminal_interval": "inside", "between": "–", "best": False}
_OF_PAPER: dict[str, Any] = {"interval": "", "chance": _RANDOM}  # a table of the paper
_STYLES = "Each query style by itself"


def systems_of(results: Sequence[SystemResult]) -> dict[str, Results]:
    """The rows of each system by its label, the highest average of Task 1 first."""
    systems = {one.label: over_data_sets([*one.domains.values()]) for one in results}
    averages = {label: one.value(WON, part="task 1") or 0.0 for label, one in systems.items()}
    return dict(sorted(systems.items(), key=lambda one: -averages[one[0]]))


def queries_of(results: Results) -> list[str]:
    """Q1, Q2, ...; Qn asks for n conditions."""
    return results.levels("query", WON.name, part="task 1")


def pairs_of(results: Results) -> list[str]:
    """P>1, 1>2, ..."""
    return results.levels("pair", WON.name, part="task 2")


def decline(results: Results, **where: Any) -> Estimate | None:
    """Q1 less the longest query."""
    ends = [{"part": "task 1", "query": one, **where} for one in queries_of(results)]
    return results.difference(WON, ends[0], ends[-1]) if ends else None


def ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Known names in their order, then others by the alphabet."""
    return sorted(names, key=lambda one: (order.index(one) if one in order else len(order), one))


def sections(results: Sequence[SystemResult]) -> Iterable[Section]:
    """The sections of the page."""
    systems = systems_of(results)
    slices = [Slice(label, one) for label, one in systems.items()]
    longest = max(systems.values(), key=lambda one: len(queries_of(one)))
    queries, pairs = queries_of(longest), pairs_of(longest)
    ladders = max(one.units for one in systems.values())
    domains = list(dict.fromkeys(name for one in results for name in one.domains))
    over = f" and {len(domains)} domains, which weigh the same" if len(domains) > 1 else ""
    last = {"query": queries[-1]} if len(queries) > 1 else {}
    declines = Column("decline", _CHANGE, {"part": "task 1", "query": "Q1"}, last)
    yield Section(
        "Ladders",
        [
            f"Averages over {ladders:,} ladders{over}, in percent, the best of a column in bold. "
            "Below each stands its 95% interval over ladders. Decline is "
            "Q1 less the longest query; blind is under the query of another ladder.",
        ],
        [
            pivot(
                "Averages (%)",
                slices,
                [
                    Column("Task 1", replace(WON, digits=1), {"part": "task 1"}),
                    replace(declines, measure=replace(_CHANGE, digits=1)),
                    Column("Task 2", replace(WON, digits=1), {"part": "task 2"}),
                    Column("Task 3: flips", replace(FLIPS, digits=1), {"part": "task 3"}),
                    Column("Task 1, blind", _PLAIN, {"part": "task 1 blind"}),
                ],
                between="–",
                chance=_RANDOM,
            )
        ],
    )
    *by_query, average = _levels("task 1", "query", queries)
    first, second = [*by_query, declines, average], _levels("task 2", "pair", pairs)
    yield Section(
        "Task 1: more conditions",
        [
            "The share of ladders in which the positive scores strictly higher than HN1, which "
            "violates one of the conditions asked for; a tie is a loss. Qn asks for conditions 1 "
            "to n; decline is Q1 less the last. The table has the mean of the query styles.",
        ],
        [
            pivot(
                "Task 1: win rate (%) of the positive over HN1, by conditions asked for (Table 2)",
                slices,
                first,
                **_OF_PAPER,
            )
        ],
        [_task1_picture(slices, queries)],
        folded=_folded(_STYLES, slices, first, "style"),
    )
    yield Section(
        "Task 2: down the ladder",
        [
            "Neighbours on the ladder under the longest query: HN1 violates one condition, HN2 two "
            "and so on. P is the positive. The paper's Table 13 runs the other way, from the "
            "documents that violate most.",
        ],
        [
            pivot(
                "Task 2: win rate (%) of neighbours on the ladder under the longest query "
                "(Table 13)",
                slices,
                second,
                **_OF_PAPER,
            )
        ],
        [
            _picture(
                "ladders_task2",
                "Task 2: win rate of neighbours",
                _curves(slices[:_CURVES], "task 2", "pair", pairs),
                "HN(i-1) against HNi, at i",
                "At 1 stands the positive against HN1. Bands are 95% intervals.",
            )
        ],
        folded=_folded(_STYLES, slices, second, "style"),
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
    if shown := [one for one in slices if one.results.select(WON.name, part="single")]:
        yield Section(
            "One condition violated, wherever it stands",
            [
                "Against the positive stands each document that violates one of the n conditions "
                "alone. Pair by pair a longer query changes little, but the positive seldom beats "
                "all n of them, as it must to be ranked first.",
            ],
            _singles(shown, queries),
        )
    fourth = _levels({"task 2", "task 4"}, "pair", pairs)
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
        [
            pivot(
                "Controls: win rates (%), and of the blind ones the share that ties, so is lost",
                slices,
                [
                    Column("Task 1", _PLAIN, {"part": "task 1"}),
                    Column("Task 1 blind", _PLAIN, {"part": "task 1 blind"}),
                    Column("tied", TIED, {"part": "task 1 blind"}),
                    Column("all violated", _PLAIN, {"part": "all violated"}),
                    Column("Task 2", _PLAIN, {"part": "task 2"}),
                    Column("Task 2 blind", _PLAIN, {"part": "task 2 blind"}),
                    Column("tied", TIED, {"part": "task 2 blind"}),
                    *(
                        Column(f"{one} words", _PLAIN, {"part": "task 4", "words": one})
                        for one in levels_of(slices, "words", WON, part="task 4")
                    ),
                ],
                chance=_RANDOM,
                **_INSIDE,
            ),
            *(
                pivot(
                    one.title,
                    slices,
                    columns_by(one, "part", levels_of(slices, "part", one)),
                    best=False,
                )
                for one in MEASURES
                if one.title
            ),
        ],
        notes=[*notes, *filter(None, [too_few(ladders, f"{ladders} ladders")])],
        folded=_folded("Task 4: longer documents", slices, fourth, "words"),
    )


def _levels(part: str | set[str], factor: str, levels: Sequence[str]) -> list[Column]:
    """A column a level, and their average with its interval."""
    average = Column(_AVERAGE, WON, {"part": part}, interval=True)
    return [*columns_by(WON, factor, levels, part=part), average]


def _folded(
    title: str, slices: Sequence[Slice], columns: Sequence[Column], factor: str
) -> list[Fold]:
    """The same by a factor, with a digit less; nothing where it has one level."""
    plain = [replace(c.measure, digits=c.measure.digits - (not c.interval)) for c in columns]
    columns = [replace(one, measure=measure) for one, measure in zip(columns, plain, strict=True)]
    whole = "as they are" if factor == "words" else ""
    panel = pivot("", slices, columns, [factor], interval="", best=False, whole=whole)
    several = len({one.by.get(factor) for one in panel.measurements}) > 1
    return [Fold(title, [panel])] if several else []


def _task3(results: Sequence[SystemResult], systems: Systems, domains: Sequence[str]) -> Panel:
    """Table 3 of the paper."""
    each = {one.label: one.domains for one in results}
    rows = [
        Measurement.of(label, FLIPS.name, one.mean(FLIPS), {"domain": name})
        for label, mean in systems.items()
        for name, one in [*each[label].items(), (_AVERAGE, mean)]
    ]
    columns = columns_by(FLIPS, "domain", domains)
    return Panel(
        "Task 3: flip rate (%), neighbours that change places between styles (Table 3)",
        rows,
        [*columns, Column(_AVERAGE, FLIPS, {"domain": _AVERAGE}, interval=True)],
        **_OF_PAPER,
    )


def _singles(slices: Sequence[Slice], queries: Sequence[str]) -> list[Panel]:
    """Win rates over single violations, and how often all are beaten; by wording, if known."""
    panels = []
    for title, part, chances in (
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
        chances.append(sum(chances) / len(chances))
        plain = [
            replace(one, chance=chance, measure=one.measure if one.interval else _PLAIN)
            for one, chance in zip(_levels(part, "query", queries), chances, strict=True)
        ]
        panels.append(pivot(title, slices, plain, best=False, **_OF_PAPER))
    if names := levels_of(slices, "wording", WON, part="wording"):
        columns = [
            Column("Task 1", TIES_HALF, {"part": "task 1"}),
            *columns_by(TIES_HALF, "wording", ordered(names, WORDINGS), part="wording"),
        ]
        title = "The same of the longest query, by how the violated condition asks; ties as half"
        style = {"interval": "inside", "chance": _RANDOM, **_INSIDE}
        panels.append(pivot(title, slices, columns, **style))
    return panels


# --- pictures -------------------------------------------------------------------------------------


def _task1_picture(slices: Sequence[Slice], queries: Sequence[str]) -> Lines:
    shown = slices[:_CURVES]
    blind = [one for one in shown if one.results.select(WON.name, part="task 1 blind")]
    curves = _curves(shown, "task 1", "query", queries)
    curves += [
        line._replace(name=f"{line.name}, blind", low=None, high=None, dashed=True, like=line.name)
        for line in _curves(blind[: _CURVES // 2], "task 1 blind", "query", queries)
    ]
    return _picture(
        "ladders_task1",
        "Task 1: win rate by conditions asked for",
        curves,
        "conditions in the query",
        "The positive against HN1, with bands of 95%; dashed: under the query of another ladder.",
    )


def _curves(slices: Sequence[Slice], part: str, factor: str, levels: Sequence[str]) -> list[Line]:
    """A curve a system, with a point for each level, from 1."""
    return [
        Line.of(one.name, enumerate(one.series(WON, factor, levels, part=part), start=1))
        for one in slices
    ]


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
    result = [_winners(systems), _declines(systems), _blind(systems)]
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
    conditions = max(len(queries_of(one)) for one in systems.values())
    declines = _of(systems, decline)
    if conditions < 2 or not declines:
        return ""
    falls = [f"{name} ({_points(d)})" for name, d in declines.items() if d.above(0)]
    rises = [f"{name} ({_points(d)})" for name, d in declines.items() if d.below(0)]
    parts = [f"falls for {', '.join(falls)}"] * bool(falls)
    parts += [f"rises for {', '.join(rises)}"] * bool(rises)
    same = len(declines) - len(falls) - len(rises)
    if same:
        which = "any system" if same == len(declines) else f"{same} of {len(declines)} systems"
        parts.append(f"shows no clear change for {which}")
    return f"From 1 to {conditions} conditions the win rate {listed(parts)}."


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
        return (
            "Blind control: where no pair ties, every system is at chance under the query of "
            "another ladder."
        )
    return (
        f"Blind control: under the query of another ladder {'; '.join(apart)}: the documents "
        "alone give some of the order away."
    )


def _points(estimate: Estimate) -> str:
    return f"by {100 * abs(estimate.value):.1f} points"
