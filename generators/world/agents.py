"""World's agents: one puts facts into prose, another reads facts from prose.

Without a model documents are composed by rules, so offline answers there are none.
"""

from __future__ import annotations

import re
from dataclasses import replace

from retgen.agents.agent import Agent, AnswerSchema, Question, models_work
from retgen.prompts import bundled

_SHORTEST = 100  # characters of a document


class AskDocument(Question):
    """A document with these facts. `forms`: of each fact, the texts of which one has to stand.

    `earlier`, `faults`: the version that was read otherwise, and how.
    """

    kind: str
    name: str
    facts: tuple[str, ...]
    forms: tuple[tuple[str, ...], ...]
    absent: tuple[str, ...]
    earlier: str = ""
    faults: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        """All but the forms, which only the check needs."""
        shown = super().variables()
        del shown["forms"]
        return {**shown, "earlier": self.earlier or "(none)"}

    def about(self) -> str:
        return f"document {self.name!r}"


class WrittenDocument(AnswerSchema):
    """The answer of `write_document`."""

    text: str


class AskFacts(Question):
    """The facts that a text states. `names`: of the slots, whose meanings `slots` says."""

    kind: str
    title: str
    text: str
    slots: tuple[str, ...]
    names: tuple[str, ...]

    def variables(self) -> dict[str, str]:
        """All but the names, which only the check needs."""
        shown = super().variables()
        del shown["names"]
        return shown

    def about(self) -> str:
        return f"document {self.title!r}"


class ReadFact(AnswerSchema):
    """A fact as a model read it."""

    slot: str
    value: str


class ReadFacts(AnswerSchema):
    """The answer of `read_facts`."""

    facts: list[ReadFact]


def stands(form: str, text: str) -> bool:
    """Whether a text holds these words, in any case, not as a part of other words."""
    pattern = r"\s+".join(map(re.escape, plain(form).split()))
    return re.search(rf"(?<!\w){pattern}(?!\w)", plain(text), re.IGNORECASE) is not None


def plain(text: str) -> str:
    """A text with plain apostrophes and hyphens."""
    return text.translate({0x2018: "'", 0x2019: "'", 0x2010: "-", 0x2011: "-", 0xA0: " "})


def _check_document(asked: AskDocument, answer: WrittenDocument) -> str | None:
    text = answer.text.strip()
    if len(text) < _SHORTEST:
        return "text: it is too short to be a document"
    if re.search(r"^\s*(?:[-*#]|\d+[.)])\s", text, re.MULTILINE):
        return "text: it holds a list or a headline; write prose"
    if not stands(asked.name, text):
        return f"text: the name {asked.name!r} does not stand in it"
    missing = [forms[0] for forms in asked.forms if not any(stands(one, text) for one in forms)]
    if missing:
        return f"text: these words do not stand in it: {', '.join(map(repr, missing))}"
    return None


def _check_facts(asked: AskFacts, answer: ReadFacts) -> str | None:
    unknown = sorted({one.slot for one in answer.facts} - {*asked.names})
    if unknown:
        return f"facts: there is no {', '.join(map(repr, unknown))} among what is asked for"
    return None


WRITE_DOCUMENT = Agent(
    name="write_document",
    role="write",
    prompt=bundled("world/write_document"),
    question=AskDocument,
    answer=WrittenDocument,
    offline=models_work("write_document"),
    check=_check_document,
)
READ_FACTS = Agent(
    name="read_facts",
    role="judge",
    prompt=bundled("world/read_facts"),
    question=AskFacts,
    answer=ReadFacts,
    offline=models_work("read_facts"),
    check=_check_facts,
)
# a name of its own: what a plan and a ledger say of documents does not depend on the calibration
CALIBRATE = replace(READ_FACTS, name="calibrate_reader")
AGENTS = (WRITE_DOCUMENT, READ_FACTS, CALIBRATE)
