"""The calibration set of the judge: bundled cases whose labels are known.

    {"text": "...", "condition": "...", "label": "violated", "kind": "antonym"}

48 cases for each of the paper's five domains, paraphrases and near misses among them. The judge
sees ten at a time, in the form in which it sees ladders: texts in one order, conditions in
another, two cases of each domain, so that a text rarely bears on another case's condition. The
questions are the same in every run, so each model and prompt pays for them once: the ledger answers
later runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from retgen.agents.judge import CalibrationCase, CalibrationSheet
from retgen.generators.multiconir.agents import AskVerdicts, Verdicts, good_verdicts
from retgen.generators.tables import read_rows
from retgen.streams import Stream

_AT_A_TIME = 10


class JudgedCondition(NamedTuple):
    """A case. `label`: satisfied, violated or cannot_tell; `kind`: what makes it hard."""

    text: str
    condition: str
    label: str
    kind: str


@cache
def cases() -> tuple[JudgedCondition, ...]:
    """All cases, domain by domain."""
    files = sorted((Path(__file__).parent / "calibration_set").glob("*.jsonl"))
    return tuple(JudgedCondition(**row) for file in files for row in read_rows(file))


@cache
def sheets() -> tuple[CalibrationSheet[AskVerdicts, Verdicts], ...]:
    """The cases, ten a sheet."""
    count = len(cases()) // _AT_A_TIME
    result = []
    for number in range(count):
        shown = cases()[number::count]
        stream = Stream(0, f"multiconir/calibration/{number}")  # not the recipe's seed
        texts, conditions = (stream.permutation(_AT_A_TIME).tolist() for _ in range(2))
        question = AskVerdicts(
            texts=tuple(shown[i].text for i in texts),
            conditions=tuple(shown[i].condition for i in conditions),
        )
        known = [CalibrationCase(one.label, f"{one.label}/{one.kind}") for one in shown]
        result.append(CalibrationSheet(question, known, partial(_verdicts, question, shown)))
    return tuple(result)


def _verdicts(
    question: AskVerdicts, shown: Sequence[JudgedCondition], answer: Verdicts
) -> list[str | None]:
    """The verdict on each case; None on a condition whose verdicts have a fault."""
    verdicts, _ = good_verdicts(question, answer)
    result: list[str | None] = []
    for case in shown:
        judged = verdicts.get(question.conditions.index(case.condition) + 1)
        text = question.texts.index(case.text) + 1
        stated = [one.verdict for one in judged or () if one.text == text]
        result.append(None if judged is None else (stated or ["cannot_tell"])[0])
    return result
