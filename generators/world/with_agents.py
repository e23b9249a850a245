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
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from retgen.agents.agent import RepairsFailed, Turn
from retgen.agents.judge import CALIBRATION, Calibration, CalibrationCase, CalibrationSheet
from retgen.errors import RecipeError
from retgen.facts.compose import Composer
from retgen.facts.domain import Domain, load_domain
from retgen.facts.facts import World
from retgen.facts.labels import QueryTables
from retgen.generators.agents import call_size, estimate_calls
from retgen.generators.family import CallEstimate
from retgen.generators.params import Job
from retgen.generators.records import Rows, rows_of
from retgen.generators.tables import Ids, read_rows
from retgen.generators.world.agents import (
    CALIBRATE,
    READ_FACTS,
    WRITE_DOCUMENT,
    AskDocument,
    AskFacts,
    ReadFact,
    ReadFacts,
    WrittenDocument,
    bare,
    differences,
    fact_line,
    meaning,
    read_values,
    reader_question,
)
from retgen.generators.world.params import WorldParams
from retgen.generators.world.tables import cells
from retgen.write import write_rows

if TYPE_CHECKING:
    from retgen.agents.context import Context

DOCUMENTS = "documents.jsonl"
_REPAIRS = 2  # of a document that is read otherwise
_SAMPLE = 20  # documents whose prompts stand for all, in plans
_CALLS = (1.0, 1.6)  # of a document, by each agent: with none read otherwise, and with 3 in 10
LABEL_SOURCE = (
    "that a document states all of its facts and no others rests on a model (read_facts) that read "
    "it without knowing them; sources/documents.jsonl has what it read"
)
STRUCTURE = (
    "that the reader's facts are those of the metadata, that their values stand in the text, and "
    "that the qrels are what each query, read back from its words, asks of these facts"
)


def is_written(job: Job[WorldParams]) -> bool:
    """Whether a model writes the documents. Raises `RecipeError` where no model reads them."""
    if WRITE_DOCUMENT.name not in job.live:
        return False
    unread = sorted({READ_FACTS.name, CALIBRATE.name} - job.live)
    if unread:
        raise RecipeError(
            f"models: a model writes the documents, so one has to read them: name one for "
            f"{' and '.join(unread)} (models.judge), or leave {WRITE_DOCUMENT.name} offline"
        )
    return True


# --- documents ------------------------------------------------------------------------------------


class EntityFacts(NamedTuple):
    """An entity of a world with its facts, slot -> value, in the order of the domain's slots."""

    entity: int
    name: str
    facts: Mapping[str, str]

    def record(self) -> dict[str, Any]:
        """What its row has in sources/ and in rejected.jsonl, the facts as in metadata."""
        facts = [f"{slot}={value}" for slot, value in self.facts.items()]
        return {"title": self.name, "entity": self.entity, "facts": facts}


def entity_facts(world: World, entity: int) -> EntityFacts:
    """An entity with its facts; any number up to that of the names, not only those of the world."""
    columns = world.columns(entity, entity + 1)
    values = {
        name: world.value_names(slot, columns[name].tolist())[0]
        for name, slot in world.domain.slots.items()
    }
    name = world.names(np.array([entity]))[0]
    return EntityFacts(entity, name, {slot: value for slot, value in values.items() if value})


def writer_question(domain: Domain, one: EntityFacts, **repair: Any) -> AskDocument:
    """What the writer is asked. `repair`: the version that was read otherwise, and its faults."""
    slots = domain.slots
    return AskDocument(
        kind=domain.entity.singular,
        name=one.name,
        facts=tuple(fact_line(slots[slot], value) for slot, value in one.facts.items()),
        forms=tuple(bare(slots[slot], value) for slot, value in one.facts.items()),
        absent=tuple(meaning(slot) for name, slot in slots.items() if name not in one.facts),
        **repair,
    )


async def write_documents(world: World, context: Context) -> None:
    """Leave as many accepted documents as the world has entities.

    Raises `ChecksFailed` where hardly any is accepted.
    """
    domain = world.domain
    stage = context.stage("documents", world.entities, WRITE_DOCUMENT, READ_FACTS)

    async def write(entity: int) -> dict[str, Any]:
        one, history = entity_facts(world, entity), list[Turn]()
        question = writer_question(domain, one)
        while True:
            text = (await context.answer(WRITE_DOCUMENT, question)).text.strip()
            answer = await context.answer(READ_FACTS, reader_question(domain, one.name, text))
            read = read_values(domain, answer)
            faults = differences(one.facts, read)
            if not faults:
                facts = [f"{slot}={values[0]}" for slot, values in read.items()]
                return {**one.record(), "text": text, "read": facts}
            history.append(Turn(text, "; ".join(faults)))
            if len(history) > _REPAIRS:
                raise RepairsFailed(f"{READ_FACTS.name}/facts", history[-1].reason, history)
            question = writer_question(domain, one, earlier=text, faults=tuple(faults))

    candidates = range(world.names_count)
    accepted = context.accepted_records(
        stage, candidates, write, lambda i: entity_facts(world, i).record()
    )
    write_rows(context.folder / DOCUMENTS, [row async for row in accepted])


def documents_of(job: Job[WorldParams]) -> Sequence[Mapping[str, Any]] | None:
    """The accepted documents as sources/ has them, read once in a process; None where no model
    writes them.
    """
    if not is_written(job):
        return None
    path = job.source_folder() / DOCUMENTS
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _read(path: Path, _changed: int) -> Sequence[Mapping[str, Any]]:
    return read_rows(path)


# --- calibration ----------------------------------------------------------------------------------


