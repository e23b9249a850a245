"""Agents of questions that need two documents: one writes them, another judges them."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from retgen.agents.agent import Agent, AnswerSchema, Question, models_work
from retgen.generators.capretrieval.agents import LONGEST, fault, numbered_passages
from retgen.prompts import bundled


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
    offline=models_work("write_two_documents", "asking for two documents"),
    check=_fault,
    max_tokens=384,
)
JUDGE_TWO_DOCUMENTS = Agent(
    name="judge_two_documents",
    role="judge",
    prompt=bundled("capretrieval/judge_two_documents"),
    question=AskAnswerable,
    answer=Answerable,
    offline=models_work("judge_two_documents", "judging what answers a question"),
    max_tokens=192,
)
# a name of its own: what a ledger says of the corpus does not depend on the calibration
CALIBRATE_TWO_DOCUMENTS = replace(JUDGE_TWO_DOCUMENTS, name="calibrate_two_documents")
TWO_DOCUMENT_AGENTS = (WRITE_TWO_DOCUMENTS, JUDGE_TWO_DOCUMENTS, CALIBRATE_TWO_DOCUMENTS)
