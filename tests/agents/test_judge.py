"""How often a judge errs: verdicts against labels, in numbers and in words."""

from __future__ import annotations

import asyncio
from pathlib import Path

from retgen.agents.agent import Agent, AnswerSchema, Question, RepairsFailed
from retgen.agents.context import Context
from retgen.agents.judge import Calibration, CalibrationCase, CalibrationSheet, calibrate
from retgen.agents.prompt import Prompt
from retgen.agents.report import CallReport


class AskPrimes(Question):
    numbers: tuple[int, ...]


class Primes(AnswerSchema):
    primes: list[int]


def odd_or_two(question: AskPrimes) -> Primes:
    """A judge that takes odd numbers for primes, and fails on 1."""
    if 1 in question.numbers:
        raise RepairsFailed("judge_primes/offline", "is 1 a prime?", ())
    return Primes(primes=[one for one in question.numbers if one % 2 or one == 2])


JUDGE = Agent(
    name="judge_primes",
    role="judge",
    prompt=Prompt("primes", "Primes.", "", "Which are? {{numbers}}", "0" * 64),
    question=AskPrimes,
    answer=Primes,
    offline=odd_or_two,
)
PRIMES = (2, 3, 5, 7)


def sheet(*numbers: int) -> CalibrationSheet[AskPrimes, Primes]:
    def verdicts(answer: Primes) -> list[str | None]:
        # of 8 no verdict can be read
        return [
            None if one == 8 else "prime" if one in answer.primes else "composite"
            for one in numbers
        ]

    return CalibrationSheet(
        AskPrimes(numbers=numbers),
        [
            CalibrationCase(
                "prime" if one in PRIMES else "composite", "even" if one % 2 == 0 else "odd"
            )
            for one in numbers
        ],
        verdicts,
    )


SHEETS = [sheet(2, 3), sheet(4, 9), sheet(1, 5), sheet(8, 7)]


def test_a_judge_is_measured_on_what_it_answers(tmp_path: Path) -> None:
    context = Context(tmp_path, {}, CallReport())
    result = asyncio.run(calibrate(context, JUDGE, SHEETS))
    assert result == Calibration(
        "offline",
        cases=8,
        unanswered=3,
        accuracy=0.8,
        interval=[0.3755, 0.9638],
        verdicts={
            "composite": {"precision": 1.0, "recall": 0.5},
            "prime": {"precision": 0.75, "recall": 1.0},
        },
        kinds={"even": 1.0, "odd": 0.6667},
    )
    sentence = (
        "accuracy 80.0% on 5 calibration cases, 3 more unanswered (95% interval 37.5% to 96.4%; "
        "precision and recall: composite 100% and 50%, prime 75% and 100%)"
    )
    assert result.report() == {**result._asdict(), "measured": sentence}
    (stage,) = context.report.stages
    assert (stage.name, stage.agents, stage.done) == ("calibration", ("judge_primes",), 4)
    assert list(context.report.rejected) == []  # a case without an answer is no record


def test_a_pilot_asks_about_the_first_sheets(tmp_path: Path) -> None:
    context = Context(tmp_path, {}, CallReport(), pilot=1)
    result = asyncio.run(calibrate(context, JUDGE, SHEETS))
    assert (result.cases, result.accuracy, result.interval) == (2, 1.0, [0.3424, 1.0])
    assert (context.report.stages[0].done, context.report.stages[0].total) == (1, 4)


def test_a_judge_that_answers_nothing_is_not_measured(tmp_path: Path) -> None:
    result = asyncio.run(calibrate(Context(tmp_path, {}, CallReport()), JUDGE, [sheet(1, 4)]))
    assert result == Calibration("offline", 2, 2, None, [0.0, 1.0], {}, {"even": None, "odd": None})
    assert result.sentence() == "not measured, as none of 2 calibration cases was answered"


def test_a_verdict_that_no_case_has_costs_precision_only() -> None:
    cases = [CalibrationCase("stated", "plain")] * 3
    result = Calibration.of("openai:gpt-5-mini", cases, ["stated", "another value", "stated"])
    assert result.verdicts == {
        "another value": {"precision": 0.0, "recall": None},
        "stated": {"precision": 1.0, "recall": 0.6667},
    }
    assert result.sentence() == (
        "accuracy 66.7% on 3 calibration cases (95% interval 20.8% to 93.8%; precision and "
        "recall: another value 0% and -, stated 100% and 67%)"
    )
