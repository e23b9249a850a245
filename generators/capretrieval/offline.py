"""Queries by rules, without a model: noun phrases, and what a passage says in a few words.

A phrase is worth searching for where few documents know its words (tf x idf over the corpus), and
early in the passage. What a passage says is told in telegram style: the content words of its first
sentences, or two phrases of one section side by side. All of them stand in prose: code, tables,
headings and boilerplate give none, and none reaches over two blocks. Hypernyms and questions are a
model's work: no lexical resource that installs by itself gives them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.language import CHINESE, has_baseline, stopwords, words_of
from retgen.generators.capretrieval.nouns import chinese_phrases, noun_phrases, weighed_words

_READ = 6000  # characters of a passage's prose that are read
_SENTENCES = 3  # of a passage that are put into few words
_FEWEST, _MOST = 3, 9  # content words of such a query
_SINGLE = 0.6  # a word by itself says less than a phrase
_TOPICS = 0.8  # what two phrases side by side are worth
_BREAK = re.compile(r"(?<=[.!?:])\s+|(?<=[。！？；])|\n\s*\n\s*|\n\s*(?:[-*+•]|\d+[.)])\s+|\n(?=#)")
_WORD = re.compile(r"\w+(?:[-'’.+#/]\w+)*[+#]*")
# of Markdown, HTML and reStructuredText within a block: what nobody reads, such as addresses
_MARKUP = re.compile(
    r"^(?P<fence>```|~~~).*?^(?P=fence)|<!--.*?-->|</?[A-Za-z][^<>]{0,500}>"
    r"|!\[[^\]\n]*\](?:\([^)\n]*\)|\[[^\]\n]*\])|(?<=\])\([^)\s]+\)|^[ ]*\[[^\]\n]+\]:[^\n]*"
    r"|https?://\S+|^[ ]*\.\.[ ][^\n]*|^[ ]+:[a-z]+:[^\n]*|(?<!\w)\|[^|\n]{1,80}\|(?!\w)"
    r"|[=~^*#-]{4,}",
    re.DOTALL | re.MULTILINE,
)
_CODE = re.compile(r"(`+)[^`\n]+\1")
_MARK = "\0"  # stands for what is no prose


class RuleQuery(NamedTuple):
    """A query by rules: what it says, the characters it rests on, how much it is worth (0 to 1)."""

    kind: Literal["keyword", "phrase", "summary", "topics"]
    text: str
    start: int
    stop: int
    score: float


class Prose(NamedTuple):
    """A block of prose: characters [start, stop) of a text, and the number of its section."""

    start: int
    stop: int
    section: int = 0


def without_markup(text: str, mark: str = " ") -> str:
    """A text of the same length with `mark` in place of every character of markup."""
    return _MARKUP.sub(lambda match: re.sub(r"\S", mark, match.group()), text)


def _prose(text: str) -> str:
    masked = without_markup(text, _MARK)
    return _CODE.sub(lambda match: re.sub(r"\S", _MARK, match.group()), masked)


def keyphrases(
    text: str,
    language: str,
    count: int,
    counts: CorpusCounts,
    prose: Sequence[Prose] | None = None,
) -> list[RuleQuery]:
    """The best phrases of a passage, best first; none where no rules know the language."""
    if not count:
        return []
    return [one for one, _ in _ranked(text, language, counts, _blocks(text, prose))[:count]]


def summaries(
    text: str,
    language: str,
    count: int,
    counts: CorpusCounts,
    prose: Sequence[Prose] | None = None,
) -> list[RuleQuery]:
    """What a passage says, in few words: its first sentences, then phrases of a section together."""
    if not count or not has_baseline(language):
        return []
    blocks = _blocks(text, prose)
    result: list[RuleQuery] = []
    for start, stop in _sentences_of(text, blocks):
        if len(result) == min(count, _SENTENCES):
            break
        short = in_few_words(_prose(text[start:stop]), language)
        if short:
            score = counts.salience(words_of(short)) * _place(start, text)
            result.append(RuleQuery("summary", short, start, stop, round(score, 4)))
    if len(result) < count:
        result += _topics(text, _ranked(text, language, counts, blocks))[: count - len(result)]
    return result


def _blocks(text: str, prose: Sequence[Prose] | None) -> list[Prose]:
    """The blocks that are read: all of the prose up to a length, or the text as one block."""
    result, read = [], 0
    for one in [Prose(0, len(text))] if prose is None else prose:
        if read >= _READ:
            break
        result.append(one._replace(stop=min(one.stop, one.start + _READ - read)))
        read += one.stop - one.start
    return result


def _place(start: int, text: str) -> float:
    """What comes first says what a passage is about."""
    return 1 / (1 + start / max(1, len(text)) / 2)


def _ranked(
    text: str, language: str, counts: CorpusCounts, blocks: Sequence[Prose]
) -> list[tuple[RuleQuery, int]]:
    """All phrases of a passage with their sections, best first, none a part of a better one."""
    if not has_baseline(language):
        return []
    found: dict[str, list[tuple[float, int, int, int]]] = {}
    for block in blocks:
        for start, stop, worth in _phrases(text, block, language, counts):
            key = " ".join(text[start:stop].casefold().split())
            found.setdefault(key, []).append((worth, start, stop, block.section))
    scored = []
    for places in found.values():
        worth, start, stop, section = places[0]
        score = worth * (1 - 0.4 / len(places)) * _place(start, text)
        scored.append((score, start, stop, section))
    scored.sort(key=lambda one: (-one[0], one[1]))
    result: list[tuple[RuleQuery, int]] = []
    taken: list[str] = []
    for score, start, stop, section in scored:
        phrase = " ".join(text[start:stop].split())
        within = f" {phrase.casefold()} "
        if language != CHINESE and any(within in one or one in within for one in taken):
            continue
        taken.append(within)
        kind: Literal["keyword", "phrase"] = "phrase" if " " in phrase else "keyword"
        result.append((RuleQuery(kind, phrase, start, stop, round(score, 4)), section))
    return result


def _phrases(
    text: str, block: Prose, language: str, counts: CorpusCounts
) -> Iterator[tuple[int, int, float]]:
    """The phrases of a block: their places in the text, and what they are worth."""
    part = _prose(text[block.start : block.stop])
    if language == CHINESE:
        ranked = chinese_phrases(part)
        best = max((weight for _, weight in ranked), default=1.0)
        for name, weight in ranked:
            for match in re.finditer(re.escape(name), part):
                start = block.start + match.start()
                yield start, start + len(name), weight / best
        return
    for one in noun_phrases(part, language):
        start, stop = block.start + one.start, block.start + one.stop
        worth = counts.salience(words_of(part[one.start : one.stop]))
        yield start, stop, worth * (_SINGLE if one.words == 1 else 1)


def _topics(text: str, ranked: Sequence[tuple[RuleQuery, int]]) -> list[RuleQuery]:
    """The two best phrases of each section side by side; the best section first."""
    of_section: dict[int, list[RuleQuery]] = {}
    for one, section in ranked:
        kept = of_section.setdefault(section, [])
        words = set(one.text.casefold().split())
        if len(kept) < 2 and not any(words & set(two.text.casefold().split()) for two in kept):
            kept.append(one)
    result = []
    for pair in of_section.values():
        if len(pair) == 2:
            first, second = sorted(pair, key=lambda one: one.start)
            score = round(_TOPICS * (first.score + second.score) / 2, 4)
            words = f"{first.text} {second.text}"
            result.append(RuleQuery("topics", words, first.start, second.stop, score))
    return sorted(result, key=lambda one: (-one.score, one.start))


def _sentences_of(text: str, blocks: Sequence[Prose]) -> Iterator[tuple[int, int]]:
    for block in blocks:
        for start, stop in sentences(text[block.start : block.stop]):
            yield block.start + start, block.start + stop


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


def in_few_words(text: str, language: str) -> str:
    """The content words of a sentence in their order; "" where there are too few or too many."""
    stops = stopwords(language)
    if language == CHINESE:
        cut = weighed_words(text)[1]
        words = [word for word, flag in cut if flag[0] in "navbijls" or flag == "eng"]
    else:
        words = _WORD.findall(text)
    kept = [word for word in words if word.strip("_") and word.casefold() not in stops]
    distinct = list(dict.fromkeys(kept))
    return " ".join(distinct[:_MOST]) if len(distinct) >= _FEWEST else ""
