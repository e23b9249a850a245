"""The structural proof of the family `world_twins`: triples of base, twin and control.

What the words say is read, and queries are executed, as of the family `world`. Beyond that: base
and twin state the same but one fact in the same words, base and control the same in other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from retgen.data import Query
from retgen.validators.facts import COVERS, RULES
from retgen.validators.facts.execute import FactTable
from retgen.validators.facts.mentions import tokens_of
from retgen.validators.facts.proof import FactState, WorldProof, WorldSpec
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements

__all__ = ["COVERS", "RULES", "TwinsProof", "twins_rules"]

_SENTENCE = re.compile(r"(?<=[.!?]) ")
_ROLES = ("base", "twin", "control")


def twins_rules(domain: Path, judgements: Judgements) -> list[CorpusRule]:
    """The rules of the proof. `domain`: its file."""
    return [TwinsProof(WorldSpec(domain), judgements)]


class _Document(NamedTuple):
    """A document of a triple; `facts`: as its metadata has them, which its text must state."""

    doc_id: str
    title: str
    text: str
    facts: list[str]
    triple: str
    role: str
    changed: str


@dataclass
class _ReadTriples(FactState):
    """The documents of triples too."""

    documents_of: list[_Document] = field(default_factory=list)


class TwinsProof(WorldProof):
    """Reads documents and queries, derives the qrels again, and compares base, twin and control."""

    state: _ReadTriples

    def __init__(self, spec: WorldSpec, judgements: Judgements) -> None:
        super().__init__(spec, judgements)
        self._always = []  # a document states some facts

    def start(self) -> None:
        self.state = _ReadTriples()

    def scan(self, batch: Batch) -> None:
        super().scan(batch)
        for doc_id, title, text, metadata in zip(
            batch.ids, batch.titles, batch.texts, batch.metadata, strict=True
        ):
            note = metadata if isinstance(metadata, dict) else {}
            facts = [str(one) for one in note.get("facts") or ()]
            named = (str(note.get(key)) for key in ("triple", "role", "changed"))
            self.state.documents_of.append(_Document(doc_id, title, text, facts, *named))

    def findings(self) -> Iterator[Finding]:
        yield from super().findings()
        triples: dict[str, dict[str, _Document]] = {}
        of_name: dict[str, set[str]] = {}
        for one in self.state.documents_of:
            of_name.setdefault(one.title, set()).add(one.triple)
            of = triples.setdefault(one.triple, {})
            if one.role in of:
                yield _error([one.doc_id], f"triple {one.triple} has two documents {one.role!r}")
            of[one.role] = one
        for name, same in of_name.items():
            if len(same) > 1:
                named = ", ".join(sorted(same))
                yield _error(sorted(same), f"triples {named} have one name: {name!r}")
        whole = {name: roles for name, roles in triples.items() if set(roles) == set(_ROLES)}
        for triple, roles in triples.items():
            if triple not in whole:
                found = ", ".join(sorted(roles))
                message = f"has the documents {found}, not a base, a twin and a control"
                yield _error([triple], f"triple {triple} {message}")
        for roles in whole.values():
            base, twin, control = (roles[role] for role in _ROLES)
            for other in (twin, control):
                if (other.title, other.changed) != (base.title, base.changed):
                    yield _of(other, "has another title or changed slot than its base")
            yield from _of_twin(base, twin)
            yield from self._of_control(base, control)
        judged = {(q.query_id, q.doc_id): q.relevance for q in self.judgements.qrels}
        for query in self.judgements.queries:
            yield from self._about_triple(query, whole, judged)

    def _names(self, facts: FactTable) -> Iterator[Finding]:
        """Three documents have a name each, and what a relation names is in no document."""
        return iter(())

    def _of_control(self, base: _Document, control: _Document) -> Iterator[Finding]:
        if sorted(base.facts) != sorted(control.facts):
            apart = sorted(set(base.facts) ^ set(control.facts)) or ["a fact twice"]
            yield _of(control, f"does not state the facts of its base: {', '.join(apart)}")
        if len(base.facts) > 1 and base.facts == control.facts:
            yield _of(control, "states its facts in the order of its base")
        said = set(_SENTENCE.split(base.text))
        for one in _SENTENCE.split(control.text):
            if one in said and self.reader.document(base.title, one).facts:
                yield _of(control, f"has a sentence of its base: {one.rstrip('.')!r}")

    def _about_triple(
        self,
        query: Query,
        triples: Mapping[str, Mapping[str, _Document]],
        judged: Mapping[tuple[str, str], float],
    ) -> Iterator[Finding]:
        """Whether a query is about its triple, as its metadata says."""
        note = query.facts
        triple = triples.get(str(note.get("triple")))
        if triple is None:
            yield _asked(query, f"is about triple {note.get('triple')}, of which there is none")
            return
        base = triple["base"]
        slot = self.domain.slots.get(base.changed)
        right = (
            ("changed", base.changed),
            ("length", len(base.facts)),
            ("slot_type", slot.type if slot else None),
        )
        for key, value in right:
            if note.get(key) != value:
                yield _asked(query, f"its {key} is {value!r}, its metadata says {note.get(key)!r}")
        answers = ("twin",) if note.get("contrast") == "include" else ("base", "control")
        for role, one in triple.items():
            found = judged.get((query.query_id, one.doc_id))
            if found != (role in answers):
                state = "no row" if found is None else f"{found:g}"
                message = f"the {role} {one.doc_id} of its triple has {state} in the qrels"
                yield _asked(query, message, one.doc_id)


def _of_twin(base: _Document, twin: _Document) -> Iterator[Finding]:
    if len(base.facts) != len(twin.facts):
        yield _of(twin, f"states {len(twin.facts)} facts, its base {len(base.facts)}")
        return
    apart = [both for both in zip(base.facts, twin.facts, strict=True) if both[0] != both[1]]
    slots = {fact.partition("=")[0] for both in apart for fact in both}
    if len(apart) != 1 or slots != {base.changed}:
        said = "; ".join(f"{first} and {second}" for first, second in apart) or "none"
        yield _of(twin, f"must differ from its base in {base.changed} alone; it differs in {said}")
    mine, other = tokens_of(base.text), tokens_of(twin.text)
    begin = _alike(mine, other)
    end = _alike(mine[begin:][::-1], other[begin:][::-1])
    if "." in (*mine[begin : len(mine) - end], *other[begin : len(other) - end]):
        yield _of(twin, "is worded otherwise than its base, beyond the value that is changed")


def _alike(first: Sequence[str], second: Sequence[str]) -> int:
    """How many words both begin with."""
    pairs = zip((*first, None), (*second, ""), strict=False)
    return next(i for i, (one, other) in enumerate(pairs) if one != other)


def _of(document: _Document, message: str) -> Finding:
    return _error([document.doc_id], f"document {document.doc_id}, the {document.role}: {message}")


def _asked(query: Query, message: str, *documents: str) -> Finding:
    return _error([query.query_id, *documents], f"query {query.query_id}: {message}")


def _error(ids: Sequence[str], message: str) -> Finding:
    return Finding("world-proof/triples", "error", list(ids), message)
