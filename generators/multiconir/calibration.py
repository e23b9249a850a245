"""How often the judge errs: it is asked about bundled cases whose answers are known.

    {"text": "...", "condition": "...", "label": "violated", "kind": "antonym"}

48 cases for each of the paper's five domains, paraphrases and near misses among them. The judge
sees ten at a time, in the form in which it sees ladders: ten texts in one order, ten conditions in
another, two cases of each domain, so that a text rarely bears on another case's condition. What is
asked is the same in every run, so it is paid once for each model and prompt: the ledger has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from retgen.generators.agents import calibration_answers, rounded_share
from retgen.generators.multiconir.agents import CALIBRATE, AskVerdicts, Verdicts, read_verdicts
from retgen.generators.tables import read_rows
from retgen.streams import Stream
from retgen.write import dump_json, write_file

if TYPE_CHECKING:
    from retgen.agents.context import Context


CALIBRATION = "calibration.json"
_RATES = dict[str, float | None]
MEASURED = {
    "model": str, "cases": int, "accuracy": float | None, "kinds": _RATES,
    **dict.fromkeys(("satisfied", "violated", "cannot_tell"), _RATES),
}  # fmt: skip
NONE = "none"  # in place of a verdict: the judge gave none that could be taken
_AT_A_TIME = 10


class CalibrationCase(NamedTuple):
    """A case. `label`: satisfied, violated or cannot_tell; `kind`: what makes it hard."""

    text: str
    condition: str
    label: str
    kind: str


class CalibrationSheet(NamedTuple):
    """Cases that the judge sees together. `question`: where case `texts[i]` stands as text i + 1,
    and case `conditions[i]` as condition i + 1."""

    cases: tuple[CalibrationCase, ...]
    texts: tuple[int, ...]
    conditions: tuple[int, ...]

    @property
    def question(self) -> AskVerdicts:
        """What the judge is asked."""
        return AskVerdicts(
            texts=tuple(self.cases[i].text for i in self.texts),
            conditions=tuple(self.cases[i].condition for i in self.conditions),
            asked=tuple(range(1, len(self.cases) + 1)),
        )


@cache
def cases() -> tuple[CalibrationCase, ...]:
    """All cases, domain by domain."""
    files = sorted((Path(__file__).parent / "calibration_set").glob("*.jsonl"))
    return tuple(CalibrationCase(**row) for file in files for row in read_rows(file))


@cache
def sheets() -> tuple[CalibrationSheet, ...]:
    """The cases, ten a sheet."""
    every, count = cases(), len(cases()) // _AT_A_TIME
    result = []
    for number in range(count):
        stream = Stream(0, f"multiconir/calibration/{number}")  # not the recipe's seed
        texts, conditions = (tuple(stream.permutation(_AT_A_TIME).tolist()) for _ in range(2))
        result.append(CalibrationSheet(every[number::count], texts, conditions))
    return tuple(result)


async def calibrate(context: Context) -> None:
    """Ask the judge about every case; leaves what it said."""
    answers = await calibration_answers(context, CALIBRATE, [one.question for one in sheets()])
    pairs = [
        pair
        for sheet, answer in zip(sheets(), answers, strict=False)
        for pair in zip(sheet.cases, _case_verdicts(sheet, answer), strict=True)
    ]
    result = {"model": context.model(CALIBRATE), **judge_scores(pairs)}
    write_file(context.folder / CALIBRATION, dump_json(result))


def _case_verdicts(sheet: CalibrationSheet, answer: Verdicts | None) -> list[str]:
    """The verdict on each case of a sheet."""
    if answer is None:
        return [NONE] * len(sheet.cases)
    result, faults = read_verdicts(sheet.question, answer)
    stated = {(one.condition, one.text): one.verdict for one in result}
    verdicts = []
    for case in range(len(sheet.cases)):
        condition, text = sheet.conditions.index(case) + 1, sheet.texts.index(case) + 1
        verdict = stated.get((condition, text), "cannot_tell")
        verdicts.append(NONE if condition in faults else verdict)
    return verdicts


def judge_scores(judged: Iterable[tuple[CalibrationCase, str]]) -> dict[str, Any]:
    """Accuracy, precision and recall of each verdict, and accuracy by kind."""
    pairs = list(judged)
    right = sum(text == case.label for case, text in pairs)
    result: dict[str, Any] = {"cases": len(pairs), "accuracy": rounded_share(right, len(pairs))}
    for label in ("satisfied", "violated", "cannot_tell"):
        hits = sum(text == label == case.label for case, text in pairs)
        result[label] = {
            "precision": rounded_share(hits, sum(text == label for _, text in pairs)),
            "recall": rounded_share(hits, sum(case.label == label for case, _ in pairs)),
        }
    kinds: dict[str, list[bool]] = {}
    for case, text in pairs:
        kinds.setdefault(f"{case.label}/{case.kind}", []).append(text == case.label)
    result["kinds"] = {
        kind: rounded_share(sum(hits), len(hits)) for kind, hits in sorted(kinds.items())
    }
    return result


def scores_text(result: dict[str, Any]) -> str:
    """The measurement in a few words."""

    def percent(value: float | None) -> str:
        return "-" if value is None else f"{value:.0%}"

    wrong = round(result["cases"] * (1 - (result["accuracy"] or 0)))
    violated = result["violated"]
    return (
        f"wrong in {wrong} of {result['cases']} calibration cases; of what it calls violated "
        f"{percent(violated['precision'])} is, and it finds {percent(violated['recall'])} of it"
    )
