"""What `gen eval` found: scores of systems and their files, bounds and comparisons of data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.scoring.measures import Measures, mteb_score
from retgen.evaluation.scoring.significance import PairedDifference
from retgen.evaluation.tasks.measure import TaskResults, together
from retgen.evaluation.tasks.task import SystemResult, Task
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Section
from retgen.rows import text_hash
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


def score_measure(name: str) -> Measure:
    """How a mean between 0 and 1 is written."""
    return Measure(name, small_digits=3, tiny=True)


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


# --- data sets ------------------------------------------------------------------------------------


DENSITIES = ("query_graph_density", "document_graph_density", "average_query_strength")
# what an analysis adds: keys of eval.json, and sections of the page and the terminal
Part = tuple[dict[str, Any], list[Section]]


def labels_hash(collection: Collection) -> str:
    """A hash of qrels and grades, the same for the same labels in any order."""
    labels = (
        f"{name}\0{query_id}\0{doc_id}\0{value}"
        for name, table in (("qrels", collection.qrels), ("graded", collection.grades or {}))
        for query_id, docs in table.items()
        for doc_id, value in docs.items()
    )
    return f"{sum(map(text_hash, labels)) % 2**64:016x}"


@dataclass
class DatasetScores:
    """All systems on one data set. `ceiling`: the best that any ranking reaches, by measure.
    `task`: what systems reached on its candidate sets, None where it holds none. `parts`: what was
    looked at beside means over all queries.
    """

    collection: Collection
    measures: Measures
    baselines: dict[str, Any]
    ceiling: dict[str, float | None]
    scores: list[Score]
    comparisons: list[PairedDifference]
    units: Units
    densities: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    name: str = ""  # tells data sets of one call apart
    task: TaskResults | None = None
    parts: list[Part] = field(default_factory=list)

    @property
    def primary(self) -> str:
        """The measure of the order, the summary and the pictures."""
        return primary_of(self.measures.names, self.collection)

    @property
    def all_notes(self) -> list[str]:
        """What a reader of the scores must know."""
        of_task = self.task.notes if self.task else ()
        caution = filter(None, [self.collection.caution])
        return [*caution, *self.collection.notes, *self.notes, *of_task]

    @property
    def aside(self) -> str:
        """Why rankings of the whole corpus say little of it; "" where they do not."""
        return self.task.task.aside if self.task else ""

    def to_json(self) -> dict[str, Any]:
        """The keys that `gen eval --json` prints of one data set."""
        content = {
            "dataset": str(self.collection.path),
            "split": self.collection.split,
            "documents": self.collection.documents,
            "queries": len(self.collection.queries),
            "labels": labels_hash(self.collection),
            "complete": self.collection.complete,
            "results": self._results(),
            "ceiling": self.ceiling,
            "floors": self.baselines,
            "densities": self.densities,
            "comparisons": [comparison._asdict() for comparison in self.comparisons],
            "intervals": {"level": 0.95, "units": self.units.name, "note": self.units.note or None},
            "notes": self.all_notes,
        }
        for keys, _ in self.parts:
            content |= keys
        return content

    def _results(self) -> list[dict[str, Any]]:
        """Every system once: `metrics` is empty where it only orders candidate sets."""
        if self.task is None:
            return [score.to_json() for score in self.scores]
        key, summary = self.task.task.name, self.task.task.summary
        measured = {(one.model, one.dim): one for one in self.task.results}
        result = []
        for score in self.scores:
            row = score.to_json()
            if one := measured.pop((score.model, score.dim), None):
                row[key] = summary(one)
            result.append(row)
        for one in measured.values():
            row = {"model": one.model, "dim": one.dim, "metrics": {}, "details": one.details}
            result.append(row | {key: summary(one)})
        return result


@dataclass
class Evaluation:
    """What `evaluate` found. `failures`: systems that could not be scored, with the reason;
    `exit_code`: the highest of these reasons', 0 where there are none.
    """

    datasets: list[DatasetScores]
    folder: Path
    failures: dict[str, str]
    command: str
    title: str = ""
    about: str = ""
    exit_code: int = 0

    def of_tasks(self) -> list[tuple[Task, list[SystemResult]]]:
        """Each task that data sets hold candidate sets of, and the systems over these sets."""
        result: dict[Task, list[tuple[str, TaskResults]]] = {}
        for one in self.datasets:
            if one.task is not None:
                result.setdefault(one.task.task, []).append((one.name, one.task))
        return [(task, together(sets)) for task, sets in result.items()]

    def to_json(self) -> dict[str, Any]:
        """One data set's keys, or {"datasets": [...]} of several."""
        result = [scored.to_json() for scored in self.datasets]
        content = result[0] if len(result) == 1 else {"datasets": result}
        if len(result) > 1:
            for task, results in self.of_tasks():
                content[task.name] = [
                    {"model": one.model, "dim": one.dim} | task.summary(one) for one in results
                ]
        if self.failures:
            content = content | {"failures": self.failures}
        return content
