"""Queries by rules, without a model: noun phrases, and the first sentences in a few words.

A phrase is worth searching for where few documents know its words and these gather in few of them
(residual idf), often and early in the passage. All of them stand in prose: code, tables, headings
and boilerplate give none, and none reaches over two blocks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.language import CHINESE, has_baseline, stopwords, words_of
from retgen.generators.capretrieval.nouns import (
    MASK,
    chinese_phrases,
    is_prose,
    noun_phrases,
    weighed_words,
)
from retgen.tokenizer import FULL_STOPS, WORD

_READ = 6000  # characters of a passage's prose that are read
_SENTENCES = 3  # of a passage that are put into few words
_FEWEST, _MOST = 3, 7  # content words of such a query
_KNOWN = 0.25  # a word that more of the documents have is left out of it
_PHRASE = 0.5  # what a phrase is worth beside a sentence
_WORD_ALONE = 0.6  # salience of one word that is enough for a query
_SHORT = 3  # letters of a word that says too little by itself
_NAMED, _SAID = 60, 90  # characters, behind which half of what a passage names, or says, matters
_LONG = 80  # words; what says that much without function words is a table, or code
_BREAK = re.compile(
    rf"(?<=[.!?:{FULL_STOPS}])\s+|(?<=[。！？；])|\n\s*\n\s*|\n\s*(?:[-*+•]|\d+[.)])\s+|\n(?=#)"
)
_WORD = re.compile(rf"{WORD.pattern}(?:[-'’.+#/]{WORD.pattern})*[+#]*")
# of Markdown, HTML and reStructuredText within a block: what nobody reads, such as addresses
_MARKUP = re.compile(
    r"^(?P<fence>```|~~~).*?^(?P=fence)|<!--.*?-->|</?[A-Za-z][^<>]{0,500}>"
    r"|!\[[^\]\n]*\](?:\([^)\n]*\)|\[[^\]\n]*\])|(?<=\])\([^)\s]+\)|^[ ]*\[[^\]\n]+\]:[^\n]*"
    r"|https?://\S+|^[ ]*\.\.[ ][^\n]*|^[ ]+:[a-z]+:[^\n]*|(?<!\w)\|[^|\n]{1,80}\|(?!\w)"
    r"|[=~^*#-]{4,}|(?<=\w)\[\[[^\[\]\n]+\]\]",
    re.DOTALL | re.MULTILINE,
)
_BROKEN = re.compile("[\u00ad\u2010]\n\\s*")  # a word at the end of a line
# code, entities, and what is said by the way
_ASIDE = re.compile(r"(`+)[^`\n]+\1|&#?\w+;|\([^()]*\)")


class RuleQuery(NamedTuple):
    """A query by rules: what it says, the characters it rests on, how much it is worth (0 to 1)."""

    kind: Literal["keyword", "phrase", "summary"]
    text: str
    start: int
    stop: int
    score: float


Place = tuple[int, int]  # characters [start, stop) of a text


def without_markup(text: str, mark: str = " ") -> str:
    """A text of the same length with `mark` in place of every character of markup."""
    return _MARKUP.sub(lambda match: re.sub(r"\S", mark, match.group()), text)


def _prose(text: str) -> str:
    masked = without_markup(text, MASK)
    return _ASIDE.sub(lambda match: re.sub(r"\S", MASK, match.group()), masked)


def keyphrases(
    text: str,
    language: str,
    count: int,
    counts: CorpusCounts,
    prose: Sequence[Place] | None = None,
) -> list[RuleQuery]:
    """The best phrases of a passage, best first, none a part of a better one; none where no rules
    know the language. `prose`: the blocks that are read; all of the text without.
    """
    if not count or not has_baseline(language):
        return []
    blocks = _blocks(text, prose)
    found: dict[str, tuple[float, int, int]] = {}
    held, in_sentences = Counter(words_of(text)), _in_sentences(text, language)
    for block in blocks:
        for start, stop, worth in _phrases(text, block, language, in_sentences):
            words = words_of(text[start:stop])
            if len(words) == 1 and not _says_enough(words[0], counts):
                continue
            score = worth * _worth(words, held, counts) * _place(start, _NAMED)
            key = " ".join(text[start:stop].casefold().split())
            found.setdefault(key, (score, start, stop))
    result: list[RuleQuery] = []
    taken: list[str] = []
    for score, start, stop in sorted(found.values(), key=lambda one: (-one[0], one[1])):
        phrase = " ".join(text[start:stop].split())
        within = f" {phrase.casefold()} "
        if language != CHINESE and any(within in one or one in within for one in taken):
            continue
        taken.append(within)
        kind: Literal["keyword", "phrase"] = "phrase" if " " in phrase else "keyword"
        result.append(RuleQuery(kind, phrase, start, stop, round(score, 4)))
    return result[:count]


def summaries(
    text: str,
    language: str,
    count: int,
    counts: CorpusCounts,
    prose: Sequence[Place] | None = None,
) -> list[RuleQuery]:
    """What the first sentences of a passage say, in few words."""
    if not count or not has_baseline(language):
        return []
    blocks, held = _blocks(text, prose), Counter(words_of(text))
    in_sentences = _in_sentences(text, language)
    result: list[RuleQuery] = []
    first = min(blocks, default=(0, 0))[0]
    for start, stop in _sentences_of(text, blocks):
        if len(result) == min(count, _SENTENCES):
            break
        sentence = _prose(text[start:stop])
        short = in_few_words(sentence, language, counts)
        if short and (language == CHINESE or is_prose(sentence, language, in_sentences)):
            score = _worth(words_of(short), held, counts) * _place(start - first, _SAID)
            result.append(RuleQuery("summary", short, start, stop, round(score, 4)))
    return result


def _blocks(text: str, prose: Sequence[Place] | None) -> list[Place]:
    """The blocks that are read: all of the prose up to a length, or the text as one block."""
    result, read = [], 0
    for start, stop in [(0, len(text))] if prose is None else prose:
        if read >= _READ:
            break
        result.append((start, min(stop, start + _READ - read)))
        read += stop - start
    return result


def _place(start: int, half: int) -> float:
    """What comes first says what a passage is about; behind so many characters half as often."""
    return 1 / (1 + start / half)


def _worth(words: Sequence[str], held: Mapping[str, int], counts: CorpusCounts) -> float:
    """How much words tell of a passage: a topic of few documents, and often in it. `held`: its
    words.
    """
    often = sum(held[word] for word in words) / max(1, len(words))
    return counts.informativeness(words) * (1 - 0.5 / max(1.0, often))


def _in_sentences(text: str, language: str) -> bool:
    """Whether a passage has to be in sentences to be prose: only a short one, such as the title of
    a product, may be without.
    """
    return len(text.split()) >= _LONG or is_prose(_prose(text), language)


def _says_enough(word: str, counts: CorpusCounts) -> bool:
    """Whether a word by itself is a query: few documents have it, and it is no abbreviation, which
    means another thing in each. Scripts other than ASCII say more with a sign.
    """
    is_short = word.isascii() and len(word) <= _SHORT
    return not is_short and counts.salience([word]) >= _WORD_ALONE


def _phrases(
    text: str, block: Place, language: str, in_sentences: bool
) -> Iterator[tuple[int, int, float]]:
    """The phrases of a block: their places in the text, and what such a phrase is worth."""
    part = _prose(text[slice(*block)])
    if language == CHINESE:
        ranked = chinese_phrases(part)
        best = max((weight for _, weight in ranked), default=1.0)
        for name, weight in ranked:
            for match in re.finditer(re.escape(name), part):
                start = block[0] + match.start()
                yield start, start + len(name), weight / best
    elif is_prose(part, language, in_sentences):
        for start, stop in noun_phrases(part, language):
            yield block[0] + start, block[0] + stop, _PHRASE


def _sentences_of(text: str, blocks: Sequence[Place]) -> Iterator[Place]:
    for begin, end in blocks:
        for start, stop in sentences(text[begin:end]):
            yield begin + start, begin + stop


def sentences(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text stand, list items and headings among them."""
    result, begin = [], 0
    for gap in [*_BREAK.finditer(text), None]:
        end = gap.start() if gap else len(text)
        part = text[begin:end]
        left = len(part) - len(part.lstrip())
        if part.strip():
            result.append((begin + left, begin + len(part.rstrip())))
        begin = gap.end() if gap else end
    return result


def in_few_words(text: str, language: str, counts: CorpusCounts) -> str:
    """The first content words of a sentence, less those that many documents have; "" where they are
    too few.
    """
    text, stops = _BROKEN.sub("", text), stopwords(language)
    if language == CHINESE:
        cut = weighed_words(text)[1]
        words = [word for word, flag in cut if flag[0] in "navbijls" or flag == "eng"]
    else:
        words = [word for word in _WORD.findall(text) if word.casefold() not in stops]
    kept = [word for word in words if word.strip("_") and not counts.know(word, _KNOWN)]
    distinct = list(dict.fromkeys(kept))
    return " ".join(distinct[:_MOST]) if len(distinct) >= _FEWEST else ""
