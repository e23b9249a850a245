"""What a diagnosis found: the scores of systems, ability by ability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retgen.diagnosis.abilities import Ability
from retgen.diagnosis.scores import AbilityScores, as_json
from retgen.version import __version__


@dataclass
class Diagnosis:
    """What `diagnose` found. `scores`: by system, by name of an ability; `systems`: the diagnosed
    one first; `details`: how each runs; `failures`: by system, why something is missing.
    """

    systems: Sequence[str]
    abilities: Sequence[Ability]
    folder: Path
    seed: int
    quick: bool
    command: str
    scores: dict[str, dict[str, AbilityScores]] = field(default_factory=dict)
    details: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    exit_code: int = 0

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints and diagnosis.json holds."""
        rows = {
            system: {
                "abilities": [as_json(name, one) for name, one in of.items()],
                "details": self.details.get(system, {}),
            }
            for system, of in self.scores.items()
        }
        first = self.systems[0]
        return {
            "system": first,
            "seed": self.seed,
            "quick": self.quick,
            "version": __version__,
            **rows.get(first, {"abilities": []}),
            "against": {system: of for system, of in rows.items() if system != first},
            "failures": self.failures,
        }
