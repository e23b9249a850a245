"""What the documents of a corpus have in common, counted before any query is written.

A word that half of the documents know finds none of them; a heading that many documents have is
structure (SYNOPSIS, See also), and so is what all titles end with.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_FEW = 3  # documents that may share a heading, however few there are
_SHARE = 0.01  # of the documents, which may
_RESIDUAL = 2.5  # weight of the residual idf, which is a fraction of the idf


@dataclass
class CorpusCounts:
    """Numbers of documents: that hold a word; that have a heading, a part of a title, a short form
    (folded). `occurrences`: of a word in all of them. Add up with `merge`.
    """

    documents: int = 0
    words: Counter[str] = field(default_factory=Counter)
    occurrences: Counter[str] = field(default_factory=Counter)
    headings: Counter[str] = field(default_factory=Counter)

    def merge(self, other: CorpusCounts) -> None:
        """Add the counts of other documents."""
        self.documents += other.documents
        self.words.update(other.words)
        self.occurrences.update(other.occurrences)
        self.headings.update(other.headings)

    def without_rare_words(self) -> CorpusCounts:
        """The same for who reads it: what stands once counts as what is not known."""
        every = (self.words, self.occurrences, self.headings)
        return CorpusCounts(
            self.documents, *(Counter({key: n for key, n in one.items() if n > 1}) for one in every)
        )

    @property
    def few(self) -> int:
        """Documents that may share what still tells one of them from the rest."""
        return max(_FEW, int(_SHARE * self.documents))

    def salience(self, words: Sequence[str]) -> float:
        """How rare words are in the corpus: their mean idf; 0 (all documents have them) to 1."""
        return self._mean(words, lambda documents, _: math.log((self.documents + 1) / documents))

    def informativeness(self, words: Sequence[str]) -> float:
        """How much words tell of a topic, 0 to 1: their idf, and how much more they gather in few
        documents than words do that fall anywhere (residual idf; Church and Gale 1995, Inverse
        Document Frequency: A Measure of Deviations from Poisson).
        """

        def residual(documents: int, occurrences: int) -> float:
            expected = -math.expm1(-occurrences / self.documents) * self.documents
            return max(0.0, math.log(expected / documents))

        residuals = self._mean(words, residual)
        return (self.salience(words) + _RESIDUAL * residuals) / (1 + _RESIDUAL)

    def _mean(self, words: Sequence[str], measure: Callable[[int, int], float]) -> float:
        """The mean of a measure of a word's documents and occurrences, as a share of the idf that
        a word in no document has.
        """
        top = math.log(self.documents + 1)
        if not words or top <= 0:
            return float(bool(words))
        found = (
            measure(max(1, self.words[word]), max(1, self.occurrences[word])) for word in words
        )
        return sum(found) / len(words) / top

    def know(self, word: str, share: float) -> bool:
        """Whether more than that share of the documents, and more than a few, have a word."""
        return self.words[word.casefold()] > max(_FEW, share * self.documents)

    def is_shared(self, folded_heading: str) -> bool:
        """Whether so many documents have a heading that it is a part of their form."""
        return self.headings[folded_heading] > self.few
