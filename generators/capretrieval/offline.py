"""Queries by rules, without a model: noun phrases, and the first sentences in a few words.

A phrase is worth searching for where few documents know its words and these gather in few of them
(residual idf), often and early in the passage. All of them stand in prose: code, tables, headings
and boilerplate give none, and none reaches over two blocks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.language import CHINESE, has_baseline, words_of
from retgen.generators.capretrieval.nouns import MASK, content_words, is_prose, noun_phrases
from retgen.generators.capretrieval.passages import PassageQuery
from retgen.tokenizer import FULL_STOPS

_READ = 6000  # characters of a passage's prose that are read
_SENTENCES = 3  # of a passage that are put into few words
_FEWEST, _MOST = 3, 7  # content words of such a query
_KNOWN = 0.25  # a word that more of the documents have is left out of it
_WORD_ALONE = 0.6  # salience of one word that is enough for a query
_SHORT = 3  # letters of a word that says too little by itself
_NAMED, _SAID = 60, 90  # characters, behind which half of what a passage names, or says, matters
_LONG = 80  # words; what says that much without function words is a table, or code
_BREAK = re.compile(
    rf"(?<=[.!?:{FULL_STOPS}])\s+|(?<=[。！？；])|\n\s*\n\s*|\n\s*(?:[-*+•]|\d+[.)])\s+|\n(?=#)"
)
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


Place = tuple[int, int]  # characters [start, stop) of a text


def rule_queries(
    text: str,
    language: str,
    most: tuple[int, int],
    counts: CorpusCounts,
    prose: Sequence[Place],
) -> list[PassageQuery]:
    """The best phrases of a passage and its first sentences in few words, best first; none where no
    rules know the language. `most`: how many of both; `prose`: the blocks that are read.
    `PassageQuery.span` is of the text.
    """
    if not any(most) or not has_baseline(language):
        return []
    blocks, read = list[Place](), 0
    for start, stop in prose:
        if read < _READ:
            blocks.append((start, min(stop, start + _READ - read)))
        read += stop - start
    masked = _prose(text)
    # only a short passage, such as the title of a product, may be without sentences
    in_sentences = len(text.split()) >= _LONG or is_prose(masked, language)
    held, first = Counter(words_of(text)), min(blocks, default=(0, 0))[0]

    def query(kind: str, words: str, start: int, stop: int, place: float) -> PassageQuery:
        own = words_of(words)
        often = sum(held[word] for word in own) / max(1, len(own))
        worth = counts.informativeness(own) * (1 - 0.5 / max(1.0, often)) / (1 + place)
        return PassageQuery(words, kind, 0, (start, stop), "rules", round(worth, 4))

    def is_read(start: int, stop: int) -> bool:
        return language == CHINESE or is_prose(masked[start:stop], language, in_sentences)

    phrases: dict[str, PassageQuery] = {}
    for begin, end in blocks if most[0] else ():
        for start, stop in noun_phrases(masked[begin:end], language) if is_read(begin, end) else ():
            words = " ".join(text[begin + start : begin + stop].split())
            if _says_enough(words_of(words), counts):
                kind, place = "phrase" if " " in words else "keyword", (begin + start) / _NAMED
                one = query(kind, words, begin + start, begin + stop, place)
                phrases.setdefault(words.casefold(), one)
    summaries = list[PassageQuery]()
    every = ((begin + a, begin + b) for begin, end in blocks for a, b in sentences(text[begin:end]))
    for start, stop in every:
        if len(summaries) == min(most[1], _SENTENCES):
            break
        short = in_few_words(masked[start:stop], language, counts)
        if short and is_read(start, stop):
            summaries.append(query("summary", short, start, stop, (start - first) / _SAID))
    ranked = sorted(phrases.values(), key=lambda one: (-one.score, one.span))
    return [*islice(_apart(ranked), most[0]), *summaries]


def _apart(ranked: Sequence[PassageQuery]) -> Iterator[PassageQuery]:
    """Phrases that are no part of a better one, and have none as a part."""
    taken = list[str]()
    for one in ranked:
        within = f" {one.text.casefold()} "
        if not any(within in other or other in within for other in taken):
            taken.append(within)
            yield one


def _prose(text: str) -> str:
    """A text of the same length with `MASK` in place of every sign of markup, code and asides."""
    for pattern in (_MARKUP, _ASIDE):
        text = pattern.sub(lambda match: re.sub(r"\S", MASK, match.group()), text)
    return text


def _says_enough(words: Sequence[str], counts: CorpusCounts) -> bool:
    """Whether a word by itself is a query: few documents have it, and it is no abbreviation, which
    means another thing in each. Scripts other than ASCII say more with a sign.
    """
    if len(words) != 1:
        return True
    is_short = words[0].isascii() and len(words[0]) <= _SHORT
    return not is_short and counts.salience(words) >= _WORD_ALONE


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
    words = content_words(_BROKEN.sub("", text), language)
    distinct = list(dict.fromkeys(word for word in words if not counts.know(word, _KNOWN)))
    return " ".join(distinct[:_MOST]) if len(distinct) >= _FEWEST else ""
