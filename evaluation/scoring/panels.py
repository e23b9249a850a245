"""Panels of scores: the best system first, beside what reads no query and what can be reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from retgen.evaluation.scoring.result import DatasetScores, in_order
from retgen.evaluation.scoring.significance import PairedDifference
from retgen.results.measurements import Measure, Measurement
from retgen.results.panel import Column, Panel, columns_by
from retgen.results.pictures import Level
from retgen.validators.baselines import best_at

BEST, RANDOM = "best reachable", "random order"
_JUDGED, _CUT, _P = (
    Measure(name, digits, better="") for name, digits in (("judged", 2), ("cut", 0), ("p", 3))
)


def score_measure(name: str) -> Measure:
    """How a mean between 0 and 1 is written."""
    return Measure(name, small_digits=3, tiny=True)


def scores_panel(scored: DatasetScores) -> Panel:
    """A row a system, a column a measure; below the best reachable and the baselines.

    Judged@k stands beside them where labels are incomplete, what was cut where anything was.
    """
    names = scored.measures.names
    scores = in_order(scored.scores, scored.primary)
    judged = sorted({name for score in scores for name in score.judged})
    judged.sort(key=lambda name: int(name.partition("@")[2]))
    counted = any(any(cut.values()) for score in scores if (cut := score.details.get("truncated")))
    rows = []
    for score in scores:
        star = " *" if score.details.get("trained_for_truncation") else ""
        label, by = score.model + star, {"dim": str(score.dim or "")}
        rows += [Measurement.of(label, name, score.interval(name), by) for name in names]
        rows += [
            Measurement(label, "judged", {**by, "at": name}, score.judged[name]) for name in judged
        ]
        cut = score.details.get("truncated") or {} if counted else {}
        rows += [
            Measurement(label, "cut", {**by, "of": what}, count) for what, count in cut.items()
        ]
    bounds = bound_rows(scored.ceiling, scored.baselines, names)
    rows += bounds
    rows += [Measurement(BEST, "judged", {"at": name}, scored.ceiling[name]) for name in judged]
    heads = {"docs cut": "documents", "queries cut": "queries"} if counted else {}
    cuts = [Column(head, _CUT, {"of": what}) for head, what in heads.items()]
    return Panel(
        "",
        rows,
        [
            *(Column(name, score_measure(name)) for name in names),
            *columns_by(_JUDGED, "at", judged),
            *cuts,
        ],
        rows=["system", "dim"],
        whole="",
        missing="",
        between="–",
        baselines=frozenset(one.system for one in bounds),
    )


def bound_rows(
    ceiling: Mapping[str, float | None], baselines: Mapping[str, Any], names: Sequence[str]
) -> list[Measurement]:
    """The best that can be reached, the best ranking that never reads the query, a random order."""
    values = {BEST: ceiling}
    if best := baselines["best"]:
        highest = (
            name
            for name, of in baselines["rankings"].items()
            if all(of[measure] == best[measure] for measure in names)
        )
        values[f"query-blind: {next(highest, 'best of each column')}"] = best
    values[RANDOM] = baselines["random"]
    return [Measurement(one, name, {}, of[name]) for one, of in values.items() for name in names]


def baseline_levels(baselines: Mapping[str, Any], measure: str) -> list[Level]:
    """The last two as lines of a picture."""
    levels = []
    if baselines["best"]:
        name, value = best_at(baselines["rankings"], measure)
        levels.append(Level(f"query-blind: {name}", value, True))
    if baselines["random"][measure] is not None:
        levels.append(Level(RANDOM, baselines["random"][measure], True))
    return levels


def data_sets_panel(sets: Sequence[DatasetScores], measure: str, labels: Sequence[str]) -> Panel:
    """A row a system, a column a data set; below the densities of the qrels."""
    rows = [
        score.measured(measure, {"data set": scored.name})
        for label in labels
        for scored in sets
        for score in scored.scores
        if score.label == label
    ]
    graph = {
        "density of the query graph": "query_graph_density",
        "density of the document graph": "document_graph_density",
        "average query strength": "average_query_strength",
    }
    rows += [
        Measurement(what, measure, {"data set": scored.name}, scored.densities[key])
        for what, key in graph.items()
        for scored in sets
    ]
    columns = columns_by(score_measure(measure), "data set", [scored.name for scored in sets])
    return Panel("", rows, columns, heads=[measure], baselines=frozenset(graph))


def differences_panel(
    comparisons: Iterable[PairedDifference], measures: Sequence[str], most: int | None = None
) -> Panel:
    """Paired differences, a row a pair of systems and measure, with p."""
    rows = []
    for c in [c for c in comparisons if c.measure in measures][:most]:
        pair, by = f"{c.first} − {c.second}", {"of": c.measure}
        rows.append(Measurement(pair, "difference", by, c.difference, c.low, c.high))
        rows.append(Measurement(pair, "p", by, None, note=p_value(c.adjusted) or " "))
    columns = [Column("mean", Measure("difference", signed=True), interval=True), Column("p", _P)]
    return Panel(
        "", rows, columns, rows=["system", "of"], heads=["difference", "measure"], best=False
    )


def p_value(p: float | None) -> str:
    """Three digits, and no more certainty than they hold; "" where there is none."""
    if p is None:
        return ""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def signed_interval(low: float | None, high: float | None) -> str:
    """A 95% interval of a difference; "" where there is none."""
    return "" if low is None or high is None else f"{low:+.4f} to {high:+.4f}"
