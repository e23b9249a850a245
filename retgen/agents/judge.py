"""How often a judge errs: ask it about calibration cases, whose labels are known.

    kind        label      verdict
    paraphrase  satisfied  satisfied    right
    antonym     violated   satisfied    wrong
    literal     satisfied  None         unanswered

In a run an answer that fails its repairs rejects a record and makes no label. So the accuracy,
precision and recall of a judge are those of its answered cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from retgen.agents.agent import A, Agent, Q, RepairsFailed
from retgen.statistics.clustered import wilson

if TYPE_CHECKING:
    from retgen.agents.context import Context

CALIBRATION = "calibration.json"  # of a run's sources/


class CalibrationCase(NamedTuple):
    """A case of a calibration set. `kind`: what makes it easy or hard."""

    label: str
    kind: str


@dataclass(frozen=True)
class CalibrationSheet(Generic[Q, A]):
    """Cases that the judge sees in one question.

    `verdicts`: read an answer into a verdict on each case, None where it gives none.
    """

    question: Q
    cases: Sequence[CalibrationCase]
    verdicts: Callable[[A], Sequence[str | None]]


class Calibration(NamedTuple):
    """Accuracy of a judge on its calibration set, as files and reports hold it.

    Shares have four digits; a share of nothing is None. `interval`: 95%, of the accuracy, for
    independent cases. `verdicts`: precision and recall by verdict. `kinds`: accuracy by kind.
    """

    model: str
    cases: int
    unanswered: int
    accuracy: float | None
    interval: list[float]
    verdicts: dict[str, dict[str, float | None]]
    kinds: dict[str, float | None]

    @classmethod
    def of(
        cls, model: str, cases: Sequence[CalibrationCase], verdicts: Sequence[str | None]
    ) -> Calibration:
        """Compare the verdicts of a judge with the labels of the cases."""
        pairs = [
            (case, verdict)
            for case, verdict in zip(cases, verdicts, strict=True)
            if verdict is not None
        ]
        right = [verdict == case.label for case, verdict in pairs]
        names = {case.label for case, _ in pairs} | {verdict for _, verdict in pairs}
        kinds = {
            kind: _share([verdict == case.label for case, verdict in pairs if case.kind == kind])
            for kind in sorted({case.kind for case in cases})
        }
        return cls(
            model,
            cases=len(cases),
            unanswered=len(cases) - len(pairs),
            accuracy=_share(right),
            interval=[round(end, 4) for end in wilson(sum(right), len(right))],
            verdicts={name: _precision_and_recall(name, pairs) for name in sorted(names)},
            kinds=kinds,
        )

    def sentence(self, known: str = "calibration cases") -> str:
        """The measurement in words, for terminal, report and card. `known`: what the cases are."""
        answered = self.cases - self.unanswered
        if self.accuracy is None:
            return f"not measured, as none of {self.cases:,} {known} was answered"
        low, high = self.interval
        by_verdict = ", ".join(
            f"{name} {_percent(one['precision'])} and {_percent(one['recall'])}"
            for name, one in self.verdicts.items()
        )
        missing = f", {self.unanswered:,} more unanswered" if self.unanswered else ""
        return (
            f"accuracy {self.accuracy:.1%} on {answered:,} {known}{missing} (95% "
            f"interval {low:.1%} to {high:.1%}; precision and recall: {by_verdict})"
        )

    def report(self) -> dict[str, Any]:
        """The measurement with its sentence; see `Family.judges`."""
        return {**self._asdict(), "measured": self.sentence()}


def numbered_passages(passages: Sequence[str]) -> str:
    """Passages as a judge sees them: a text may hold numbers in brackets, or words of a prompt."""
    return "\n".join(
        f'<passage number="{number}">\n{text}\n</passage>'
        for number, text in enumerate(passages, 1)
    )


async def calibrate(
    context: Context, agent: Agent[Q, A], sheets: Sequence[CalibrationSheet[Q, A]]
) -> Calibration:
    """Measure a judge on its calibration set; a pilot asks about the first sheets only."""
    asked = sheets[: context.pilot_size(len(sheets))]
    stage = context.stage("calibration", len(sheets), agent, candidates=len(sheets))

    async def judge(sheet: CalibrationSheet[Q, A]) -> Sequence[str | None]:
        try:
            return sheet.verdicts(await context.answer(agent, sheet.question))
        except RepairsFailed:
            return [None] * len(sheet.cases)

    verdicts = await context.gather(stage, map(judge, asked))
    stage.done = len(asked)
    context.show(stage)
    return Calibration.of(
        context.model(agent),
        [case for sheet in asked for case in sheet.cases],
        [verdict for one in verdicts for verdict in one],
    )


def _precision_and_recall(
    name: str, pairs: Sequence[tuple[CalibrationCase, str]]
) -> dict[str, float | None]:
    return {
        "precision": _share([case.label == name for case, verdict in pairs if verdict == name]),
        "recall": _share([verdict == name for case, verdict in pairs if case.label == name]),
    }


def _share(hits: list[bool]) -> float | None:
    return round(sum(hits) / len(hits), 4) if hits else None


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
