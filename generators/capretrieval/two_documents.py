"""Questions that need two documents: a model writes them for related passages, another judges them.

    passages  "The windmill on the hill was built in 1784 ..."
              "The bakery's rye bread is made with flour from the windmill ..."
    question  "How old is the mill that grinds the flour for the bakery's rye bread?"

Kept is a question that the judge can answer from both passages, and from neither alone; both are
relevant to it, each by the words that the model copied from it. The judge is measured on bundled
cases. Leaves `two_documents.json` in the run's sources/.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from retgen.agents.agent import Agent, AnswerSchema, Question, RepairsFailed, Turn
from retgen.agents.judge import (
    Calibration,
    CalibrationCase,
    CalibrationSheet,
    calibrate,
    numbered_passages,
)
from retgen.errors import ChecksFailed
from retgen.generators.capretrieval.agents import LONGEST, fault, placed
from retgen.generators.capretrieval.language import fold_text, words_of
from retgen.generators.capretrieval.passages import (
    TWO,
    Corpus,
    PassageLabels,
    PassageQuery,
    shown_text,
)
from retgen.generators.family import CallEstimate
from retgen.generators.tables import read_rows
from retgen.prompts import bundled
from retgen.streams import Stream
from retgen.work import Engine

if TYPE_CHECKING:
    from retgen.agents.context import Context


class AskTwoDocuments(Question):
    """Two related passages of different documents. `language`: ISO 639-1."""

    language: str
    first_title: str
    first: str
    second_title: str
    second: str


class TwoDocumentQuestion(AnswerSchema):
    """A question that needs both, and the words of each that it needs; all empty: there is none."""

    question: str = Field(max_length=LONGEST["SM"])
    first_quote: str = Field(max_length=2000)
    second_quote: str = Field(max_length=2000)


class AskAnswerable(Question):
    """A question, and what it is to be answered from."""

    question: str
    passages: tuple[str, ...]

    def variables(self) -> dict[str, str]:
        return {"question": self.question, "passages": numbered_passages(self.passages)}


class Answerable(AnswerSchema):
    """Whether all that a question asks stands there. `answer`: it, or what is missing."""

    answer: str = Field(max_length=1000)
    answerable: bool


def _fault(asked: AskTwoDocuments, answer: TwoDocumentQuestion) -> str | None:
    if not answer.question.strip():
        return None  # nothing needs both, which is no fault
    for name, quote, passage in (
        ("first_quote", answer.first_quote, asked.first),
        ("second_quote", answer.second_quote, asked.second),
    ):
        if not quote.strip():
            return f"{name} is empty"
        if reason := fault("question", answer.question, quote, passage, asked.language):
            return f"question and {name}: {reason}"
    return None


WRITE_TWO_DOCUMENTS = Agent(
    name="write_two_documents",
    role="write",
    prompt=bundled("capretrieval/write_two_documents"),
    question=AskTwoDocuments,
    answer=TwoDocumentQuestion,
    check=_fault,
    max_tokens=384,
)
JUDGE_TWO_DOCUMENTS = Agent(
    name="judge_two_documents",
    role="judge",
    prompt=bundled("capretrieval/judge_two_documents"),
    question=AskAnswerable,
    answer=Answerable,
    max_tokens=192,
)
# a name of its own: what a ledger says of the corpus does not depend on the calibration
CALIBRATE_TWO_DOCUMENTS = replace(JUDGE_TWO_DOCUMENTS, name="calibrate_two_documents")
TWO_DOCUMENT_AGENTS = (WRITE_TWO_DOCUMENTS, JUDGE_TWO_DOCUMENTS, CALIBRATE_TWO_DOCUMENTS)
TWO_DOCUMENTS = "two_documents.json"
_TRIED = 3  # pairs of passages, for each question that is wanted
_VERDICTS = {True: "answerable", False: "not answerable"}
_CASES = Path(__file__).parent / "data" / "two_documents.jsonl"


# --- pairs, questions -----------------------------------------------------------------------------


_Pair = tuple[int, int]  # of passages


async def write_two_document_questions(
    wanted: int, run: Corpus, labels: PassageLabels, taken: set[str], seed: int, context: Context
) -> tuple[list[PassageQuery], dict[str, Any]]:
    """At most `wanted` questions, and what `two_documents.json` says. `taken`: folded texts of the
    queries that there are, of which none may be one again."""
    passages = run.passages
    pairs = _related_pairs(wanted, run, seed, context.engine)
    stage = context.stage("two_documents", wanted, *TWO_DOCUMENT_AGENTS[:2], candidates=len(pairs))

    async def work(pair: _Pair) -> tuple[_Pair, TwoDocumentQuestion]:
        first, second = (passages[i] for i in pair)
        asked = AskTwoDocuments(
            language=first.language,
            first_title=first.title,
            first=first.text,
            second_title=second.title,
            second=second.text,
        )
        answer = await context.answer(WRITE_TWO_DOCUMENTS, asked)
        if not answer.question.strip():
            raise RepairsFailed(
                f"{TWO}/unrelated", "the writer found no question that needs both", ()
            )
        shown = [shown_text(first), shown_text(second)]
        for texts, expected, where in (
            (shown, True, "both passages"),
            (shown[:1], False, "the first passage alone"),
            (shown[1:], False, "the second passage alone"),
        ):
            question = AskAnswerable(question=answer.question, passages=tuple(texts))
            verdict = await context.answer(JUDGE_TWO_DOCUMENTS, question)
            if verdict.answerable != expected:
                reason = f"{'' if verdict.answerable else 'not '}answerable from {where}"
                turn = Turn(answer.model_dump_json(), f"{reason}: {verdict.answer}")
                raise RepairsFailed(f"{TWO}/judge", reason, (turn,))
        return pair, answer

    def record(pair: _Pair) -> dict[str, list[str]]:
        return {"passages": [passages[i].id for i in pair]}

    def admit(made: tuple[_Pair, TwoDocumentQuestion]) -> str | None:
        pair, answer = made
        key = fold_text(answer.question, passages[pair[0]].language)
        if key in taken:
            return f"{answer.question!r} is a query already"
        taken.add(key)
        return None

    queries = []
    try:
        accepted = context.accepted_records(stage, pairs, work, record, admit, exact=False)
        async for pair, answer in accepted:
            queries.append(_query(pair, answer, run, labels))
    except ChecksFailed as error:  # the other queries are there, so the run goes on
        context.notice(str(error))
    asked = context.report.calls[JUDGE_TWO_DOCUMENTS.name]
    asked += context.report.cached[JUDGE_TWO_DOCUMENTS.name]
    calibration = None
    if asked:
        calibration = await calibrate(context, CALIBRATE_TWO_DOCUMENTS, calibration_sheets())
    return queries, {
        "model": context.model(JUDGE_TWO_DOCUMENTS),
        "wanted": wanted,
        "pairs": stage.done + stage.rejected,
        "kept": len(queries),
        "calibration": calibration and calibration._asdict(),
    }


def _related_pairs(wanted: int, run: Corpus, seed: int, engine: Engine) -> list[_Pair]:
    """Passages in drawn order, each with the one of another document of its split that BM25 ranks
    first for it; near-duplicates need no second document."""
    from retgen.search.mining import mine

    drawn = Stream(seed, f"capretrieval/{TWO}").permutation(len(run.passages)).tolist()
    drawn = drawn[: 2 * _TRIED * wanted]  # of two passages that are near each other one is enough
    nearest: dict[int, int] = {}
    for split in sorted(set(run.splits)):
        own = [i for i, name in enumerate(run.splits) if name == split]
        asked = [i for i in drawn if run.splits[i] == split]

        def excluded(
            query: int, document: int, own: list[int] = own, asked: list[int] = asked
        ) -> bool:
            one, other = run.document_of[asked[query]], run.document_of[own[document]]
            return run.wording.near(one, [other])

        texts = [shown_text(run.passages[i]) for i in own]
        found = mine(
            texts,
            [shown_text(run.passages[i]) for i in asked],
            [()] * len(asked),
            count=1,
            margin=None,
            excluded=excluded,
            engine=engine,
        )
        nearest |= {i: own[one[0]] for i, one in zip(asked, found, strict=True) if one}
    pairs = {frozenset((i, nearest[i])): (i, nearest[i]) for i in reversed(drawn) if i in nearest}
    return list(reversed(pairs.values()))[: _TRIED * wanted]


def _query(
    pair: _Pair, answer: TwoDocumentQuestion, run: Corpus, labels: PassageLabels
) -> PassageQuery:
    spans = []
    for number, quote in zip(pair, (answer.first_quote, answer.second_quote), strict=True):
        one = run.passages[number]
        spans.append((one.source, *placed(one, quote)))
    text, split = " ".join(answer.question.split()), run.splits[pair[0]]
    relevant = labels.relevant(None, spans)
    return PassageQuery(
        text,
        TWO,
        pair[0],
        spans[0][1:],
        score=round(run.counts.salience(words_of(text)), 4),
        split=split,
        rests_on=spans,
        positives=sorted(i for i in relevant if run.splits[i] == split),
    )


# --- how good the judge is ------------------------------------------------------------------------


@cache
def calibration_sheets() -> tuple[CalibrationSheet[AskAnswerable, Answerable], ...]:
    """Each bundled question with both of its passages, and with either."""
    sheets = list[CalibrationSheet[AskAnswerable, Answerable]]()
    for row in read_rows(_CASES):
        for shown, texts in (
            ("both", (row["first"], row["second"])),
            ("first", (row["first"],)),
            ("second", (row["second"],)),
        ):
            question = AskAnswerable(question=row["question"], passages=texts)
            case = CalibrationCase(_VERDICTS[shown in row["answered_by"]], shown)
            sheets.append(
                CalibrationSheet(question, [case], lambda one: [_VERDICTS[one.answerable]])
            )
    return tuple(sheets)


def estimated_calls(questions: int, prompt: int, passage: int) -> dict[str, CallEstimate]:
    """Calls for so many questions. `prompt`: bytes of one without passages; `passage`: of one."""
    both, cases = prompt + 2 * passage, len(calibration_sheets())
    return {
        WRITE_TWO_DOCUMENTS.name: CallEstimate(questions, (1.0, 3.0), both, 120),
        JUDGE_TWO_DOCUMENTS.name: CallEstimate(questions, (3.0, 6.0), both, 40),
        CALIBRATE_TWO_DOCUMENTS.name: CallEstimate(cases, (1.0, 1.2), prompt, 40),
    }


def judge_of_questions(judged: Mapping[str, Any]) -> dict[str, Any]:
    """How good the judge was found to be; see `Family.judges`."""
    known = judged["calibration"]
    return Calibration(**known).report() if known else {"measured": "never asked"}
