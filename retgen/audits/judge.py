"""A chat model as a judge of pairs, measured by people's labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.agents.models import ModelSettings, model_description
from retgen.agents.report import CallReport
from retgen.errors import ChecksFailed
from retgen.evaluation.search.judge import JUDGE
from retgen.results.measurements import PERCENT, Measure
from retgen.statistics.clustered import CHANGE, Estimate, Floats, estimate

_INDEX = Measure("Youden's index", digits=2, signed=True, small_digits=2)


@dataclass
class JudgeReport:
    """A judge's labels, and what people's labels say of it.

    `labels` (pairs,): 0 or 1, NaN where it gave none; `asked`: of so many pairs. `compared`: pairs
    that people labelled too, or 0. `sensitivity`: of the relevant pairs, the share it calls
    relevant; `specificity`: of the others, the share it does not; `informedness`: their sum less 1,
    which is 0 by chance (Youden, Cancer 3 (1950)). None where no pair tells.
    """

    settings: ModelSettings
    labels: Floats
    asked: int
    calls: CallReport = field(default_factory=CallReport)
    compared: int = 0
    sensitivity: Estimate | None = None
    specificity: Estimate | None = None
    informedness: Estimate | None = None

    @property
    def name(self) -> str:
        """As a user names it."""
        return self.settings.full_name

    def compare(self, items: NDArray[np.int64], labels: Floats, chances: Floats) -> None:
        """With people's labels of some pairs, NaN where nobody could tell, drawn with `chances`.

        Raises `ChecksFailed` for a judge that is no better than chance.
        """
        own = self.labels[items]
        both = ~np.isnan(own) & ~np.isnan(labels)
        weights, own, labels = 1 / chances[both], own[both], labels[both]
        self.compared = len(own)
        kinds = [labels == 1, labels == 0]
        if not all(kind.any() for kind in kinds):
            return
        rates, parts, worth = zip(
            *(_rate(own[kind] == labels[kind], weights[kind]) for kind in kinds), strict=True
        )
        self.sensitivity, self.specificity = map(estimate, rates, parts, worth)
        both_parts, units = np.concatenate(parts), min(worth)
        self.informedness = one = estimate(sum(rates) - 1, both_parts, units, CHANGE)
        if (one.value if one.low is None else one.low) <= 0:
            raise ChecksFailed(
                f"--judge {self.name}: is no better than chance. By {len(own):,} labels of people "
                f"{self.accuracy()}: Youden's index is {_INDEX.spanned(one)}, that of a coin 0. "
                "Nothing is corrected by it: label more pairs, name another judge, or leave "
                "--judge out; what it answered is kept"
            )

    def accuracy(self) -> str:
        """What people's labels say of it, in words."""
        if self.sensitivity is None or self.specificity is None:
            return "it is not known how often it is right"
        return (
            f"it finds {PERCENT.spanned(self.sensitivity)} of the relevant pairs and rejects "
            f"{PERCENT.spanned(self.specificity)} of the others"
        )

    def to_json(self) -> dict[str, Any]:
        """As audit.json has it."""
        return {
            **model_description(self.settings),
            "prompts": {JUDGE.prompt.name: JUDGE.prompt.sha256},
            "pairs": self.asked,
            "failed_after_repairs": len(self.calls.rejected),
            "compared": self.compared,
            "sensitivity": self.sensitivity and self.sensitivity._asdict(),
            "specificity": self.specificity and self.specificity._asdict(),
            "informedness": self.informedness and self.informedness._asdict(),
            "costs": self.calls.costs(),
        }


def _rate(hits: NDArray[np.bool_], weights: Floats) -> tuple[float, Floats, int]:
    """A weighted share, what each hit adds, and as how many equal chances they are worth."""
    share = float(weights @ hits / weights.sum())
    worth = weights.sum() ** 2 / (weights**2).sum()
    return share, weights * (hits - share) / weights.sum(), int(worth + 1e-9)
