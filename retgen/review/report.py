"""What a review says: agreement, error rates, certificates, and what to look at next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from retgen.errors import UsageError
from retgen.results.numbers import duration
from retgen.review import goals
from retgen.review.certificates import (
    CLAIMS,
    Judged,
    PopulationResult,
    ReviewCertificate,
    as_percent,
    certify,
    control_rates,
    control_verdicts,
    population_result,
    waiting_by_annotator,
)
from retgen.review.records import Population, Verdict
from retgen.review.review import Review
from retgen.search.collection import manifest_of
from retgen.statistics import plans, rates
from retgen.statistics.agreement import agreement

POPULATIONS: tuple[Population, ...] = ("positives", "others")
SECONDS = 20  # of a look, before anybody was timed
LEVEL = 0.95  # of intervals that no goal names one for
_NEXT = 5  # strata that are named as the least known ones
_RATIO = 4  # of a plan's unacceptable rate, the goal, to its acceptable one

By = Mapping[str, Sequence[Verdict]]


def report(review: Review) -> dict[str, Any]:
    """All of it, as `gen review --report --json` prints it. Rates are fractions.

    Every figure follows from the file of verdicts alone.
    """
    settings, by = review.settings, review.by_item()
    changed = review.change_message()
    of = _populations(review, by)
    judged = control_verdicts(review.items, by)
    certificates = _certificates(review, by, of, changed)
    by_stratum = {name: _strata(one) for name, one in of.items()}
    return {
        "dataset": str(review.path),
        "split": settings.split,
        "mode": settings.mode,
        "pool": {"retrievers": list(settings.pool), "depth": settings.depth},
        "populations": {
            name: {
                "size": len(one.pairs),
                "looked_at": one.looked_at,
                "wrong": one.wrong,
                "unsure": one.unsure,
                "open": one.count("open"),
                "waiting": one.count("waiting"),
            }
            for name, one in of.items()
        },
        "planted": {
            name: sum(one.planted == relevance for one in review.items)
            for name, relevance in (("not_relevant", 0), ("relevant", 1))
        },
        "left_out": review.store.note("left_out") or 0,
        "changed": changed,
        "annotators": {name: _annotator(review, name, by) for name in settings.annotators},
        "agreement": _agreement(review, by),
        "with_oneself": _with_oneself(review, by),
        "rates": {name: _rates(one, judged) for name, one in of.items()},
        "strata": by_stratum,
        "judge": _judge(review, of),
        "certificates": [one.to_json() for one in certificates],
        "plans": {
            str(goal): _plans(goal, len(of["positives"].pairs))
            for goal in goals.parse_goals(settings.goals)
            if goal.question == "wrong"
        },
        "stale": [
            {
                "number": one.verdict.number,
                "item": one.verdict.item_id,
                "annotator": one.verdict.annotator,
                "reason": one.reason,
            }
            for one in review.stale()
        ],
        "next": _next(review, by, of, by_stratum),
    }


def _populations(review: Review, by: By) -> dict[Population, PopulationResult]:
    return {name: population_result(review, name, by) for name in POPULATIONS}


def _certificates(
    review: Review,
    by: By,
    of: Mapping[Population, PopulationResult],
    changed: str | None = None,
) -> list[ReviewCertificate]:
    """A certificate for each goal."""
    settings = review.settings
    judged = control_verdicts(review.items, by)
    plants = Counter(one.planted for one in review.items if one.planted is not None)
    pool = f"the first {settings.depth} of {', '.join(settings.pool)} for each query"
    return [
        certify(goal, of, judged, changed, pool, plants)
        for goal in goals.parse_goals(settings.goals)
    ]


class ReviewForecast(NamedTuple):
    """What a review asks of people, and what it shows if none of them finds an error.

    `looks`: left for each annotator. `seconds`: of one look. `certificates`: after all of them.
    `for_goals`: looks of each annotator that would show all goals, about; None: none would.
    """

    looks: Mapping[str, int]
    seconds: float
    certificates: Sequence[ReviewCertificate]
    for_goals: int | None

    def __str__(self) -> str:
        by_count: dict[int, list[str]] = {}
        for name, count in self.looks.items():
            by_count.setdefault(count, []).append(name)
        work = "; ".join(
            f"{', '.join(names)}: {count:,} look{'s' * (count != 1)}"
            f"{' each' * (len(names) > 1)}, about {duration(count * self.seconds)}"
            for count, names in by_count.items()
        )
        shown = " and ".join(
            f"at most {as_percent(max(one.upper, one.corrected or 0.0))} of {what} "
            f"(wanted: at most {as_percent(one.goal.rate)})"
            for one in self.certificates
            for what in [CLAIMS[one.goal.question]]
        )
        text = f"{work}. If no error is found, that shows {shown}"
        if not all(one.holds for one in self.certificates):
            text += (
                ". Not even looking at everything would show all that is wanted"
                if self.for_goals is None
                else f". All that is wanted takes about {self.for_goals:,} looks of each person"
            )
        return f"{text}."


def forecast(review: Review) -> ReviewForecast:
    """Count the looks that are asked for, and certify as if none of them found an error."""
    by = {item_id: list(given) for item_id, given in review.by_item().items()}
    seconds = [v.seconds for given in by.values() for v in given if v.seconds is not None]
    left = {name: review.planned_looks(name) for name in review.settings.annotators}
    for name, looks in left.items():
        for item, part in looks:
            right = int(item.population == "positives") if item.planted is None else item.planted
            by.setdefault(item.item_id, []).append(
                Verdict(0, item.item_id, name, part, "accept", right, item.shown, item.label)
            )
    return ReviewForecast(
        {name: len(looks) for name, looks in left.items()},
        median(seconds) if seconds else SECONDS,
        _certificates(review, by, _populations(review, by)),
        _for_goals(review),
    )


def _for_goals(review: Review) -> int | None:
    """From the fewest pairs that show them: both populations are looked at in turn."""
    settings, by = review.settings, review.by_item()
    of = _populations(review, by)
    needed: Counter[Population] = Counter()
    for one in _certificates(review, by, of):
        if one.more is None:
            return None
        for name, more in one.more.items():
            needed[name] = max(needed[name], more + of[name].looked_at)
    places = max(needed.values(), default=0)
    pairs = sum(min(places, len(of[name].pairs)) for name in needed)
    share = settings.overlap + (1 - settings.overlap) / len(settings.annotators)
    return math.ceil(pairs * share * (1 + settings.second) / (1 - settings.plants))


# --- people -----------------------------------------------------------------------------------


def _annotator(review: Review, name: str, by: By) -> dict[str, Any]:
    """What one annotator did, and how they judge control items."""
    mine = [v for given in by.values() for v in given if v.annotator == name]
    first = [v for v in mine if v.part == "first"]
    seconds = [v.seconds for v in mine if v.seconds is not None]
    judged = control_verdicts(review.items, by, name)
    errors, others = control_rates(judged, 0), control_rates(judged, 1)
    return {
        "judged": len(first),
        "second": sum(v.part == "second" for v in mine),
        "adjudicated": sum(v.part == "adjudication" for v in mine),
        "unsure": sum(v.relevance is None for v in first),
        "fixed": sum(v.decision == "fix" for v in first),
        "seconds": median(seconds) if seconds else None,
        # of control items: positives that are not relevant, and others that are
        "wrong": _share(errors.caught, errors.planted),
        "missed": _share(others.caught, others.planted),
        "unsure_of_planted": sum(v.relevance is None for _, v in judged),
    }


def _share(caught: int, planted: int) -> dict[str, Any]:
    """How many of the control items were seen for what they are, with an exact interval."""
    if not planted:
        return {"planted": 0, "caught": 0, "sensitivity": None, "low": None, "high": None}
    low, high = plans.clopper_pearson(planted - caught, planted, LEVEL)
    return {
        "planted": planted,
        "caught": caught,
        "sensitivity": caught / planted,
        "low": 1 - high,
        "high": 1 - low,
    }


def _table(review: Review, by: By, part: str, people: Sequence[str]) -> list[list[float | None]]:
    """(items, people) relevances of one part; items that nobody of them could tell are left out."""
    rows = []
    for item in review.items:
        if item.planted is None:
            said = {v.annotator: v.relevance for v in by.get(item.item_id, ()) if v.part == part}
            row = [said.get(name) for name in people]
            if any(value is not None for value in row):
                rows.append([None if value is None else float(value) for value in row])
    return rows


def _measures(review: Review, rows: list[list[float | None]]) -> dict[str, Any]:
    grades = review.settings.grades
    result = agreement(
        rows, categories=range(grades), ordinal=grades > 2, level=LEVEL, seed=review.settings.seed
    )
    return {name: asdict(one) for name, one in result.items()}


def _agreement(review: Review, by: By) -> dict[str, Any] | None:
    """Between annotators, of their first looks; None for one annotator."""
    people = review.settings.annotators
    if len(people) < 2:
        return None
    rows = _table(review, by, "first", people)
    twice = sum(sum(value is not None for value in row) > 1 for row in rows)
    return {"items": twice, **_measures(review, rows)}


def _with_oneself(review: Review, by: By) -> dict[str, Any]:
    """Of each annotator, between the first and the second look at the same pair."""
    result = {}
    for name in review.settings.annotators:
        rows: list[list[float | None]] = []
        for given in by.values():
            said = {v.part: v.relevance for v in given if v.annotator == name}
            first, second = said.get("first"), said.get("second")
            if first is not None and second is not None:
                rows.append([float(first), float(second)])
        if rows:
            measures = _measures(review, rows)
            result[name] = {"items": len(rows), "raw": measures["raw"], "ac1": measures["ac1"]}
    return result


# --- rates ------------------------------------------------------------------------------------


def _rates(one: PopulationResult, judged: Judged) -> dict[str, Any] | None:
    """The share of wrong labels in a population, as found and corrected; None before any look."""
    if not one.looked_at:
        return None
    rate = rates.rate(one.values, one.seen_draws, LEVEL)
    reviewers = control_rates(judged, 0 if one.population == "positives" else 1)
    corrected = None
    if reviewers.planted and rate.estimate is not None:
        corrected = asdict(rates.correct_rate(rate, reviewers))
    return {**asdict(rate), "corrected": corrected}


def _strata(one: PopulationResult) -> dict[str, dict[str, Any]]:
    """By stratum and value the rate of wrong labels; each value is a population of its own."""
    if not one.looked_at:
        return {}
    names = dict.fromkeys(name for pair in one.pairs for name in pair.strata)
    order = np.arange(len(one.pairs))
    result = {}
    for name in names:
        values = [pair.strata.get(name, "") for pair in one.pairs]
        by_value = rates.by_stratum(values, order, one.weights, one.values, LEVEL)
        result[name] = {
            str(value) or "not stated": asdict(rate)
            for value, rate in sorted(by_value.items(), key=lambda pair: _natural(str(pair[0])))
        }
    return result


def _natural(text: str) -> tuple[float, str]:
    """Numbers in their order, before texts."""
    begin = text.split(" ")[0].split("-")[0]
    return (float(begin), text) if begin.isdigit() else (float("inf"), text)


def _judge(review: Review, of: Mapping[Population, PopulationResult]) -> dict[str, Any] | None:
    """A judge's labels against people's; None where labels are no judge's, or nobody looked.

    Each population is one label of the judge. `accuracy`: over both, weighted by their sizes.
    """
    manifest = manifest_of(review.dataset)
    evidence = manifest.get("evidence")
    if not isinstance(evidence, dict) or not evidence.get("judged"):
        return None
    told = [name for name, one in of.items() if one.looked_at]
    if len(told) < len(POPULATIONS):
        return None
    half = 1 - (1 - LEVEL) / 2
    parts = {name: rates.rate(one.values, one.seen_draws, half) for name, one in of.items()}
    total = sum(len(one.pairs) for one in of.values())

    def accuracy(values: Mapping[Population, float]) -> float:
        return 1 - sum(values[name] * len(of[name].pairs) for name in values) / total

    estimates = {n: r.estimate for n, r in parts.items() if r.estimate is not None}
    return {
        "judges": sorted(manifest.get("judges") or {}),
        "accuracy": accuracy(estimates) if len(estimates) == len(parts) else None,
        "low": accuracy({name: rate.high for name, rate in parts.items()}),
        "high": accuracy({name: rate.low for name, rate in parts.items()}),
        "precision": None if (wrong := estimates.get("positives")) is None else 1 - wrong,
        "prediction_powered": {name: _powered(one) for name, one in of.items()},
    }


def _powered(one: PopulationResult) -> dict[str, Any]:
    """The share of relevant pairs by people's labels and the judge's grades of all pairs."""
    grades = [pair.strata.get("grade") for pair in one.pairs]
    top = max((int(grade) for grade in grades if grade is not None), default=0)
    if None in grades or len(set(grades)) < 2:
        why = "the judge gives all pairs of this population the same grade, so it adds nothing"
        return {"reason": why}
    if (one.values[:, 0] != one.values[:, 1]).any():
        why = "some pairs among those looked at cannot be told, or are not settled"
        return {"reason": why}
    wrong = one.values[:, 0]
    relevant = 1 - wrong if one.population == "positives" else wrong
    try:
        judged = [int(grade or 0) / top for grade in grades]
        return asdict(rates.ppi_mean(relevant, judged, one.draws, LEVEL))
    except UsageError as error:
        return {"reason": str(error)}


def _plans(goal: goals.Goal, lot: int) -> dict[str, Any]:
    """Acceptance plans for a goal: one that is a quarter of it passes, the goal does not."""
    accepted, beta = goal.rate / _RATIO, round(1 - goal.level, 12)
    result: dict[str, Any] = {"p1": accepted, "p2": goal.rate, "alpha": 0.05, "beta": beta}
    makers: dict[str, Callable[[], plans.SinglePlan | plans.DoublePlan]] = {
        "single": lambda: plans.single(accepted, goal.rate, 0.05, beta),
        "single_of_lot": lambda: plans.single(accepted, goal.rate, 0.05, beta, lot),
        "double": lambda: plans.double(accepted, goal.rate, 0.05, beta),
    }
    for name, make in makers.items():
        try:
            result[name] = asdict(make())
        except UsageError as error:
            result[name] = {"reason": str(error)}
    wald = plans.sequential(accepted, goal.rate, 0.05, beta)
    result["sequential"] = {
        "h1": wald.h1,
        "h2": wald.h2,
        "slope": wald.slope,
        "average": wald.average(accepted),
        "average_at_goal": wald.average(goal.rate),
    }
    return result


# --- what is next -----------------------------------------------------------------------------


def _next(
    review: Review,
    by: By,
    of: Mapping[Population, PopulationResult],
    strata: Mapping[Population, Mapping[str, Mapping[str, Any]]],
) -> dict[str, Any]:
    """What shortens the intervals: open items, who is waited for, the strata least is known of."""
    least = [
        {
            "population": population,
            "stratum": name,
            "value": value,
            "looked": rate["looked"],
            "population_size": rate["population"],
            "low": rate["low"],
            "high": rate["high"],
            # what the interval of the whole owes to this part
            "share": (rate["high"] - rate["low"]) * rate["population"] / len(of[population].pairs),
        }
        for population, names in strata.items()
        for name, values in names.items()
        for value, rate in values.items()
    ]
    least.sort(key=lambda one: -one["share"])
    return {
        "adjudicate": len(review.open_items()),
        "waiting_for": dict(sorted(waiting_by_annotator(review, by).items())),
        "items": {
            name: next((look.item.item_id for look in review.planned_looks(name, 1)), None)
            for name in review.settings.annotators
        },
        "least_known": least[:_NEXT],
    }
