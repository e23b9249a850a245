"""`world-proof`: what the words say is what the metadata says, and the qrels follow from the words.

Every document is read back to its facts and every query to its expression; the facts go into
SQLite, which executes the queries.
"""

from __future__ import annotations

import re
import tempfile
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.data import Dataset, Qrel, Query
from retgen.validators.facts.definitions import SlotDefinition, ValueDefinition
from retgen.validators.facts.execute import FactTable, Impossible, slots_of
from retgen.validators.facts.mentions import MONTHS, NUMBER_WORDS
from retgen.validators.facts.queries import UnreadableQuery, domain_readers
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleState
from retgen.write import json_line

# by the first word of an expression; a year asked for by its decade is a condition of "eq", too
_OPERATORS = {
    "is": {"eq"},
    "within": {"eq"},
    "between": {"range", "eq"},
    "and": {"and"},
    "or": {"or"},
    "and not": {"and-not"},
    "at least": {"k-of-n"},
    "most": {"superlative"},
    "least": {"superlative"},
    "via": {"two-hop"},
}
_EXACT = 10  # up to so many answers a query has exactly those asked for; above, within 10%


class WorldSpec(NamedTuple):
    """What the proof reads beside the data set: the domain's file. `documents`: None for any.

    `read`, `rejected`: of documents that a model wrote, the facts that another read from each, and
    the documents that were not taken.
    """

    domain: Path
    documents: int | None = None
    read: Path | None = None
    rejected: Path | None = None


@dataclass
class FactState(RuleState):
    """Rows of facts, a document each, and what is wrong."""

    documents: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)
    rows: list[NDArray[np.uint8]] = field(default_factory=list)  # JSON Lines


