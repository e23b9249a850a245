"""Queries by rules, without a model: noun phrases, and what a passage says in a few words.

A phrase is worth searching for where few documents know its words (tf x idf over the corpus), and
early in the passage. What a passage says is told as a headline of one of its first
sentences. All of them stand in prose: code, tables, headings and boilerplate give none, and none
reaches over two blocks. Hypernyms, topics and questions are a model's work.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

from retgen.generators.capretrieval.clauses import main_clause
from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.language import CHINESE, has_baseline, stopwords, words_of
from retgen.generators.capretrieval.nouns import (
    MASK,
    chinese_phrases,
    is_prose,
    is_short,
    noun_phrases,
    weighed_words,
)
from retgen.generators.capretrieval.tagging import runs, tags_in_context
from retgen.tokenizer import FULL_STOPS, WORD

_READ = 6000  # characters of a passage's prose that are read
_SENTENCES = 3  # of a passage that are put into few words
_ADJECTIVE = 0.5  # an adjective tells less of what a passage is about than a noun
# whose summaries read as if somebody wrote them; those of others are content words of a sentence
IN_CLAUSES = ("en", CHINESE)
_FEWEST, _MOST = 3, 7  # content words of such a query
_KNOWN = 0.25  # a word that more of the documents have is left out of it
_COMMON = 0.05  # and one that tells nothing of a clause
_AUXILIARIES = frozenset("are do does has have is".split())
# a phrase says less than a clause; so does a word by itself, most so an ordinary one
_PHRASE, _NAME, _NOUN = 0.5, 0.45, 0.1
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
# code, entities, and what is said by the way
_ASIDE = re.compile(r"(`+)[^`\n]+\1|&#?\w+;|\([^()]*\)")
# a term that stands over what explains it
_TERM = re.compile(r"^( *)(?![ \d]|[-*+•] )[^\n]{1,24}\n(?=\1 +\S)", re.MULTILINE)
_BROKEN = re.compile("[\u00ad\u2010]\n\\s*")  # a word at the end of a line


class RuleQuery(NamedTuple):
    """A query by rules: what it says, the characters it rests on, how much it is worth (0 to 1)."""

    kind: Literal["keyword", "phrase", "summary"]
    text: str
    start: int
    stop: int
    score: float


class Prose(NamedTuple):
    """A block of prose: characters [start, stop) of a text."""

    start: int
    stop: int


def without_markup(text: str, mark: str = " ") -> str:
    """A text of the same length with `mark` in place of every character of markup."""
    return _MARKUP.sub(lambda match: re.sub(r"\S", mark, match.group()), text)


def _prose(text: str) -> str:
    masked = without_markup(text, MASK)
    return _ASIDE.sub(lambda match: re.sub(r"\S", MASK, match.group()), masked)


def _apart(text: str) -> str:
    """A text of the same length in which no sentence goes on from a term to its explanation."""
    return _TERM.sub(lambda match: match.group()[:-1] + MASK, text)


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
    return _ranked(_apart(text), language, counts, _blocks(text, prose))[:count]


def summaries(
    text: str,
    language: str,
    count: int,
    counts: CorpusCounts,
    prose: Sequence[Prose] | None = None,
) -> list[RuleQuery]:
    """What the first sentences of a passage say, in few words."""
    if not count or not has_baseline(language):
        return []
    blocks, held = _blocks(text, prose), Counter(words_of(text))
    text, in_sentences = _apart(text), _in_sentences(text, language)
    result: list[RuleQuery] = []
    first = min((one.start for one in blocks), default=0)
    for start, stop in _sentences_of(text, blocks):
        if len(result) == min(count, _SENTENCES):
            break
        sentence = _prose(text[start:stop])
        told = without_markup(text[start:stop]) if language == "en" else sentence
        short = in_few_words(told, language, counts)
        if short and (language == CHINESE or is_prose(sentence, language, in_sentences)):
            telling = [one for one in words_of(short) if one not in stopwords(language)]
            place = 0 if tells_of_document(sentence, language, counts) else start - first
            score = _worth(telling, held, counts) * _place(place, _SAID)
            result.append(RuleQuery("summary", short, start, stop, round(score, 4)))
    return result


def tells_of_document(sentence: str, language: str, counts: CorpusCounts) -> bool:
    """Whether an English sentence says what its document is or has: it begins with "this package
    contains", the verb being one that many documents have.
    """
    run = next(runs(sentence), [])
    if language != "en" or not run or run[0].text not in ("This", "These"):
        return False
    verb = next((i for i, tag in enumerate(tags_in_context(run)) if tag in ("VBP", "VBZ")), 0)
    word = run[verb].text
    return verb > 1 and word not in _AUXILIARIES and counts.know(word, _COMMON)


def _blocks(text: str, prose: Sequence[Prose] | None) -> list[Prose]:
    """The blocks that are read: all of the prose up to a length, or the text as one block."""
    result, read = [], 0
    for one in [Prose(0, len(text))] if prose is None else prose:
        if read >= _READ:
            break
        result.append(one._replace(stop=min(one.stop, one.start + _READ - read)))
        read += one.stop - one.start
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


def _ranked(
    text: str, language: str, counts: CorpusCounts, blocks: Sequence[Prose]
) -> list[RuleQuery]:
    """All phrases of a passage, best first, none a part of a better one."""
    if not has_baseline(language):
        return []
    found: dict[str, tuple[float, int, int]] = {}
    held, in_sentences = Counter(words_of(text)), _in_sentences(text, language)
    for block in blocks:
        for start, stop, worth in _phrases(text, block, language, in_sentences):
            score = worth * _worth(words_of(text[start:stop]), held, counts) * _place(start, _NAMED)
            key = " ".join(text[start:stop].casefold().split())
            found.setdefault(key, (score, start, stop))
    scored = list(found.values())
    scored.sort(key=lambda one: (-one[0], one[1]))
    result: list[RuleQuery] = []
    taken: list[str] = []
    for score, start, stop in scored:
        phrase = " ".join(text[start:stop].split())
        within = f" {phrase.casefold()} "
        if language != CHINESE and any(within in one or one in within for one in taken):
            continue
        taken.append(within)
        kind: Literal["keyword", "phrase"] = "phrase" if " " in phrase else "keyword"
        result.append(RuleQuery(kind, phrase, start, stop, round(score, 4)))
    return result


def _phrases(
    text: str, block: Prose, language: str, in_sentences: bool
) -> Iterator[tuple[int, int, float]]:
    """The phrases of a block: their places in the text, and what such a phrase is worth."""
    part = _prose(text[block.start : block.stop])
    if language == CHINESE:
        ranked = chinese_phrases(part)
        best = max((weight for _, weight in ranked), default=1.0)
        for name, weight in ranked:
            for match in re.finditer(re.escape(name), part):
                start = block.start + match.start()
                yield start, start + len(name), weight / best
        return
    if not is_prose(part, language, in_sentences):
        return
    for one in noun_phrases(part, language):
        start, stop = block.start + one.start, block.start + one.stop
        worth = _PHRASE * (1 - _ADJECTIVE * len(one.adjectives) / len(one.words))
        if len(one.words) == 1:
            if is_short(one.words[0]):
                continue
            worth = _NAME if one.is_name else _NOUN
        yield start, stop, worth


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


def in_few_words(text: str, language: str, counts: CorpusCounts) -> str:
    """The main clause of a sentence; in other languages than English its first content words, less
    those that many documents have. "" where they are too few.
    """
    text, stops = _BROKEN.sub("", text), stopwords(language)
    if language == "en":
        return main_clause(text, partial(counts.know, share=_COMMON))
    if language == CHINESE:
        cut = weighed_words(text)[1]
        words = [word for word, flag in cut if flag[0] in "navbijls" or flag == "eng"]
    else:
        words = [word for word in _WORD.findall(text) if word.casefold() not in stops]
    kept = [word for word in words if word.strip("_") and not counts.know(word, _KNOWN)]
    distinct = list(dict.fromkeys(kept))
    return " ".join(distinct[:_MOST]) if len(distinct) >= _FEWEST else ""
