"""What the documents of a corpus have in common, counted before any query is written.

A word that half of the documents know finds none of them; a heading that many documents have is
structure (SYNOPSIS, See also), and so is what all titles end with.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

_FEW = 3  # documents that may share a heading, however few there are
_SHARE = 0.01  # of the documents, which may


@dataclass
class CorpusCounts:
    """Numbers of documents: that hold a word; that have a heading, a part of a title, a short form
    (folded). Add up with `merge`.
    """

    documents: int = 0
    words: Counter[str] = field(default_factory=Counter)
    headings: Counter[str] = field(default_factory=Counter)

    def merge(self, other: CorpusCounts) -> None:
        """Add the counts of other documents."""
        self.documents += other.documents
        self.words.update(other.words)
        self.headings.update(other.headings)

    def without_rare_words(self) -> CorpusCounts:
        """The same for who reads it: a word of one document counts as one that is not known."""
        words = Counter({word: n for word, n in self.words.items() if n > 1})
        headings = Counter({text: n for text, n in self.headings.items() if n > 1})
        return CorpusCounts(self.documents, words, headings)

    @property
    def few(self) -> int:
        """Documents that may share what still tells one of them from the rest."""
        return max(_FEW, int(_SHARE * self.documents))

    def salience(self, words: Sequence[str]) -> float:
        """How much words tell of where they stand: their mean idf; 0 (all have them) to 1."""
        if not words:
            return 0.0
        top = math.log(self.documents + 1)
        if top <= 0:
            return 1.0
        idf = (math.log((self.documents + 1) / max(1, self.words[word])) for word in words)
        return sum(idf) / len(words) / top

    def know(self, word: str, share: float) -> bool:
        """Whether more than that share of the documents, and more than a few, have a word."""
        return self.words[word.casefold()] > max(_FEW, share * self.documents)

    def is_shared(self, folded_heading: str) -> bool:
        """Whether so many documents have a heading that it is a part of their form."""
        return self.headings[folded_heading] > self.few
