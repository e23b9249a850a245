"""Answer leak: do ids or further columns say which document is relevant?

An id or a column is no text, and retrievers that are scored read texts only. But files are read in
other ways too: ids break ties, whole rows are shown to language models, columns end up in prompts.
Chance is the yardstick: with any other query a document's id agrees as often as its parts are
common.

Columns tell relevant documents apart in two ways. A short value that most of them have and hardly
any other marks them ("GOLD" as a title). A value that a query shares with its relevant documents
only joins the two: an id or a text of one in a column of the other, or a key that both tables have
(the address of their source, say). A column of many documents a value (a language, a category)
does neither. What the query's own text says is no secret of a column.

What a run's documents hold as `metadata` is the business of its family's proof: it is not read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from retgen.validators.chance import excess_p
from retgen.validators.notes import leaves
from retgen.validators.rule import Batch, Finding, Judgements, LeakRule, RuleState

_RUN = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"[0-9]+")
_SHARED = 100  # ids that a part, documents that a key may stand in: what more have tells nothing
_ID, _TEXT, _TITLE = "_id", "text", "title"
_KINDS = 10_000  # texts of a column that are counted; of more, the frequent ones are kept
_SHORT = 100  # characters of a value that marks
_FEW = 20  # one other document in so many relevant ones may have their mark, too


@dataclass
class _Columns(RuleState):
    """`marks`: documents by column, text, and whether they are relevant. `keys`: by column and
    text that queries hold, the first documents that hold it.
    """

    documents: int = 0
    marks: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    keys: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    limit = _KINDS  # of marks; no field, as it does not add up

    def merge(self, later: Self, offset: int) -> None:
        super().merge(later, offset)
        self.keep_frequent()

    def keep_frequent(self) -> None:
        """Forget rare texts of documents that are not relevant, where there are many."""
        if len(self.marks) > self.limit:
            often = dict(self.marks.most_common(_KINDS // 2))
            some = {one: n for one, n in self.marks.items() if one[2] or one in often}
            self.marks = Counter(some)
            self.limit = max(_KINDS, 2 * len(some))  # so that time grows with the texts alone

    def hold(self, column: str, text: str, doc_id: str) -> None:
        """A document holds what a query holds."""
        ids = self.keys.setdefault((column, text), [])
        if len(ids) <= _SHARED:
            ids.append(doc_id)


class AnswerLeak(LeakRule):
    """Neither ids nor columns say which document is relevant."""

    name = "answer-leak"
    finds = (
        "ids of queries that share a part with that of a relevant document more often than chance; "
        "a value (of the title as well) that marks relevant documents and hardly any other; a "
        "value, an id or a text that queries share with their relevant documents only"
    )
    order = 160

    def __init__(self, judgements: Judgements) -> None:
        queries = [q for q in judgements.queries if q.query_id in judgements.positives]
        said = {query.query_id: query.text.casefold() for query in queries}
        # column -> query id -> what it holds that the query's text does not say
        self.noted: dict[str, dict[str, set[str]]] = {
            _ID: {query.query_id: {query.query_id} for query in queries},
            _TEXT: {query.query_id: {query.text} for query in queries},
        }
        for column, notes in judgements.notes.items():
            self.noted[column] = {
                one: {text for text in texts if text.casefold() not in said.get(one, "")}
                for one, texts in notes.items()
            }
        self.sought = {t for held in self.noted.values() for texts in held.values() for t in texts}
        self.lengths = frozenset(map(len, self.sought))
        super().__init__(judgements)

    def start(self) -> None:
        self.state: _Columns = _Columns()

    def scan(self, batch: Batch) -> None:
        state, relevant, sought = self.state, self.judgements.relevant_documents, self.sought
        state.documents += len(batch)
        for doc_id in filter(sought.__contains__, batch.ids):
            state.hold(_ID, doc_id, doc_id)
        for doc_id, text in zip(batch.ids, batch.texts, strict=True):
            # a long text that nobody notes is not hashed
            if len(text) in self.lengths and text in sought:
                state.hold(_TEXT, text, doc_id)
        titles, foreign = any(batch.titles), self.judgements.foreign
        if not (titles or any(batch.extra) or (foreign and any(batch.metadata))):
            state.marks.update((_TITLE, "", doc_id in relevant) for doc_id in batch.ids)
            return
        columns = zip(batch.ids, batch.titles, batch.metadata, batch.extra, strict=True)
        for doc_id, title, metadata, extra in columns:
            others: dict[str, Any] = {**(extra or {}), _TITLE: title}
            for column, text in set(leaves(metadata if foreign else None, others)):
                if len(text) <= _SHORT:
                    state.marks[column, text, doc_id in relevant] += 1
                if text in sought:
                    state.hold(column, text, doc_id)
            state.keep_frequent()

    def findings(self) -> Iterator[Finding]:
        yield from self._ids()
        most = len(self.judgements.relevant_documents) / 2
        for (column, text, marks), marked in sorted(self.state.marks.items()):
            if marks and marked > most:
                yield from self._mark(column, text, marked, self.state.marks[column, text, False])
        held: dict[str, dict[str, list[str]]] = defaultdict(dict)
        for (column, text), ids in self.state.keys.items():
            held[column][text] = ids[: _SHARED + 1]
        for column, noted in sorted(self.noted.items()):
            for other, keys in sorted(held.items()):
                # equal ids are seen by their parts, and equal texts are no leak
                if column not in (_ID, _TEXT) or other not in (_ID, _TEXT):
                    yield from self._join(column, noted, other, keys)

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

    def _mark(self, column: str, text: str, marked: int, others: int) -> Iterator[Finding]:
        """A text that nearly only relevant documents have."""
        relevant = self.judgements.relevant_documents
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
        self, column: str, noted: dict[str, set[str]], other: str, keys: dict[str, list[str]]
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
            ids = min(held, key=len)
            relevant = self.judgements.positives[query_id]
            pairs += len(ids)
            if len(ids) <= _SHARED:
                right += [(query_id, doc_id) for doc_id in relevant if doc_id in ids]
            expected += min(1.0, len(ids) * len(relevant) / total)
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


def _parts(name: str) -> frozenset[str]:
    """What two ids may have in common: runs of letters and digits, and numbers without zeros."""
    runs = _RUN.findall(name.casefold())
    numbers = (number.lstrip("0") or "0" for number in _DIGITS.findall(name))
    return frozenset([*runs, *numbers])
