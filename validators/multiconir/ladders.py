"""The ladders of a run, read one at a time: whether they agree with their source documents.

Every document of the source is a ladder or is rejected, and the documents of a ladder break its
conditions one after the other.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

TEN = 10


class LadderSpec(NamedTuple):
    """What a proof has to know beside the data set.

    `documents`, `ladders`: what a run keeps of its sources, `rejected`: its rejected records, all
    one JSON object a line. `opening`: the first line of instruction-style queries. `domain`: of
    all queries. `asked`: ladders that were asked for, None: as many as the documents give.
    `singles`: whether there is a document for each condition that breaks it alone. `rests_on`: what
    labels follow from; `world`: the file of the domain of these facts.
    """

    documents: Path
    ladders: Path
    opening: str
    domain: str
    rejected: Path
    asked: int | None = None
    singles: bool = False
    rests_on: Literal["facts", "figures", "judge"] = "judge"
    world: Path | None = None


class LadderRow(NamedTuple):
    """Ten of everything, in the order of the conditions. `number`: its line, from 0."""

    number: int
    id: str
    sentences: list[str]
    rewrites: list[str]
    conditions: list[str]
    queries: list[str]
    title: str


class LadderFile:
    """The ladders by id; what is kept of each is where its line begins."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: LadderRow | None = None
        self._numbers: dict[str, int] = {}
        self._starts: list[int] = []
        self.unsound: list[tuple[str, str]] = []
        at = 0
        with open(path, "rb") as file:
            for number, line in enumerate(file):
                try:
                    one = _ladder(number, line)
                except (ValueError, KeyError, TypeError) as error:
                    message = f"line {number + 1} is damaged"
                    raise OSError(errno.EINVAL, message, str(path)) from error
                self._numbers[one.id] = number
                self._starts.append(at)
                at += len(line)
                parts = (one.sentences, one.rewrites, one.conditions, one.queries)
                if any(len(part) != TEN for part in parts):
                    self.unsound.append((one.id, "it has not ten of everything"))
                elif len({*one.sentences, *one.rewrites}) != 2 * TEN:
                    message = "two of its sentences and rewrites are the same"
                    self.unsound.append((one.id, message))

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[LadderRow]:
        with open(self._path, "rb") as file:
            for number, line in enumerate(file):
                yield _ladder(number, line)

    def ids(self) -> list[str]:
        """All ids, by number."""
        return list(self._numbers)

    def get(self, name: Any) -> LadderRow | None:
        """The ladder of an id, None where there is none."""
        if self._last is not None and self._last.id == name:
            return self._last
        number = self._numbers.get(name) if isinstance(name, str) else None
        if number is None:
            return None
        self._file.seek(self._starts[number])
        self._last = _ladder(number, self._file.readline())
        return self._last

    def numbered(self, number: int) -> LadderRow:
        """The ladder of a number."""
        result = self.get(self.ids()[number])
        assert result is not None  # all are known by their ids
        return result

    @cached_property
    def _file(self) -> Any:
        return open(self._path, "rb")  # open as long as ladders are asked for

    def __del__(self) -> None:
        if "_file" in self.__dict__:
            self._file.close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_file"}

    def disagreements(self, documents: Path) -> Iterator[tuple[str, str]]:
        """(ladder, what is wrong) where sentences are not those of the source document."""
        missing = set(self._numbers)
        with open(documents, "rb") as file:
            for line in file:
                row = orjson.loads(line)
                if (ladder := self.get(row["id"])) is None:
                    continue
                missing.discard(ladder.id)
                text, spans = row["text"], []
                for sentence in ladder.sentences:
                    at = text.find(sentence)
                    spans.append((at, at + len(sentence)))
                    if at < 0:
                        message = f"a sentence does not stand in its source document: {sentence!r}"
                        yield ladder.id, message
                if any(a[1] > b[0] for a, b in pairwise(sorted(spans))):
                    yield ladder.id, "two of its sentences overlap in the source document"
        for name in sorted(missing):
            yield name, "its source document is not there"


def _ladder(number: int, line: bytes) -> LadderRow:
    row = orjson.loads(line)
    made = LadderRow(number, *(row[name] for name in LadderRow._fields[1:]))
    for part in made[2:-1]:
        if type(part) is not list or not all(type(one) is str for one in part):
            raise TypeError("not a list of texts")
    if type(made.id) is not str or type(made.title) is not str:
        raise TypeError("not a text")
    return made


def source_faults(spec: LadderSpec, ladders: LadderFile) -> Iterator[tuple[str, str]]:
    """(document, what is wrong). Raises OSError or ValueError for files that cannot be read.

    Documents that stand after as many ladders as were asked for were not needed.
    """
    made = set(ladders.ids())
    rejected: dict[str, int] = {}
    with open(spec.rejected, "rb") as file:
        for line in file:
            record = orjson.loads(line)["record"]["record"]
            # without a text it is a row of the source that was no document
            if isinstance(name := record.get("id"), str) and "text" in record:
                rejected[name] = rejected.get(name, 0) + 1
    enough = spec.asked is not None and len(made) >= spec.asked
    with open(spec.documents, "rb") as file:
        for line in file:
            name = orjson.loads(line)["id"]
            if name in made and name in rejected:
                yield name, "it is a ladder, and rejected, too"
            elif rejected.get(name, 0) > 1:
                yield name, "it is rejected more than once"
            elif name not in made and name not in rejected and not enough:
                yield name, "it is neither a ladder nor in rejected.jsonl"


def ladder_faults(documents: Sequence[tuple[int, int]], singles: bool) -> Iterator[str]:
    """In one order of places, every rung once.

    `documents`: of each its broken conditions and its order of places. `singles`: every condition
    is broken alone, too.
    """
    if len({order for _, order in documents}) > 1:
        yield "the sentences of its documents do not stand in one order"
    broken = {one for one, _ in documents}
    if len(broken) < len(documents):
        yield "two of its documents break the same conditions"
    rungs = {(1 << n) - 1 for n in range(TEN + 1)}
    alone = {1 << c for c in range(TEN)} if singles else set[int]()
    if not broken >= rungs:
        yield "it does not break one condition more at each of ten rungs"
    if not broken >= alone:
        yield "a condition is broken alone by none of its documents"
    for other in sorted(broken - rungs - alone):
        yield f"a document that breaks the conditions {numbers_of(other)} is no rung"


def sentences_of(
    text: str, known: Sequence[tuple[str, tuple[int, bool]]]
) -> list[tuple[int, bool]] | None:
    """A text cut into known pieces, joined by single spaces; the longest that fits is taken."""
    result, at = [], 0
    while at < len(text):
        for piece, which in known:
            end = at + len(piece)
            if text.startswith(piece, at) and text[end : end + 1] in ("", " "):
                result.append(which)
                break
        else:
            return None
        at = end + 1
    return result if at == len(text) + 1 else None


def bits_of(numbers: Any) -> int:
    """Rising numbers from 1 to 16 as bits. Raises ValueError for anything else."""
    if type(numbers) is not list or numbers != sorted(set(numbers)):
        raise ValueError(numbers)
    result = 0
    for number in numbers:
        if type(number) is not int or not 1 <= number <= 16:
            raise ValueError(number)
        result |= 1 << number - 1
    return result


def numbers_of(broken: int) -> str:
    return ", ".join(str(c + 1) for c in range(16) if broken >> c & 1) or "none"