class FactsProof(CorpusRule):
    """Reads documents and queries back, and derives the qrels again from what they say.

    What a family adds: how a document and a query are read, what their metadata must say of that,
    and which labels follow.
    """

    severity = "error"
    state: FactState
    spec: Any
    values: Mapping[str, Mapping[str, ValueDefinition]]  # by slot; none where they are not listed
    numbers: Collection[str] = ()  # slots whose values are numbers

    def __init__(self, spec: Any, judgements: Judgements) -> None:
        self.spec, self.judgements = spec, judgements
        self._dataset: Dataset | None = None
        self.start()

    def start(self) -> None:
        self.state = FactState()

    def about(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def scan(self, batch: Batch) -> None:
        lines = []
        for doc_id, title, text, metadata in zip(
            batch.ids, batch.titles, batch.texts, batch.metadata, strict=True
        ):
            noted = metadata.get("facts") if isinstance(metadata, dict) else None
            held, problems = self._held(title, text, noted)
            self.state.wrong += [(doc_id, problem) for problem in problems]
            lines.append(json_line([doc_id, title, *map(held.get, self.values)]))
        self.state.documents += len(batch)
        self.state.rows.append(np.frombuffer(b"".join(lines), np.uint8))

    @abstractmethod
    def _held(self, title: str, text: str, noted: Any) -> tuple[dict[str, str], list[str]]:
        """The facts of a document, and what is wrong with it. `noted`: those of its metadata."""

    @abstractmethod
    def _asked(self, text: str) -> Any:
        """What a query asks. Raises `UnreadableQuery`."""

    @abstractmethod
    def _noted(self, query: Query, asked: Any) -> Iterator[Finding]:
        """What is wrong with a query's metadata."""

    @abstractmethod
    def _names(self, facts: FactTable) -> Iterator[Finding]:
        """What is wrong with documents beside one another."""

    @abstractmethod
    def _labels(self, facts: FactTable, asked: Mapping[str, Any]) -> Iterator[Finding]:
        """What is wrong with qrels and grades."""

    def rows(self) -> Iterator[list[Any]]:
        """The rows of facts, a document each."""
        for some in self.state.rows:
            yield from map(orjson.loads, some.tobytes().splitlines())

    def findings(self) -> Iterator[Finding]:
        for doc_id, wrong in self.state.wrong:
            yield self._error("document", [doc_id], f"document {doc_id}: {wrong}")
        wanted = self.spec.documents
        if wanted is not None and self.state.documents != wanted:
            message = f"{self.state.documents:,} documents, the recipe says {wanted:,}"
            yield self._error("documents", [], message)
        asked: dict[str, Any] = {}
        for query in self.judgements.queries:
            try:
                asked[query.query_id] = self._asked(query.text)
            except UnreadableQuery as error:
                yield self._of_query(query, f"cannot be read: {error}")
                continue
            yield from self._noted(query, asked[query.query_id])
        with tempfile.TemporaryDirectory(prefix="facts-", dir=self.scratch) as folder:
            facts = FactTable(Path(folder) / "facts.sqlite", self.values, self.numbers)
            try:
                facts.add(self.rows())
                facts.index(set().union(*map(slots_of, asked.values())) or self.values)
                yield from self._names(facts)
                yield from self._labels(facts, asked)
            finally:
                facts.close()

    def _graded(self) -> dict[str, dict[str, float]]:
        """The grades of the split under test, which may not be there."""
        split = self.judgements.split
        if self._dataset is None or split not in self._dataset.graded:
            return {}
        return by_query(self._dataset.graded[split].read()[0])

    def _of_query(self, query: Query, message: str) -> Finding:
        return self._error("query", [query.query_id], f"query {query.query_id}: {message}")

    def _error(self, kind: str, ids: Iterable[str], message: str) -> Finding:
        return Finding(f"{self.name}/{kind}", "error", list(ids), message)


class WorldProof(FactsProof):
    """Reads documents and queries, and derives the qrels again."""

    name = "world-proof"
    spec: WorldSpec

    def __init__(self, spec: WorldSpec, judgements: Judgements) -> None:
        super().__init__(spec, judgements)
        self.domain, self.reader, self.queries = domain_readers(spec.domain)
        self._always = [name for name, slot in self.domain.slots.items() if slot.share == 1]
        self.values = {name: slot.values for name, slot in self.domain.slots.items()}
        self.numbers = [*self.domain.of_type("year"), *self.domain.of_type("number")]

    def _asked(self, text: str) -> list[Any]:
        return self.queries.query(text)

    def _held(self, title: str, text: str, noted: Any) -> tuple[dict[str, str], list[str]]:
        """The facts of a document, and what is wrong with it. `noted`: those of its metadata."""
        facts, problems = self.reader.document(title, text)
        stated = [str(fact) for fact in facts]
        if noted != stated:
            problems = problems or [unlike(stated, noted)]
        held: dict[str, str] = {}
        for fact in facts:
            if fact.holder == "self":
                if fact.slot in held:
                    problems.append(f"it states {fact.slot} twice")
                held[fact.slot] = fact.value
        return held, problems or self._lacks(held)

    def _lacks(self, held: Mapping[str, str]) -> list[str]:
        lacks = [name for name in self._always if name not in held]
        return [f"it does not state its {lacks[0]}, which every document does"] if lacks else []

    def _names(self, facts: FactTable) -> Iterator[Finding]:
        for name, ids in facts.namesakes():
            yield self._error("names", ids, f"{len(ids):,} documents are named {name!r}")
        gone = self._gone()
        for doc_id, slot, name in facts.unresolved(self.domain.of_type("relation")):
            if name in gone:
                continue
            message = f"document {doc_id}: its {slot} is {name!r}, which no document is named"
            yield self._error("names", [doc_id], message)

    def _gone(self) -> set[str]:
        """Names that no document has, and that others may name."""
        return set()

    def _labels(self, facts: FactTable, asked: Mapping[str, list[Any]]) -> Iterator[Finding]:
        queries = {query.query_id: query for query in self.judgements.queries}
        judged = {
            split: by_query(qrels) for split, qrels in self.judgements.splits()
        }  # "" is the split under test
        elsewhere = {one for split, rows in judged.items() if split for one in rows}
        graded = self._graded()

        for query_id, expression in asked.items():
            try:
                answers = facts.answers(expression)
            except Impossible as error:
                yield self._of_query(queries[query_id], str(error))
                continue
            yield from self._size(queries[query_id], len(answers))
            for split, rows in judged.items():
                if query_id in rows or (not split and query_id not in elsewhere):
                    yield from self._compare(query_id, split, rows.get(query_id, {}), answers)
            if query_id in graded:
                grades = facts.grades(expression, list(graded[query_id]))
                yield from self._grades(query_id, graded[query_id], grades)

    def _noted(self, query: Query, expression: list[Any]) -> Iterator[Finding]:
        """What a query's metadata says of its expression."""
        note, text = query.facts, orjson.dumps(expression).decode()
        if note.get("expression") != text:
            yield self._of_query(
                query, f"reads as {text}, its metadata says {note.get('expression')}"
            )
            return
        operators = _OPERATORS[expression[0]]
        if expression[0] == "and" and any(part[0] == "between" for part in expression[1:]):
            operators = {"and", "range"}  # of conditions that are met together, one is a range
        if (operator := note.get("operator")) is not None and operator not in operators:
            message = f"its operator is {expression[0]!r}, its metadata says {operator!r}"
            yield self._of_query(query, message)
        slots, right = note.get("slots"), slots_of(expression)
        if slots is not None and (not isinstance(slots, list) or set(slots) != right):
            named = ", ".join(sorted(right))
            yield self._of_query(query, f"asks about {named}, its metadata says {slots}")

    def _size(self, query: Query, count: int) -> Iterator[Finding]:
        """Whether a query has as many answers as its metadata says."""
        if (noted := query.facts.get("n_answers")) is not None and noted != count:
            yield self._of_query(query, f"has {count:,} answers, its metadata says {noted}")
        size = query.facts.get("answers")
        if not isinstance(size, int):
            return
        if count != size and (size <= _EXACT or abs(count - size) * 10 > size):
            yield self._of_query(query, f"has {count:,} answers, and is one of those with {size:,}")

    def _compare(
        self, query_id: str, split: str, judged: Mapping[str, float], answers: set[str]
    ) -> Iterator[Finding]:
        """Whether the positives of a query are its answers, and nothing judged 0 is one."""
        positive = {doc_id for doc_id, relevance in judged.items() if relevance > 0}
        for doc_id in sorted(positive - answers):
            message = (
                f"query {query_id}: {doc_id} is relevant in the qrels{split}, and does not meet it"
            )
            yield self._error("qrels", [query_id, doc_id], message)
        missing = sorted(answers - positive)
        for doc_id in missing:
            if doc_id in judged:
                message = f"query {query_id}: {doc_id} meets it, and has 0 in the qrels{split}"
                yield self._error("qrels", [query_id, doc_id], message)
        if absent := [doc_id for doc_id in missing if doc_id not in judged]:
            more = f" and {len(absent) - 1:,} more" if len(absent) > 1 else ""
            verb = "meet" if len(absent) > 1 else "meets"
            message = f"{absent[0]}{more} {verb} it, with no row in the qrels{split}"
            yield self._error("qrels", [query_id, *absent], f"query {query_id}: {message}")

    def _grades(
        self, query_id: str, graded: Mapping[str, float], right: Mapping[str, int]
    ) -> Iterator[Finding]:
        for doc_id, grade in graded.items():
            met = right.get(doc_id)
            if met is not None and grade != met:
                message = f"{doc_id} meets {met} of its conditions, its grade is {grade:g}"
                yield self._error("grades", [query_id, doc_id], f"query {query_id}: {message}")


def unlike(stated: Sequence[str], noted: Any) -> str:
    """How what a text states differs from what its metadata says."""
    if not isinstance(noted, list) or not all(isinstance(one, str) for one in noted):
        return "its metadata has no facts"
    place = next(
        (i for i, both in enumerate(zip(stated, noted, strict=False)) if both[0] != both[1]),
        min(len(stated), len(noted)),
    )
    read = repr(stated[place]) if place < len(stated) else "nothing"
    said = repr(noted[place]) if place < len(noted) else "nothing"
    if sorted(stated) == sorted(noted):
        return f"its text states {read} as fact {place + 1}, its metadata {said}: another order"
    return f"its text states {read} as fact {place + 1}, its metadata {said}"


def by_query(qrels: Iterable[Qrel]) -> dict[str, dict[str, float]]:
    result: dict[str, dict[str, float]] = {}
    for query_id, doc_id, relevance in qrels:
        result.setdefault(query_id, {})[doc_id] = relevance
    return result


# --- documents that a model wrote ---------------------------------------------------------------

_WORD = re.compile(r"\w+")


class ProseProof(WorldProof):
    """Holds free prose against what a model read from it, and derives the qrels from those facts.

    No pattern can read it. Proven is that metadata say what was read, that these are facts of the
    domain whose values stand in the text, and, as for composed documents, that every query says
    what its metadata say and that the qrels follow from the facts.
    """

    def _held(self, title: str, text: str, noted: Any) -> tuple[dict[str, str], list[str]]:
        if not isinstance(noted, list) or not all(isinstance(one, str) for one in noted):
            return {}, ["its metadata has no facts"]
        held: dict[str, str] = {}
        for fact in noted:
            name, _, value = fact.partition("=")
            slot = self.domain.slots.get(name)
            if slot is None or not _spoken(slot, value):
                return {}, [f"{fact!r} in its metadata is no fact of domain {self.domain.domain}"]
            if name in held:
                return {}, [f"its metadata has {name} twice"]
            held[name] = value
        return held, self._lacks(held) or [*self._unread(title, text, held)]

    def _unread(self, title: str, text: str, held: Mapping[str, str]) -> Iterator[str]:
        """Facts whose value is not in the text, or that no model read from it."""
        words = f" {_words(text)} "
        for name, value in held.items():
            if not any(f" {one} " in words for one in _spoken(self.domain.slots[name], value)):
                yield f"its metadata says {f'{name}={value}'!r}, and the value is not in its text"
        one = self._readings.get(title)
        if one is None or one["text"] != text:
            yield "no model read this text"
            return
        read = {_folded(fact) for fact in one["read"]}
        for fact in sorted(f"{name}={value}" for name, value in held.items()):
            if _folded(fact) not in read:
                yield f"its metadata says {fact!r}, which was not read from it"
        if len(read) > len(held):
            yield f"{len(read)} facts were read from it, its metadata has {len(held)}"

    @cached_property
    def _readings(self) -> dict[str, Any]:
        """What was read, by title."""
        assert self.spec.read is not None
        rows = map(orjson.loads, self.spec.read.read_bytes().splitlines())
        return {row["title"]: row for row in rows}

    def _gone(self) -> set[str]:
        """The titles that were rejected: others may name them."""
        path = self.spec.rejected
        if path is None or not path.exists():
            return set()
        return {_title(orjson.loads(line)) for line in path.read_bytes().splitlines()}


def _title(row: Mapping[str, Any]) -> str:
    """The title of a rejected document."""
    record = row.get("record")
    inner = record.get("record", record) if isinstance(record, dict) else None
    return str(inner.get("title", "")) if isinstance(inner, dict) else ""


def _spoken(slot: SlotDefinition, value: str) -> list[str]:
    """What a text may call a value, in plain words; nothing for what is no value of the slot."""
    match slot.type:
        case "category" | "place" if value not in slot.values:
            return []
        case "year" | "number" if not value.isdecimal():
            return []
        case "number":
            few = [word for word, number in NUMBER_WORDS.items() if number == int(value)]
            return [_words(f"{int(value):,}"), value, *few]
        case "date":
            if not re.fullmatch(r"\d{4}-(?:0[1-9]|1[0-2])-\d\d", value):
                return []
            year, month, day = map(int, value.split("-"))
            called = list(MONTHS)[month - 1].casefold()
            return [f"{day} {called} {year}", f"{called} {day} {year}"]
    return [_without_article(value)] if value else []


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _without_article(value: str) -> str:
    words = _words(value)
    first, _, rest = words.partition(" ")
    return rest if rest and first in ("a", "an", "the") else words


def _folded(fact: str) -> tuple[str, str]:
    slot, _, value = fact.partition("=")
    return slot.casefold(), _without_article(value)
