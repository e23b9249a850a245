"""Columns that tell relevant documents apart, though they name none.

Two ways: a short value that most relevant documents have and hardly any other ("GOLD" as a title),
and a value that a query shares with its relevant documents only, as a key that joins two tables
does (the address of their source, say). A column of many documents a value (a language, a category)
does neither: beside the relevant documents it has many others.

What the query's own text says is no secret of a column. What a run's documents hold as `metadata`
is the business of its family's proof: it is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from retgen.validators.chance import excess_p
from retgen.validators.notes import leaves
from retgen.validators.rule import Batch, Finding, LeakRule, RuleState

_TITLE = "title"
_KINDS = 50  # texts of a column, above which those of other documents are counted in a second look
_TEXTS = 10_000  # texts of relevant documents; of more, the frequent ones are kept
_SHORT = 100  # characters of a value that marks
_SHARED = 100  # documents that a key is kept for; what more of them have is no key
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
