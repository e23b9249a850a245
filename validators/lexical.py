"""Lexical ambiguity: a query whose content words all stand in a document that is not relevant.

A lexical retriever cannot tell such a document from a relevant one, so the query measures word
order or luck. In the published LIMIT-small 26 of 1,000 queries are of this kind.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from retgen.tokenizer import STOPWORDS, tokens
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, State

__all__ = ["LexicalAmbiguity"]


@dataclass
class _Hits(State):
    """Query id to the first non-relevant document that holds all its content words."""

    hits: dict[str, str] = field(default_factory=dict)

    def merge(self, later: Self, offset: int) -> None:
        for query_id, doc_id in later.hits.items():
            self.hits.setdefault(query_id, doc_id)


class LexicalAmbiguity(CorpusRule):
    """Queries that are not told apart by their content words. Only judged queries are looked at.

    Words are tokens (`retgen.tokenizer`), unstemmed. Words shared by every query ("likes") are the
    template's, not the topic's, and do not count.
    """

    name = "lexical-ambiguity"

    def __init__(self, judgements: Judgements) -> None:
        self.positives = {q: frozenset(docs) for q, docs in judgements.positives.items()}
        asked = {
            query.query_id: frozenset(tokens(query.text)) - STOPWORDS
            for query in judgements.queries
            if query.query_id in self.positives
        }
        common = Counter(word for words in asked.values() for word in words)
        template = {word for word, n in common.items() if n == len(asked) and n > 1}
        self.asked = {q: words - template for q, words in asked.items() if words - template}
        # each query is looked up under its rarest word, so that a document meets few of them
        self.by_rarest: dict[str, list[str]] = defaultdict(list)
        for query_id, words in self.asked.items():
            self.by_rarest[min(words, key=lambda w: (common[w], w))].append(query_id)
        self.vocabulary = frozenset(word for words in self.asked.values() for word in words)
        self.start()

    def start(self) -> None:
        self.state: _Hits = _Hits()

    def scan(self, batch: Batch) -> None:
        hits = self.state.hits
        for doc_id, title, text in zip(batch.ids, batch.titles, batch.texts, strict=True):
            here = self.vocabulary.intersection(tokens(f"{title} {text}" if title else text))
            for word in here:
                for query_id in self.by_rarest.get(word, ()):
                    if (
                        query_id not in hits
                        and self.asked[query_id] <= here
                        and doc_id not in self.positives[query_id]
                    ):
                        hits[query_id] = doc_id

    def findings(self) -> Iterator[Finding]:
        hits = self.state.hits
        flagged = [query_id for query_id in self.positives if query_id in hits]
        if flagged:
            first = flagged[0]
            yield Finding(
                self.name,
                "warning",
                flagged,
                f"all content words of {len(flagged)} of {len(self.asked)} queries stand in some "
                f"document that is not relevant (query {first} in {hits[first]}, for one): no "
                "lexical retriever can be perfect",
            )
