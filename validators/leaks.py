"""Answer leak: do ids or further columns say which document is relevant?

An id or a column is no text, and retrievers that are scored read texts only. But files are read in
other ways too: ids break ties, whole rows are shown to language models, columns end up in prompts.
Chance is the yardstick: with any other query a document's id agrees as often as its parts are
common.

What a run's documents hold as `metadata` is the business of its family's proof: it is not read.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple, Self

from retgen.data import Table
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, Severity, State

_COLUMNS = frozenset({"_id", "id", "title", "text", "metadata"})
_RUN = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"[0-9]+")
_SHARED = 100  # ids that a part may stand in
_ID_LIKE = 200  # characters; in a longer text no single word is looked up


def extra(row: Any) -> dict[str, Any] | None:
    """What a row holds beside the columns of a corpus, None for nothing."""
    if type(row) is not dict or row.keys() <= _COLUMNS:
        return None
    return {key: value for key, value in row.items() if key not in _COLUMNS}


def noted(
    queries: Table, tables: Container[tuple[Path, ...]] = ()
) -> dict[str, dict[str, set[str]]]:
    """Column -> query id -> the texts it holds beside id and text, from the rows of a table.

    `tables`: the files of each table of qrels; where queries list their qrels, that column is one.
    """
    qrels = {"positives"} if queries.files in tables else set()
    found: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for chunk in queries.chunks():
        for row in queries.rows(chunk):
            if type(row) is dict:
                query_id = row.get("_id", row.get("id"))
                others = {key: row[key] for key in row.keys() - _COLUMNS - qrels}
                for column, text in leaves(row.get("metadata"), others):
                    found[column].setdefault(str(query_id), set()).add(text)
    return dict(found)


def leaves(metadata: Any, others: Any) -> Iterator[tuple[str, str]]:
    """(column, text) of all that metadata and further columns hold; an id in a text stands alone.

    A column inside another one is named with a dot.
    """
    stack: list[tuple[str, Any]] = [("metadata", metadata)] if metadata is not None else []
    stack += [(str(key), value) for key, value in others.items()] if others else []
    while stack:
        column, value = stack.pop()
        if isinstance(value, dict):
            stack += [(f"{column}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            stack += [(column, inner) for inner in value]
        elif isinstance(value, str | int):
            text = str(value)
            yield column, text
            if len(text) <= _ID_LIKE:
                for part in re.split(r"[\s,;:/|?&=]+", text):
                    if part and part != text:
                        yield column, part


class _Naming(NamedTuple):
    """A column of one table names a record of the other."""

    table: str
    column: str
    query_id: str
    doc_id: str


@dataclass
class _Seen(State):
    documents: int = 0
    names: dict[str, list[str]] = field(default_factory=dict)  # a noted text -> documents
    namings: list[_Naming] = field(default_factory=list)

    def merge(self, later: Self, offset: int) -> None:
        self.documents += later.documents
        self.namings += later.namings
        for text, ids in later.names.items():
            self.names.setdefault(text, []).extend(ids)


class AnswerLeak(CorpusRule):
    """Neither ids nor columns say which document is relevant. `p`: the level of the tests."""

    name = "answer-leak"

    def __init__(
        self, judgements: Judgements, severity: Severity = "warning", p: float = 1e-6
    ) -> None:
        self.judgements = judgements
        self.severity = severity
        self.p = p
        self.wanted = {
            text
            for by_query in judgements.notes.values()
            for texts in by_query.values()
            for text in texts
        }
        self.lengths = frozenset(map(len, self.wanted))
        self.asked: dict[str, list[str]] = defaultdict(list)  # id or text of a query -> queries
        for query in judgements.queries:
            if query.query_id in judgements.positives:
                self.asked[query.query_id].append(query.query_id)
                self.asked[query.text].append(query.query_id)
        self.start()

    def start(self) -> None:
        self.state: _Seen = _Seen()

    def scan(self, batch: Batch) -> None:
        state = self.state
        state.documents += len(batch)
        if self.wanted:
            for doc_id in filter(self.wanted.__contains__, batch.ids):
                state.names.setdefault(doc_id, []).append(doc_id)
            # a long text that nobody notes is not hashed
            lengths = map(self.lengths.__contains__, map(len, batch.texts))
            for doc_id, text in compress(zip(batch.ids, batch.texts, strict=True), lengths):
                if text in self.wanted:
                    state.names.setdefault(text, []).append(doc_id)
        if self.judgements.foreign or any(batch.extra):
            columns = zip(batch.ids, batch.metadata, batch.extra, strict=True)
            for doc_id, metadata, others in columns:
                if metadata is not None or others is not None:
                    metadata = metadata if self.judgements.foreign else None
                    for column, text in set(leaves(metadata, others)):
                        state.namings += [
                            _Naming("documents", column, query_id, doc_id)
                            for query_id in self.asked.get(text, ())
                        ]

    def findings(self) -> Iterator[Finding]:
        yield from self._ids()
        namings = self.state.namings + [
            _Naming("queries", column, query_id, doc_id)
            for column, by_query in self.judgements.notes.items()
            for query_id, texts in by_query.items()
            if query_id in self.judgements.positives
            for text in sorted(texts)
            for doc_id in self.state.names.get(text, ())
        ]
        by_column: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        for table, column, query_id, doc_id in namings:
            by_column[table, column].add((query_id, doc_id))
        for (table, column), pairs in sorted(by_column.items()):
            yield from self._column(table, column, pairs)

    def _ids(self) -> Iterator[Finding]:
        """Queries whose id has a part in common with that of a relevant document."""
        positives = self.judgements.positives
        parts = {doc_id: _parts(doc_id) for doc_id in self.judgements.relevant_documents}
        holders: dict[str, set[str]] = defaultdict(set)
        for doc_id, found in parts.items():
            for part in found:
                holders[part].add(doc_id)
        # what many ids share tells nothing: "doc", or the year
        most = max(1, min(len(parts) // 10, _SHARED))
        rare = {part: ids for part, ids in holders.items() if len(ids) <= most}
        expected, alike = 0.0, []
        for query_id, documents in positives.items():
            own = _parts(query_id) & rare.keys()
            like: set[str] = set().union(*(rare[part] for part in own))
            expected += min(1.0, len(like) * len(documents) / len(parts))
            if agreeing := [doc_id for doc_id in documents if own & parts[doc_id]]:
                alike.append((query_id, agreeing[0]))
        if excess_p(len(alike), expected, len(positives)) < self.p:
            query_id, doc_id = alike[0]
            yield Finding(
                self.name,
                self.severity,
                list(dict.fromkeys(found for pair in alike for found in pair)),
                f"the ids of {len(alike):,} of {len(positives):,} queries have a part in common "
                f"with that of a relevant document ({query_id} and {doc_id}, for one), chance "
                f"gives {expected:.1f}: give queries and documents ids that say nothing",
            )

    def _column(self, table: str, column: str, pairs: set[tuple[str, str]]) -> Iterator[Finding]:
        """A column that names relevant documents more than others, and more than chance would."""
        positives = self.judgements.positives
        relevant = {query_id: set(documents) for query_id, documents in positives.items()}
        right = sorted(pair for pair in pairs if pair[1] in relevant[pair[0]])
        if 2 * len(right) <= len(pairs):
            return  # a list of candidates, say
        named = Counter(query_id for query_id, _ in pairs)
        total = max(self.state.documents, 1)
        expected = sum(min(1.0, n * len(relevant[q]) / total) for q, n in named.items())
        queries = list(dict.fromkeys(query_id for query_id, _ in right))
        if excess_p(len(queries), expected, len(named)) < self.p:
            query_id, doc_id = right[0]
            yield Finding(
                self.name,
                self.severity,
                list(dict.fromkeys(found for pair in right for found in pair)),
                f"the column {column} of the {table} tells what is relevant to {len(queries):,} of "
                f"{len(positives):,} queries (document {doc_id} to query {query_id}, for one): "
                "leave it out of what a retriever or a model is shown",
            )


def _parts(name: str) -> frozenset[str]:
    """What two ids may have in common: runs of letters and digits, and numbers without zeros."""
    runs = _RUN.findall(name.casefold())
    numbers = (number.lstrip("0") or "0" for number in _DIGITS.findall(name))
    return frozenset([*runs, *numbers])


def excess_p(found: int, expected: float, trials: int) -> float:
    """A bound on the chance that of independent trials so many succeed, `expected` on average.

    Chernoff's, which is exact where all happen, and holds for events of different chances.
    """
    if not trials or found <= expected:
        return 1.0
    share, chance = found / trials, expected / trials
    if not chance:
        return 0.0
    exponent = share * math.log(share / chance)
    if share < 1:
        exponent += (1 - share) * math.log((1 - share) / (1 - chance))
    return math.exp(-trials * exponent)
