"""The ladders of a run, read one at a time: whether they agree with their source documents.

Every document of the source is a ladder or is rejected, and the documents of a ladder break its
conditions one after the other. The texts of drawn ladders are read back into facts.
"""

from __future__ import annotations

import errno
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from retgen.on_disk import JSONLines
from retgen.validators.facts.queries import UnreadableQuery, domain_readers
from retgen.validators.facts.reader import Fact

T = TypeVar("T")
TEN = 10
STYLES = ("instruction", "descriptive")
RUNGS = tuple((1 << n) - 1 for n in range(TEN + 1))  # conditions that the documents break, as bits
_ALONE = {1 << c for c in range(TEN)}


class LadderSpec(NamedTuple):
    """What a proof has to know beside the data set.

    `documents`, `ladders`: what a run keeps of its sources, `rejected`: its rejected records, all
    one JSON object a line. `opening`: the first line of instruction-style queries. `domain`: of
    all queries. `asked`: ladders that were asked for, None: as many as the documents give.
    `world`: the file of the domain of the facts that labels follow from; None: of a judge.
    """

    documents: Path
    ladders: Path
    opening: str
    domain: str
    rejected: Path
    asked: int | None = None
    world: Path | None = None


class LadderRow(NamedTuple):
    """Ten of everything, in the order of the conditions."""

    id: str
    sentences: list[str]
    rewrites: list[str]
    conditions: list[str]
    queries: list[str]
    title: str


class LadderFile:
    """The ladders by number, their line from 0, and the numbers by id."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.numbers: dict[str, int] = {}
        self.unsound: list[tuple[str, str]] = []
        for number, one in enumerate(_rows(path, _ladder)):
            self.numbers[one.id] = number
            if any(len(part) != TEN for part in one[1:-1]):
                self.unsound.append((one.id, "it has not ten of everything"))
            elif len({*one.sentences, *one.rewrites}) != 2 * TEN:
                message = "two of its sentences and rewrites are the same"
                self.unsound.append((one.id, message))
        rows = JSONLines(path)
        self.at = lru_cache(2)(lambda number: _ladder(rows[number]))

    def __reduce__(self) -> tuple[type[LadderFile], tuple[Path]]:
        return LadderFile, (self._path,)  # another process reads it again

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[LadderRow]:
        return map(self.at, range(len(self)))

    def number(self, name: Any) -> int | None:
        """The number of a ladder, None where there is none of that id."""
        return self.numbers.get(name) if isinstance(name, str) else None


def _rows(path: Path, read: Callable[[Any], T]) -> Iterator[T]:
    """What the lines of a file hold. Raises `OSError` for one that is damaged."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = read(orjson.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise OSError(errno.EINVAL, f"line {number} is damaged", str(path)) from error
            yield row


def _ladder(row: Any) -> LadderRow:
    made = LadderRow(*(row[name] for name in LadderRow._fields))
    for part in made[1:-1]:
        if type(part) is not list or not all(type(one) is str for one in part):
            raise TypeError("not a list of texts")
    if type(made.id) is not str or type(made.title) is not str:
        raise TypeError("not a text")
    return made


def source_faults(spec: LadderSpec, ladders: LadderFile) -> Iterator[tuple[str, str]]:
    """(document, what is wrong). Raises `OSError` for files that cannot be read.

    Documents that stand after as many ladders as were asked for were not needed.
    """
    rejected = Counter(filter(None, _rows(spec.rejected, _rejected)))
    enough = spec.asked is not None and len(ladders) >= spec.asked
    missing = set(ladders.numbers)
    for name, text in _rows(spec.documents, lambda row: (row["id"], row["text"])):
        missing.discard(name)
        if rejected[name] > 1:
            yield name, "it is rejected more than once"
        elif name in ladders.numbers and rejected[name]:
            yield name, "it is a ladder, and rejected, too"
        elif name in ladders.numbers:
            ladder = ladders.at(ladders.numbers[name])
            for fault in _disagreements(ladder.sentences, text):
                yield name, fault
        elif not rejected[name] and not enough:
            yield name, "it is neither a ladder nor in rejected.jsonl"
    for name in sorted(missing):
        yield name, "it is not there, and there is a ladder of it"


def _rejected(row: Any) -> str | None:
    """The document that was rejected; None of a row of the source that was none."""
    record = row["record"]["record"]
    return record.get("id") if "text" in record else None


