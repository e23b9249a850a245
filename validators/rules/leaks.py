"""Answer leak: do ids or further columns say which document is relevant?

An id or a column is no text, and retrievers that are scored read texts only. But files are read in
other ways too: ids break ties, whole rows are shown to language models, columns end up in prompts.
Chance is the yardstick: with any other query a document's id agrees as often as its parts are
common.

What a run's documents hold as `metadata` is the business of its family's proof: it is not read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple

from retgen.validators.chance import excess_p
from retgen.validators.notes import leaves
from retgen.validators.rule import Batch, Finding, Judgements, LeakRule, RuleState, Severity

_RUN = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"[0-9]+")
_SHARED = 100  # ids that a part may stand in


class _Naming(NamedTuple):
    """A column of one table names a record of the other."""

    table: str
    column: str
    query_id: str
    doc_id: str


@dataclass
class _Seen(RuleState):
    documents: int = 0
    names: dict[str, list[str]] = field(default_factory=dict)  # a noted text -> documents
    namings: list[_Naming] = field(default_factory=list)


class AnswerLeak(LeakRule):
    """Neither ids nor columns say which document is relevant. `p`: the level of the tests."""

    name = "answer-leak"
    finds = (
        "ids of queries that share a part with that of a relevant document more often than "
        "chance; columns beside id, title and text that name relevant documents or their "
        "queries"
    )
    order = 160

    def __init__(
        self, judgements: Judgements, severity: Severity = "warning", p: float = 1e-6
    ) -> None:
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
        super().__init__(judgements, severity, p)

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
        for doc_id, result in parts.items():
            for part in result:
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
            yield self.finding(
                list(dict.fromkeys(result for pair in alike for result in pair)),
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
            yield self.finding(
                list(dict.fromkeys(result for pair in right for result in pair)),
                f"the column {column} of the {table} tells what is relevant to {len(queries):,} of "
                f"{len(positives):,} queries (document {doc_id} to query {query_id}, for one): "
                "leave it out of what a retriever or a model is shown",
            )


def _parts(name: str) -> frozenset[str]:
    """What two ids may have in common: runs of letters and digits, and numbers without zeros."""
    runs = _RUN.findall(name.casefold())
    numbers = (number.lstrip("0") or "0" for number in _DIGITS.findall(name))
    return frozenset([*runs, *numbers])
