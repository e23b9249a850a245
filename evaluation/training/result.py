"""What `gen train` did and found."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from retgen.evaluation.collection import Collection
from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.scoring.significance import Difference
from retgen.evaluation.training.config import TrainConfig, Trained
from retgen.evaluation.training.pairs import Pairs

WITHOUT = "in-batch negatives only"


@dataclass(frozen=True)
class ScoredSet:
    """A data set that a model is scored on. `comparisons`: of the models, see `Bootstrap`."""

    role: Literal["test", "outside"]
    collection: Collection
    measures: Measures
    baselines: dict[str, Any] = field(default_factory=dict)
    ceiling: dict[str, float | None] = field(default_factory=dict)
    comparisons: list[Difference] = field(default_factory=list)

    def scores(self, trained: Trained, when: str) -> dict[str, float]:
        """Measure to score before or after a training."""
        result, prefix = trained.scores(when), f"{self.role} "
        return {k.removeprefix(prefix): v for k, v in result.items() if k.startswith(prefix)}


@dataclass(frozen=True)
class Training:
    """What `train` did and found.

    `in_batch_only`: the training compared with, None without `compare`. `shared`: how many of the
    training pairs are pairs of the test set too.
    """

    folder: Path
    model: str
    config: TrainConfig
    pairs: Pairs
    trained: Trained
    in_batch_only: Trained | None
    scored_sets: list[ScoredSet]
    shared: int
    command: str

    def notes(self) -> list[str]:
        """What a reader of the scores must know."""
        name, notes = self.scored_sets[0].collection.name, []
        held = " (held-out ones among them)" if self.trained.held_out_pairs else ""
        if self.shared:
            notes.append(
                f"{self.shared:,} of the {len(self.pairs):,} training pairs{held} are pairs of the "
                f"test set {name}: its scores measure memory, not retrieval"
            )
        else:
            notes.append(f"no training pair is a pair of the test set {name}")
        if len(self.scored_sets) == 1:
            notes.append("outside: not measured (--outside PATH or mteb:NAME measures it)")
        for scored in self.scored_sets:
            notes += [f"{scored.collection.name}: {note}" for note in scored.collection.notes]
        return notes

    def to_json(self) -> dict[str, Any]:
        """What `gen train --json` prints."""
        run = self.trained
        shown: dict[str, Any] = {
            "base": self.model,
            "model": str(run.path),
            "origin": self.pairs.origin,
            "pairs": run.pairs,
            "hard_negatives": run.hard_negatives,
            "prompts": run.prompts,
            "held_out_pairs": run.held_out_pairs,
            "pairs_of_the_test_view": self.shared,
            "steps": run.steps,
            "best_step": run.best_step,
            "seconds": run.seconds,
            "device": run.device,
            "dtype": run.dtype,
            "weights_dtype": run.weights_dtype,
            "config": self.config.model_dump(mode="json"),
            "test": None,
            "outside": None,
            "history": run.history,
            "losses": run.losses,
            "notes": self.notes(),
        }
        for scored in self.scored_sets:
            shown[scored.role] = {
                "dataset": str(scored.collection.path),
                "split": scored.collection.split,
                "before": scored.scores(run, "before"),
                "after": scored.scores(run, "after"),
                "in_batch_only": (
                    scored.scores(self.in_batch_only, "after") if self.in_batch_only else None
                ),
                "ceiling": scored.ceiling,
                "floors": scored.baselines,
                "comparisons": [one._asdict() for one in scored.comparisons],
            }
        return shown
