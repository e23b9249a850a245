"""Documents are cut into the sentences of their ladder; queries and qrels are worked out anew.

Of a document its id and some twenty bytes are kept, of a query 24 bytes, of a qrel nothing.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np

from retgen.data import Dataset, Qrel, Query, TableFiles, qrel_of, query_of
from retgen.validators.baselines import with_best
from retgen.validators.chance import count_spread, spearman
from retgen.validators.multiconir.evidence import meaning_faults
from retgen.validators.multiconir.ladders import (
    TEN,
    LadderFile,
    LadderRow,
    LadderSpec,
    bits_of,
    ladder_faults,
    numbers_of,
    sentences_of,
    source_faults,
)
from retgen.validators.multiconir.query_index import QueryIndex
from retgen.validators.rule import Batch, CorpusRule, Finding, RuleState

_LINE = re.compile(r"([1-9][0-9]?)\. (.+)")
_P = 1e-6  # below, an order is not taken for chance
_TASKS = ("win rate, task 1", "win rate, task 2")
_ORDERS = (
    ("shortest first", 0, -1),
    ("longest first", 0, 1),
    ("fewest contrasts first", 1, -1),
)
_CONTRASTS = frozenset("but while whereas though although another".split())
STYLES = ("instruction", "descriptive")


class _Kind(NamedTuple):
    """A kind of labels. `score`: of the conditions that a query asks for, and those met."""

    table: str
    label: str
    score: Callable[[int, int], int]


_BINARY = _Kind("qrels", "relevance", lambda asked, met: int(met == asked))
_GRADED = _Kind("graded qrels", "the grade", lambda asked, met: met)


class _Seen(NamedTuple):
    """A document as it was read.

    `broken`: its broken conditions, bit c for condition c + 1; `order`: its conditions by place,
    four bits each; `contrasts`: words like "whereas".
    """

    doc_id: str
    broken: int
    order: int
    words: int
    contrasts: int


def _columns() -> tuple[array[int], ...]:
    return array("I"), array("H"), array("Q"), array("I"), array("I")


@dataclass
class _ProofState(RuleState):
    """Documents by column: number of the ladder, and what `_Seen` says."""

    ids: list[str] = field(default_factory=list)
    columns: tuple[array[int], ...] = field(default_factory=_columns)
    wrong: list[tuple[str, str]] = field(default_factory=list)  # (document, what is wrong)

    def add(self, ladder: int, seen: _Seen) -> None:
        self.ids.append(seen.doc_id)
        for column, value in zip(self.columns, (ladder, *seen[1:]), strict=True):
            column.append(value)

    def merge(self, later: Self, offset: int) -> None:
        self.ids += later.ids
        for column, more in zip(self.columns, later.columns, strict=True):
            column.extend(more)
        self.wrong += later.wrong


class LadderProof(CorpusRule):
    """Every rung breaks one named condition more, and every label follows from the words."""

    name = "ladder-proof"
    state: _ProofState

    def __init__(self, spec: LadderSpec) -> None:
        self.spec = spec
        self.ladders = LadderFile(spec.ladders)
        self._findings: list[Finding] = []
        self.asked = QueryIndex()
        self.start()

    def start(self) -> None:
        self.state = _ProofState()

    # --- documents --------------------------------------------------------------------------

    def scan(self, batch: Batch) -> None:
        columns = (batch.ids, batch.titles, batch.texts, batch.metadata)
        for doc_id, title, text, metadata in zip(*columns, strict=True):
            result = self._cut(doc_id, text, metadata)
            if title:
                self.state.wrong.append((doc_id, "it has a title, which no rung has"))
            elif isinstance(result, str):
                self.state.wrong.append((doc_id, result))
            else:
                self.state.add(*result)

    def _cut(self, doc_id: str, text: str, metadata: Any) -> tuple[int, _Seen] | str:
        """A document's ladder and sentences; a text for what is wrong with it."""
        try:
            ladder = self.ladders.get(metadata["ladder"])
            stated, orders = bits_of(metadata["broken"]), metadata["orders"]
        except (KeyError, TypeError, ValueError):
            ladder = None
        if ladder is None:
            return "its metadata does not name a ladder of the run, broken conditions and orders"
        cut = self.cut(ladder, text)
        if isinstance(cut, str):
            return cut
        broken, order = cut
        if broken != stated:
            return (
                f"conditions {numbers_of(broken)} are broken in its text, its metadata says "
                f"{numbers_of(stated)}"
            )
        rung = broken & broken + 1 == 0  # the first conditions, and no other
        if orders != [1] * rung:
            return f"it is {'a' if rung else 'no'} rung, its metadata says the orders {orders}"
        words = text.split()
        contrasts = sum(word in _CONTRASTS for word in words)
        return ladder.number, _Seen(doc_id, broken, order, len(words), contrasts)

    def cut(self, ladder: LadderRow, text: str) -> tuple[int, int] | str:
        """(broken, order), as `_Seen` has them, of a text of a ladder; or what is wrong with it."""
        read = sentences_of(text, self._pieces(ladder))
        if read is None:
            return "its text is not made of the sentences of its ladder, or of their rewrites"
        if sorted(c for c, _ in read) != list(range(TEN)):
            return "its text does not hold one sentence for every condition"
        broken = sum(1 << c for c, rewritten in read if rewritten)
        return broken, sum(c << 4 * place for place, (c, _) in enumerate(read))

    def _pieces(self, ladder: LadderRow) -> list[tuple[str, tuple[int, bool]]]:
        """The pieces of a ladder's documents, the longest first: (text, (condition, rewritten))."""
        if self._pieces_of[0] != ladder.number:
            parts = {one: (c, True) for c, one in enumerate(ladder.rewrites)}
            parts |= {one: (c, False) for c, one in enumerate(ladder.sentences)}
            known = sorted(parts.items(), key=lambda item: -len(item[0]))
            self._pieces_of = ladder.number, known
        return self._pieces_of[1]

    _pieces_of: tuple[int, list[tuple[str, tuple[int, bool]]]] = (-1, [])

    # --- queries and qrels ------------------------------------------------------------------

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        self._findings = list(self._check_judgements(dataset, split))

    def _check_judgements(self, dataset: Dataset, split: str) -> Iterator[Finding]:
        """Each ladder has twenty queries, and each of these all its ladder's documents judged."""
        there = np.zeros(len(self.ladders), np.int64)  # which of the twenty, as bits
        asked = self.asked = QueryIndex()
        for query in _parsed_rows(dataset.queries, query_of):
            result = self._read_query(query)
            if isinstance(result, str):
                yield _error([query.query_id], f"{query.query_id}: {result}")
                continue
            ladder, style, count = result
            number = STYLES.index(style)
            bit = 1 << (number * TEN + count - 1)
            if there[ladder] & bit:
                message = f"its ladder has another {style} query of {count} conditions"
                yield _error([query.query_id], f"{query.query_id}: {message}")
            there[ladder] |= bit
            asked.add(query.query_id, query.text, ladder, number, count)
        if among := asked.repeated_texts():
            for query in _parsed_rows(dataset.queries, query_of):
                if asked.repeats(query.text, among):
                    message = "another query asks the same"
                    yield _error([query.query_id], f"{query.query_id}: {message}")
        for number in np.flatnonzero(there != (1 << len(STYLES) * TEN) - 1).tolist():
            name = self.ladders.ids()[number]
            yield _error([name], f"ladder {name}: its queries are not two styles of 1 to 10")
        yield from self._labels(dataset.qrels[split], _BINARY)
        if (graded := dataset.graded.get(split)) is not None:
            yield from self._labels(graded, _GRADED)
        else:
            message = "which says how many of a query's conditions a document meets"
            yield _error([], f"there is no table qrels_graded, {message}")

    def _labels(self, table: TableFiles, kind: _Kind) -> Iterator[Finding]:
        """What is wrong with a table of labels, query by query."""
        left = np.ones(len(self.asked), bool)
        rows = _parsed_rows(table, qrel_of)
        for query_id, group in groupby(rows, key=lambda row: row.query_id):
            place = self.asked.place(query_id)
            if place is None or not left[place]:
                message = f"its {kind.table} do not stand together, or it is not among the queries"
                yield _error([query_id], f"{query_id}: {message}")
                continue
            left[place] = False
            ladder, _, count = self.asked.at(place)
            yield from self._labels_of(query_id, ladder, count, group, kind)
        if left.any():
            yield _error([], f"{left.sum():,} queries have no {kind.table}")

    def _labels_of(
        self, query_id: str, ladder: int, count: int, rows: Iterable[Qrel], kind: _Kind
    ) -> Iterator[Finding]:
        places = self._documents_of(ladder)
        given: dict[str, float] = {}
        twice = set()
        for _, doc_id, relevance in rows:
            if doc_id in given:
                twice.add(doc_id)
            given[doc_id] = relevance
        asked = (1 << count) - 1
        broken = self.state.columns[1]
        right = {
            self.state.ids[i]: kind.score(count, count - (broken[i] & asked).bit_count())
            for i in places
        }
        if given == right and not twice:
            return
        for doc_id in sorted(right.keys() | given.keys()):
            expected, text = right.get(doc_id), given.get(doc_id)
            if expected != text or doc_id in twice:
                message = (
                    f"judged twice in the {kind.table}"
                    if doc_id in twice
                    else (
                        f"{kind.label} is {_label_text(text)}, the words say "
                        f"{_label_text(expected)}"
                    )
                )
                yield _error([query_id, doc_id], f"{query_id} and {doc_id}: {message}")

    def _read_query(self, query: Query) -> tuple[int, str, int] | str:
        """(ladder, style, conditions) of a query, or what is wrong with it."""
        try:
            style, count = query.metadata["style"], query.metadata["conditions"]
            ladder = self.ladders.get(query.metadata["ladder"])
        except (KeyError, TypeError):
            ladder = None
        if ladder is None or style not in STYLES or type(count) is not int:
            return "its metadata does not name a ladder of the run, a style and a number"
        if not 1 <= count <= TEN or query.metadata.get("domain") != self.spec.domain:
            return f"its metadata does not name 1 to 10 conditions of domain {self.spec.domain!r}"
        if style == "descriptive":
            right = query.text == ladder.queries[count - 1]
            fault = "it is not the descriptive query it is to be"
            return (ladder.number, style, count) if right else fault
        first, *lines = query.text.split("\n")
        listed = [result for line in lines if (result := _LINE.fullmatch(line))]
        if first != self.spec.opening or len(listed) != len(lines) or len(lines) != count:
            return f"it does not list exactly {count} conditions below {self.spec.opening!r}"
        expected = list(enumerate(ladder.conditions[:count], 1))
        if [(int(one[1]), one[2]) for one in listed] != expected:
            return f"its conditions are not the first {count} of ladder {ladder.id}"
        return ladder.number, style, count

    # --- ladders ----------------------------------------------------------------------------

    @cached_property
    def _by_ladder(self) -> tuple[Any, Any]:
        """Documents ordered by ladder, and where each ladder's begin."""
        numbers = np.frombuffer(self.state.columns[0], np.uint32)
        order = np.argsort(numbers, kind="stable")
        return order, np.searchsorted(numbers[order], np.arange(len(self.ladders) + 1))

    def _documents_of(self, ladder: int) -> list[int]:
        order, starts = self._by_ladder
        places: list[int] = order[starts[ladder] : starts[ladder + 1]].tolist()
        return places

    def documents_of(self, ladder: int) -> dict[str, int]:
        """A ladder's documents and the conditions broken in each, as bits."""
        return {self.state.ids[i]: self.state.columns[1][i] for i in self._documents_of(ladder)}

    def findings(self) -> Iterator[Finding]:
        for doc_id, what in self.state.wrong:
            yield _error([doc_id], f"{doc_id}: {what}")
        yield from self._unsound()
        _, broken, order, *_ = self.state.columns
        for number, name in enumerate(self.ladders.ids()):
            places = self._documents_of(number)
            rungs = [(broken[i], order[i]) for i in places]
            for what in ladder_faults(rungs, self.spec.singles):
                ids = [name, *(self.state.ids[i] for i in places)]
                yield _error(ids, f"ladder {name}: {what}")
        yield from self._findings
        yield from self._order_by_rung()

    def _unsound(self) -> Iterator[Finding]:
        """What is wrong with the ladders, their source documents, the verdicts behind them."""
        path = self.spec.documents
        try:
            for name, what in self.ladders.unsound:
                yield _error([name], f"ladder {name}: {what}")
            for name, what in self.ladders.disagreements(path):
                yield _error([name], f"ladder {name}: {what}")
            path = self.spec.rejected
            for name, what in source_faults(self.spec, self.ladders):
                yield _error([name], f"document {name} of the source: {what}")
            for name, what in meaning_faults(self.spec, self.ladders):
                yield _error([name], f"ladder {name}: {what}")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            message = getattr(error, "strerror", None) or "is damaged"
            yield Finding("sources", "error", [str(path)], f"{path}: {message}")

    def _order_by_rung(self) -> Iterator[Finding]:
        """Whether a document's place among those of its ladder tells its rung.

        Spearman's correlation of both, a mean over ladders, against its variance 1 / (n - 1).
        """
        broken, total, variance = self.state.columns[1], 0.0, 0.0
        for number in range(len(self.ladders)):
            rungs = np.array([broken[i].bit_count() for i in self._documents_of(number)], float)
            if len(rungs) > 1:
                total += spearman(np.arange(len(rungs), dtype=float), rungs)
                variance += 1 / (len(rungs) - 1)
        p = math.erfc(abs(total) / math.sqrt(2 * variance)) if variance else 1.0
        if p < _P:
            message = (
                f"the place of a document among those of its ladder tells its rung (p = {p:.1g}); "
                "shuffle them"
            )
            yield Finding("order-leak", "error", self.ladders.ids(), message)

    def statistics(self) -> dict[str, Any]:
        """As of other families, from what the words of documents say."""
        numbers, broken = (np.array(one, np.int64) for one in self.state.columns[:2])
        met = (broken[:, None] & (1 << np.arange(1, TEN + 1)) - 1) == 0  # (documents, conditions)
        of_ladder = [np.bincount(numbers[one], minlength=len(self.ladders)) for one in met.T]
        by_query = np.concatenate(of_ladder * len(STYLES))
        by_document = len(STYLES) * met.sum(axis=1)
        return {
            "queries": len(self.asked),
            "qrels": len(STYLES) * TEN * len(numbers),
            "positives": int(by_query.sum()),
            "relevant_documents": int((by_document > 0).sum()),
            "relevant_per_query": count_spread(by_query),
            "queries_per_relevant_document": count_spread(by_document[by_document > 0]),
        }

    def baselines(self) -> dict[str, Any]:
        """Win rates of orders that read no query: HN1 below the positive, and all rungs.

        A rewrite that says a fact of somebody else adds a clause, and a word like "whereas".
        """
        _, broken, _, words, contrasts = self.state.columns
        chain = [(1 << n) - 1 for n in range(TEN + 1)]
        rows: list[list[tuple[int, int]]] = []
        for number in range(len(self.ladders)):
            places = {broken[i]: i for i in self._documents_of(number)}
            if places.keys() >= set(chain):
                rows.append([(words[places[b]], contrasts[places[b]]) for b in chain])
        if not rows:
            return {"random": {}, "rankings": {}, "best": None}
        steps = -np.diff(np.array(rows), axis=1)  # (ladders, rungs, measures), better less worse
        rankings = {}
        for name, measure, sign in _ORDERS:
            wins = sign * steps[:, :, measure] > 0
            rates = (float(wins[:, 0].mean()), float(wins.mean()))
            rankings[name] = {task: round(r, 6) for task, r in zip(_TASKS, rates, strict=True)}
        return with_best(dict.fromkeys(_TASKS, 0.5), rankings)


def _parsed_rows(table: Any, parse: Any) -> Iterator[Any]:
    """The rows of a table that are what they are to be; the others have findings of their own."""
    return (result for result in map(parse, table) if not isinstance(result, str))


def _label_text(relevance: float | None) -> str:
    return "not judged" if relevance is None else f"{relevance:g}"


def _error(ids: list[str], message: str) -> Finding:
    return Finding("ladder-proof", "error", ids, message)