def _disagreements(sentences: Sequence[str], text: str) -> Iterator[str]:
    """What is wrong where sentences of a ladder are not those of its source document."""
    spans = [(at := text.find(one), at + len(one)) for one in sentences]
    for sentence, (at, _) in zip(sentences, spans, strict=True):
        if at < 0:
            yield f"it does not hold a sentence of its ladder: {sentence!r}"
    if any(a[1] > b[0] for a, b in pairwise(sorted(spans))):
        yield "two sentences of its ladder overlap in it"


def ladder_faults(documents: Sequence[tuple[int, bytes]]) -> Iterator[str]:
    """In one order of places, every rung once, and every condition broken alone.

    `documents`: of each its broken conditions and its order of places.
    """
    if len({order for _, order in documents}) > 1:
        yield "the sentences of its documents do not stand in one order"
    broken = {one for one, _ in documents}
    if len(broken) < len(documents):
        yield "two of its documents break the same conditions"
    if not broken >= set(RUNGS):
        yield "it does not break one condition more at each of ten rungs"
    if not broken >= _ALONE:
        yield "a condition is broken alone by none of its documents"
    for other in sorted(broken - set(RUNGS) - _ALONE):
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


def numbers_of(broken: int) -> str:
    """Conditions as a reader counts them."""
    return ", ".join(str(c + 1) for c in range(TEN) if broken >> c & 1) or "none"


# --- the facts that the texts of drawn ladders state ----------------------------------------------


class LadderReader:
    """Reads the ladders of a domain of facts.

    The reader of `validators/facts` reads every sentence and rewrite to the fact that it states,
    and every condition to its expression. Nothing of what the generator noted is used.
    """

    def __init__(self, path: Path, opening: str) -> None:
        # "Find a film that meets the following conditions:"
        self._relative = opening.partition(" meets ")[0].rpartition(" ")[2]
        self.domain, self._reader, self._queries = domain_readers(path)

    def faults(self, ladder: LadderRow) -> Iterator[str]:
        """What is wrong with a ladder."""
        begin = re.split(rf" (?:{self._relative}|whose) ", ladder.queries[0])[0]
        clauses = [_clause(one, self._relative) for one in ladder.conditions]
        for n, query in enumerate(ladder.queries, 1):
            if query != f"{begin} {_join_clauses(clauses[:n])}.":
                yield f"its descriptive query {n} does not ask for its first {n} conditions"
                return
        try:
            met = self._facts(ladder, ladder.sentences)
            broken = self._facts(ladder, ladder.rewrites)
        except ValueError as problem:
            yield str(problem)
            return
        if len({fact.slot for fact in met}) < TEN:
            yield "two of its sentences are about the same"
        for c, clause in enumerate(clauses):
            try:
                asked = self._queries.query(f"{begin} {clause}.")
            except UnreadableQuery as error:
                yield f"condition {c + 1} cannot be read: {error}"
                continue
            if met[c].slot != broken[c].slot or not self._meets(met[c], asked):
                yield f"condition {c + 1} asks {asked}, its sentence says {met[c]}"
            elif self._meets(broken[c], asked):
                yield f"condition {c + 1} asks {asked}, its rewrite says {broken[c]}"

    def _facts(self, ladder: LadderRow, texts: Sequence[str]) -> list[Fact]:
        """What each text says of the entity. Raises `ValueError`."""
        facts, problems = self._reader.document(ladder.title, " ".join(texts))
        own = [fact for fact in facts if fact.holder == "self"]
        if not problems and (len(own) != TEN or len(facts) > 2 * TEN):
            problems = [f"its sentences state {len(own)} facts of {ladder.title}, not ten"]
        if problems:
            raise ValueError(problems[0])
        return own

    def _meets(self, fact: Fact, asked: Any) -> bool:
        kind, slot, *values = asked
        if slot != fact.slot:
            return False
        of = self.domain.slots[slot]
        if kind == "within":
            return values[0] in of.values[fact.value].parents
        if kind == "between":
            value = fact.value if of.type == "date" else int(fact.value)
            low, high = values
            return (low is None or low <= value) and (high is None or value <= high)
        return kind == "is" and str(values[0]) == fact.value


def _clause(condition: str, relative: str) -> str:
    """A condition of a list as a relative clause."""
    lower = condition[:1].lower() + condition[1:]
    return lower if lower.startswith((f"{relative} ", "whose ")) else f"{relative} {lower}"


def _join_clauses(clauses: Sequence[str]) -> str:
    *first, last = clauses
    return f"{', '.join(first)} and {last}" if first else last
