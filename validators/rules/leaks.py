"""Answer leak: do ids or further columns say which document is relevant?

An id or a column is no text, and retrievers that are scored read texts only. But files are read in
other ways too: ids break ties, whole rows are shown to language models, columns end up in prompts.
Chance is the yardstick: with any other query a document's id agrees as often as its parts are
common.

A column tells relevant documents apart in two more ways, though it names none: a short value that
most of them have and hardly any other ("GOLD" as a title), and a value that a query shares with its
relevant documents only, as a key that joins two tables does (the address of their source, say). A
column of many documents a value (a language, a category) does neither. What the query's own text
says is no secret of a column.

What a run's documents hold as `metadata` is the business of its family's proof: it is not read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple, Self

from retgen.validators.chance import excess_p
from retgen.validators.notes import leaves
from retgen.validators.rule import Batch, Finding, Judgements, LeakRule, RuleState, Severity

_RUN = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"[0-9]+")
_SHARED = 100  # ids that a part, documents that a key may stand in: what more have tells nothing


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


# --- values that mark, keys that join ------------------------------------------------------------

_TITLE = "title"
_KINDS = 50  # texts of a column, above which those of other documents are counted in a second look
_TEXTS = 10_000  # texts of relevant documents; of more, the frequent ones are kept
_SHORT = 100  # characters of a value that marks
_FEW = 20  # one other document in so many relevant ones may have their mark, too


@dataclass
class _Columns(RuleState):
    """By column and text. `marks`: relevant documents. `kinds`: the others, None for too many
    texts. `keys`: of texts that queries hold, how many documents, and the first of their ids.
    """

    documents: int = 0
    marks: dict[str, dict[str, int]] = field(default_factory=dict)
    kinds: dict[str, dict[str, int] | None] = field(default_factory=dict)
    keys: dict[str, dict[str, tuple[int, list[str]]]] = field(default_factory=dict)

    def merge(self, later: Self, offset: int) -> None:
        self.documents += later.documents
        for column, texts in later.marks.items():
            for text, count in texts.items():
                self.mark(column, text, count)
        for column, others in later.kinds.items():
            if others is None:
                self.kinds[column] = None
            for text, count in (others or {}).items():
                self.other(column, text, count)
        for column, held in later.keys.items():
            for text, (count, ids) in held.items():
                self.key(column, text, count, ids)

    def mark(self, column: str, text: str, count: int = 1) -> None:
        """Relevant documents that hold a text."""
        texts = self.marks.setdefault(column, {})
        texts[text] = texts.get(text, 0) + count
        if len(texts) > _TEXTS:  # what most of them hold stands above the mean
            mean = sum(texts.values()) / len(texts)
            self.marks[column] = {one: n for one, n in texts.items() if n > mean}

    def other(self, column: str, text: str, count: int = 1) -> None:
        """Documents that are not relevant and hold a text."""
        texts = self.kinds.setdefault(column, {})
        if texts is not None:
            texts[text] = texts.get(text, 0) + count
            if len(texts) > _KINDS:
                self.kinds[column] = None

    def key(self, column: str, text: str, count: int, ids: list[str]) -> None:
        """Documents that hold what a query holds."""
        before, known = self.keys.setdefault(column, {}).get(text, (0, []))
        self.keys[column][text] = before + count, [*known, *ids][:_SHARED]


class AnswerColumns(LeakRule):
    """No column marks relevant documents, and no two columns join them to their queries. `p`: the
    level of the tests.
    """

    name = "answer-leak"
    finds = (
        "a value (of the title as well) that marks relevant documents and hardly any other; a "
        "value that queries share with their relevant documents only"
    )
    order = 170

    @cached_property
    def unsaid_texts(self) -> dict[str, dict[str, set[str]]]:
        """Column -> query id -> what it holds that the query's text does not say."""
        own = {query.query_id: query.text.casefold() for query in self.judgements.queries}
        return {
            column: {
                query_id: kept
                for query_id, texts in by_query.items()
                if query_id in self.judgements.positives
                and (kept := {t for t in texts if t.casefold() not in own.get(query_id, "")})
            }
            for column, by_query in self.judgements.notes.items()
        }

    @cached_property
    def sought_texts(self) -> set[str]:
        """All of these texts."""
        return {t for held in self.unsaid_texts.values() for texts in held.values() for t in texts}

    def start(self) -> None:
        self.state: _Columns = _Columns()
        self.counted: dict[tuple[str, str], int] = {}

    def scan(self, batch: Batch) -> None:
        state, relevant = self.state, self.judgements.relevant_documents
        state.documents += len(batch)
        if not any(batch.titles):
            marked = sum(one in relevant for one in batch.ids)
            if marked:
                state.mark(_TITLE, "", marked)
            if len(batch) > marked:
                state.other(_TITLE, "", len(batch) - marked)
        for doc_id, held in self._columns_of(batch):
            marked = doc_id in relevant
            for column, text in held:
                if marked and len(text) <= _SHORT:
                    state.mark(column, text)
                elif not marked:
                    state.other(column, text)
                if text in self.sought_texts:
                    state.key(column, text, 1, [doc_id])

    def _columns_of(self, batch: Batch) -> Iterator[tuple[str, set[tuple[str, str]]]]:
        """(id, (column, text) of all that it holds beside id and text) of each document."""
        titles = any(batch.titles)
        reads = self.judgements.foreign and any(one is not None for one in batch.metadata)
        if not (titles or reads or any(batch.extra)):
            return
        columns = zip(batch.ids, batch.titles, batch.metadata, batch.extra, strict=True)
        for doc_id, title, metadata, extra in columns:
            others: dict[str, Any] = {**(extra or {}), **({_TITLE: title} if titles else {})}
            yield doc_id, set(leaves(metadata if reads else None, others))

    def _suspects(self) -> list[tuple[str, str]]:
        """What most relevant documents hold."""
        most = len(self.judgements.relevant_documents) / 2
        return [
            (column, text)
            for column, texts in sorted(self.state.marks.items())
            for text, count in sorted(texts.items())
            if count > most
        ]

    def suspicious(self) -> bool:
        unknown = [one for one in self._suspects() if self.state.kinds.get(one[0], {}) is None]
        self.counted = dict.fromkeys(unknown, 0)
        return bool(unknown)

    def confirm(self, batch: Batch) -> None:
        relevant = self.judgements.relevant_documents
        for doc_id, held in self._columns_of(batch):
            if doc_id not in relevant:
                for one in held & self.counted.keys():
                    self.counted[one] += 1

    def findings(self) -> Iterator[Finding]:
        for column, text in self._suspects():
            yield from self._mark(column, text)
        if not self.state.keys:
            return
        for column, noted in sorted(self.unsaid_texts.items()):
            for other, keys in sorted(self.state.keys.items()):
                yield from self._join(column, noted, other, keys)

    def _mark(self, column: str, text: str) -> Iterator[Finding]:
        """A text that nearly only relevant documents have."""
        relevant = self.judgements.relevant_documents
        marked = self.state.marks[column][text]
        kinds = self.state.kinds.get(column, {})
        others = self.counted[column, text] if kinds is None else kinds.get(text, 0)
        chance = len(relevant) / max(self.state.documents, 1)
        both = marked + others
        if others * _FEW > marked or excess_p(marked, both * chance, both) >= self.p:
            return
        how_many = f"in {others:,}" if others else "in no"
        yield self.finding(
            sorted(relevant),
            f"the column {column} of the documents is {text!r} in {marked:,} of "
            f"{len(relevant):,} relevant documents and {how_many} other, of which there are "
            f"{self.state.documents - len(relevant):,}: leave it out of what a retriever or a "
            "model is shown",
        )

    def _join(
        self,
        column: str,
        noted: dict[str, set[str]],
        other: str,
        keys: dict[str, tuple[int, list[str]]],
    ) -> Iterator[Finding]:
        """A value that queries share with relevant documents, and with few others."""
        total = max(self.state.documents, 1)
        pairs, expected, named = 0, 0.0, 0
        right: list[tuple[str, str]] = []
        for query_id, texts in noted.items():
            held = [keys[text] for text in texts & keys.keys()]
            if not held:
                continue
            named += 1
            # the rarest is the key: parts of it, as the host of an address, stand in many documents
            size, ids = min(held)
            shared = set(ids if size <= _SHARED else ())
            relevant = self.judgements.positives[query_id]
            pairs += size
            right += [(query_id, doc_id) for doc_id in relevant if doc_id in shared]
            expected += min(1.0, size * len(relevant) / total)
        queries = dict.fromkeys(query_id for query_id, _ in right)
        if 2 * len(right) <= pairs or excess_p(len(queries), expected, named) >= self.p:
            return
        query_id, doc_id = right[0]
        yield self.finding(
            list(dict.fromkeys(one for pair in right for one in pair)),
            f"{len(queries):,} of {len(self.judgements.positives):,} queries share a value of "
            f"their column {column} with the column {other} of relevant documents, and with that "
            f"of {pairs - len(right):,} others ({query_id} and {doc_id}, for one): leave both "
            "columns out of what a retriever or a model is shown",
        )
