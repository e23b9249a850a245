"""What a study with `train` found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgen.studies.study import Study

if TYPE_CHECKING:
    from retgen.evaluation.scoring.result import Evaluation
    from retgen.evaluation.training.result import Training


@dataclass(frozen=True)
class Trainings:
    """What a study with `train` found: `trained` by (trained on, dimension)."""

    study: Study
    folder: Path
    trained: dict[tuple[str, int], Training]
    beside: Evaluation | None
    about: str
    command: str
    failures: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """What `gen eval STUDY --json` prints."""
        return {
            "study": self.study.study,
            "trained": [
                {"on": on, "dim": dim, **one.to_json()} for (on, dim), one in self.trained.items()
            ],
            "beside": self.beside.to_json() if self.beside else None,
        }
