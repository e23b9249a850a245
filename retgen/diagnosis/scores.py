"""Scores of an ability: how often the right document has the higher score, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from retgen.diagnosis.abilities import CONTROL, Ability, Choice
from retgen.errors import DatasetError
from retgen.progress import Progress
from retgen.results.measurements import Measure
from retgen.results.rows import Results
from retgen.search.base import CandidateSet, System, share_won
from retgen.statistics.clustered import Estimate
from retgen.version import __version__

Array = NDArray[np.float64]
Verdict = Literal["no", "partly", "yes"]

CHANCE = 0.5
_WON = Measure("won")
SMALL = 0.05  # a loss against the control that nobody needs to mind
GOOD = 0.8  # share of choices from which on one may say that a system can do it


@dataclass(frozen=True)
class AbilityScores:
    """A system on one ability. `won`: (choices,), the share of wrong documents below the right one,
    a tie half; `choices`: what they are of.
    """

    won: Array
    choices: Sequence[Choice]

    @property
    def levels(self) -> list[str]:
        """What is tested, without the control."""
        return [one for one in dict.fromkeys(c.level for c in self.choices) if one != CONTROL]

    def groups(self) -> list[str]:
        """Values of the further breakdown; none where there is none."""
        return sorted({one.group for one in self.choices} - {""})

    @cached_property
    def _results(self) -> Results:
        """A row a choice."""
        units, numbers = np.unique([c.unit for c in self.choices], return_inverse=True)
        rows = (
            (unit, {"measure": _WON.name, "level": c.level, "group": c.group}, won)
            for unit, c, won in zip(numbers.tolist(), self.choices, self.won, strict=True)
        )
        return Results.of(units.tolist(), rows)

    def share(self, levels: Sequence[str], group: str = "") -> Estimate | None:
        """The mean at some levels with its interval over units."""
        only = {"group": group} if group else {}
        return self._results.mean(_WON, level={*levels}, **only)

    @property
    def test(self) -> Estimate:
        """Over all levels but the control."""
        return self.share(self.levels) or Estimate(CHANCE)

    @property
    def control(self) -> Estimate:
        """At the control."""
        return self.share([CONTROL]) or Estimate(CHANCE)

    @property
    def loss(self) -> Estimate:
        """Control less test."""
        control, test = {"level": CONTROL}, {"level": {*self.levels}}
        return self._results.difference(_WON, control, test) or Estimate(0.0)

    def less(self, other: AbilityScores) -> Estimate:
        """Its test less that of another system on the same choices."""
        change = self._results.minus(other._results)
        return change.mean(_WON, level={*self.levels}) or Estimate(0.0)

    @property
    def verdict(self) -> Verdict:
        """ "no": not surely above chance; "yes": `GOOD`, and nothing that matters lost against the
        control, or little left to gain; else "partly".
        """
        test, loss = self.test, self.loss
        if (test.value if test.low is None else test.low) <= CHANCE:
            return "no"
        if test.value >= GOOD and (loss.value <= SMALL or test.value >= 1 - SMALL):
            return "yes"
        return "partly"

    def worst(self, count: int) -> list[Choice]:
        """Choices at tested levels that were lost, of different units, first in order."""
        lost: dict[str, Choice] = {}
        for won, choice in zip(self.won.tolist(), self.choices, strict=True):
            if won < CHANCE and choice.level != CONTROL:
                lost.setdefault(choice.unit, choice)
        return list(lost.values())[:count]


def score(system: System, choices: Sequence[Choice], progress: Progress) -> Array:
    """(choices,) shares won. Raises `DatasetError` for scores that are no numbers."""
    # choices about the same documents are neighbours: some scorers encode a stretch at a time
    first: dict[str, int] = {}
    for i, one in enumerate(choices):
        first.setdefault(one.unit, i)
    order = sorted(range(len(choices)), key=lambda i: first[choices[i].unit])
    sets = [CandidateSet(choices[i].query, (choices[i].right, *choices[i].wrong)) for i in order]
    result = np.empty(len(sets))
    for i, scores in zip(order, system.scorer.score(sets, progress), strict=True):
        if not np.isfinite(scores).all():
            raise DatasetError(
                f"it gives no number to {int((~np.isfinite(scores)).sum())} of {len(scores)} "
                f"documents of a query ({choices[i].query[:60]!r})"
            )
        result[i] = share_won(scores[:1], scores[1:], system.scorer.noise).mean()
    return result


def as_json(name: str, one: AbilityScores) -> dict[str, Any]:
    """An ability's row of `--json`: fractions in 0..1, of choices won. `n`: choices of the test."""
    test = one.test
    levels = {level: one.share([level]) for level in one.levels}
    by = {group: one.share(one.levels, group) for group in one.groups()}
    return {
        "name": name,
        **test._asdict(),
        "chance": CHANCE,
        "best": 1.0,
        "control": one.control.value,
        "n": sum(c.level != CONTROL for c in one.choices),
        "verdict": one.verdict,
        "control_interval": one.control._asdict(),
        "loss": one.loss._asdict(),
        "units": len({c.unit for c in one.choices}),
        "levels": {level: value._asdict() for level, value in levels.items() if value},
        "groups": {group: value._asdict() for group, value in by.items() if value},
    }


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
