"""LIMIT's agents (paper, §5.2): things that a person could like, and queries that do not name them.

The catalogue grows in rounds (the paper had a model propose attributes, and then remove duplicates
and hypernyms again and again). A round asks for things of several categories at a time, keeps what
shares no word with the list, and lets the model remove overlaps until it finds none. Everything
asked in a round follows from the rounds before it. Descriptions in place of names are ours.
"""

from __future__ import annotations

import heapq
import math
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field

from retgen.agents.agent import A, Agent, AnswerSchema, Q, Question, RepairsFailed
from retgen.generators.agents import bundled_agent
from retgen.generators.family import CallEstimate
from retgen.generators.limit.documents import asked_attributes
from retgen.generators.limit.params import BalancedForm, LimitParams, SemanticForm
from retgen.generators.limit.words import (
    ATTRIBUTES,
    Attribute,
    bundled_attributes,
    has_proposed_attributes,
)
from retgen.generators.params import Job
from retgen.generators.tables import read_rows
from retgen.streams import Stream
from retgen.tokenizer import STOPWORDS, content_stems, tokens
from retgen.write import write_file, write_rows

if TYPE_CHECKING:
    from retgen.agents.context import Context
    from retgen.agents.report import Stage

NONE = "none of these"
DESCRIPTIONS = "descriptions.jsonl"

_EACH = 25  # attributes proposed by one request
_PART = 120  # attributes of one request that looks for overlaps
_PASSES = 3  # looks for overlaps in a round, at most
_BARREN = 2  # rounds without anything new, after which a model is taken to know no more
_YIELD = 0.8  # of what is proposed, so much is taken to be new and clean, until it shows
_OPTIONS = 8
_CONTROL = 10  # of so many descriptions one is shown to the judge without the right answer, too

# words of the sentences of a data set, which no attribute may hold: it would match every document
_SENTENCES = (
    "who likes, who does not like, which people like, not only but also, both, at least one, "
    "without liking"
)


Text = Annotated[str, Field(min_length=1, max_length=200)]


class AskAttributes(Question):
    """So many attributes of a category, none of those that are `known`."""

    category: str
    count: int
    known: tuple[str, ...]


class Proposed(AnswerSchema):
    """Attributes, as they came: each is looked at by itself."""

    attributes: list[str]


class AskOverlaps(Question):
    """A part of the list."""

    attributes: tuple[str, ...]


class Removed(AnswerSchema):
    """Which of them have to go."""

    remove: list[str]


class AskDescription(Question):
    """The attribute that a query asks for."""

    attribute: str
    category: str


class Description(AnswerSchema):
    """A noun phrase that means it."""

    description: Text


class AskChoice(Question):
    """A description, and the attributes that it could mean."""

    description: str
    options: tuple[str, ...]


class Choice(AnswerSchema):
    """One of the options, or `NONE`."""

    choice: Text


@cache
def glossary() -> dict[str, str]:
    """Descriptions that stand in for a model's, by attribute: `attribute = description` lines."""
    path = Path(__file__).parent / "glossary.txt"
    lines = path.read_text("utf-8").splitlines()
    pairs = [line.split(" = ", 1) for line in lines if line.strip() and not line.startswith("#")]
    return dict(pairs)


def naming_fault(attribute: str, description: str) -> str | None:
    """What gives an attribute away in its description; None for nothing."""
    shared = content_stems(attribute) & content_stems(description)
    given = [word for word in tokens(description) if content_stems(word) & shared]
    given += [
        word
        for word in tokens(description)
        if len(word) > 3 and word not in STOPWORDS and _akin(word, attribute)
    ]
    if given:
        return f"it uses {given[0]!r}, a word of the name or akin to one"
    return None


def _akin(word: str, attribute: str) -> bool:
    """Whether a word is a form of one of the attribute's, or holds one."""
    from rapidfuzz import fuzz

    return any(
        fuzz.ratio(word, other) >= 80 or (len(other) > 4 and other.rstrip("s") in word)
        for other in tokens(attribute)
        if other not in STOPWORDS and len(other) > 3
    )


