"""What `gen eval` found: scores, bounds and comparisons of every data set."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.scoring.scores import Score, primary_of
from retgen.evaluation.scoring.significance import PairedDifference
from retgen.evaluation.tasks.measure import TaskResults, together
from retgen.evaluation.tasks.task import SystemResult, Task
from retgen.results.page import Section
from retgen.rows import text_hash
from retgen.search.collection import Collection
from retgen.statistics.clustered import Units

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