class CalibrationDocument(NamedTuple):
    """A document. `facts`: what it states, slot -> value; `kind`: what makes it hard."""

    domain: str
    title: str
    text: str
    facts: Mapping[str, str]
    kind: str

    @property
    def question(self) -> AskFacts:
        """What the reader is asked."""
        return reader_question(load_domain(self.domain), self.title, self.text)


@cache
def calibration_documents() -> tuple[CalibrationDocument, ...]:
    """All documents, domain by domain."""
    result = []
    for path in sorted((Path(__file__).parent / "calibration_set").glob("*.jsonl")):
        for row in read_rows(path):
            facts = dict(one.split("=", 1) for one in row["facts"])
            result.append(
                CalibrationDocument(path.stem, row["title"], row["text"], facts, row["kind"])
            )
    return tuple(result)


@cache
def calibration_sheets() -> tuple[CalibrationSheet[AskFacts, ReadFacts], ...]:
    """The documents, one a sheet; each slot of its domain is a case: stated, or not stated."""
    return tuple(
        CalibrationSheet(
            one.question,
            [
                CalibrationCase("stated" if slot in one.facts else "not stated", one.kind)
                for slot in load_domain(one.domain).slots
            ],
            partial(_slot_verdicts, one),
        )
        for one in calibration_documents()
    )


def _slot_verdicts(document: CalibrationDocument, answer: ReadFacts) -> list[str]:
    """Whether the reader found a fact for each slot; a wrong value is a verdict of its own."""
    domain, facts, verdicts = load_domain(document.domain), document.facts, list[str]()
    read = read_values(domain, answer)
    for slot in domain.slots:
        if slot not in read:
            verdicts.append("not stated")
        elif slot in facts and differences({slot: facts[slot]}, {slot: read[slot]}):
            verdicts.append("another value")
        else:
            verdicts.append("stated")
    return verdicts


def reader_report(job: Job[WorldParams]) -> Mapping[str, Mapping[str, Any]]:
    """How good the reader was found to be."""
    if not is_written(job):
        return {}
    result = Calibration(**orjson.loads((job.source_folder() / CALIBRATION).read_bytes()))
    return {READ_FACTS.name: result.report()}


# --- plan -----------------------------------------------------------------------------------------


def call_estimates(world: World, live: frozenset[str]) -> dict[str, CallEstimate]:
    """What the models will be asked, by agent: prompts of the first documents, composed texts."""
    domain, count = world.domain, min(_SAMPLE, world.entities)
    texts = [one.text for one in Composer(world).documents(0, count)]
    ones = [entity_facts(world, entity) for entity in range(count)]
    writing = [
        call_size(WRITE_DOCUMENT, writer_question(domain, one), WrittenDocument(text=text))
        for one, text in zip(ones, texts, strict=True)
    ]
    reading = [
        call_size(READ_FACTS, reader_question(domain, one.name, text), _facts_answer(one.facts))
        for one, text in zip(ones, texts, strict=True)
    ]
    calibration = [
        call_size(CALIBRATE, one.question, _facts_answer(one.facts))
        for one in calibration_documents()
    ]
    estimates = {
        WRITE_DOCUMENT.name: estimate_calls(world.entities, _CALLS, writing),
        READ_FACTS.name: estimate_calls(world.entities, _CALLS, reading),
        CALIBRATE.name: estimate_calls(len(calibration), (1.0, 1.0), calibration),
    }
    return {name: one for name, one in estimates.items() if name in live}


def _facts_answer(facts: Mapping[str, str]) -> ReadFacts:
    return ReadFacts(facts=[ReadFact(slot=slot, value=value) for slot, value in facts.items()])


# --- records --------------------------------------------------------------------------------------


def written_corpus(documents: Sequence[Mapping[str, Any]], seed: int) -> Rows:
    """Row i: the document that was accepted as number i."""
    count = len(documents)
    ids = Ids(seed, "world/ids", "d", count).texts(np.arange(count))

    def row(i: int) -> Mapping[str, Any]:
        one = documents[i]
        note = {"facts": one["facts"]}
        return {"_id": ids[i], "title": one["title"], "text": one["text"], "metadata": note}

    return rows_of(row, count)


def written_notes(params: WorldParams, asked: QueryTables) -> dict[str, str]:
    """How many queries the accepted documents do not give, if any."""
    wanted = len(cells(params)) * params.queries_per_cell
    if len(asked.queries) == wanted:
        return {}
    lacking = wanted - len(asked.queries)
    text = f"{lacking:,} of {wanted:,} could not be had from the documents that were accepted"
    return {"queries": text}


def written_card(
    params: WorldParams, documents: Sequence[Mapping[str, Any]], notes: Mapping[str, str]
) -> list[str]:
    """What the card says beside what it says of composed documents."""
    replaced = sum(one["entity"] >= params.documents for one in documents)
    text = (
        "A model put the facts of each document into prose, and another model, which did not know "
        "them, read the facts from the prose. A document was accepted where both agree in full: no "
        "fact missing, none changed, none added. The writer was told what differed, and wrote "
        "again; what still differed was rejected (`rejected.jsonl` of the run), and another entity "
        "took its place."
    )
    if replaced:
        text += (
            f" So {replaced:,} of {len(documents):,} documents are of such others. A document "
            "may name an entity that was rejected; no query asks for it."
        )
    text += (
        " A literal query asks in words of composed documents, which need not be the model's. The "
        "texts are free, so no pattern reads them: that the qrels follow from the facts is "
        "proven, that the texts state the facts is the reader's word."
    )
    return [text, *(f"Queries: {one}." for one in notes.values())]
