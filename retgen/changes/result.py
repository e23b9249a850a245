"""What `gen diff` finds: counts, examples, what runs say otherwise."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retgen.changes.examples import Example
from retgen.changes.matched import LabelChanges, TextChanges
from retgen.changes.scores import ScoreChange
from retgen.changes.stated import Differences


@dataclass(frozen=True)
class Diff:
    """What changed from A to B. `qrels`, `graded`: by split. `stated`: what recipes and manifests
    say otherwise, None where one of both is no run.
    """

    a: Path
    b: Path
    documents: TextChanges
    queries: TextChanges
    qrels: dict[str, LabelChanges]
    graded: dict[str, LabelChanges]
    examples: list[Example]
    stated: Differences | None
    scores: list[ScoreChange]
    notes: list[str] = field(default_factory=list)
    command: str = ""

    @property
    def same_records(self) -> bool:
        """Whether all records are the same, in the same order."""
        texts = (self.documents, self.queries)
        labels = [*self.qrels.values(), *self.graded.values()]
        return not any(one.differ for one in texts) and not any(one.differ for one in labels)

    @property
    def differ(self) -> bool:
        """Whether records, or what a run says of them, differ; versions and scores do not count."""
        return not self.same_records or bool((self.stated or {}).keys() - {"versions"})

    def to_json(self) -> dict[str, Any]:
        """As `gen diff --json` prints it."""
        return {
            "a": str(self.a),
            "b": str(self.b),
            "differ": self.differ,
            "documents": self.documents.to_json(),
            "queries": self.queries.to_json(),
            "qrels": {split: one.to_json() for split, one in self.qrels.items()},
            "labels": all_labels(self.qrels),
            "graded": {split: one.to_json() for split, one in self.graded.items()},
            "grades": all_labels(self.graded),
            "examples": [one.to_json() for one in self.examples],
            "manifest": self.stated,
            "scores": [one.to_json() for one in self.scores],
            "notes": self.notes,
        }


def all_labels(splits: dict[str, LabelChanges]) -> dict[str, int]:
    """How many labels went from what to what, of all splits: {"0->1": 3, "none->1": 2}."""
    total: Counter[str] = Counter()
    for one in splits.values():
        total += one.labels
    return {change: total[change] for change in sorted(total)}
