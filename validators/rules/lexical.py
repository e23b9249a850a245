"""Lexical ambiguity: a query whose content words all stand in a document that is not relevant.

A lexical retriever cannot tell such a document from a relevant one, so the query measures word
order or luck. In the published LIMIT-small 26 of 1,000 queries are of this kind.
"""

from __future__ import annotations

from collections import Counter
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
        asked = {
            query.query_id: frozenset(tokens(query.text)) - STOPWORDS
            for query in judgements.queries
            if query.query_id in judgements.positives
        }
        common = Counter(word for words in asked.values() for word in words)
        template = {word for word, n in common.items() if n == len(asked) and n > 1}
        self.asked = {q: words - template for q, words in asked.items() if words - template}
        self._queries = [(one, frozenset(judgements.positives[one])) for one in self.asked]
        vocabulary = frozenset[str]().union(*self.asked.values())
        self._columns = {word: column for column, word in enumerate(sorted(vocabulary))}
        super().__init__(judgements)

    def start(self) -> None:
        self.state: _Hits = _Hits()
        self._lookup: Containment | None = None
        self._open = np.ones(len(self._queries), bool)  # without a hit

    def scan(self, batch: Batch) -> None:
        here = [[*self._columns.keys() & words] for words in batch.words()]
        rows = np.repeat(np.arange(len(here)), list(map(len, here)))
        held = map(self._columns.__getitem__, chain.from_iterable(here))
        columns = np.fromiter(held, np.int64, len(rows))
        if self._lookup is None:  # which words are rare is seen in the first documents
            seen = np.bincount(columns, minlength=len(self._columns))
            sets = [[self._columns[word] for word in words] for words in self.asked.values()]
            self._lookup = Containment(sets, seen)
        first: dict[int, int] = {}  # query -> document
        for documents, queries in self._lookup.pairs(rows, columns):
            wanted = self._open[queries]
            for place, row in zip(
                queries[wanted].tolist(), documents[wanted].tolist(), strict=True
            ):
                if batch.ids[row] not in self._queries[place][1]:
                    first[place] = min(row, first.get(place, row))
        for place, row in first.items():
            self.state.hits[self._queries[place][0]] = batch.ids[row]
            self._open[place] = False

    def findings(self) -> Iterator[Finding]:
        hits = self.state.hits
        flagged = [query_id for query_id in self.judgements.positives if query_id in hits]
        if flagged:
            first = flagged[0]
            yield self.finding(
                flagged,
                f"all content words of {len(flagged)} of {len(self.asked)} queries stand in some "
                f"document that is not relevant (query {first} in {hits[first]}, for one; "
                "function words and words of all queries aside): look whether it is relevant too",
            )
