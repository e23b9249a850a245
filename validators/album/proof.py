"""The proof: texts are read back, and every query is graded on every caption again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import orjson

from retgen.validators.album.grading import Captions
from retgen.validators.album.reader import Unreadable, lexicon, read_caption, read_query
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, State

_PERSONS, _CONCEPTS, _PLACES = "person", ("topic", "moment"), ("place", "landmark")


class AlbumSpec(NamedTuple):
    """What the recipe asks for."""

    language: str
    captions: int
    queries: int
    training: bool = False


@dataclass
class CaptionState(State):
    """What captions were read as: ids, facts, and what is wrong with which."""

    ids: list[str] = field(default_factory=list)
    facts: list[list[str]] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)

    def merge(self, later: Self, offset: int) -> None:
        self.ids += later.ids
        self.facts += later.facts
        self.broken += later.broken


class AlbumProof(CorpusRule):
    """Reads captions and queries back into facts, and grades every pair anew."""

    name = "album-proof"
    severity = "error"
    state: CaptionState

    def __init__(self, spec: AlbumSpec, judgements: Judgements) -> None:
        self.spec = spec
        self.judgements = judgements
        self.start()

    def start(self) -> None:
        self.state = CaptionState()

    def scan(self, batch: Batch) -> None:
        state = self.state
        rows = zip(batch.ids, batch.titles, batch.texts, batch.metadata, strict=True)
        for doc_id, title, text, metadata in rows:
            noted = metadata.get("facts") if isinstance(metadata, dict) else None
            if title:
                state.broken.append((doc_id, f"its title is {title!r}, not empty"))
            if text.isascii() != (self.spec.language == "en"):
                state.broken.append((doc_id, f"it is not in the language {self.spec.language}"))
            try:
                facts = read_caption(text)
            except Unreadable as reason:
                state.broken.append((doc_id, f"its caption cannot be read: {reason}"))
                continue
            if facts != noted:
                message = f"its caption says {facts}, and its metadata {noted}"
                state.broken.append((doc_id, message))
            state.ids.append(doc_id)
            state.facts.append(facts)

    def findings(self) -> Iterator[Finding]:
        for doc_id, reason in self.state.broken:
            yield self._error([doc_id], f"{doc_id}: {reason}")
        seen = len(self.state.ids)
        unread = {doc_id for doc_id, _ in self.state.broken}
        whole = len(unread | set(self.state.ids))
        if whole != self.spec.captions:
            message = f"there are {whole:,} captions, and {self.spec.captions:,} in the recipe"
            yield self._error([], message)
        queries = self.judgements.queries
        if len(queries) != self.spec.queries:
            message = f"there are {len(queries):,} queries, and {self.spec.queries:,} in the recipe"
            yield self._error([], message)
        alike: dict[tuple[str, ...], str] = {}
        for doc_id, facts in zip(self.state.ids, self.state.facts, strict=True):
            other = alike.setdefault(tuple(facts), doc_id)
            if other != doc_id:
                yield self._error([other, doc_id], f"{other} and {doc_id} say the same")
        given: dict[str, dict[str, float]] = {query.query_id: {} for query in queries}
        for query_id, doc_id, relevance in self.judgements.qrels:
            given.setdefault(query_id, {})[doc_id] = relevance
        captions = Captions(self.state.facts)
        place = {doc_id: i for i, doc_id in enumerate(self.state.ids)}
        read: dict[bytes, str] = {}
        for query in queries:
            query_id = query.query_id
            try:
                asked = read_query(query.text)
            except Unreadable as reason:
                yield self._error([query_id], f"{query_id} cannot be read: {reason}")
                continue
            yield from self._noted(query_id, query.metadata, asked)
            key = orjson.dumps(asked)
            if read.setdefault(key, query_id) != query_id:
                message = f"{read[key]} and {query_id} ask for the same"
                yield self._error([read[key], query_id], message)
            grades = captions.grades(asked)
            rows = np.zeros(seen, np.int64)
            for doc_id, relevance in given[query_id].items():
                if doc_id in place and relevance in (1, 2):
                    rows[place[doc_id]] = relevance
                elif relevance not in (1, 2):
                    message = f"{query_id}: {doc_id} has the grade {relevance:g}; rows are 1 or 2"
                    yield self._error([query_id, doc_id], message)
            for i in np.flatnonzero(grades != rows).tolist():
                doc_id = self.state.ids[i]
                message = f"{query_id}: {doc_id} is graded {rows[i]}, and by its words it is "
                yield self._error([query_id, doc_id], f"{message}{grades[i]}")

    def _noted(self, query_id: str, metadata: Any, asked: dict[str, Any]) -> Iterator[Finding]:
        """The metadata of a query are those of its words."""
        kind, granularity, level = _described(asked)
        wanted = {
            "type": kind,
            "granularity": granularity,
            "level": level,
            "expression": orjson.dumps(asked).decode(),
        }
        noted = metadata if isinstance(metadata, dict) else {}
        for key in dict.fromkeys((*wanted, *noted)):
            if noted.get(key) != wanted.get(key):
                message = f"{key} is {noted.get(key)!r}, and by its words {wanted.get(key)!r}"
                yield self._error([query_id], f"{query_id}: {message}")

    def _error(self, ids: list[str], message: str) -> Finding:
        return Finding(self.name, self.severity, ids, message)


def _described(asked: dict[str, Any]) -> tuple[str, str, str]:
    """Type, granularity and level of what a query asks for."""
    known = lexicon()
    conditions = len(asked.keys() - {"object"})
    names = [value for key, value in asked.items() if key not in ("number", "colour")]
    level = "hypernym" if any(name in known.kinds for name in names) else "named"
    if "other" in asked:
        return "conjunction", "middle", level
    if conditions == 2:
        return "simple condition", "middle", level
    if conditions > 2:
        return "complex condition", "coarse", level
    if "action" in asked:
        return "event", "fine", level
    what = names[0]
    if known.roles[what] in _CONCEPTS:
        kind = "concept"
    elif known.roles[what] in _PLACES:
        kind = "place"
    else:
        kind = "person" if _PERSONS in (what, *known.above[what]) else "object"
    return kind, "fine", level
