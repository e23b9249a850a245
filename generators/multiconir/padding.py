"""Documents padded to a length with filler between their sentences (paper, §5.1, Appendix F.2)."""

from __future__ import annotations

from collections.abc import Sequence

from retgen.generators.multiconir.sentences import word_count

# as quoted in Appendix F.2
FILLER = (
    "The grass is green.", "The sky is blue.", "The sun is yellow.", "Here we go.",
    "There and back again.",
)  # fmt: skip
_CYCLE = sum(map(word_count, FILLER))


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


def padded(sentences: Sequence[str], words: int) -> str:
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
