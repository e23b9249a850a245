"""Documents that a model writes from facts, and of which another reads just these facts.

    facts     release=1987, setting=Leipzig, ...
    writer    "Leipzig is where ..."
    reader    release=1987, setting=Hamburg, ...
    writer    again, told: of setting it states 'Hamburg', not 'Leipzig'

A document that is still read otherwise after the repairs is rejected with what differs, and another
entity of the world takes its place, so that the data set keeps its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from retgen.agents.agent import RepairsFailed, Turn
from retgen.generators.plan import CallEstimate
from retgen.generators.world.agents import (
    CALIBRATE,
    READ_FACTS,
    WRITE_DOCUMENT,
    AskDocument,
    AskFacts,
    ReadFact,
    ReadFacts,
    WrittenDocument,
)
from retgen.generators.world.agreement import (
    asked_of,
    bare,
    differences,
    meaning,
    read_values,
    told,
)
from retgen.generators.world.calibration import cases
from retgen.world.compose import Composer
from retgen.world.domain import Domain
from retgen.world.facts import World
from retgen.write import write_file

if TYPE_CHECKING:
    from retgen.agents.agent import Agent, AnswerSchema, Question
    from retgen.agents.context import Context

DOCUMENTS = "documents.jsonl"
DOCUMENT = {"title": str, "entity": int, "facts": list[str], "text": str, "read": list[str]}
_REPAIRS = 2  # of a document that is read otherwise
_SAMPLE = 20  # documents whose prompts stand for all, in plans
_CALLS = (1.0, 1.6)  # of a document, by each agent: with none read otherwise, and with 3 in 10
_BYTES = 4  # of an answer's JSON, a token


class Drawn(NamedTuple):
    """An entity of a world with its facts, slot -> value, in the order of the domain's slots."""

    entity: int
    name: str
    facts: Mapping[str, str]

    @property
    def listed(self) -> list[str]:
        """The facts as metadata have them."""
        return [f"{slot}={value}" for slot, value in self.facts.items()]

    def record(self) -> dict[str, Any]:
        """As it stands among the rejected ones."""
        return {"title": self.name, "entity": self.entity, "facts": self.listed}


class Prose(NamedTuple):
    """A document that was accepted. `read`: slot -> the value that was read."""

    drawn: Drawn
    text: str
    read: Mapping[str, str]

    def row(self) -> dict[str, Any]:
        """Its row in sources/."""
        read = [f"{slot}={value}" for slot, value in self.read.items()]
        return {**self.drawn.record(), "text": self.text, "read": read}


def drawn(world: World, entity: int) -> Drawn:
    """An entity with its facts; any number up to that of the names, not only those of the world."""
    columns = world.columns(entity, entity + 1)
    values = {
        name: world.value_names(slot, columns[name].tolist())[0]
        for name, slot in world.domain.slots.items()
    }
    name = world.names(np.array([entity]))[0]
    return Drawn(entity, name, {slot: value for slot, value in values.items() if value})


def asked_for(
    domain: Domain, one: Drawn, earlier: str = "", faults: Sequence[str] = ()
) -> AskDocument:
    """What the writer is asked. `earlier`, `faults`: what was read otherwise."""
    slots = domain.slots
    return AskDocument(
        kind=domain.entity.singular,
        name=one.name,
        facts=tuple(told(slots[slot], value) for slot, value in one.facts.items()),
        forms=tuple(bare(slots[slot], value) for slot, value in one.facts.items()),
        absent=tuple(meaning(slot) for name, slot in slots.items() if name not in one.facts),
        earlier=earlier,
        faults=tuple(faults),
    )


async def write_documents(world: World, context: Context) -> None:
    """As many documents as the world has entities, which were read as they were meant; leaves them.

    Raises `ChecksFailed` where hardly any is accepted.
    """
    domain = world.domain
    stage = context.stage("documents", world.entities, WRITE_DOCUMENT, READ_FACTS)

    async def write(entity: int) -> Prose:
        one, history = drawn(world, entity), list[Turn]()
        question = asked_for(domain, one)
        while True:
            text = (await context.answer(WRITE_DOCUMENT, question)).text.strip()
            answer = await context.answer(READ_FACTS, asked_of(domain, one.name, text))
            read = read_values(domain, answer)
            faults = differences(one.facts, read)
            if not faults:
                return Prose(one, text, {slot: values[0] for slot, values in read.items()})
            history.append(Turn(text, "; ".join(faults)))
            if len(history) > _REPAIRS:
                raise RepairsFailed(f"{READ_FACTS.name}/facts", history[-1].reason, history)
            question = asked_for(domain, one, text, faults)

    made = [
        one
        async for one in context.accepted_records(
            stage, range(world.names_count), write, lambda entity: drawn(world, entity).record()
        )
    ]
    lines = (orjson.dumps(one.row(), option=orjson.OPT_APPEND_NEWLINE) for one in made)
    write_file(context.folder / DOCUMENTS, b"".join(lines))


class Documents(NamedTuple):
    """The accepted documents of a run. `kept`: their entities; `rows`: as sources/ has them."""

    kept: tuple[int, ...]
    rows: Sequence[Mapping[str, Any]]


def read_documents(sources: Path) -> Documents:
    """The documents that `write_documents` left, read once in a process."""
    path = sources / DOCUMENTS
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _read(path: Path, _changed: int) -> Documents:
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    return Documents(tuple(row["entity"] for row in rows), rows)


def call_estimates(world: World, live: frozenset[str]) -> dict[str, CallEstimate]:
    """What the models will be asked, by agent: prompts of the first documents, composed texts."""
    domain, count = world.domain, min(_SAMPLE, world.entities)
    texts = [one.text for one in Composer(world).documents(0, count)]
    ones = [drawn(world, entity) for entity in range(count)]
    writing = [
        _size(WRITE_DOCUMENT, asked_for(domain, one), WrittenDocument(text=text))
        for one, text in zip(ones, texts, strict=True)
    ]
    reading = [
        _size(READ_FACTS, asked_of(domain, one.name, text), _said(one.facts))
        for one, text in zip(ones, texts, strict=True)
    ]
    trying = [_size(CALIBRATE, one.question, _said(one.facts)) for one in cases()]
    made = {
        WRITE_DOCUMENT.name: CallEstimate(world.entities, _CALLS, *_mean(writing)),
        READ_FACTS.name: CallEstimate(world.entities, _CALLS, *_mean(reading)),
        CALIBRATE.name: CallEstimate(len(trying), (1.0, 1.0), *_mean(trying)),
    }
    return {name: one for name, one in made.items() if name in live}


def _said(facts: Mapping[str, str]) -> ReadFacts:
    return ReadFacts(facts=[ReadFact(slot=slot, value=value) for slot, value in facts.items()])


def _size(
    agent: Agent[Any, Any], question: Question | AskFacts, answer: AnswerSchema
) -> tuple[float, float]:
    messages = agent.prompt.render(question.variables())
    prompt = sum(len(one.content.encode()) for one in messages) + len(orjson.dumps(agent.schema))
    return prompt, len(answer.model_dump_json().encode()) / _BYTES


def _mean(sizes: Sequence[tuple[float, float]]) -> tuple[int, int]:
    prompts, answers = zip(*sizes, strict=True)
    return round(sum(prompts) / len(sizes)), round(sum(answers) / len(sizes))
