"""Documents are cut into the sentences of their ladder; queries and qrels are worked out anew.

Of a document and a query the id and some numbers are kept, of a qrel nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from retgen.data import Dataset, Qrel, Query, TableFiles, qrel_of, query_of
from retgen.validators.baselines import with_best
from retgen.validators.chance import count_spread, spearman
from retgen.validators.multiconir.ladders import (
    RUNGS,
    STYLES,
    TEN,
    LadderFile,
    LadderReader,
    LadderSpec,
    ladder_faults,
    numbers_of,
    sentences_of,
    source_faults,
)
from retgen.validators.rule import Batch, CorpusRule, Finding, RuleState

_P = 1e-6  # below, an order is not taken for chance
_TASKS = ("win rate, task 1", "win rate, task 2")
_ORDERS = (
    ("shortest first", 0, -1),
    ("longest first", 0, 1),
    ("fewest contrasts first", 1, -1),
)
_CONTRASTS = frozenset("but while whereas though although another".split())


# by table of labels: what one is called, and what it is, of conditions asked for and met
_LABELS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "qrels": ("relevance", lambda asked, met: int(met == asked)),
    "graded qrels": ("the grade", lambda asked, met: met),
}


class _Seen(NamedTuple):
    """A document as it was read.

    `ladder`: its number; `broken`: its broken conditions, bit c for condition c + 1; `order`: its
    conditions by place; `contrasts`: words like "whereas".
    """

    doc_id: str
    ladder: int
    broken: int
    order: bytes
    words: int
    contrasts: int


@dataclass
class _ProofState(RuleState):
    documents: list[_Seen] = field(default_factory=list)
    wrong: list[tuple[str, str]] = field(default_factory=list)  # (document, what is wrong)


class LadderProof(CorpusRule):
    """Every rung breaks one named condition more, and every label follows from the words."""

    name = "ladder-proof"
    state: _ProofState

    def __init__(self, spec: LadderSpec) -> None:
        self.spec = spec
        self.ladders = LadderFile(spec.ladders)
        self._findings: list[Finding] = []
        self.asked: dict[str, tuple[int, int, int]] = {}  # ladder, style and conditions, by query
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
                self.state.documents.append(result)

    def _cut(self, doc_id: str, text: str, metadata: Any) -> _Seen | str:
        """A document cut into the sentences of its ladder; a text for what is wrong with it."""
        try:
            number = self.ladders.number(metadata["ladder"])
            stated = metadata["broken"], metadata["orders"]
        except (KeyError, TypeError):
            number = None
        if number is None:
            return "its metadata does not name a ladder of the run, broken conditions and orders"
        read = sentences_of(text, self._pieces(number))
        if read is None:
            return "its text is not made of the sentences of its ladder, or of their rewrites"
        if sorted(c for c, _ in read) != list(range(TEN)):
            return "its text does not hold one sentence for every condition"
        broken = sum(1 << c for c, rewritten in read if rewritten)
        order = bytes(c for c, _ in read)
        right = [c + 1 for c in range(TEN) if broken >> c & 1], [1] * (broken in RUNGS)
        if str(stated) != str(right):  # True is no 1
            return (
                f"conditions {numbers_of(broken)} are broken in its text, so broken and orders of "
                f"its metadata are {right[0]} and {right[1]}, not {stated[0]} and {stated[1]}"
            )
        words = text.split()
        contrasts = sum(word in _CONTRASTS for word in words)
        return _Seen(doc_id, number, broken, order, len(words), contrasts)

    def _pieces(self, number: int) -> list[tuple[str, tuple[int, bool]]]:
        """The pieces of a ladder's documents, the longest first: (text, (condition, rewritten))."""
        ladder = self.ladders.at(number)
        parts = {one: (c, True) for c, one in enumerate(ladder.rewrites)}
        parts |= {one: (c, False) for c, one in enumerate(ladder.sentences)}
        return sorted(parts.items(), key=lambda item: -len(item[0]))

    # --- queries and qrels ------------------------------------------------------------------

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        self._findings = list(self._check_judgements(dataset, split))

    def _check_judgements(self, dataset: Dataset, split: str) -> Iterator[Finding]:
        """Each ladder has twenty queries, and each of these all its ladder's documents judged."""
        texts = set[str]()
        for query in _parsed_rows(dataset.queries, query_of):
            result = self._read_query(query)
            if isinstance(result, str):
                yield _error([query.query_id], f"{query.query_id}: {result}")
            elif query.text in texts:
                yield _error([query.query_id], f"{query.query_id}: another query asks the same")
            else:
                texts.add(query.text)
                self.asked[query.query_id] = result
        complete = Counter(ladder for ladder, _, _ in self.asked.values())
        for name, number in self.ladders.numbers.items():
            if complete[number] != len(STYLES) * TEN:
                yield _error([name], f"ladder {name}: its queries are not two styles of 1 to 10")
        yield from self._labels(dataset.qrels[split], "qrels")
        if (graded := dataset.graded.get(split)) is not None:
            yield from self._labels(graded, "graded qrels")
        else:
            message = "which says how many of a query's conditions a document meets"
            yield _error([], f"there is no table qrels_graded, {message}")

    def _labels(self, table: TableFiles, name: str) -> Iterator[Finding]:
        """What is wrong with a table of labels, query by query."""
        left = set(self.asked)
        rows = _parsed_rows(table, qrel_of)
        for query_id, group in groupby(rows, key=lambda row: row.query_id):
            if query_id not in left:
                message = f"its {name} do not stand together, or it is not among the queries"
                yield _error([query_id], f"{query_id}: {message}")
                continue
            left.remove(query_id)
            yield from self._labels_of(query_id, list(group), name)
        if left:
            yield _error([], f"{len(left):,} queries have no {name}")

    def _labels_of(self, query_id: str, rows: Sequence[Qrel], name: str) -> Iterator[Finding]:
        ladder, _, count = self.asked[query_id]
        label, score = _LABELS[name]
        asked = (1 << count) - 1
        right = {
            one.doc_id: score(count, count - (one.broken & asked).bit_count())
            for one in self._by_ladder[ladder]
        }
        given = {doc_id: relevance for _, doc_id, relevance in rows}
        if given == right and len(rows) == len(given):
            return
        times = Counter(doc_id for _, doc_id, _ in rows)
        for doc_id in sorted(right.keys() | given.keys()):
            if times[doc_id] == 1 and given[doc_id] == right.get(doc_id):
                continue
            stated, expected = (
                f"{of[doc_id]:.12g}" if doc_id in of else "not judged" for of in (given, right)
            )
            message = f"{label} is {stated}, the words say {expected}"
            if times[doc_id] > 1:
                message = f"judged twice in the {name}"
            yield _error([query_id, doc_id], f"{query_id} and {doc_id}: {message}")

    def _read_query(self, query: Query) -> tuple[int, int, int] | str:
        """(ladder, style, conditions) of a query, or what is wrong with it."""
        try:
            style, count = query.metadata["style"], query.metadata["conditions"]
            number = self.ladders.number(query.metadata["ladder"])
        except (KeyError, TypeError):
            number = None
        if number is None or style not in STYLES or type(count) is not int:
            return "its metadata does not name a ladder of the run, a style and a number"
        if not 1 <= count <= TEN or query.metadata.get("domain") != self.spec.domain:
            return f"its metadata does not name 1 to 10 conditions of domain {self.spec.domain!r}"
        which = STYLES.index(style)
        if query.text != self.text(number, which, count):
            name = self.ladders.at(number).id
            return f"it is not the {style} query for the first {count} conditions of {name}"
        return number, which, count

    def text(self, number: int, style: int, count: int) -> str:
        """The query of a style that asks for a ladder's first conditions."""
        ladder = self.ladders.at(number)
        if style:
            return ladder.queries[count - 1]
        listed = [f"{n}. {text}" for n, text in enumerate(ladder.conditions[:count], 1)]
        return "\n".join([self.spec.opening, *listed])

    def pieces(self, number: int, broken: int) -> list[str]:
        """The sentences of a ladder's document that breaks some conditions, in its order."""
        ladder = self.ladders.at(number)
        order = self._by_ladder[number][0].order
        return [(ladder.rewrites if broken >> c & 1 else ladder.sentences)[c] for c in order]

    # --- ladders ----------------------------------------------------------------------------

    @cached_property
    def _by_ladder(self) -> list[list[_Seen]]:
        """The documents of each ladder, by its number."""
        result: list[list[_Seen]] = [[] for _ in range(len(self.ladders))]
        for one in self.state.documents:
            result[one.ladder].append(one)
        return result

    def findings(self) -> Iterator[Finding]:
        for doc_id, what in self.state.wrong:
            yield _error([doc_id], f"{doc_id}: {what}")
        yield from self._unsound()
        for name, documents in zip(self.ladders.numbers, self._by_ladder, strict=True):
            for what in ladder_faults([(one.broken, one.order) for one in documents]):
                yield _error([name, *(one.doc_id for one in documents)], f"ladder {name}: {what}")
        yield from self._findings
        yield from self._order_by_rung()

    def _unsound(self) -> Iterator[Finding]:
        """What is wrong with the ladders, their source documents, the facts that they state."""
        try:
            for name, what in self.ladders.unsound:
                yield _error([name], f"ladder {name}: {what}")
            for name, what in source_faults(self.spec, self.ladders):
                yield _error([name], f"document {name} of the source: {what}")
            if self.spec.world is not None:
                reader = LadderReader(self.spec.world, self.spec.opening)
                for ladder in self.ladders:
                    for what in reader.faults(ladder):
                        yield _error([ladder.id], f"ladder {ladder.id}: {what}")
        except OSError as error:
            path = str(error.filename)
            yield Finding("sources", "error", [path], f"{path}: {error.strerror}")

    def _order_by_rung(self) -> Iterator[Finding]:
        """Whether a document's place among those of its ladder tells its rung.

        Spearman's correlation of both, a mean over ladders, against its variance 1 / (n - 1).
        """
        total = variance = 0.0
        for documents in self._by_ladder:
            rungs = np.array([one.broken.bit_count() for one in documents], float)
            if len(rungs) > 1:
                total += spearman(np.arange(len(rungs), dtype=float), rungs)
                variance += 1 / (len(rungs) - 1)
        p = math.erfc(abs(total) / math.sqrt(2 * variance)) if variance else 1.0
        if p < _P:
            message = (
                f"the place of a document among those of its ladder tells its rung (p = {p:.1g}); "
                "shuffle them"
            )
            yield Finding("order-leak", "error", [*self.ladders.numbers], message)

    def statistics(self) -> dict[str, Any]:
        """As of other families, from what the words of documents say."""
        seen = [(one.ladder, one.broken) for one in self.state.documents]
        numbers, broken = np.array(seen, np.int64).reshape(-1, 2).T
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
        rows = []
        for documents in self._by_ladder:
            measured = {one.broken: (one.words, one.contrasts) for one in documents}
            if measured.keys() >= set(RUNGS):
                rows.append([measured[broken] for broken in RUNGS])
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


def _error(ids: list[str], message: str) -> Finding:
    return Finding("ladder-proof", "error", ids, message)
