"""What audits found: of a benchmark's labels, and of two sets' orders of systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from retgen.audits.order import (
    Agreement,
    SystemScores,
    WriterBias,
    difference,
    is_certain,
)
from retgen.audits.overlap import mean_overlap, word_overlap
from retgen.audits.pool import DEPTH, POSITIVE, LabelErrors, Pool
from retgen.evaluation.scoring.result import DatasetScores
from retgen.evaluation.scoring.scores import at_largest
from retgen.statistics.clustered import FEWEST, Estimate
from retgen.validators.validation import Validation
from retgen.version import __version__

if TYPE_CHECKING:
    from retgen.audits.judge import JudgeReport

POOL, NEXT, POINTS = 20, 200, 0.02


@dataclass
class Audit:
    """What `audit` found. `errors` None: nobody has labelled anything yet. `labelled`: pairs, by
    people; 0 where a judge labelled alone, whose word has no interval.
    """

    scored: DatasetScores
    validation: Validation
    pool: Pool
    errors: LabelErrors | None
    labelled: int
    folder: Path
    command: str
    notes: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    exit_code: int = 0
    judge: JudgeReport | None = None

    @property
    def complete(self) -> bool:
        """Whether the set says that a pair without a qrel is not relevant: none is unjudged."""
        return self.scored.collection.complete

    @property
    def questions(self) -> Path:
        """Where the next pairs to judge are written: nothing that somebody filled is replaced."""
        first = self.folder / "to_judge.tsv"
        if first.is_file():
            lines = first.read_text("utf-8", "replace").split("\n")[2:]
            if any(line.split("\t")[0].strip() for line in lines):
                return self.folder / "to_judge_next.tsv"
        return first

    @property
    def by(self) -> str:
        """What scores are, beside those by the labels as they stand."""
        return "corrected" if self.labelled else "judge's"

    @property
    def systems(self) -> list[str]:
        """The runs, in the order of the pool's."""
        return [score.label for score in at_largest(self.scored.scores)]

    def as_labelled(self, run: int) -> float:
        """A run's precision by the labels as they are."""
        return float(self.pool.precision(run) @ (self.pool.strata == POSITIVE))

    def differences(self) -> list[tuple[str, str, Estimate]]:
        """Of the corrected precision of all pairs of runs, the better one first."""
        result = []
        for first, second in combinations(range(len(self.systems)), 2):
            assert self.errors is not None
            one = self.errors.difference(self.pool, first, second)
            if one.value < 0:
                first, second = second, first
                one = self.errors.difference(self.pool, first, second)
            result.append((self.systems[first], self.systems[second], one))
        return result

    def labels_needed(self) -> int | None:
        """How many labels in all bring every run's precision to +-2 points; None before an
        interval.
        """
        if self.errors is None or self.labelled < FEWEST:
            return None
        low, high = self.labelled, len(self.pool)
        values = [self.pool.precision(run) for run in range(len(self.systems))]
        while high > low:
            middle = (low + high) // 2
            widest = max(self.errors.fit.half_width(one, middle) for one in values)
            low, high = (low, middle) if widest <= POINTS else (middle + 1, high)
        return high

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints and audit.json holds."""
        found, floors = self.errors, self.scored.baselines
        plain = [] if found is None else [one and one._asdict() for one in found.recall]
        return {
            "dataset": str(self.scored.collection.path),
            "version": __version__,
            "complete": self.complete,
            "judge": self.judge and self.judge.to_json(),
            "structure": {
                key: value
                for key, value in self.validation.to_json().items()
                if key in ("ok", "errors", "warnings", "findings")
            },
            "floors": floors,
            "pool": {
                "pairs": len(self.pool),
                "depth": POOL,
                "positives": int((self.pool.strata == POSITIVE).sum()),
            },
            "labelled": self.labelled,
            "labels_needed": self.labels_needed(),
            "missing": found and found.missing and found.missing._asdict(),
            "wrong": found and found.wrong and found.wrong._asdict(),
            "runs": [
                {"system": name, "judged": score.judged, f"P@{DEPTH}": self.as_labelled(i)}
                | (
                    {}
                    if found is None
                    else {
                        f"{self.by} P@{DEPTH}": found.precision[i]._asdict(),
                        f"{self.by} recall@{DEPTH}": plain[i],
                    }
                )
                for i, (name, score) in enumerate(
                    zip(self.systems, at_largest(self.scored.scores), strict=True)
                )
            ],
            "differences": []
            if found is None
            else [{"first": a, "second": b, **one._asdict()} for a, b, one in self.differences()],
            "notes": self.notes,
            "failures": self.failures,
        }


class OverlapGap:
    """The share of a query's content words in its relevant documents, on both sets."""

    def __init__(self, synthetic: DatasetScores, real: DatasetScores) -> None:
        values = [word_overlap(one.collection) for one in (synthetic, real)]
        units = [one.units for one in (synthetic, real)]
        self.synthetic, self.real = (
            mean_overlap(one, of) for one, of in zip(values, units, strict=True)
        )
        self.gap: Estimate | None = None
        if self.synthetic is not None and self.real is not None:
            rows = [np.flatnonzero(~np.isnan(one)) for one in values]
            of = [one.within(at) for one, at in zip(units, rows, strict=True)]
            mine, theirs = (one[at][:, None] for one, at in zip(values, rows, strict=True))
            self.gap = difference(mine, of[0], theirs, of[1])

    def to_json(self) -> dict[str, Any]:
        """Estimates, None where no query has content words."""
        named = {"synthetic": self.synthetic, "real": self.real, "gap": self.gap}
        return {name: one and one._asdict() for name, one in named.items()}


@dataclass
class OrderComparison:
    """What `audit_against` found. `bias`: None where no writer is known; `failures`: by system."""

    measure: str
    synthetic: SystemScores
    real: SystemScores
    agreement: Agreement
    bias: WriterBias | None
    overlap: OverlapGap
    folder: Path
    command: str
    notes: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    exit_code: int = 0

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints and audit.json holds."""
        tau, chance = self.agreement.tau, self.agreement.chance
        return {
            "synthetic": self.synthetic.name,
            "real": self.real.name,
            "measure": self.measure,
            "version": __version__,
            "tau": tau and {**tau._asdict(), "share_of_random_orders": chance},
            "systems": [
                {"system": name, "synthetic": mine, "real": theirs}
                for name, mine, theirs in zip(
                    self.real.systems,
                    self.synthetic.means.tolist(),
                    self.real.means.tolist(),
                    strict=True,
                )
            ],
            "pairs": [
                {
                    "first": one.first,
                    "second": one.second,
                    "certain_on_real": one.certain,
                    "same_on_synthetic": one.same,
                    "certain_on_synthetic": is_certain(one.synthetic),
                    "real": one.real._asdict(),
                    "synthetic": one.synthetic._asdict(),
                }
                for one in self.agreement.pairs
            ],
            "writer_bias": self.bias
            and {
                "writer": self.bias.writer,
                "maker": self.bias.maker,
                "systems": self.bias.own,
                **self.bias.bias._asdict(),
            },
            "word_overlap": self.overlap.to_json(),
            "notes": self.notes,
            "failures": self.failures,
        }
