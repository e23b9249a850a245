"""Found queries: short forms that people wrote, each with what answers it.

    "Installing > On Linux"                heading    -> its section
    "How do I mirror a repository?"        question   -> the section under the question
    "see the [retry policy](retries.md)"   link       -> the document, or the section, it points to
    description: How retries are spaced.   description (front matter, meta) -> the document

Each rests on characters of its document (what answers it), and says where it was found, which is
cut from the positive in training. What many documents of the corpus have (see `counts`) says
nothing, and neither does a section that is too short to answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.language import stopwords, words_of
from retgen.generators.capretrieval.offline import without_markup
from retgen.generators.capretrieval.passages import HEADINGS
from retgen.sources import Block, SourceDocument

_FEWEST, _MOST = 2, 30  # words of a short form; a name may be one
_ANSWER = 12  # words of a section that can answer
_LITTLE = 0.3  # salience of words that say little by themselves
_NAME = 0.6  # and of one word that is enough
_WORD = re.compile(r"\w+(?:[-'’.+#/@]\w+)*[+#]*")
_NUMBER = re.compile(r"\s*(?:\d+(?:\.\d+)*\.|\d+(?:\.\d+)+|[A-Z]\.|[IVX]+\.)\s+(?=\S)")
_PARTS = re.compile(r"\s+[|–—·»:-]+\s+")  # between the parts of a title
_MARKS = " \t\n\"'“”‘’`*_#=~¶.,;:|<>{}[]()§"

Place = tuple[int, int]


class FoundQuery(NamedTuple):
    """A query that people wrote. `start`, `stop`: what answers it. `found_in`: id of the document
    that has its words, at `found_at`; empty: in its title or a short form beside its text.
    """

    kind: str
    text: str
    start: int
    stop: int
    score: float
    found_in: str
    found_at: tuple[Place, ...] = ()


class Incoming(NamedTuple):
    """Words of another document that point to this one, to the section of an anchor or all of it."""

    text: str
    anchor: str
    found_in: str
    start: int
    stop: int


class Section(NamedTuple):
    """A heading, those above it (highest first), and the characters that it stands over."""

    heading: Block
    above: tuple[Block, ...]
    start: int
    stop: int


def sections(blocks: Sequence[Block], text: str) -> Iterator[Section]:
    """Each heading with what stands under it up to the next one, less white space around it."""
    heads = [one for one in blocks if one.kind in HEADINGS]
    above: list[Block] = []
    for one, following in zip_longest(heads, heads[1:]):
        above = [other for other in above if other.level < one.level]
        under = text[one.stop : following.start if following else len(text)]
        start = one.stop + len(under) - len(under.lstrip())
        yield Section(one, tuple(above), start, max(start, one.stop + len(under.rstrip())))
        above.append(one)


def words_shown(text: str) -> tuple[str, int, int]:
    """The words of a heading, a caption or a link as a page shows them, without a number before
    them; and their place in the text.
    """
    bare = without_markup(text)
    number = _NUMBER.match(bare)
    begin = number.end() if number else 0
    start = begin + len(bare[begin:]) - len(bare[begin:].lstrip(_MARKS))
    stop = max(start, len(bare.rstrip(_MARKS)))
    for mark in "?)":
        if bare[stop : stop + 1] == mark and (mark == "?" or "(" in bare[start:stop]):
            stop += 1
    shown = re.sub(r"[`*\[\]]+|(?<!\w)_+|_+(?!\w)|\\(?=\W)", "", bare[start:stop])
    return " ".join(shown.split()), start, stop


def folded(text: str) -> str:
    """A heading, a title's part or a link's words for comparing: words alone."""
    return " ".join(words_of(text))


def title_shown(title: str, counts: CorpusCounts) -> str:
    """A title without the parts that many titles have, such as the name of the site."""
    pieces = _PARTS.split(title)
    kept = [one for one in pieces if not counts.is_shared(folded(one))]
    if len(kept) == len(pieces):
        return " ".join(title.split())
    return " ".join(" ".join(kept).split())


def forms_of(document: SourceDocument) -> set[str]:
    """What of a document other documents may have as well: headings, title, short forms, folded."""
    shown = [document.text[one.start : one.stop] for one in document.blocks if one.kind in HEADINGS]
    texts = [words_shown(one)[0] for one in shown]
    texts += [*_PARTS.split(document.title), *(one.text for one in document.short_forms)]
    return {folded(one) for one in texts}


def found_queries(
    document: SourceDocument, language: str, counts: CorpusCounts, incoming: Iterable[Incoming]
) -> list[FoundQuery]:
    """The short forms that people wrote for a document, titles first; no text twice."""
    result: dict[str, FoundQuery] = {}
    for one in _every(document, language, counts, incoming):
        key = folded(one.text)
        if key and result.setdefault(key, one) is not one and one.kind == "question":
            result[key] = one  # a heading of the same words
    return list(result.values())


def _every(
    document: SourceDocument, language: str, counts: CorpusCounts, incoming: Iterable[Incoming]
) -> Iterator[FoundQuery]:
    text, name, whole = document.text, document.id, (0, len(document.text))
    stops = stopwords(language)

    def worth(words: str) -> float:
        return counts.salience([one for one in words_of(words) if one not in stops])

    def says_enough(words: str) -> bool:
        content = [one for one in words_of(words) if one not in stops]
        score = counts.salience(content)
        return score >= (_LITTLE if len(content) >= _FEWEST else _NAME)

    def at(block: Block) -> tuple[str, Place]:
        shown, start, stop = words_shown(text[block.start : block.stop])
        return shown, (block.start + start, block.start + stop)

    title = title_shown(document.title, counts)
    parts = list(sections(document.blocks, text))
    if title and says_enough(title):
        places = tuple(
            place for shown, place in (at(one.heading) for one in parts if one.heading.level <= 1)
            if folded(shown) == folded(title)
        )  # fmt: skip
        yield FoundQuery("title", title, *whole, round(worth(title), 4), name, places)
    for form in document.short_forms:
        words = " ".join(form.text.split())
        if (
            _FEWEST <= len(words.split()) <= _MOST
            and says_enough(words)
            and counts.headings[folded(words)] < _FEWEST
        ):
            place = text.find(form.text.strip())
            spot = ((place, place + len(form.text.strip())),) if place >= 0 else ()
            yield FoundQuery(form.kind, words, *whole, round(worth(words), 4), name, spot)
    for part in parts:
        shown, place = at(part.heading)
        if not shown or folded(shown) in (folded(title), folded(document.title)):
            continue
        if counts.is_shared(folded(shown)) or not _answers(document, part):
            continue
        places = (place,)
        if not says_enough(shown) or counts.headings[folded(shown)] > 1:
            above = [at(one) for one in reversed(part.above)]
            for words, spot in [*above, (title, ())]:
                if words and not counts.is_shared(folded(words)) and says_enough(words):
                    shown = f"{words} {shown}" if folded(words) not in folded(shown) else shown
                    places = (spot, place) if spot else (place,)
                    break
            else:
                continue
        kind = "question" if shown.endswith("?") else "heading"
        yield FoundQuery(kind, shown, part.start, part.stop, round(worth(shown), 4), name, places)
    for block in document.blocks:
        if block.kind == "caption":
            shown, place = at(block)
            home = next((one for one in parts if one.start <= block.start < one.stop), None)
            start, stop = (home.start, home.stop) if home else whole
            if len(shown.split()) >= _FEWEST and says_enough(shown):
                yield FoundQuery(
                    "caption", shown, start, stop, round(worth(shown), 4), name, (place,)
                )
    anchors = {one.heading.anchor: one for one in reversed(parts) if one.heading.anchor}
    for link in incoming:
        start, stop = whole
        if link.anchor:
            if link.anchor not in anchors:
                continue
            part = anchors[link.anchor]
            if part.heading.level > 1 and _answers(document, part):
                start, stop = part.start, part.stop
        if says_enough(link.text):
            places = ((link.start, link.stop),)
            yield FoundQuery(
                "link", link.text, start, stop, round(worth(link.text), 4), link.found_in, places
            )


def _answers(document: SourceDocument, part: Section) -> bool:
    """Whether what stands under a heading is long enough to answer it."""
    words = 0
    for one in document.blocks:
        if part.start <= one.start < part.stop and one.kind != "boilerplate":
            words += len(_WORD.findall(document.text[one.start : one.stop]))
            if words >= _ANSWER:
                return True
    return False
