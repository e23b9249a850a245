"""The structural proof of the MultiConIR family, from the written files and what agents have said.

Nothing of the generator is used. Every document is cut back into the sentences of its ladder: which
conditions are broken follows from the words, and everything else has to be as it was, byte for
byte. Queries and qrels are then worked out anew. What cannot be proven without a reader, that a
sentence meets a condition and its rewrite does not, is the judge's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import orjson

from retgen.data import Query
from retgen.validators.order import OrderLeak
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, State

__all__ = ["COVERS", "LadderProof", "proof_rules"]

# documents of a ladder are near duplicates of one another, and share all words of its queries: the
# proof says exactly in what they differ
COVERS = frozenset({"lexical-ambiguity", "normalised-duplicate", "order-leak"})

_TEN = 10
_LINE = re.compile(r"(\d+)\. (.+)")


class _Ladder(NamedTuple):
    id: str
    sentences: list[str]
    rewrites: list[str]
    conditions: list[str]
    queries: list[str]


class _Seen(NamedTuple):
    """A document as it was read: its ladder, broken conditions (from 1), conditions by place."""

    doc_id: str
    ladder: str
    broken: frozenset[int]
    order: tuple[int, ...]
    orders: tuple[int, ...]


@dataclass
class _ProofState(State):
    seen: list[_Seen] = field(default_factory=list)
    wrong: list[tuple[str, str]] = field(default_factory=list)  # (document, what is wrong)

    def merge(self, later: Self, offset: int) -> None:
        self.seen += later.seen
        self.wrong += later.wrong


def proof_rules(
    documents: Path, ladders: Path, opening: str, orders: int, judgements: Judgements
) -> list[CorpusRule]:
    """The rules of the proof.

    `documents`, `ladders`: what a run keeps of its sources, one JSON object a line. `opening`: the
    first line of instruction-style queries. `orders`: breaking orders.
    """
    return [
        LadderProof(documents, ladders, opening, orders, judgements),
        OrderLeak(judgements, "error", unit=_ladder_of),
    ]


def _ladder_of(query: Query) -> str:
    """Queries of a ladder share its documents, so they are one observation."""
    metadata = query.metadata if isinstance(query.metadata, dict) else {}
    return str(metadata.get("ladder", query.query_id))


class LadderProof(CorpusRule):
    """Cuts every document into its ladder's sentences, and works out the queries and qrels."""

    name = "ladder-proof"
    state: _ProofState

    def __init__(
        self, documents: Path, ladders: Path, opening: str, orders: int, judgements: Judgements
    ) -> None:
        self.opening, self.orders, self.judgements = opening, orders, judgements
        self.ladders, self.unsound = _read(documents, ladders)
        self.start()

    def start(self) -> None:
        self.state = _ProofState()

    def scan(self, batch: Batch) -> None:
        for doc_id, text, metadata in zip(batch.ids, batch.texts, batch.metadata, strict=True):
            found = self._cut(doc_id, text, metadata)
            if isinstance(found, str):
                self.state.wrong.append((doc_id, found))
            else:
                self.state.seen.append(found)

    def _cut(self, doc_id: str, text: str, metadata: Any) -> _Seen | str:
        """A document's sentences by place; a text for what is wrong with it."""
        try:
            ladder = self.ladders[metadata["ladder"]]
            stated, orders = frozenset(metadata["broken"]), tuple(metadata["orders"])
        except (KeyError, TypeError):
            return "its metadata does not name a ladder of the run, broken conditions and orders"
        pieces = {one: (c, True) for c, one in enumerate(ladder.rewrites, 1)}
        pieces |= {one: (c, False) for c, one in enumerate(ladder.sentences, 1)}
        read = _pieces(text, sorted(pieces, key=len, reverse=True))
        if read is None:
            return "its text is not made of the sentences of its ladder, or of their rewrites"
        places = [pieces[piece] for piece in read]
        order = tuple(c for c, _ in places)
        if sorted(order) != list(range(1, _TEN + 1)):
            return "its text does not hold one sentence for every condition"
        broken = frozenset(c for c, rewritten in places if rewritten)
        if broken != stated:
            return (
                f"conditions {_listed(broken)} are broken in its text, its metadata says "
                f"{_listed(stated)}"
            )
        return _Seen(doc_id, ladder.id, broken, order, orders)

    def findings(self) -> Iterator[Finding]:
        for doc_id, what in self.state.wrong:
            yield _error([doc_id], f"{doc_id}: {what}")
        for ladder, what in self.unsound:
            yield _error([ladder], f"ladder {ladder}: {what}")
        by_ladder: dict[str, list[_Seen]] = defaultdict(list)
        for seen in self.state.seen:
            by_ladder[seen.ladder].append(seen)
        for name in self.ladders:
            documents = by_ladder.get(name, [])
            for what in _ladder_faults(documents, self.orders):
                yield _error([name, *(one.doc_id for one in documents)], f"ladder {name}: {what}")
        yield from self._queries_and_qrels(by_ladder)

    def _queries_and_qrels(self, by_ladder: Mapping[str, Sequence[_Seen]]) -> Iterator[Finding]:
        """Each ladder has twenty queries, and each of these all its ladder's documents judged."""
        qrels: dict[str, dict[str, float]] = defaultdict(dict)
        for query_id, doc_id, relevance in self.judgements.qrels:
            qrels[query_id][doc_id] = relevance
        asked: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for query in self.judgements.queries:
            found = self._asked(query.text, query.metadata)
            if isinstance(found, str):
                yield _error([query.query_id], f"{query.query_id}: {found}")
                continue
            ladder, style, count = found
            asked[ladder].append((style, count))
            judged = qrels.get(query.query_id, {})
            expected = {
                one.doc_id: sum(c not in one.broken for c in range(1, count + 1))
                for one in by_ladder.get(ladder, ())
            }
            for doc_id in sorted(expected.keys() | judged.keys()):
                right, given = expected.get(doc_id), judged.get(doc_id)
                if right != given:
                    yield _error(
                        [query.query_id, doc_id],
                        f"{query.query_id} and {doc_id}: relevance is {_shown(given)}, the words "
                        f"say {_shown(right)}",
                    )
        every = sorted((s, n) for s in ("descriptive", "instruction") for n in range(1, _TEN + 1))
        for name in self.ladders:
            if sorted(asked[name]) != every:
                yield _error([name], f"ladder {name}: its queries are not two styles of 1 to 10")

    def _asked(self, text: str, metadata: Any) -> tuple[str, str, int] | str:
        try:
            name, style, count = metadata["ladder"], metadata["style"], metadata["conditions"]
            ladder = self.ladders[name]
        except (KeyError, TypeError):
            return "its metadata does not name a ladder of the run, a style and a number"
        if style == "descriptive":
            right = count in range(1, _TEN + 1) and text == ladder.queries[count - 1]
            return (name, style, count) if right else "it is not the descriptive query it is to be"
        first, *lines = text.split("\n")
        listed = [found for line in lines if (found := _LINE.fullmatch(line))]
        if first != self.opening or len(listed) != len(lines) or len(lines) != count:
            return f"it does not list exactly {count} conditions below {self.opening!r}"
        if [(int(one[1]), one[2]) for one in listed] != list(
            enumerate(ladder.conditions[:count], 1)
        ):
            return f"its conditions are not the first {count} of ladder {name}"
        return name, style, count


