"""Found queries: short forms that people wrote, each with what answers it.

    "Installing > On Linux"                heading    -> its section
    "How do I mirror a repository?"        question   -> the section under the question
    "see the [retry policy](retries.md)"   link       -> the document, or the section, it points to
    description: How retries are spaced.   description (front matter, meta) -> the document

Each rests on characters of its document (what answers it; of a title, a description and a link to a
document, up to its first paragraph), and says where it was found, which is cut from the positive in
training. What many documents of the corpus have (see `counts`) says
nothing, and neither does a section that is too short to answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.language import stems_of, stopwords, words_of
from retgen.generators.capretrieval.nouns import is_short
from retgen.generators.capretrieval.offline import without_markup
from retgen.generators.capretrieval.passages import HEADINGS
from retgen.generators.capretrieval.tagging import is_name, word_classes
from retgen.sources import Block, SourceDocument
from retgen.validators.capretrieval.words import single_words

_FEWEST, _MOST = 2, 30  # words of a short form; a name may be one
_TOPIC = 6  # words of a title that may stand before a heading
_CLEAR = 4  # ordinary words of a heading that needs no title before it
_ADVERB = frozenset({"ADV"})
_INNER = frozenset(  # words that end nothing
    "a an and are as at be by for from is its of or than that the their these this to with".split()
)
_HYPHENS = ("-", "\u00ad", "\u2010")
_CODE = re.compile(r"[$@%]\w|->|[={}]")  # which nobody types to find what explains it
_DATED = re.compile(r"\d{4}-\w+-\d{2}\b")  # an entry of a list of changes
_REFERENCE = 6  # words; a page of fewer names another one: Please see set xtics
_ANSWER = 12  # words of a section that can answer
_LITTLE = 0.3  # salience of words that say little by themselves
_NAME = 0.6  # and of one word that is enough
_BOOK_PART_PATTERN = (  # what the parts of a book are called
    r"(?i:chapter|section|appendix|part|kapitel|abschnitt|anhang|teil|chapitre|annexe|partie"
    r"|capítulo|sección|apéndice|parte|capitolo|sezione|hoofdstuk|rozdział)"
    r"\s+(?:[A-Z]?\d+(?:\.\d+)*|[A-Z]|[IVX]+)"
)
_BOOK_PART = re.compile(_BOOK_PART_PATTERN)
_NUMBERED_PATTERN = (  # what books call what they show
    r"(?i:listing|figure|table|example|abbildung|tabelle|beispiel|tableau|exemple|figura|tabla"
    r"|ejemplo)\s+\d+(?:[.-]\d+)*[.:]"
)
_NUMBER = re.compile(
    r"[#\s]*(?:\d+(?:\.\d+)*\.|\d+(?:\.\d+)+|\(?\d{1,3}\)|[A-Z](?:\.\d+)+\.?|[A-Z]\.|[IVX]+\.|\W*\d+:"
    rf"|{_BOOK_PART_PATTERN}[.:,]?|{_NUMBERED_PATTERN})\s+(?:[—–-]\s+)?(?=\S)"
)
# of a chapter, where it has no dot; and of its first section
_CHAPTER = re.compile(r"[#\s]*(\d{1,3}|[A-Z])\s+(?=\S)")
_FIRST_SECTION = re.compile(r"[#\s]*(\d{1,3}|[A-Z])\.1\.?\s")
_COUNTED = 3  # headings that count from 1, of which the numbers are theirs and no words
_ADDRESS = re.compile(  # the place of a page, which is nobody's words
    r"\S*://\S*|/\S+|\S+\.(?:html?|php|aspx?|txt|md|rst|pdf|xml|json|ya?ml)(?:#\S*)?", re.IGNORECASE
)
_TURNED = re.compile(r"\s+[—–]\s+")  # of an index that turns titles round: in SQLite — Usage
_PARTS = re.compile(r"\s+[|–—·»:-]+\s+")  # between the parts of a title
_LAST_PART = re.compile(r"\s+(?=\((?:[^()]|\([^()]*\))+\)\Z)")  # Recursion (GNU Octave (version 7))
_NAMED = re.compile(r"\A([^\s:]+): |\((\S+)\)\Z")  # a title that says its name: "zlib: compression"
# no section of a manual, sync(2), and not select() and poll()
_CALL = re.compile(r"(?<=\w)\((?![1-9]\w*\)|\)\s+[^\W\d_]).*$", re.DOTALL)
_MANUAL_SECTION = re.compile(r"(?<=\w)\([1-9]\w*\)\Z")  # gitfaq(7)
# not within a word: [no]color
_EMPHASIS = re.compile(r"(?<!\w)[`*\[\]\"“”]+|[`*\[\]\"“”]+(?!\w)|\\(?=\W)|(?<=\w)\(\)")
_UNDERLINED = re.compile(r"(?<!\w)_([^_\n]+)_(?!\w)")  # but __init__ and _private
_MARKS = " \t\n\"'“”‘’„‚«»‹›`*#=~¶.,;:|<>{}[]()§"

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
    """Words of another document that point to this one, or to the section of an anchor."""

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


def chapter_numbers(document: SourceDocument) -> set[str]:
    """The numbers without a dot that may stand before headings and links to them: those of which a
    document has the first section ("3.1 Reading" of "3 Files"), and those that count from 1 in it.
    """
    heads = (one for one in document.blocks if one.kind in HEADINGS)
    result: set[str] = set()
    for places in (heads, document.links):
        texts = [document.text[one.start : one.stop] for one in places]
        result.update(match[1] for match in map(_FIRST_SECTION.match, texts) if match)
        counted = 0
        for match in filter(None, map(_CHAPTER.match, texts)):
            counted += match[1] == str(counted + 1)
        if counted >= _COUNTED:
            result.update(map(str, range(1, counted + 1)))
    return result


def words_shown(text: str, chapters: Collection[str] = ()) -> tuple[str, int, int]:
    """The words of a heading, a caption or a link as a page shows them, without a number before
    them and the arguments of a call behind them; and their place in the text. `chapters`: numbers
    without a dot that may go.
    """
    bare = without_markup(text)
    number = _NUMBER.match(bare)
    if number is None and (chapter := _CHAPTER.match(bare)) and chapter[1] in chapters:
        number = chapter
    begin = number.end() if number else 0
    call = _CALL.search(bare)
    end = call.start() if call else len(bare)
    start = begin + len(bare[begin:end]) - len(bare[begin:end].lstrip(_MARKS))
    stop = max(start, len(bare[:end].rstrip(_MARKS)))
    if bare[stop : stop + 1] == "?":
        stop += 1
    while bare[stop : stop + 1] == ")" and bare.count("(", start, stop) > bare.count(
        ")", start, stop
    ):
        stop += 1
    shown = " ".join(_UNDERLINED.sub(r"\1", _EMPHASIS.sub("", bare[start:stop])).split())
    left = iter(single_words(text[start:stop]))
    # where marks are lost within a word, it cannot be found again
    whole = all(word in left for word in single_words(shown))
    return shown if whole and any(map(str.isalnum, shown)) else "", start, stop


def folded(text: str) -> str:
    """A heading, a title's part or a link's words for comparing: words alone."""
    return " ".join(words_of(text))


def title_shown(document: SourceDocument, counts: CorpusCounts) -> str:
    """A title without the parts that many titles have, such as the name of the site."""
    pieces = _title_parts(document.title)
    kept = [one for one in pieces if not counts.is_shared(folded(one))]
    title = document.title if len(kept) == len(pieces) else " ".join(kept)
    return words_shown(title, counts.chapters_beside(document.id))[0]


def _title_parts(title: str) -> list[str]:
    *first, last = _PARTS.split(title)
    return [*first, *_LAST_PART.split(last)]


def forms_of(document: SourceDocument) -> set[str]:
    """What of a document other documents may have as well: headings, title, short forms, folded."""
    shown = [document.text[one.start : one.stop] for one in document.blocks if one.kind in HEADINGS]
    shown += [one[number.end() :] for one in shown if (number := _CHAPTER.match(one))]
    texts = [words_shown(one)[0] for one in shown]
    texts += [*_title_parts(document.title), *(one.text for one in document.short_forms)]
    return {folded(one) for one in texts}


def found_queries(
    document: SourceDocument,
    language: str,
    counts: CorpusCounts,
    incoming: Iterable[Incoming],
    topic: str = "",
) -> list[FoundQuery]:
    """The short forms that people wrote for a document, titles first; no text twice. `topic`: the
    name of a document without a title, which is put before its headings.
    """
    finder = _Finder(document, language, counts, topic)
    every = chain(
        finder.titles(),
        finder.short_forms(),
        finder.headings(),
        finder.captions(),
        finder.links(incoming),
    )
    result: dict[str, FoundQuery] = {}
    for one in every:
        result.setdefault(folded(one.text), one)
    return list(result.values())


class _Finder:
    """What is found of one document."""

    def __init__(
        self, document: SourceDocument, language: str, counts: CorpusCounts, topic: str
    ) -> None:
        self._document, self._text, self._counts = document, document.text, counts
        self._language, self._stops = language, stopwords(language)
        self._sections = list(sections(document.blocks, document.text))
        self._chapters = counts.chapters_beside(document.id)
        self._title = title_shown(document, counts)
        parts = (one for one in _PARTS.split(self._title) if self._names(one))
        name = next(parts, "") or topic
        named = _NAMED.search(name)
        if named and self._names(called := named[1] or named[2]):
            name = called
        name = _MANUAL_SECTION.sub("", name)
        self._topic = name if len(name.split()) <= _TOPIC else ""
        start = document.text.find(topic)
        self._named = [(start, start + len(topic))] if topic and self._topic == topic else []
        self._lead = 0, self._end_of_lead()

    def titles(self) -> Iterator[FoundQuery]:
        heads = (self._at(one.heading) for one in self._sections if one.heading.level <= 1)
        if self._says_enough(self._title):
            places = [place for shown, place in heads if folded(shown) == folded(self._title)]
            told = len(words_of(self._text)) - (len(words_of(self._title)) if places else 0)
            yield self._query("title", self._title, self._lead, places[:1], told >= _REFERENCE)

    def short_forms(self) -> Iterator[FoundQuery]:
        for form in self._document.short_forms:
            words = " ".join(form.text.split())
            many = self._counts.headings[folded(words)] > 1
            if _FEWEST <= len(words.split()) <= _MOST and self._says_enough(words) and not many:
                own = form.text.strip()
                start = self._text.find(own)
                places = [(start, start + len(own))] if start >= 0 else []
                yield self._query(form.kind, words, self._lead, places)

    def headings(self) -> Iterator[FoundQuery]:
        titles = {folded(self._title), folded(self._document.title)}
        for part in self._sections:
            shown, place = self._at(part.heading)
            key, places = folded(shown), [place]
            if not any(map(str.isalpha, shown)) or key in titles:
                continue
            if (
                self._counts.is_shared(key)
                or not self._answers(part)
                or _BOOK_PART.fullmatch(shown)
            ):
                continue
            enough = self._says_enough(shown) and self._counts.headings[key] <= 1
            alone = self._stands_alone(shown)
            is_question = shown.endswith("?")
            # "Is SQLite threadsafe?" of "SQLite Frequently Asked Questions", "To export a master
            # document" of "Working with master documents"
            said = self._stems(self._topic) & self._stems(shown)
            named = len(said) >= (1 if is_question else _FEWEST)
            about = self._topic and folded(self._topic) not in key and not named
            clear = enough and self._is_topic(shown, part)
            whole = is_question or self._stands_alone(shown, _CLEAR)
            if self._named and len(self._content(shown)) < _CLEAR:
                whole = False  # a name by itself
            if about and not (clear and whole):
                alone = not self._is_cut(shown) and (not self._named or self._tells(shown, part))
                shown, places = f"{self._topic} {shown}", [*self._named, place]
            elif not (clear or named or (is_question and self._stands_alone(shown, _CLEAR))):
                words, higher = self._above(part) or ("", [])
                if not words and not (enough and len(self._content(shown)) >= _FEWEST):
                    continue
                if folded(words) not in key:
                    shown, places = f"{words} {shown}", [*higher, place]
            kind = "question" if is_question else "heading"
            yield self._query(kind, shown, (part.start, part.stop), places, alone)

    def captions(self) -> Iterator[FoundQuery]:
        for block in self._document.blocks:
            if block.kind != "caption":
                continue
            shown, place = self._at(block)
            parts = (one for one in self._sections if one.start <= block.start < one.stop)
            part = next(parts, None)
            span = (part.start, part.stop) if part else self._lead
            if len(shown.split()) >= _FEWEST and self._says_enough(shown):
                yield self._query("caption", shown, span, [place], self._stands_alone(shown))

    def links(self, incoming: Iterable[Incoming]) -> Iterator[FoundQuery]:
        anchors = {one.heading.anchor: one for one in reversed(self._sections)}
        for link in incoming:
            part = anchors.get(link.anchor) if link.anchor else None
            if not self._says_enough(link.text) or (link.anchor and part is None):
                continue
            is_place = _ADDRESS.fullmatch(link.text) or _BOOK_PART.fullmatch(link.text)
            if is_place or self._is_turned(link.text):
                continue
            span = self._lead
            if part is not None and part.heading.level > 1 and self._answers(part):
                span = part.start, part.stop
            # the name of a file or an anchor is nobody's words
            names = folded(self._document.id.rpartition("/")[2]), folded(link.anchor)
            alone = self._stands_alone(link.text) and folded(link.text) not in names
            one = self._query("link", link.text, span, [(link.start, link.stop)], alone)
            yield one._replace(found_in=link.found_in)

    def _is_turned(self, words: str) -> bool:
        """Whether words are the title turned round, as an index has it: "in SQLite — Usage"."""
        last, *first = reversed(_TURNED.split(words))
        return bool(first) and folded(" ".join((last, *first))) in folded(self._document.title)

    def _query(
        self, kind: str, text: str, span: Place, places: Sequence[Place], alone: bool = True
    ) -> FoundQuery:
        alone = alone and not _CODE.search(text)
        score = round(self._worth(self._content(text)), 4) if alone else 0.0
        return FoundQuery(kind, text, *span, score, self._document.id, tuple(places))

    def _at(self, block: Block) -> tuple[str, Place]:
        """The words of a block, and where they stand."""
        shown, start, stop = words_shown(self._text[block.start : block.stop], self._chapters)
        return shown, (block.start + start, block.start + stop)

    def _above(self, part: Section) -> tuple[str, list[Place]] | None:
        """The nearest heading above that says enough, or the title, and where it stands."""
        places = [(words, [place]) for words, place in map(self._at, reversed(part.above))]
        title = self._title if self._names(self._title) else ""
        every: list[tuple[str, list[Place]]] = [*places, (title, [])]
        usable = (
            one
            for one in every
            if not self._counts.is_shared(folded(one[0])) and self._says_enough(one[0])
        )
        return next(usable, None)

    def _content(self, words: str) -> list[str]:
        return [one for one in words_of(words) if one not in self._stops]

    def _worth(self, content: Sequence[str]) -> float:
        return self._counts.salience(content)

    def _says_enough(self, words: str) -> bool:
        content = self._content(words)
        if not any(map(str.isalpha, words)):
            return False  # the date of a release
        if len(content) < _FEWEST and is_short("".join(content)):
            return False
        return self._worth(content) >= (_LITTLE if len(content) >= _FEWEST else _NAME)

    def _names(self, words: str) -> bool:
        """Whether a title's words may stand before a heading: no ordinary word by itself, such as
        "Reference".
        """
        content = self._content(words)
        ordinary = self._language == "en" and len(content) < _FEWEST
        return self._says_enough(words) and not (ordinary and not any(map(is_name, content)))

    def _tells(self, shown: str, part: Section) -> bool:
        """Whether a heading says which part of its document it is about."""
        content = self._content(shown)
        is_topic = any(map(is_name, content)) or self._is_topic(shown, part)
        return is_topic and self._worth(content) >= _LITTLE

    def _stems(self, words: str) -> set[str]:
        return {*stems_of(" ".join(self._content(words)), self._language)}

    def _stands_alone(self, shown: str, fewest: int = _FEWEST + 1) -> bool:
        """Whether a heading says without its document what it is about: in so many words, or by a
        name, which no lexicon has.
        """
        content = self._content(shown)
        ordinary = self._language == "en" and not any(map(is_name, content))
        return not self._is_cut(shown) and (len(content) >= fewest or not ordinary)

    def _is_cut(self, shown: str) -> bool:
        """Whether a heading goes on in a line that it lacks: ... quantifier of the, all de-; or is
        a line of a table, a list, an entry of a list of changes.
        """
        if _DATED.match(shown):
            return True
        words = shown.casefold().split()
        last = words[-1]
        if last.endswith(_HYPHENS) or (len(words) > _TOPIC and self._stops.isdisjoint(words)):
            return True
        return self._language == "en" and (last in _INNER or word_classes(last) == _ADVERB)

    def _is_topic(self, shown: str, part: Section) -> bool:
        """Whether what stands under a heading is about its words, or these say it all."""
        content = self._content(shown)
        held = {*words_of(self._text[part.start : part.stop])}
        return len(content) > _FEWEST or not held.isdisjoint(content)

    def _end_of_lead(self) -> int:
        """Where the first paragraph ends that is long enough to answer what names the document."""
        ends = (
            one.stop
            for one in self._document.blocks
            if one.kind == "paragraph" and _length(self._text[one.start : one.stop]) >= _ANSWER
        )
        return next(ends, len(self._text))

    def _answers(self, part: Section) -> bool:
        """Whether what stands under a heading is long enough to answer it."""
        words = 0
        for one in self._document.blocks:
            if part.start <= one.start < part.stop and one.kind != "boilerplate":
                words += _length(self._text[one.start : one.stop])
        return words >= _ANSWER


def _length(text: str) -> int:
    return len(text.split())