def _description_fault(question: AskDescription, answer: Description) -> str | None:
    text = answer.description
    if any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in text):
        return "it holds a control character, or one that cannot be seen"
    if re.search(r'[{}"]', text) or text != text.strip() or text.endswith("."):
        return "it is one line without quotation marks, braces, and a full stop at the end"
    if not 4 <= len(text.split()) <= 20:
        return f"it has {len(text.split())} words, not 4 to 20"
    return naming_fault(question.attribute, text)


def _choice_fault(question: AskChoice, answer: Choice) -> str | None:
    if answer.choice not in (*question.options, NONE):
        return f"{answer.choice!r} is neither in the list nor {NONE!r}"
    return None


def _describe_offline(question: AskDescription) -> Description:
    result = glossary().get(question.attribute)
    if result is None:
        raise RepairsFailed("paraphrase_query/glossary", f"no entry for {question.attribute!r}", ())
    return Description(description=result)


def _identify_offline(question: AskChoice) -> Choice:
    meant = [one for one in question.options if glossary().get(one) == question.description]
    return Choice(choice=meant[0] if meant else NONE)


PROPOSE = bundled_agent("limit/propose_attributes", "write", AskAttributes, Proposed)
REMOVE = bundled_agent(
    "limit/remove_overlaps", "judge", AskOverlaps, Removed, lambda question: Removed(remove=[])
)
PARAPHRASE = bundled_agent(
    "limit/paraphrase_query",
    "write",
    AskDescription,
    Description,
    _describe_offline,
    check=_description_fault,
    max_tokens=256,
)
IDENTIFY = bundled_agent(
    "limit/identify_attribute",
    "judge",
    AskChoice,
    Choice,
    _identify_offline,
    check=_choice_fault,
    max_tokens=256,
)
AGENTS = (PROPOSE, REMOVE, PARAPHRASE, IDENTIFY)


class AttributeDescription(NamedTuple):
    """A description that stands for an attribute.

    `control`: what the judge chose where the right answer was left out; None: not tried.
    """

    attribute: str
    description: str
    control: str | None


def catalogue_size(params: LimitParams) -> int:
    """Attributes that are to be proposed: by default what the recipe needs, at the paper's ratio.

    The paper has 1,850 for 1,000 queries and 45 attributes a document; twice as many where a half
    is left to a training set.
    """
    if params.catalogue.size is not None:
        return params.catalogue.size
    if isinstance(params.form, BalancedForm):
        needed = params.form.pool
    else:
        asked = asked_attributes(params, params.count_queries())
        needed = asked + 19 * params.attributes_per_doc
    return needed * (1 if params.catalogue.split == "all" else 2)


def call_estimates(job: Job[LimitParams]) -> dict[str, CallEstimate]:
    """What a plan says of the calls."""
    result = {}
    if has_proposed_attributes(job):
        size = catalogue_size(job.params)
        result[PROPOSE.name] = CallEstimate(size, (1 / _EACH / _YIELD, 3 / _EACH), 2200, 8 * _EACH)
        if REMOVE.name in job.live:
            result[REMOVE.name] = CallEstimate(size, (2 / _PART, 12 / _PART), 3200, 60)
    if isinstance(job.params.form, SemanticForm):
        queries = job.params.count_queries()
        each = {
            PARAPHRASE.name: CallEstimate(queries, (1.0, 2.0), 1500, 25),
            IDENTIFY.name: CallEstimate(queries, (1 + 1 / _CONTROL, 2.0), 1000, 12),
        }
        result |= {name: one for name, one in each.items() if name in job.live}
    return result


# --- the catalogue ------------------------------------------------------------------------------


async def generate_attributes(job: Job[LimitParams], context: Context) -> None:
    """Propose and clean until there are exactly so many; leaves a catalogue file."""
    size = catalogue_size(job.params)
    stage = context.stage("attributes", size, PROPOSE, REMOVE)
    wanted = context.pilot_size(size)
    categories = _categories(job)
    result = GrowingCatalogue()
    number = barren = 0
    while len(result) < wanted and barren < _BARREN:
        before = len(result)
        await _round(categories, number, wanted, result, context, stage)
        number += 1
        barren = 0 if len(result) > before else barren + 1
        # a pilot counts all that its requests gave
        stage.done = len(result) if context.pilot is not None else min(len(result), wanted)
        context.show(stage)
    if len(result) < wanted:
        raise context.too_few(stage, wanted)
    if context.pilot is not None:
        wanted = len(result)
    lines = []
    for category in categories:
        members = [a for a, c in list(result.kept.items())[:wanted] if c == category]
        lines += [f"[{category}]", *members, ""] if members else []
    write_file(context.folder / ATTRIBUTES, "\n".join(lines))


