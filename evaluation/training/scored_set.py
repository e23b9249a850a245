"""A data set that a model is scored on, and what its scores are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from retgen.evaluation.collection import Collection
from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.scoring.scores import primary_of
from retgen.evaluation.scoring.significance import PairedDifference, change_text, difference_between
from retgen.evaluation.training.config import Trained
from retgen.evaluation.training.subgroups import Subgroups


@dataclass(frozen=True)
class ScoredSet:
    """A data set that a model is scored on.

    `comparisons`: of the variants, idf alone and the model before, see `compare`; `beside`: means
    of BM25 and of fusions with it, by name and measure, `against`: comparisons with them;
    `intervals`: 95%, by name and measure. `subgroups`: the same of some of its queries, if a column
    splits them, or enough of them share no word with their document.
    `note`: why there are no intervals, or "".
    `seen`: how many of the documents and of the queries stand in training pairs.
    """

    role: Literal["test", "outside"]
    collection: Collection
    measures: Measures
    baselines: dict[str, Any] = field(default_factory=dict)
    ceiling: dict[str, float | None] = field(default_factory=dict)
    comparisons: list[PairedDifference] = field(default_factory=list)
    beside: dict[str, dict[str, float]] = field(default_factory=dict)
    against: list[PairedDifference] = field(default_factory=list)
    intervals: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)
    note: str = ""
    subgroups: Subgroups | None = None
    seen: tuple[int, int] = (0, 0)

    @property
    def label(self) -> str:
        """What its scores are called: test, or outside NAME."""
        return self.role if self.role == "test" else f"{self.role} {self.collection.name}"

    @property
    def where(self) -> str:
        """Its place in a sentence."""
        name = self.collection.name
        return f"on the test set {name}" if self.role == "test" else f"on {name}, outside,"

    @property
    def primary(self) -> str:
        """The measure that it is judged by."""
        return primary_of(self.measures.names, self.collection)

    def scores(self, trained: Trained, when: str) -> dict[str, float]:
        """Measure to score before or after a training."""
        result = trained.scores(when)
        keys = {name: f"{self.label} {name}" for name in self.measures.names}
        return {name: result[key] for name, key in keys.items() if key in result}

    def difference(
        self, first: str, second: str, measure: str
    ) -> tuple[float, float, float] | None:
        """Mean of first - second and its 95% interval; None where they were not compared."""
        return difference_between([*self.comparisons, *self.against], first, second, measure)

    def change(self, first: str, second: str) -> str:
        """The difference by the primary measure in words; empty where there is none."""
        change = self.difference(first, second, self.primary)
        return "" if change is None else change_text(change)

    def above(self, first: str, second: str) -> bool:
        """Whether the interval of the difference by the primary measure lies above 0."""
        change = self.difference(first, second, self.primary)
        return change is not None and change[1] > 0
