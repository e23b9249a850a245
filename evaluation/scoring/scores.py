"""Scores as files: TREC runs, scores query by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.scoring.measures import mteb_score
from retgen.results.measurements import Measurement
from retgen.search.base import label, slug
from retgen.search.collection import Collection
from retgen.search.rankings import Rankings, write_run
from retgen.statistics.clustered import Estimate, Units
from retgen.write import make_folder, write_rows


@dataclass(frozen=True)
class Score:
    """One system on one data set. `values` (queries, measures); everything in 0..1."""

    model: str
    dim: int | None
    names: list[str]
    values: NDArray[np.float64]
    intervals: NDArray[np.float64]
    judged: dict[str, float]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The system's name in tables."""
        return label(self.model, self.dim, self.details)

    @property
    def metrics(self) -> dict[str, float]:
        """Means over the queries."""
        return dict(zip(self.names, map(float, self.values.mean(axis=0)), strict=True))

    def interval(self, name: str) -> Estimate:
        """A measure's mean with its 95% interval."""
        at = self.names.index(name)
        return Estimate.of(float(self.values[:, at].mean()), self.intervals[at])

    def measured(self, name: str, by: Mapping[str, str] | None = None) -> Measurement:
        """A measure's mean with its interval, as tables and pictures have it."""
        return Measurement.of(self.label, name, self.interval(name), by)

    def within(self, rows: NDArray[np.int64], units: Units) -> Score:
        """The same over some of the queries alone."""
        values = self.values[rows]
        return replace(self, values=values, intervals=units.within(rows).interval(values))

    def to_json(self) -> dict[str, Any]:
        """As `gen eval --json` prints it."""
        result: dict[str, Any] = {"model": self.model, "dim": self.dim, "metrics": self.metrics}
        if self.judged:
            result["judged"] = self.judged
        spans = [self.interval(name) for name in self.names]
        result["intervals"] = {n: s[1:] for n, s in zip(self.names, spans, strict=True)}
        return result | {"details": self.details}


def primary_of(names: Sequence[str], collection: Collection) -> str:
    """The measure of the order, the summary and the pictures: the main one, else the first."""
    main = mteb_score(collection.main_measure)
    return next((name for name in names if mteb_score(name) == main), names[0])


def in_order(scores: Iterable[Score], measure: str) -> list[Score]:
    """The best system first, its dimensions together, the largest of them first."""
    scores = list(scores)
    best: dict[str, float] = {}
    for score in scores:
        best[score.model] = max(best.get(score.model, -1.0), score.metrics[measure])
    return sorted(scores, key=lambda s: (-best[s.model], s.model, -(s.dim or 0)))


def at_largest(scores: Sequence[Score]) -> list[Score]:
    """A model once, at its largest dimension."""
    largest: dict[str, Score] = {}
    for score in scores:
        if score.model not in largest or (score.dim or 0) > (largest[score.model].dim or 0):
            largest[score.model] = score
    return list(largest.values())


def write_score(folder: Path, collection: Collection, score: Score, rankings: Rankings) -> bool:
    """runs/NAME.trec and per_query/NAME.jsonl; whether the run holds ids that are encoded."""
    make_folder(folder / "runs")
    make_folder(folder / "per_query")
    name = slug(score.model, score.dim)
    path, coded = folder / "runs" / f"{name}.trec", False
    if path.resolve() != Path(score.details.get("run", "")).resolve():  # it was given
        coded = write_run(path, collection, rankings, name)
    lines = (
        {"query-id": query.query_id, **dict(zip(score.names, row, strict=True))}
        for query, row in zip(collection.queries, score.values.tolist(), strict=True)
    )
    write_rows(folder / "per_query" / f"{name}.jsonl", lines)
    return coded