async def _round(
    categories: Sequence[str],
    number: int,
    wanted: int,
    result: GrowingCatalogue,
    context: Context,
    stage: Stage,
) -> None:
    """Ask for what is missing, category after category, then clean what was added."""
    taken = len(result) / result.asked / _EACH if result.asked else _YIELD
    requests = math.ceil((wanted - len(result)) / _EACH / max(taken, 0.1))
    requests = min(len(categories), requests)
    begin = result.asked
    result.asked += requests
    turn = [categories[i % len(categories)] for i in range(begin, begin + requests)]
    questions = [AskAttributes(category=c, count=_EACH, known=result.of(c)) for c in turn]
    # what failed once would be answered the same again
    questions = [question for question in questions if question not in result.failed_after_repairs]
    answers = await _answers(context, stage, PROPOSE, questions)
    before = len(result)
    for question, answer in zip(questions, answers, strict=True):
        if isinstance(answer, RepairsFailed):
            context.reject(stage, answer, question.category)
            result.failed_after_repairs.add(question)
            continue
        for text in answer.attributes:
            reason = result.add(" ".join(text.split()), question.category)
            if reason is not None:
                rule = "attributes/" + ("overlap" if "shares" in reason else "form")
                context.reject(stage, RepairsFailed(rule, reason, ()), text)
    touched = list(dict.fromkeys(list(result.kept.values())[before:]))
    await _remove_overlaps(touched, number, result, context, stage)


async def _remove_overlaps(
    touched: Sequence[str], number: int, result: GrowingCatalogue, context: Context, stage: Stage
) -> None:
    """Look by category first, then across all of them, until nothing has to go."""
    for step in range(_PASSES):
        if step == 0:
            lists = [result.of(category) for category in touched]
        else:
            stream = Stream(number, f"limit/overlaps/{step}")
            lists = [tuple(stream.shuffled(list(result.kept)))]
        parts = [one[i : i + _PART] for one in lists for i in range(0, len(one), _PART)]
        parts = [part for part in parts if len(part) > 1]
        removed = 0
        questions = [AskOverlaps(attributes=part) for part in parts]
        answers = await _answers(context, stage, REMOVE, questions)
        for part, answer in zip(parts, answers, strict=True):
            if isinstance(answer, RepairsFailed):
                context.reject(stage, answer, list(part))
                continue
            for text in answer.remove:
                if text in part and result.drop(text):
                    reason = "the model finds that it duplicates or contains another"
                    context.reject(stage, RepairsFailed("attributes/overlap", reason, ()), text)
                    removed += 1
        if step and not removed:
            break


async def _answers(
    context: Context, stage: Stage, agent: Agent[Q, A], questions: Sequence[Q]
) -> list[A | RepairsFailed]:
    """The answers to questions in their order, or why there is none."""

    async def answer(question: Q) -> A | RepairsFailed:
        try:
            return await context.answer(agent, question)
        except RepairsFailed as error:
            return error

    return await context.gather(stage, map(answer, questions))


