"""What came out of an evaluation, in three sentences: who leads, against what, and what is missing.

Systems with several dimensions stand for their largest, since differences are tested at it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from retgen.evaluation.scoring.result import DatasetScores, Evaluation, Score, at_largest
from retgen.evaluation.scoring.significance import p_value
from retgen.results.numbers import listed
from retgen.statistics.clustered import Estimate
from retgen.validators.baselines import best_at

LEVEL = 0.05  # of p after correction, below which a difference is said to hold


def sentences(result: Evaluation) -> list[str]:
    """The summary of a page."""
    outcome: list[str] = []
    for task, results in result.of_tasks():
        outcome += task.sentences(results) if results else ()
    ranked = [one for one in result.datasets if one.scores]
    if outcome:  # of candidate sets: what such a data set is for
        ranked = []
    if len(ranked) == 1:
        outcome += _leader(ranked[0], ranked[0].primary), _against(ranked[0], ranked[0].primary)
    elif ranked:
        outcome.append(_leaders(ranked))
    outcome += (f"{one.collection.caution}." for one in ranked if one.collection.caution)
    return [*outcome, missing(result)]


def span_text(span: Estimate) -> str:
    """A 95% interval in words."""
    return "95% interval {:.3f} to {:.3f}".format(*span.span) if span.span else "no interval"


def not_above(score: Score, measure: str, level: float) -> bool:
    """Whether a score is not clearly above, by its interval where it has one."""
    span = score.interval(measure)
    return (span.value if span.low is None else span.low) <= level


def _ranking(scored: DatasetScores, measure: str) -> list[Score]:
    return sorted(at_largest(scored.scores), key=lambda s: (-s.metrics[measure], s.label))


def _leader(scored: DatasetScores, measure: str) -> str:
    ranking = _ranking(scored, measure)
    first = ranking[0]
    span = first.interval(measure)
    value = f"{first.metrics[measure]:.4f} ({span_text(span)})"
    if len(ranking) == 1:
        return f"{first.label} reaches {measure} {value}."
    second = ranking[1]
    lead = first.metrics[measure] - second.metrics[measure]
    if round(lead, 4) == 0:
        equal = [
            s.label for s in ranking if round(first.metrics[measure] - s.metrics[measure], 4) == 0
        ]
        return f"{listed(equal)} share the highest {measure}, {value}."
    text = (
        f"{first.label} has the highest {measure}: {value}, {lead:.4f} more than {second.label}, "
        "the next"
    )
    both = {first.label, second.label}
    for c in scored.comparisons:
        if c.measure == measure and {c.first, c.second} == both and c.adjusted is not None:
            held = "holds" if c.adjusted < LEVEL else "does not hold"
            p = p_value(c.adjusted)
            p = p if p.startswith("<") else f"= {p}"
            text += f"; the lead {held} after Holm's correction (p {p})"
    return text + "."


def _against(scored: DatasetScores, measure: str) -> str:
    """The leader against the query-blind baseline and the best reachable."""
    first, *others = _ranking(scored, measure)
    value, low = first.metrics[measure], first.interval(measure).low
    text = f"{first.label} is {against(scored.baselines, scored.ceiling, measure, value, low)}"
    base = baseline(scored.baselines, measure)[1]
    below = [s.label for s in others if base is not None and not_above(s, measure, base)]
    if below:
        text += f"; not clearly above the baseline: {listed(below)}"
    return f"{text}."


def against(
    baselines: Mapping[str, Any],
    ceiling: Mapping[str, float | None],
    measure: str,
    value: float,
    low: float | None = None,
) -> str:
    """Where a score stands between baseline and ceiling. `low`: where its interval begins."""
    parts = []
    name, base = baseline(baselines, measure)
    if base is not None:
        where = f"{value - base:.4f} above"
        if value <= base:
            where = f"{base - value:.4f} below" if round(base - value, 4) else "at"
        elif low is not None and low <= base:
            where = "not clearly above"
        parts.append(f"{where} the query-blind baseline ({name}, {base:.4f})")
    best = ceiling.get(measure)
    if best is not None:
        gap = f"{best - value:.4f} below" if round(best - value, 4) else "at"
        parts.append(f"{gap} the best that any ranking can reach ({best:.4f})")
    return " and ".join(parts) or f"without a baseline to compare with, for {measure} has none"


def baseline(baselines: Mapping[str, Any], measure: str) -> tuple[str, float | None]:
    """The better of the best query-blind ranking and a random order, and its score."""
    random, best = baselines["random"].get(measure), baselines["best"]
    if best and best.get(measure) is not None and best[measure] >= (random or 0.0):
        return best_at(baselines["rankings"], measure)
    return "random order", random


def _leaders(ranked: Sequence[DatasetScores]) -> str:
    """Which system leads on how many data sets."""
    wins = Counter(_ranking(scored, scored.primary)[0].label for scored in ranked)
    names = listed(list(dict.fromkeys(scored.primary for scored in ranked)))
    lead = listed([f"{name} on {count} of {len(ranked)}" for name, count in wins.most_common()])
    return f"The highest {names} of a data set: {lead}."


def missing(result: Evaluation) -> str:
    """What is incomplete, cut or failed; that nothing is, where nothing is."""
    several = len(result.datasets) > 1
    message = [
        f"{scored.name}: {text}" if several else text
        for scored in result.datasets
        for text in cut_texts(scored.scores)
    ]
    unjudged = [scored for scored in result.datasets if not scored.collection.complete]
    if unjudged:
        where = f" in {listed([scored.name for scored in unjudged])}" if several else ""
        message.insert(0, f"Labels are incomplete{where}")
    if result.failures:
        message.append(f"Not scored: {listed(list(result.failures))}")
    if message:
        return ". ".join(dict.fromkeys(message)) + "."
    return "Every pair is labelled, no text was cut and every system was scored."


def cut_texts(scores: Iterable[Score]) -> list[str]:
    """Which systems did not read all of the texts."""
    result = []
    for score in scores:
        cut = score.details.get("truncated")
        if cut and any(cut.values()):
            result.append(
                f"{score.model} reads {score.details['max_length']} tokens: "
                f"{cut['documents']:,} documents and {cut['queries']:,} queries are cut"
            )
        if shortened := score.details.get("shortened"):
            result.append(
                f"{score.model} was sent {shortened:,} texts in part: whole, they are too long"
            )
    return list(dict.fromkeys(result))
