"""What a validation found: findings, and what was measured on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from retgen.validators.rule import Finding


@dataclass
class Validation:
    """What `validate` found.

    `statistics`: counts and histograms. `samples`: see `Samples.shown`. `baselines`: see
    `query_blind_baselines`. `certificate`: of the qrel matrix, see `retgen.qrels`. `origin`: how
    well positives are told from hard negatives without the query, {} without any. `proven`: qrels
    whose labels were proven, 0 without a proof, and `proof` what was shown of each; `judged`: whose
    labels rest on a judge, all else being proven; `judges`: how good these were found to be.
    `reviewed`: people looked: `human` labels are theirs, `edited` other labels of texts that they
    changed, for which nothing vouches. `seconds`: by stage. `taken_up`: parts of the corpus that a
    killed validation had finished. `splits`: that under test, then the others.
    """

    findings: list[Finding]
    statistics: dict[str, Any]
    baselines: dict[str, Any]
    certificate: dict[str, Any]
    origin: dict[str, Any] = field(default_factory=dict)
    proven: int = 0
    proof: str = ""
    judged: int = 0
    human: int = 0
    edited: int = 0
    reviewed: bool = False
    judges: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, Any] = field(default_factory=dict)
    switched_off: dict[str, str] = field(default_factory=dict)
    severities: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    taken_up: int = 0
    splits: list[str] = field(default_factory=list)

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        return sum(finding.severity == "warning" for finding in self.findings)

    @property
    def ok(self) -> bool:
        """No error; warnings are allowed."""
        return self.errors == 0

    def to_json(self) -> dict[str, Any]:
        """The shape of `gen validate --json`."""
        return {
            "ok": self.ok,
            "errors": self.errors,
            "warnings": self.warnings,
            "findings": [finding.to_json() for finding in self.findings],
            "switched_off": self.switched_off,
            "severities": self.severities,
            "split": self.splits[0] if self.splits else None,
            "proven_qrels": self.proven,
            "judged_qrels": self.judged,
            **({"human_qrels": self.human, "edited_qrels": self.edited} if self.reviewed else {}),
            "statistics": self.statistics,
            "floors": self.baselines,
            "certificate": self.certificate,
            "origin": self.origin or None,
        }
