"""Lexical ambiguity: a query whose content words all stand in a document that is not relevant.

A lexical retriever cannot tell such a document from a relevant one, so the query measures word
order or luck. In the published LIMIT-small 26 of 1,000 queries are of this kind.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from retgen.tokenizer import STOPWORDS, tokens
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleState
from retgen.validators.similar import Containment


@dataclass
class _Hits(RuleState):
    """Query id to the first non-relevant document that holds all its content words."""

    hits: dict[str, str] = field(default_factory=dict)


class LexicalAmbiguity(CorpusRule):
    """Queries that are not told apart by their content words. Only judged queries are looked at.

    Words are tokens (`retgen.tokenizer`), unstemmed. Words shared by every query ("likes") are the
    template's, not the topic's, and do not count.
    """

    name = "lexical-ambiguity"
    severity = "warning"
    finds = (
        "queries all of whose words stand in some document that is not relevant; function "
        "words, and words that all queries share, do not count"
    )
    order = 190

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
        self.vocabulary = frozenset(word for words in self.asked.values() for word in words)
        self.column = {word: column for column, word in enumerate(sorted(self.vocabulary))}
        # queries of the same words are looked up once
        same: dict[frozenset[str], list[str]] = defaultdict(list)
        for query_id, words in self.asked.items():
            same[words].append(query_id)
        self.groups = list(same.values())
        self.sets = [sorted(map(self.column.__getitem__, words)) for words in same]
        super().__init__(judgements)

    def start(self) -> None:
        self.state: _Hits = _Hits()
        self._lookup: Containment | None = None
        self._open = np.ones(len(self.groups), bool)  # groups with a query without a hit

    def scan(self, batch: Batch) -> None:
        here = [self.vocabulary.intersection(words) for words in batch.words()]
        counts = np.fromiter(map(len, here), np.int64, len(here))
        words = map(self.column.__getitem__, chain.from_iterable(here))
        columns = np.fromiter(words, np.int64, int(counts.sum()))
        if self._lookup is None:  # which words are rare is seen in the first documents
            seen = np.bincount(columns, minlength=len(self.column))
            self._lookup = Containment(self.sets, seen)
        rows = np.repeat(np.arange(len(here)), counts)
        result: dict[int, list[int]] = defaultdict(list)
        for documents, sets in self._lookup.pairs(rows, columns):
            wanted = self._open[sets]
            for group, row in zip(sets[wanted].tolist(), documents[wanted].tolist(), strict=True):
                result[group].append(row)
        for group, holders in result.items():
            self._note(group, [batch.ids[row] for row in sorted(holders)])

    def _note(self, group: int, holders: list[str]) -> None:
        """Documents that hold all words of some queries: the first that is not relevant counts."""
        hits = self.state.hits
        for query_id in self.groups[group]:
            if query_id not in hits:
                relevant = self.positives[query_id]
                first = next((doc_id for doc_id in holders if doc_id not in relevant), None)
                if first is not None:
                    hits[query_id] = first
        self._open[group] = any(query_id not in hits for query_id in self.groups[group])

    def findings(self) -> Iterator[Finding]:
        hits = self.state.hits
        flagged = [query_id for query_id in self.positives if query_id in hits]
        if flagged:
            first = flagged[0]
            yield self.finding(
                flagged,
                f"all content words of {len(flagged)} of {len(self.asked)} queries stand in some "
                f"document that is not relevant (query {first} in {hits[first]}, for one; "
                "function words and words of all queries aside): look whether it is relevant too",
            )