class GrowingCatalogue:
    """A list of attributes no two of which share a word, or nearly the same spelling."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}  # attribute -> category
        self.asked = 0
        self.failed_after_repairs: set[AskAttributes] = set()
        self._owner: dict[str, str] = {}  # stem -> attribute
        self._templates = content_stems(_SENTENCES)
        self._dropped: set[str] = set()

    def __len__(self) -> int:
        return len(self.kept)

    def of(self, category: str) -> tuple[str, ...]:
        """The attributes of a category."""
        return tuple(one for one, its in self.kept.items() if its == category)

    def add(self, text: str, category: str) -> str | None:
        """Take an attribute, or say why not."""
        stems = content_stems(text)
        plain = text[:1].isalnum() and len(text.split()) <= 4 and text.casefold() != NONE
        if (
            not stems
            or not plain
            or len(text) > 60
            or any(not (c.isalnum() or c in " '’-") for c in text)
        ):
            return "it is no name of one to four plain words"
        if " and " in f" {text.casefold()} ":
            return "it holds 'and', which separates attributes in a document"
        if text.casefold() in self._dropped:
            return "it shares its meaning with another, as found before"
        for stem in sorted(stems):
            if stem in self._templates:
                return f"it shares {stem!r} with the sentences of the data set"
            if stem in self._owner:
                return f"it shares {stem!r} with {self._owner[stem]!r}"
        if near := self._near(text):
            return f"it shares nearly all letters with {near!r}"
        self.kept[text] = category
        self._owner |= dict.fromkeys(stems, text)
        return None

    def drop(self, text: str) -> bool:
        """Remove an attribute for good; whether it was there."""
        if self.kept.pop(text, None) is None:
            return False
        self._owner = {stem: owner for stem, owner in self._owner.items() if owner != text}
        self._dropped.add(text.casefold())
        return True

    def _near(self, text: str) -> str | None:
        from rapidfuzz import fuzz, process

        result = process.extractOne(text, list(self.kept), scorer=fuzz.ratio, score_cutoff=88)
        return result[0] if result else None


def _categories(job: Job[LimitParams]) -> list[str]:
    """What to propose things of, in an order of the seed's."""
    names = list(dict.fromkeys(attribute.category for attribute in bundled_attributes()))
    return Stream(job.seed, "limit/categories").shuffled(names)


# --- descriptions -------------------------------------------------------------------------------


async def generate_descriptions(
    job: Job[LimitParams], context: Context, attributes: Sequence[Attribute]
) -> None:
    """Describe as many of the attributes as there are queries; leaves a line for each.

    A description is shown to the judge among similar attributes, and taken if the judge picks the
    right one. Now and then the right one is left out too, which tells how often the judge guesses.
    """
    stage = context.stage("descriptions", job.params.count_queries(), PARAPHRASE, IDENTIFY)
    candidates = Stream(job.seed, "limit/attributes").shuffled(attributes)
    if context.offline(PARAPHRASE):
        candidates = [one for one in candidates if one.text in glossary()]

    async def describe(numbered: tuple[int, Attribute]) -> AttributeDescription:
        number, meant = numbered
        question = AskDescription(attribute=meant.text, category=meant.category)
        text = (await context.answer(PARAPHRASE, question)).description
        near = _similar(meant, attributes)
        options = tuple(sorted([meant.text, *near[:-1]]))
        choice = await context.answer(IDENTIFY, AskChoice(description=text, options=options))
        if choice.choice != meant.text:
            reason = f"of {len(options)} attributes the judge took {choice.choice!r}"
            raise RepairsFailed("identify_attribute/answer", f"{text!r}: {reason}", ())
        control = None
        if number % _CONTROL == 0:
            question_without = AskChoice(description=text, options=tuple(sorted(near)))
            control = (await context.answer(IDENTIFY, question_without)).choice
        return AttributeDescription(meant.text, text, control)

    seen: set[str] = set()

    def admit(made: AttributeDescription) -> str | None:
        if made.description.casefold() in seen:
            return "another attribute has this description"
        seen.add(made.description.casefold())
        return None

    accepted = context.accepted_records(
        stage, enumerate(candidates), describe, lambda one: one[1].text, admit
    )
    write_rows(context.folder / DESCRIPTIONS, [one._asdict() async for one in accepted])


def _similar(meant: Attribute, attributes: Sequence[Attribute]) -> list[str]:
    """Attributes to tell one from: of its category, those next to it first; then of any."""

    def far(one: Attribute) -> tuple[bool, int, int]:
        return one.category != meant.category, abs(one.id - meant.id), one.id

    return [one.text for one in heapq.nsmallest(_OPTIONS + 1, attributes, key=far)[1:]]


def read_descriptions(sources: Path) -> list[AttributeDescription]:
    """The descriptions that a run was told, one for each query."""
    return [AttributeDescription(**row) for row in read_rows(sources / DESCRIPTIONS)]
