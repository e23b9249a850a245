"""What the page of `gen eval` shows of ladders: sections with their tables, and the pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from retgen.evaluation.tasks.multiconir.panels import (
    Systems,
    averages,
    by_condition,
    by_label,
    by_style,
    by_violations,
    by_words,
    controls,
    singles,
    task1,
    task2,
    task3,
)
from retgen.evaluation.tasks.multiconir.rates import Rates
from retgen.evaluation.tasks.multiconir.summary import RateTable, Series
from retgen.evaluation.tasks.task import SystemResult
from retgen.results.measurements import Measure, Measurement
from retgen.results.numbers import listed
from retgen.results.page import Fold, Section
from retgen.results.panel import Panel
from retgen.results.pictures import CHANCE, Line, Lines
from retgen.statistics.clustered import Estimate, too_few

_CURVES = 6  # systems in a picture


def sections(results: Sequence[SystemResult[Rates]]) -> Iterable[Section]:
    """The sections of the page."""
    systems = by_label(results)
    ladders = max(read.rates.ladders for read in systems.values())
    domains = list(dict.fromkeys(name for one in results for name in one.domains))
    first, second, third = task1(systems), task2(systems), task3(results, systems)
    over = f" and {len(domains)} domains, which weigh the same" if len(domains) > 1 else ""
    yield Section(
        "Ladders",
        [
            f"Averages over {ladders:,} ladders{over}, in percent, the best of a column in bold. "
            "Below each stands its 95% interval over ladders. Decline is "
            "Q1 less the longest query; blind is under the query of another ladder.",
        ],
        [averages(systems)],
    )
    yield Section(
        "Task 1: more conditions",
        [
            "The share of ladders in which the positive scores strictly higher than HN1, which "
            "violates one of the conditions asked for; a tie is a loss. Qn asks for conditions 1 "
            "to n; decline is Q1 less the last. The table has the mean of the query styles.",
        ],
        [first],
        [_by_length(systems)],
        folded=_folds("Each query style by itself", by_style(first)),
    )
    yield Section(
        "Task 2: down the ladder",
        [
            "Neighbours on the ladder under the longest query: HN1 violates one condition, HN2 two "
            "and so on. P is the positive. The paper's Table 13 runs the other way, from the "
            "documents that violate most.",
        ],
        [second],
        [_down(systems)],
        folded=_folds("Each query style by itself", by_style(second)),
    )
    if third is not None:
        yield Section(
            "Task 3: the style of the query",
            [
                "Of the same neighbours, how many are won under one style of the query and not won "
                "under the other; by domain, and the unweighted mean.",
            ],
            [third],
        )
    if violated := singles(systems):
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
    notes += filter(None, [too_few(ladders, f"{ladders} ladders")])
    folded = [
        *_folds("Task 4: longer documents", by_words(second)),
        *_folds("Which condition is violated", by_condition(systems)),
        *_folds("Win rates by conditions asked for and violated", list(by_violations(systems))),
    ]
    pictures = [_violated(systems)] if any(r.has_violations for r in systems.values()) else []
    yield Section(
        "Controls",
        [
            "With n conditions a single violation is one n-th of the evidence, so a falling curve "
            "in Task 1 mixes two things: longer queries, and smaller differences. Held apart: the "
            "win rate by how many of the conditions asked for are violated, and the one where all "
            "of them are, whatever n.",
        ],
        [controls(systems)],
        pictures,
        notes,
        folded,
    )


def _folds(title: str, panels: Sequence[Panel]) -> list[Fold]:
    return [Fold(title, panels)] if panels else []


def _by_length(systems: Systems) -> Lines:
    shown = list(systems.items())
    curves = [_curve(label, read.task1()) for label, read in shown[:_CURVES]]
    curves += [
        _curve(f"{label}, blind", read.blind(), like=label)
        for label, read in shown[: _CURVES // 2]
        if read.rates.where("blind")
    ]
    return Lines(
        file="ladders_task1",
        title="Task 1: win rate by conditions asked for",
        curves=curves,
        levels=[CHANCE],
        x="conditions in the query",
        y="win rate",
        fraction=True,
        caption="The positive against HN1, with bands of 95%; dashed: under the query of another "
        "ladder.",
    )


def _down(systems: Systems) -> Lines:
    curves = [_curve(label, read.task2()) for label, read in list(systems.items())[:_CURVES]]
    return Lines(
        file="ladders_task2",
        title="Task 2: win rate of neighbours",
        curves=curves,
        levels=[CHANCE],
        x="HN(i-1) against HNi, at i",
        y="win rate",
        fraction=True,
        caption="At 1 stands the positive against HN1. Bands are 95% intervals.",
    )


def _violated(systems: Systems) -> Lines:
    shown = {label: read for label, read in systems.items() if read.has_violations}
    curves, diagonal = [], []
    for label, read in list(shown.items())[: _CURVES // 2 + 1]:
        name = f"{label}, {read.conditions} conditions"
        curves.append(_curve(name, read.violations(read.conditions)))
        other = f"{label}, no other condition"
        diagonal.append(_curve(other, read.all_violated(), like=name))
    return Lines(
        file="ladders_violations",
        title="Win rate by violated conditions",
        curves=[*curves, *diagonal],
        levels=[CHANCE],
        x="violated conditions",
        y="win rate",
        fraction=True,
        caption="The positive against documents that violate more and more of the longest query; "
        "dashed: of queries that ask for nothing else.",
    )


def _curve(name: str, series: Series, like: str = "") -> Line:
    """A point for each level, from 1; dashed and without a band beside the curve `like`."""
    points = [
        (float(x), Measurement.of(name, "win rate", one))
        for x, one in enumerate(series.estimates().values(), start=1)
    ]
    curve = Line.of(name, points)
    return curve._replace(low=None, high=None, dashed=True, like=like) if like else curve


_NAMED = 3  # systems named in a sentence
_RATE = Measure("rate", 1, percent=True, sign="%")


def sentences(systems: Mapping[str, RateTable]) -> list[str]:
    """The summary of a page, of systems by their labels."""
    result = [_winners(systems), _decline(systems), _others(systems), _blind(systems)]
    return [sentence for sentence in result if sentence]


def _of(
    systems: Mapping[str, RateTable], measure: Callable[[RateTable], Estimate | None]
) -> dict[str, Estimate]:
    return {label: one for label, read in systems.items() if (one := measure(read)) is not None}


def _winners(systems: Mapping[str, RateTable]) -> str:
    rates = _of(systems, lambda read: read.task1().average)
    if not rates:
        return ""
    order = sorted(rates, key=lambda label: -rates[label].value)
    message = [f"{label} {_RATE.spanned(rates[label])}" for label in order[:_NAMED]]
    more = f", {len(order) - _NAMED} more below" if len(order) > _NAMED else ""
    return f"Average win rate of the positive over HN1 (Task 1): {', '.join(message)}{more}."


def _decline(systems: Mapping[str, RateTable]) -> str:
    """Where the interval of Q1 less the longest query excludes 0."""
    conditions = max(read.conditions for read in systems.values())
    declines = _of(systems, RateTable.decline)
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


def _others(systems: Mapping[str, RateTable]) -> str:
    rates = _of(systems, lambda read: read.task2().average)
    flips = _of(systems, lambda read: read.flips().average)
    parts = []
    if rates:
        best = max(rates, key=lambda label: rates[label].value)
        parts.append(
            f"Among neighbours down the ladder (Task 2) {best} wins most, "
            f"{_RATE.spanned(rates[best])}"
        )
    if flips:
        least = min(flips.values(), key=lambda one: one.value)
        text = _RATE.spanned(least)
        equal = [label for label, one in flips.items() if _RATE.spanned(one) == text]
        begin = "between query styles" if parts else "Between query styles"
        who = f"{equal[0]} changes least" if len(equal) == 1 else f"{listed(equal)} change least"
        parts.append(f"{begin} (Task 3) {who}, {text}")
    return "; ".join(parts) + "." if parts else ""


def _blind(systems: Mapping[str, RateTable]) -> str:
    """Win rates from the documents alone, against chance, where ties are lost."""
    rates = _of(systems, lambda read: read.blind().average)
    if not rates:
        return ""
    apart = []
    for label, rate in rates.items():
        tied = systems[label].rates.mean([("tied", "blind task1")])
        chance = (1 - (tied.value if tied else 0.0)) / 2
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
