"""Found queries: short forms that people wrote, each with what answers it.

    "Installing > On Linux"                heading    -> its section
    "How do I mirror a repository?"        question   -> the section under the question
    "see the [retry policy](retries.md)"   link       -> the document, or the section, it points to
    description: How retries are spaced.   description (front matter, meta) -> the document
    subject: Retries are too fast          a column   -> the document of its row

Each rests on characters of its document (what answers it; of a title, a short form and a link to a
document, up to its first paragraph). What many documents of the corpus have (see `counts`) says
nothing. A section without text of its own that could answer gives no query, and neither does a link
to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.language import stopwords, words_of
from retgen.generators.capretrieval.passages import FOUND, HEADINGS, PassageQuery
from retgen.sources import Block, SourceDocument, shown_words

_FEWEST, _MOST = 2, 20  # words of a short form; a name may be one
_TOPIC = 6  # words of a title that may stand before a heading
_CLEAR = 4  # content words of a heading that needs no title before it
_REFERENCE = 6  # words; a page of fewer names another one: Please see set xtics
_ANSWER = 12  # words of a section that can answer
_LITTLE = 0.3  # salience of words that say little by themselves
_NAME = 0.6  # and of one word that is enough
_NUMBER = re.compile(r"(?:\d+(?:\.\d+)+\.?|\d{1,3}[.)]|[A-Z]\.(?:\d+\.?)*)\s+(?=\S)")
_ADDRESS = re.compile(r"\S*://\S*|/\S+|\S+\.\w{2,5}(?:#\S*)?")  # of a page: nobody's words
_LEGAL = re.compile(r"\b(?:licen[cs]es?|copying|copyright)\W*\Z|\AGNU .*Licen[cs]e", re.IGNORECASE)
_CODE = re.compile(r"[$@%]\w|->|[={}]")  # which nobody types to find what explains it
_IDENTIFIER = re.compile(r"\S*\w[._:/-]\w\S*|--?\w\S*")  # which says by itself what it names
_PARTS = re.compile(r"\s+[|–—·»:-]+\s+|\s+(?=\((?:[^()]|\([^()]*\))+\)\Z)")  # of a title
_SENTENCE_END = re.compile(r"[.!?]\s+\S")
_CALL = re.compile(r"(?<=\w)\((?![1-9]\w*\)).*\Z")  # arguments; not the section of sync(2)
_MARKS = " \t\n*#=~¶.,;:|<>[]"

Place = tuple[int, int]


class Incoming(NamedTuple):
    """Words of another document that point to this one, or to the section of an anchor."""

    text: str
    anchor: str
    found_in: str


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
        end = text.rfind("\n", 0, following.start) + 1 if following else len(text)
        under = text[one.stop : max(one.stop, end)]  # without the marks of the next heading
        start = one.stop + len(under) - len(under.lstrip())
        yield Section(one, tuple(above), start, max(start, one.stop + len(under.rstrip())))
        above.append(one)


def words_shown(text: str) -> str:
    """The words of a heading, a title or a link as a page shows them, without a number of a section
    before them, and the arguments of a call behind them.
    """
    shown = _NUMBER.sub("", shown_words(text).lstrip(_MARKS), count=1)
    shown = _CALL.sub("", shown).strip(_MARKS)
    return shown if any(map(str.isalpha, shown)) else ""


def folded(text: str) -> str:
    """A heading, a title's part or a link's words for comparing: words alone."""
    return " ".join(words_of(text))


def title_shown(document: SourceDocument, counts: CorpusCounts) -> str:
    """A title without the parts that many titles have, such as the name of the site."""
    pieces = _PARTS.split(document.title)
    kept = [one for one in pieces if not counts.is_shared(folded(one))]
    return words_shown(document.title if len(kept) == len(pieces) else " ".join(kept))


def forms_of(document: SourceDocument) -> set[str]:
    """What of a document other documents may have as well: headings, title, short forms, folded."""
    heads = (one for one in document.blocks if one.kind in HEADINGS)
    texts = [words_shown(document.text[one.start : one.stop]) for one in heads]
    texts += [*_PARTS.split(document.title), *(one.text for one in document.short_forms)]
    return {folded(one) for one in texts}


def found_queries(
    document: SourceDocument, language: str, counts: CorpusCounts, incoming: Iterable[Incoming]
) -> list[PassageQuery]:
    """The short forms that people wrote for a document, titles first; no text twice."""
    finder = _Finder(document, language, counts)
    if _LEGAL.search(finder.title):
        return []
    every = chain(finder.titles(), finder.short_forms(), finder.headings(), finder.links(incoming))
    result: dict[str, PassageQuery] = {}
    for one in every:
        result.setdefault(folded(one.text), one)
    return list(result.values())


class _Finder:
    """What is found of one document. A query that is not to be scored scores 0."""

    def __init__(self, document: SourceDocument, language: str, counts: CorpusCounts) -> None:
        self._document, self._text, self._counts = document, document.text, counts
        self._stops = stopwords(language)
        self._sections = list(sections(document.blocks, document.text))
        self.title = title_shown(document, counts)
        # up to the first paragraph that is long enough to answer what names the document
        paragraphs = (one for one in document.blocks if one.kind == "paragraph")
        ends = (
            one.stop
            for one in paragraphs
            if len(self._text[one.start : one.stop].split()) >= _ANSWER
        )
        self._lead = 0, next(ends, len(self._text))

    def titles(self) -> Iterator[PassageQuery]:
        told = len(words_of(self._text))
        if any(folded(self._at(one.heading)) == folded(self.title) for one in self._sections):
            told -= len(words_of(self.title))
        if self._says_enough(self.title):
            yield self._query("title", self.title, self._lead, told >= _REFERENCE)

    def short_forms(self) -> Iterator[PassageQuery]:
        for form in self._document.short_forms:
            words = " ".join(form.text.split())
            is_one = not _SENTENCE_END.search(words) and self._counts.headings[folded(words)] <= 1
            if _FEWEST <= len(words.split()) <= _MOST and self._says_enough(words) and is_one:
                yield self._query(form.kind, words, self._lead)

    def headings(self) -> Iterator[PassageQuery]:
        """A heading of few words stands behind the title of its page."""
        titles = {folded(self.title), folded(self._document.title)}
        topic = self.title if len(self.title.split()) <= _TOPIC else ""
        for part in self._sections:
            shown = self._at(part.heading)
            key = folded(shown)
            is_legal = any(_LEGAL.search(self._at(one)) for one in (*part.above, part.heading))
            if not key or key in titles or is_legal or self._counts.is_shared(key):
                continue
            is_question = shown.endswith(("?", "？"))
            alone = self._says_enough(shown) and self._counts.headings[key] <= 1
            content = self._content(shown)
            is_whole = is_question or _IDENTIFIER.fullmatch(shown) or len(content) >= _CLEAR
            scored = alone and bool(is_whole)
            if not scored and self._says_enough(topic) and folded(topic) not in key:
                shown, scored = f"{topic} {shown}", True
            elif not scored and not (alone and len(content) >= _FEWEST):
                continue
            if self._answers(part):
                kind = "question" if is_question else "heading"
                yield self._query(kind, shown, (part.start, part.stop), scored)

    def links(self, incoming: Iterable[Incoming]) -> Iterator[PassageQuery]:
        """A link to a section that is not there, or has no text of its own, labels nothing."""
        anchors = {one.heading.anchor: one for one in reversed(self._sections)}
        name = folded(self._document.id.rpartition("/")[2])
        for link in incoming:
            part = anchors.get(link.anchor) if link.anchor else None
            if link.anchor and (part is None or not self._answers(part)):
                continue
            is_name = folded(link.text) in (name, folded(link.anchor))
            if is_name or _ADDRESS.fullmatch(link.text) or not self._says_enough(link.text):
                continue
            is_section = part is not None and part.heading.level > 1
            span = (part.start, part.stop) if part and is_section else self._lead
            one = self._query("link", link.text, span, len(self._content(link.text)) >= _FEWEST)
            one.found_in = link.found_in
            yield one

    def _query(self, kind: str, text: str, span: Place, scored: bool = True) -> PassageQuery:
        scored = scored and not _CODE.search(text)
        score = round(self._counts.salience(self._content(text)), 4) if scored else 0.0
        return PassageQuery(text, kind, 0, span, FOUND, score)

    def _at(self, block: Block) -> str:
        return words_shown(self._text[block.start : block.stop])

    def _content(self, words: str) -> list[str]:
        return [one for one in words_of(words) if one not in self._stops]

    def _says_enough(self, words: str) -> bool:
        content = self._content(words)
        least = _LITTLE if len(content) >= _FEWEST else _NAME
        return any(map(str.isalpha, words)) and self._counts.salience(content) >= least

    def _answers(self, part: Section) -> bool:
        """Whether what stands under a heading is long enough to answer it."""
        own = (one for one in self._document.blocks if part.start <= one.start < part.stop)
        said = " ".join(
            self._text[one.start : one.stop] for one in own if one.kind != "boilerplate"
        )
        return len(said.split()) >= _ANSWER
