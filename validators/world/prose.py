"""`world-proof` of documents that a model wrote: their free prose is no pattern's to read.

What a document says rests on the model that read it. Proven is that its metadata say what was read,
that these are facts of the domain whose values stand in the text, and, as for composed documents,
that every query says what its metadata say and that the qrels are what it asks of the facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import orjson

from retgen.validators.rule import Batch
from retgen.validators.world.definitions import Slot
from retgen.validators.world.execute import row_of
from retgen.validators.world.mentions import MONTHS
from retgen.validators.world.proof import WorldProof

_WORD = re.compile(r"\w+")
_ARTICLES = ("a", "an", "the")


class ProseProof(WorldProof):
    """Holds documents against what was read from them, and derives the qrels from their facts."""

    def scan(self, batch: Batch) -> None:
        lines = []
        for doc_id, title, text, metadata in zip(
            batch.ids, batch.titles, batch.texts, batch.metadata, strict=True
        ):
            noted = metadata.get("facts") if isinstance(metadata, dict) else None
            held, problems = self._held(noted)
            problems = problems or [*self._unstated(held, text), *self._unread(title, text, held)]
            self.state.wrong += [(doc_id, problem) for problem in problems]
            row = row_of(doc_id, title, held, self.domain)
            lines.append(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
        self.state.documents += len(batch)
        self._spool(b"".join(lines))

    def _held(self, noted: Any) -> tuple[dict[str, str], list[str]]:
        """The facts of a document's metadata, and what is wrong with them."""
        if not isinstance(noted, list) or not all(isinstance(one, str) for one in noted):
            return {}, ["its metadata has no facts"]
        held: dict[str, str] = {}
        for fact in noted:
            name, _, value = fact.partition("=")
            slot = self.domain.slots.get(name)
            if slot is None or not _fits(slot, value):
                return {}, [f"{fact!r} in its metadata is no fact of domain {self.domain.domain}"]
            if name in held:
                return {}, [f"its metadata has {name} twice"]
            held[name] = value
        lacks = [name for name in self._always if name not in held]
        if lacks:
            return held, [f"it does not state its {lacks[0]}, which every document does"]
        return held, []

    def _unstated(self, held: Mapping[str, str], text: str) -> Iterator[str]:
        words = _words(text)
        for name, value in held.items():
            if not any(_holds(words, one) for one in _spoken(self.domain.slots[name], value)):
                yield f"its metadata says {f'{name}={value}'!r}, and the value is not in its text"

    def _unread(self, title: str, text: str, held: Mapping[str, str]) -> Iterator[str]:
        one = self._readings.get(title)
        if one is None or one["text"] != text:
            yield "no model read this text"
            return
        said = {fact.casefold() for fact in one["read"]}
        for fact in sorted(f"{name}={value}" for name, value in held.items()):
            if _folded(fact) not in {_folded(read) for read in said}:
                yield f"its metadata says {fact!r}, which was not read from it"
        if len(said) > len(held):
            yield f"{len(said)} facts were read from it, its metadata has {len(held)}"

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


def _fits(slot: Slot, value: str) -> bool:
    """Whether a value is one of the slot's type; of those that are listed, one of these."""
    match slot.type:
        case "category" | "place":
            return value in slot.values
        case "date":
            return re.fullmatch(r"\d{4}-\d\d-\d\d", value) is not None
        case "year" | "number":
            return value.isdecimal()
        case _:
            return bool(value)


def _spoken(slot: Slot, value: str) -> Iterator[Sequence[str]]:
    """The words of a value, in each order in which a text may have them."""
    if slot.type == "date":
        year, month, day = map(int, value.split("-"))
        called = list(MONTHS)[month - 1].casefold()
        yield [str(day), called, str(year)]
        yield [called, str(day), str(year)]
    elif slot.type == "number":
        yield _words(f"{int(value):,}")
        yield _words(value)
    else:
        words = _words(value)
        yield words[1:] if len(words) > 1 and words[0] in _ARTICLES else words


def _holds(words: Sequence[str], wanted: Sequence[str]) -> bool:
    size = len(wanted)
    starts = (i for i, word in enumerate(words) if word == wanted[0])
    return any(list(words[i : i + size]) == list(wanted) for i in starts)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _folded(fact: str) -> tuple[str, ...]:
    slot, _, value = fact.partition("=")
    words = _words(value)
    return slot.casefold(), *(words[1:] if words[:1] and words[0] in _ARTICLES else words)
