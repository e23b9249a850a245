"""What verdicts say of a population, and show of a goal: looking at it early costs nothing.

A certificate is given by people alone. It names what was asked, of how many pairs, how many were
looked at and by whom, and what it assumes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.review import assign
from retgen.review.consensus import Consensus
from retgen.review.goals import Goal
from retgen.review.items import PLANNED
from retgen.review.records import Item, Population, PopulationPair, Verdict
from retgen.review.review import Review
from retgen.statistics import rates, sequences
from retgen.statistics.rates import ReviewerRates
from retgen.statistics.sequences import WeightedDraws

# bounds of wrong positives that are tried when looks at both populations are shared out
_GRID = (0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01)

Judged = Sequence[tuple[Item, Verdict]]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PopulationResult:
    """A population, and what holds of the pairs that were looked at.

    `pairs`: all, in order. `consensus`: of items with a verdict, by place. `people`: how many items
    each annotator looked at.
    """

    population: Population
    pairs: Sequence[PopulationPair]
    consensus: Mapping[int, Consensus]
    people: Mapping[str, int]

    @cached_property
    def weights(self) -> Floats:
        """(N,) of the pairs, in order."""
        return np.array([pair.weight for pair in self.pairs])

    @cached_property
    def draws(self) -> WeightedDraws:
        """Of all pairs."""
        return sequences.draws(np.arange(len(self.pairs)), self.weights)

    @cached_property
    def values(self) -> Floats:
        """(n, 2) bounds of whether the label is wrong, up to the last pair that is settled.

        (0, 1) where nobody can tell, or not all who are asked have said the same yet.
        """
        settled = [place for place, one in self.consensus.items() if one.state == "settled"]
        result = np.tile([0.0, 1.0], (max(settled, default=-1) + 1, 1))
        for place in settled:
            relevance = self.consensus[place].relevance
            if relevance is not None:
                result[place] = float((relevance > 0) != (self.population == "positives"))
        return result

    @property
    def seen_draws(self) -> WeightedDraws:
        """Of the pairs that have a value."""
        return self.draws.first(len(self.values))

    def count(self, state: str) -> int:
        """Items in a state of consensus."""
        return sum(one.state == state for one in self.consensus.values())

    @property
    def looked_at(self) -> int:
        """Items that are settled."""
        return self.count("settled")

    @property
    def wrong(self) -> int:
        """Settled items whose label is wrong."""
        return int((self.values[:, 0] == 1).sum())

    @property
    def unsure(self) -> int:
        """Settled items that nobody can tell."""
        return sum(
            one.state == "settled" and one.relevance is None for one in self.consensus.values()
        )


def population_result(
    review: Review, population: Population, by: Mapping[str, Sequence[Verdict]]
) -> PopulationResult:
    """What was found in a population. `by`: the verdicts that stand, by item."""
    states: dict[int, Consensus] = {}
    people: Counter[str] = Counter()
    for item in review.items:
        given = by.get(item.item_id)
        if given and item.population == population and item.planted is None:
            states[item.place] = review.consensus(item, given)
            people.update({one.annotator for one in given if one.part != "second"})
    return PopulationResult(
        population, review.store.pairs(population), states, dict(sorted(people.items()))
    )


def control_verdicts(
    items: Sequence[Item], by: Mapping[str, Sequence[Verdict]], annotator: str | None = None
) -> list[tuple[Item, Verdict]]:
    """The control items that were judged, in the order of verdicts."""
    judged = [
        (item, verdict)
        for item in items
        if item.planted is not None
        for verdict in by.get(item.item_id, ())
        if verdict.part == "first" and annotator in (None, verdict.annotator)
    ]
    return sorted(judged, key=lambda pair: pair[1].number)


def control_rates(judged: Sequence[tuple[Item, Verdict]], relevance: int) -> ReviewerRates:
    """How reviewers do where the label is wrong: of control items with a known `relevance`.

    0: what is wrong is a pair that is not relevant. Pairs of the other relevance are those that
    are right. Who cannot tell is counted on neither side.
    """
    told = [(item.planted, v.relevance) for item, v in judged if v.relevance is not None]
    errors = [min(said or 0, 1) == relevance for known, said in told if known == relevance]
    clean = [min(said or 0, 1) != relevance for known, said in told if known != relevance]
    return ReviewerRates(sum(errors), len(errors), sum(clean), len(clean))


def control_misses(judged: Sequence[tuple[Item, Verdict]], relevance: int) -> list[float]:
    """1 for each control item of a known relevance that was taken for the other, else 0.

    Who cannot tell has missed nothing: a certificate counts such a pair as an error.
    """
    return [
        float(v.relevance is not None and min(v.relevance, 1) != relevance)
        for item, v in judged
        if item.planted == relevance
    ]


def waiting_by_annotator(review: Review, by: Mapping[str, Sequence[Verdict]]) -> Counter[str]:
    """By annotator how many items, which others have judged, wait for them."""
    result: Counter[str] = Counter()
    for item in review.items:
        given = by.get(item.item_id, ())
        if item.planted is None and given and review.consensus(item, given).state == "waiting":
            said = {one.annotator for one in given if one.part == "first"}
            result.update(set(assign.assigned_annotators(item, review.settings)) - said)
    return result


# --- certificates -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReviewCertificate:
    """What is known of a goal.

    `size`: pairs of each population. `looked_at`: of these, settled. `wrong`: labels found wrong.
    `lower`, `upper`: bounds of the rate, each at the goal's confidence. `holds`: None as long as
    neither is shown. `corrected`: the upper bound where reviewers miss what they missed of control
    pairs, None in a review without such; to hold, a goal must hold with it too. `more`: looks still
    needed if no error is found, of control items neither, None: cannot be.
    """

    goal: Goal
    size: Mapping[Population, int]
    looked_at: Mapping[Population, int]
    wrong: Mapping[Population, int]
    unsure: Mapping[Population, int]
    lower: float
    upper: float
    holds: bool | None
    corrected: float | None
    more: Mapping[Population, int] | None
    by: Mapping[str, int]
    assumes: Sequence[str]
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """As `gen review --report --json` prints it."""
        goal = self.goal
        return {
            "goal": str(goal),
            "question": goal.question,
            "rate": goal.rate,
            "level": goal.level,
            "size": dict(self.size),
            "looked_at": dict(self.looked_at),
            "wrong": dict(self.wrong),
            "unsure": dict(self.unsure),
            "lower": self.lower,
            "upper": self.upper,
            "holds": self.holds,
            "corrected": self.corrected,
            "more": None if self.more is None else dict(self.more),
            "by": dict(self.by),
            "assumes": list(self.assumes),
            "reason": self.reason,
        }


def certify(
    goal: Goal,
    of: Mapping[Population, PopulationResult],
    judged: Judged,
    changed: str | None,
    depth: str,
    plants: Counter[int],
) -> ReviewCertificate:
    """What is known of a goal. `of`: both populations. `depth`: the pool in words. `plants`: how
    many control items of each known relevance the review has, judged or not.
    """
    ask = _wrong if goal.question == "wrong" else _missing
    lower, upper, corrected, more = ask(goal, of, judged, plants)
    mine = {name: of[name] for name in _asked(goal)}
    by: dict[str, int] = {}
    for one in mine.values():
        for name, count in one.people.items():
            by[name] = by.get(name, 0) + count
    main: Population = "positives" if goal.question == "wrong" else "others"
    holds, reason = None, ""
    if changed is not None:
        reason = "the data set was changed since this review began"
    elif not mine[main].looked_at:
        reason = "no verdicts yet"
    elif upper <= goal.rate and (corrected is None or corrected <= goal.rate):
        holds = True
    elif upper <= goal.rate and not any((more or {}).values()):
        reason = _overlooked(goal, of, judged, corrected)
    elif lower > goal.rate:
        holds = False
    return ReviewCertificate(
        goal,
        {name: len(one.pairs) for name, one in mine.items()},
        {name: one.looked_at for name, one in mine.items()},
        {name: one.wrong for name, one in mine.items()},
        {name: one.unsure for name, one in mine.items()},
        lower,
        upper,
        holds,
        corrected,
        more,
        by,
        list(_assumed(goal, plants, depth)),
        reason,
    )


def _asked(goal: Goal) -> tuple[Population, ...]:
    return ("positives",) if goal.question == "wrong" else ("positives", "others")


def _assumed(goal: Goal, plants: Mapping[int, int], depth: str) -> Iterator[str]:
    yield "verdicts that annotators agree on, or an adjudicator settled, are right"
    yield "unsure verdicts and unsettled disagreements count as errors"
    known = {0: "not relevant", 1: "relevant"}
    for relevance in (0,) if goal.question == "wrong" else (0, 1):
        if not plants[relevance]:
            yield (
                "annotators see every error: no control items known to be "
                f"{known[relevance]} measure it"
            )
    if any(plants[one] for one in ((0,) if goal.question == "wrong" else (0, 1))):
        yield "corrected: errors of the data are as hard to see as those of the control items"
    if goal.question == "missed":
        yield f"relevant pairs are looked for in {depth}; pairs outside are not asked about"


def _overlooked(
    goal: Goal, of: Mapping[Population, PopulationResult], judged: Judged, corrected: float | None
) -> str:
    """Why what was found is not enough: too little is known of what annotators overlook."""
    asked = {"positives": 0, "others": 1}
    outcomes = [
        one for n in _asked(goal) if of[n].pairs for one in control_misses(judged, asked[n])
    ]
    return (
        f"annotators caught {len(outcomes) - int(sum(outcomes)):,} of {len(outcomes):,} control "
        f"errors and may overlook others: the rate may be {as_percent(corrected or 1.0)}. "
        "Judge more control items, or have annotators who catch them"
    )


def _wrong(
    goal: Goal, of: Mapping[Population, PopulationResult], judged: Judged, plants: Counter[int]
) -> Any:
    one = of["positives"]
    low = sequences.lower(one.values, one.seen_draws, goal.level).low
    high = sequences.upper(one.values, one.seen_draws, goal.level).high
    needed = sequences.looks_needed(one.values, one.draws, goal.rate, goal.level)
    corrected = None
    if plants[0]:
        outcomes = control_misses(judged, 0)
        corrected = rates.certified_upper(one.values, one.seen_draws, outcomes, goal.level)
        if needed is not None:
            needed = _needed_corrected(goal, one, outcomes, plants[0], needed)
    return low, high, corrected, None if needed is None else {"positives": needed}


def _needed_corrected(
    goal: Goal, one: PopulationResult, outcomes: Sequence[float], plants: int, least: int
) -> int | None:
    """Looks that show the goal although annotators overlook errors, if control items come between
    as they are planned, and all are seen. `least`: without any to overlook.
    """
    size = len(one.pairs)
    share = plants / min(size, PLANNED)
    left = max(plants - len(outcomes), 0)

    def looks(more: int) -> int | None:
        """Looks, with as many control items as come with `more` of them."""
        seen = np.r_[outcomes, np.zeros(min(left, int(share * more)))]
        return rates.certified_looks(one.values, one.draws, seen, goal.rate, goal.level)

    low, high = least, size - len(one.values)
    if looks(high) is None:
        return None
    while low < high:  # the more looks, the fewer of them are needed
        middle = (low + high) // 2
        count = looks(middle)
        low, high = (middle + 1, high) if count is None or count > middle else (low, middle)
    return high


def _missing(
    goal: Goal, of: Mapping[Population, PopulationResult], judged: Judged, plants: Counter[int]
) -> Any:
    """Bounds from those of both populations, which share 1 - level."""
    positives, others = of["positives"], of["others"]
    half = 1 - (1 - goal.level) / 2
    n1, n0 = len(positives.pairs), len(others.pairs)

    def bound(end: Any) -> float:
        ends = [end(one) if one.pairs else 0.0 for one in (others, positives)]
        return rates.missing_rate(ends[0], n0, ends[1], n1)

    def upper_bound(one: PopulationResult) -> float:
        known = 0 if one is positives else 1
        if not plants[known]:
            return sequences.upper(one.values, one.seen_draws, half).high
        return rates.certified_upper(
            one.values, one.seen_draws, control_misses(judged, known), half
        )

    low = bound(lambda one: sequences.lower(one.values, one.seen_draws, half).low)
    high = bound(lambda one: sequences.upper(one.values, one.seen_draws, half).high)
    corrected = bound(upper_bound) if (n0 and plants[1]) or (n1 and plants[0]) else None
    return low, high, corrected, _shared_out(goal, positives, others, half)


def _shared_out(
    goal: Goal, positives: PopulationResult, others: PopulationResult, level: float
) -> dict[Population, int] | None:
    """The fewest looks at both populations that show a goal for what is missed."""
    n1, n0 = len(positives.pairs), len(others.pairs)
    if not n0:
        return {"positives": 0, "others": 0}
    now = sequences.upper(positives.values, positives.seen_draws, level).high if n1 else 0.0
    best: dict[Population, int] | None = None
    for wrong in (now, *(one for one in _GRID if one < now)):
        share = goal.rate * n1 * (1 - wrong) / (n0 * (1 - goal.rate))
        if wrong >= 1 or share <= 0:
            continue
        first = _needed(positives, wrong, level) if n1 else 0
        second = _needed(others, share, level)
        if first is None or second is None:
            continue
        if best is None or first + second < sum(best.values()):
            best = {"positives": first, "others": second}
    return best


def _needed(one: PopulationResult, rate: float, level: float) -> int | None:
    if rate >= 1:
        return 0
    return sequences.looks_needed(one.values, one.draws, rate, level)


def in_words(one: Mapping[str, Any]) -> str:
    """A certificate, as `to_json` gives it, in words: what was asked and came out, by whom."""
    goal = one["goal"]
    if one["holds"] is None and one["reason"]:
        return f"{goal}: no certificate, {one['reason']}."
    looked = " and ".join(
        f"{one['looked_at'][name]:,} of {size:,} {_NAMES[name]}"
        for name, size in one["size"].items()
    )
    what = f"{CLAIMS[one['question']]}, at {100 * one['level']:g}% confidence"
    if one["holds"] is False:
        said = f"At least {as_percent(one['lower'], up=False)} of {what}"
    else:
        said = f"At most {as_percent(one['upper'])} of {what}"
    if one["holds"] is None and one["more"] is None:
        said += (
            "; too many errors or unsure verdicts, or too few control errors caught, to show the "
            "goal"
        )
    elif one["holds"] is None:
        parts = [f"{count:,} {_NAMES[name]}" for name, count in one["more"].items() if count]
        said += f"; {' and '.join(parts)} more without an error will show it"
    verdict = {True: "HOLDS", False: "DOES NOT HOLD", None: "OPEN"}[one["holds"]]
    wrong = sum(one["wrong"].values())
    by = ", ".join(f"{name} ({count:,})" for name, count in one["by"].items())
    corrected = " Nothing measures what they overlook." if one["holds"] else ""
    if one["corrected"] is not None:
        corrected = (
            " Corrected for overlooked errors, as measured on control items: at most "
            f"{as_percent(one['corrected'])}."
            if one["corrected"] < 1
            else " What they overlook is not known: too few control items were judged, or caught."
        )
    return (
        f"{goal}: {verdict}. {said}. Settled: {looked}, {wrong:,} "
        f"label{'s' if wrong != 1 else ''} found wrong; judged by {by}.{corrected}"
    )


_NAMES: dict[Population, str] = {
    "positives": "positives",
    "others": "pairs without a positive label",
}
CLAIMS = {
    "wrong": "the positives are not relevant",
    "missed": "the relevant pairs have no positive label",
}


def as_percent(rate: float, *, up: bool = True) -> str:
    """A bound, rounded so that no more is promised than is shown."""
    digits = round(rate * 10_000, 6)
    return f"{(math.ceil if up else math.floor)(digits) / 100:g}%"
