"""Word places: do a query's words stand elsewhere in relevant documents than in others?

A set whose relevant documents open with what is asked can be solved by their first words. In
natural texts the topic comes early as well, so significance alone says little: the effect has to be
as large as a template's (in nine of ten comparisons the word stands further in front, or behind).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from retgen.tokenizer import STOPWORDS, tokens
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleContext, RuleState

_BINS = 50  # of a text, from its first word to its last
_EFFECT = 0.9
_POOLED = 100  # comparisons that the others' words together need


@dataclass
class _Places(RuleState):
    """`others` (words, _BINS): where words first stand; `relevant`: (query, word, bin)."""

    others: NDArray[np.int64]
    relevant: list[tuple[str, int, int]] = field(default_factory=list)


class WordPlaces(CorpusRule):
    """Where the content words of queries first stand in texts. `p`: the level of the test."""

    name = "word-places"
    severity = "warning"
    finds = (
        "words of queries that nearly always stand at the beginning (or the end) of relevant "
        "documents, but not of the others that hold them"
    )
    order = 180

    def __init__(self, judgements: Judgements, p: float = 1e-6) -> None:
        self.p = p
        self.asked = {
            query.query_id: frozenset(tokens(query.text)) - STOPWORDS
            for query in judgements.queries
            if query.query_id in judgements.positives
        }
        words = sorted({word for asked in self.asked.values() for word in asked})
        self.number = {word: i for i, word in enumerate(words)}
        self.queries: dict[str, list[str]] = {}
        for query_id in self.asked:
            for doc_id in judgements.positives[query_id]:
                self.queries.setdefault(doc_id, []).append(query_id)
        self.start()

    @classmethod
    def from_context(cls, context: RuleContext) -> Self:
        return cls(context.judgements, context.p)

    def start(self) -> None:
        self.state: _Places = _Places(np.zeros((len(self.number), _BINS), np.int64))

    def scan(self, batch: Batch) -> None:
        number, state = self.number, self.state
        cells: list[int] = []
        for doc_id, title, words in zip(batch.ids, batch.titles, batch.words(), strict=True):
            if title:
                words = words[len(tokens(title)) :]
            first = {number[word]: i for i, word in _backwards(words) if word in number}
            bins = {word: place * _BINS // len(words) for word, place in first.items()}
            of_queries: set[int] = set()
            for query_id in self.queries.get(doc_id, ()):
                for word in sorted(self.asked[query_id]):
                    if (known := number[word]) in bins:
                        of_queries.add(known)
                        state.relevant.append((query_id, known, bins[known]))
            cells += [w * _BINS + b for w, b in bins.items() if w not in of_queries]
        if cells:
            counts = np.bincount(cells, minlength=state.others.size)
            state.others += counts.reshape(state.others.shape)

    def findings(self) -> Iterator[Finding]:
        others, relevant = self.state.others, self.state.relevant
        pooled = others.sum(0)
        ahead: dict[str, list[float]] = {}
        for query_id, word, place in relevant:
            there = others[word] if others[word].any() else pooled
            if there is pooled and pooled.sum() < _POOLED:
                continue
            share = (there[place + 1 :].sum() + there[place] / 2) / there.sum()
            ahead.setdefault(query_id, []).append(float(share))
        if not ahead:
            return
        means = [math.fsum(shares) / len(shares) for shares in ahead.values()]
        effect = math.fsum(means) / len(means)
        p = math.erfc(abs(effect - 0.5) * math.sqrt(6 * len(means)))
        if p < self.p and not 1 - _EFFECT < effect < _EFFECT:
            where, share = ("in front", effect) if effect > 0.5 else ("behind", 1 - effect)
            yield self.finding(
                [query_id for query_id in self.asked if query_id in ahead],
                f"in {share:.0%} of comparisons the words of a query stand further {where} in its "
                f"relevant documents than in others that hold them ({len(ahead):,} queries, p = "
                f"{p:.1g}): their first or last words give them away",
            )


def _backwards(words: list[str]) -> Iterator[tuple[int, str]]:
    """(place, word) from the last to the first, so that the first place is what stays."""
    return zip(range(len(words) - 1, -1, -1), reversed(words), strict=True)