def _read(documents: Path, ladders: Path) -> tuple[dict[str, _Ladder], list[tuple[str, str]]]:
    """The ladders by id, and what is unsound about them."""
    found: dict[str, _Ladder] = {}
    unsound: list[tuple[str, str]] = []
    with open(ladders, "rb") as file:
        for line in file:
            row = orjson.loads(line)
            one = _Ladder(*(row[name] for name in _Ladder._fields))
            found[one.id] = one
            parts = (one.sentences, one.rewrites, one.conditions, one.queries)
            if any(len(part) != _TEN for part in parts):
                unsound.append((one.id, "it has not ten of everything"))
            elif len({*one.sentences, *one.rewrites}) != 2 * _TEN:
                unsound.append((one.id, "two of its sentences and rewrites are the same"))
    missing = set(found)
    with open(documents, "rb") as file:
        for line in file:
            row = orjson.loads(line)
            if (ladder := found.get(row["id"])) is None:
                continue
            missing.discard(ladder.id)
            text, spans = row["text"], []
            for sentence in ladder.sentences:
                at = text.find(sentence)
                spans.append((at, at + len(sentence)))
                if at < 0:
                    told = f"a sentence does not stand in its source document: {sentence!r}"
                    unsound.append((ladder.id, told))
            spans.sort()
            if any(a[1] > b[0] for a, b in pairwise(spans)):
                unsound.append((ladder.id, "two of its sentences overlap in the source document"))
    unsound += [(name, "its source document is not there") for name in sorted(missing)]
    return found, unsound


def _pieces(text: str, pieces: Sequence[str]) -> list[str] | None:
    """A text cut into known pieces, joined by single spaces; the longest that fits is taken."""
    found, at = [], 0
    while at < len(text):
        piece = next(
            (
                one for one in pieces
                if text.startswith(one, at) and text[at + len(one) : at + len(one) + 1] in ("", " ")
            ),
            None,
        )  # fmt: skip
        if piece is None:
            return None
        found.append(piece)
        at += len(piece) + 1
    return found if at == len(text) + 1 else None


def _ladder_faults(documents: Sequence[_Seen], orders: int) -> Iterator[str]:
    """In one order of places, every rung of every breaking order once, and orders in balance."""
    if len({one.order for one in documents}) > 1:
        yield "the sentences of its documents do not stand in one order"
    if len({one.broken for one in documents}) < len(documents):
        yield "two of its documents break the same conditions"
    newly = []
    for number in range(1, orders + 1):
        chain = sorted((one.broken for one in documents if number in one.orders), key=len)
        nested = [len(b - a) for a, b in pairwise(chain)]
        if [len(one) for one in chain] != list(range(_TEN + 1)) or nested != [1] * _TEN:
            yield f"breaking order {number} does not break one condition more at each of ten rungs"
            return
        newly.append([next(iter(b - a)) for a, b in pairwise(chain)])
    if newly and newly[0] != list(range(1, _TEN + 1)):
        yield "the first breaking order does not break the conditions in their order"
    if any(len(set(rung)) < len(rung) for rung in zip(*newly, strict=True)):
        yield "two breaking orders break the same condition at the same rung"


def _listed(conditions: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(conditions))) or "none"


def _shown(relevance: float | None) -> str:
    return "not judged" if relevance is None else f"{relevance:g}"


def _error(ids: list[str], message: str) -> Finding:
    return Finding("ladder-proof", "error", ids, message)
