"""Ladders as agents leave them, a line each in `sources/ladders.jsonl`, and their documents.

    {"id": "people-03", "title": "...", "sentences": [ten], "conditions": [ten], "queries": [ten],
     "rewrites": [ten], "verdicts": [twenty {"condition", "of", "verdict", "quote"}],
     "refused": [{"sentence", "reason"}]}

Everything is in the order of the conditions; of their verdicts the sentence's stands before that of
its rewrite. HNi replaces the sentences of the first i conditions by their rewrites (paper, §3.2,
step 4); in which order the sentences stand in the document is drawn apart, so that a hard
negative's level and a position are not confounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from retgen.generators.multiconir.checks import CONDITIONS, word_count
from retgen.on_disk import JSONLines, MappedList
from retgen.streams import Stream
from retgen.write import json_line

DOCUMENTS, LADDERS = "documents.jsonl", "ladders.jsonl"

# as quoted in Appendix F.2
FILLER = (
    "The grass is green.",
    "The sky is blue.",
    "The sun is yellow.",
    "Here we go.",
    "There and back again.",
)

_CYCLE = sum(map(word_count, FILLER))


class Ladder(NamedTuple):
    """Ten conditions of one document. Every list has ten entries, in the conditions' order.

    `queries`: descriptive, the first for condition 1, the last for all. `verdicts`: what a judge
    found of each sentence and rewrite, with the part of the text on which that rests. `refused`:
    sentences of the document that agents chose and that failed a check, and why. Of drawn ladders:
    `wordings`, how each condition asks; `strategies`, how its sentence is rewritten;
    `expressions`, what it asks, as JSON.
    """

    id: str
    title: str
    sentences: Sequence[str]
    conditions: Sequence[str]
    queries: Sequence[str]
    rewrites: Sequence[str]
    verdicts: Sequence[Mapping[str, Any]] = ()
    refused: Sequence[Mapping[str, str]] = ()
    wordings: Sequence[str] = ()
    strategies: Sequence[str] = ()
    expressions: Sequence[str] = ()

    def line(self) -> bytes:
        """One line of the file."""
        return json_line(self._asdict())

    def first(self, n: int) -> dict[str, Any]:
        """What is known of the first n conditions of a drawn ladder; of others nothing."""
        if not self.expressions:
            return {}
        parts = self.expressions[:n]
        return {
            "wordings": self.wordings[:n],
            "strategies": self.strategies[:n],
            "expression": f'["and",{",".join(parts)}]' if n > 1 else parts[0],
        }

    def pieces(self, order: Sequence[int], broken: frozenset[int]) -> list[str]:
        """The sentences in `order`, with the rewrites of `broken` conditions (from 0)."""
        return [self.rewrites[c] if c in broken else self.sentences[c] for c in order]

    def text(self, order: Sequence[int], broken: frozenset[int] = frozenset()) -> str:
        """The document of these pieces."""
        return " ".join(self.pieces(order, broken))


# the conditions (from 0) that the documents of every ladder break: the positive, HN1 to HN10, then
# those that break one condition alone
RUNGS = tuple(frozenset(range(n)) for n in range(CONDITIONS + 1))
LADDER_DOCUMENTS = (*RUNGS, *(frozenset([c]) for c in range(1, CONDITIONS)))


def stored_ladders(path: Path) -> Sequence[Ladder]:
    """The ladders of a file, read where they are asked for; the last one is kept."""
    rows = MappedList(lambda row: Ladder(**row), JSONLines(path))
    return MappedList(lru_cache(1)(rows.__getitem__), range(len(rows)))


# --- orders ---------------------------------------------------------------------------------------


def draw_order(seed: int, purpose: str, count: int = CONDITIONS) -> list[int]:
    """The numbers from 0 in an order that the seed draws for a purpose."""
    order: list[int] = Stream(seed, purpose).permutation(count).tolist()
    return order


def places(seed: int, ladder: str) -> list[int]:
    """The condition of the sentence at place 0, 1, ..., 9 of the ladder's documents."""
    return draw_order(seed, f"multiconir/places/{ladder}")


# --- padding --------------------------------------------------------------------------------------


def filler(words: int) -> list[str]:
    """Filler sentences of exactly so many words: whole rounds, then what makes up the rest.

    Three- and four-word sentences give every number but 1, 2 and 5; for these one round less and
    a larger rest.
    """
    rounds, rest = divmod(words, _CYCLE)
    while rest in (1, 2, 5) and rounds:
        rounds, rest = rounds - 1, rest + _CYCLE
    if rest in (1, 2, 5):
        return []
    threes = next(t for t in range(5) if rest >= 3 * t and (rest - 3 * t) % 4 == 0)
    fours = (rest - 3 * threes) // 4
    four = [one for one in FILLER if word_count(one) == 4]
    ending = [four[i % len(four)] for i in range(fours)] + [FILLER[3]] * threes
    return [*FILLER * rounds, *ending]


def padded_text(sentences: Sequence[str], words: int) -> str:
    """The sentences with filler between them, exactly `words` words in all.

    The filler is spread evenly over the gaps. A text that is as long already stays as it is.
    """
    more = filler(max(0, words - sum(map(word_count, sentences))))
    gaps = len(sentences) - 1
    pieces = [sentences[0]]
    for gap, sentence in enumerate(sentences[1:]):
        pieces += more[len(more) * gap // gaps : len(more) * (gap + 1) // gaps]
        pieces.append(sentence)
    return " ".join(pieces)
