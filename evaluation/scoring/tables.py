"""Tables of scores: the best system first, beside what reads no query and what can be reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from retgen.evaluation.collection import Collection
from retgen.evaluation.scoring.mteb_files import mteb_score
from retgen.evaluation.scoring.result import Scored
from retgen.evaluation.scoring.scores import Score
from retgen.pages import Place, TableView, best_places
from retgen.plots import score as shown

BEST = "best reachable"


def primary(scored: Scored) -> str:
    """The measure of the order, the summary and the pictures: the main one, else the first."""
    return primary_of(scored.measures.names, scored.collection)


def primary_of(names: Sequence[str], collection: Collection) -> str:
    """The same, of some measures of a collection."""
    main = mteb_score(collection.main_measure)
    return next((name for name in names if mteb_score(name) == main), names[0])


def in_order(scores: Iterable[Score], measure: str) -> list[Score]:
    """The best system first, its dimensions together, the largest of them first."""
    scores = list(scores)
    best: dict[str, float] = {}
    for score in scores:
        best[score.model] = max(best.get(score.model, -1.0), score.metrics[measure])
    return sorted(scores, key=lambda s: (-best[s.model], s.model, -(s.dim or 0)))


def table(scored: Scored) -> TableView:
    """A row a system, a column a measure; below the best reachable and the baselines.

    Judged@k stands beside them where labels are incomplete, what was cut where anything was.
    """
    names = scored.measures.names
    scores = in_order(scored.scores, primary(scored))
    judged = sorted({name for score in scores for name in score.judged})
    judged.sort(key=lambda name: int(name.partition("@")[2]))
    counted = any(any(cut.values()) for score in scores if (cut := score.details.get("truncated")))
    rows = []
    for score in scores:
        star = " *" if score.details.get("trained_for_truncation") else ""
        row = [score.model + star, str(score.dim or "")]
        row += [f"{score.metrics[name]:.4f}" for name in names]
        row += [f"{score.judged[name]:.2f}" for name in judged]
        if counted:
            cut = score.details.get("truncated")
            row += [f"{cut[what]:,}" if cut else "" for what in ("documents", "queries")]
        rows.append(row)
    begin = len(rows)
    for label, cells in bound_rows(scored.ceiling, scored.baselines, names):
        beside = [f"{scored.ceiling[n]:.2f}" if label == BEST else "" for n in judged]
        rows.append([label, "", *cells, *beside, *[""] * (2 * counted)])
    head = ["system", "dim", *names, *judged, *(["docs cut", "queries cut"] if counted else [])]
    columns = {i: [s.metrics[name] for s in scores] for i, name in enumerate(names, start=2)}
    return TableView(
        head, rows, names=1, faint=range(begin, len(rows)), best=best_places(columns),
        beside={
            (row, column): interval_text(score.interval(name).span)
            for row, score in enumerate(scores)
            for column, name in enumerate(names, start=2)
        },
    )  # fmt: skip


def interval_text(span: Sequence[float] | None) -> str:
    """A 95% interval of a score, small enough for a cell; "" where there is none."""
    return "{:.3f}–{:.3f}".format(*span) if span else ""


def bound_rows(
    ceiling: Mapping[str, float | None], baselines: Mapping[str, Any], names: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Label and cells of the best that can be reached, of the best ranking that never reads the
    query, and of a random order.
    """
    rows = [(BEST, [shown(ceiling[name]) for name in names])]
    if best := baselines["best"]:
        highest = (
            name for name, of in baselines["rankings"].items()
            if all(of[measure] == best[measure] for measure in names)
        )  # fmt: skip
        label = next(highest, "best of each column")
        rows.append((f"query-blind: {label}", [shown(best[name]) for name in names]))
    rows.append(("random order", [shown(baselines["random"][name]) for name in names]))
    return rows


def over_seeds(datasets: Sequence[Scored]) -> TableView:
    """Mean and standard deviation of every score over data sets of one recipe."""
    names = datasets[0].measures.names
    rows, means = [], []
    for score in in_order(datasets[0].scores, primary(datasets[0])):
        of = [s for d in datasets for s in d.scores if s.label == score.label]
        spread = [np.array([s.metrics[name] for s in of]) for name in names]
        cells = [f"{v.mean():.4f} ± {v.std(ddof=1) if len(v) > 1 else 0:.4f}" for v in spread]
        rows.append([score.model, str(score.dim or ""), *cells])
        means.append([float(v.mean()) for v in spread])
    columns = {i + 2: [row[i] for row in means] for i in range(len(names))}
    return TableView(["system", "dim", *names], rows, best=best_places(columns))


def differences(scored: Scored, measure: str) -> TableView:
    """Paired differences of one measure, a row a pair of systems."""
    rows = [
        [
            f"{c.first} − {c.second}",
            f"{c.difference:+.4f}",
            signed_interval(c.low, c.high),
            p_value(c.adjusted),
        ]
        for c in scored.comparisons
        if c.measure == measure
    ]
    return TableView(["difference", measure, "95% interval", "p"], rows)


def signed_interval(low: float | None, high: float | None) -> str:
    """A 95% interval of a difference; "" where there is none."""
    return "" if low is None or high is None else f"{low:+.4f} to {high:+.4f}"


def p_value(p: float | None) -> str:
    """Three digits, and no more certainty than they hold; "" where there is none."""
    if p is None:
        return ""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def of_systems(
    first: str, values: Mapping[str, Sequence[float | None]], columns: Sequence[str]
) -> tuple[list[str], list[list[str]], set[Place]]:
    """Head, rows and best cells of a table with a row a system and a column a data set."""
    rows = [[label, *(shown(value) for value in of)] for label, of in values.items()]
    best = best_places({i + 1: [of[i] for of in values.values()] for i in range(len(columns))})
    return [first, *columns], rows, best
