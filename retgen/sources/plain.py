"""Plain text as blocks: paragraphs at blank lines, headings where they are plain, items, roff.

Headings are underlined lines (reStructuredText), capitals over indented text and what is indented a
little below them (manual pages as they are shown), numbered lines (RFCs), and lines that ask. In
AsciiDoc lines of the same sign also begin and end a listing, which is code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from retgen.sources.records import Block, BlockKind
from retgen.sources.structure import has_words, is_boilerplate, is_question
from retgen.tokenizer import LETTER

_UNDERLINE = re.compile(r"\s*([=\-~^\"'`*+#.:_])\1+\s*\Z")
_BULLET = re.compile(r"\s*[*•‣·-]\s+\S")
_ITEM = re.compile(r"\s*(?:[*•+o‣·–-]|\d{1,3}[.)]|\(?[a-z]\)|--?[\w?\[]\S*)(?:\s|\Z)")
_NUMBERED = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2})*)\.?\s+[^\W\d_]")
_ROFF_PAGE = re.compile(r"^\.(?:TH|SH|Dd|Sh)\s", re.M)
_ROFF = re.compile(r"[.'](?:\\\"|[A-Za-z]{1,3}\b|\s*\Z)")
_ROFF_HEADING = re.compile(r"\.S[HhSs]\s+\"?(?P<words>[^\"\n]*[^\"\s])")
_PAGE_EDGE = re.compile(r".*\(\d\w*\)\s*\Z")  # of a manual page: LS(1) ... LS(1)
_LEADER = re.compile(r"(?:\.\s?){4,}\s*\w+\s*\Z")  # of a table of contents
_DIRECTIVE = re.compile(r"\s*(?:\.\. |:\w[\w ]*:(?:\s|\Z))")  # of reStructuredText
_ASCIIDOC = re.compile(
    r"^include::\S{1,200}\[|^ifn?def::|\blinkgit:\w|\blink:[^\s\[]{1,200}\[|\w\[\[[\w-]+\]\]$"
    r"|^\[(?:source|verse|quote|listing|horizontal|discrete|NOTE|TIP)\b[^\]\n]{0,200}\]\s*$",
    re.M,
)
_DELIMITER = re.compile(r"([-.+])\1{3,}\s*\Z")  # of a listing
_ATTRIBUTES = re.compile(r"\[.*\]\s*\Z|\+\s*\Z")
_EQUALS = re.compile(r"(={1,6})\s+\S.*\Z")  # before a heading
_PROMPT = re.compile(r"\s*(?:\$|>>>|[#%] ) ?\S")
_PROSE = 0.75  # letters and blanks of a text, at least; of code there are fewer
_LONGEST_HEADING = 80


class _Line(NamedTuple):
    start: int
    text: str
    indent: int

    @property
    def stop(self) -> int:
        return self.start + len(self.text.rstrip())


def plain_blocks(text: str) -> list[Block]:
    """The blocks of a text, in order."""
    reading = _Reading(text)
    listings = dict(_listings(text)) if reading.is_asciidoc else {}
    chunks = list(_chunks(text, listings))
    for number, chunk in enumerate(chunks):
        if chunk[0].start in listings:
            reading.add("code", chunk)
            continue
        below = chunks[number + 1][0] if number + 1 < len(chunks) else None
        at_edge = len(chunk) == 1 and number in (0, len(chunks) - 1)
        if at_edge and _PAGE_EDGE.match(chunk[0].text):
            reading.add("boilerplate", chunk)
        else:
            reading.read(chunk, below)
    return reading.blocks


def is_asciidoc(text: str) -> bool:
    """Whether a text has what AsciiDoc alone has: anchors, attributes, links of its kind."""
    return bool(_ASCIIDOC.search(text))


def _listings(text: str) -> Iterator[tuple[int, int]]:
    """Where listings of AsciiDoc begin and end, with the lines of one sign around them. Such a line
    that is as long as the one above, but for three characters, underlines a heading.
    """
    lines, at = list[tuple[int, str]](), 0
    for line in text.splitlines(keepends=True):
        lines.append((at, line.rstrip()))
        at += len(line)
    number = 0
    while number < len(lines):
        start, shown = lines[number]
        number += 1
        above = lines[number - 2][1] if number > 1 else ""
        is_underline = above and not _ATTRIBUTES.match(above) and above[0] != "."
        if not _DELIMITER.match(shown) or (is_underline and abs(len(above) - len(shown)) <= 3):
            continue
        for last in range(number, len(lines)):
            if lines[last][1] == shown:
                yield start, lines[last][0] + len(shown)
                number = last + 1
                break


def _chunks(text: str, listings: Mapping[int, int]) -> Iterator[list[_Line]]:
    """Lines that no blank line parts; those of a listing are together. `listings`: begin -> end."""
    chunk: list[_Line] = []
    at, end = 0, 0  # of the last listing
    for line in text.splitlines(keepends=True):
        if chunk and (at in listings or (end and at >= end)):
            yield chunk
            chunk = []
        end = listings.get(at, end if at < end else 0)
        if line.strip() or (chunk and at < end):
            shown = line.expandtabs()
            chunk.append(_Line(at, line, len(shown) - len(shown.lstrip())))
        elif chunk:
            yield chunk
            chunk = []
        at += len(line)
    if chunk:
        yield chunk


class _Reading:
    """A text while it is read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.blocks: list[Block] = []
        self.is_roff = bool(_ROFF_PAGE.search(text))
        self.is_asciidoc = is_asciidoc(text)
        self.underlines: list[str] = []  # the highest heading's first
        self.under_capitals = False
        self.is_literal = False  # what is indented behind "::"

    def add(self, kind: BlockKind, lines: Sequence[_Line], level: int = 0) -> None:
        """A block of lines."""
        first = lines[0]
        start = first.start + len(first.text) - len(first.text.lstrip())
        self.blocks.append(Block(kind, start, lines[-1].stop, level))

    def read(self, lines: list[_Line], below: _Line | None) -> None:
        """Lines that no blank line parts. `below`: the next one after them."""
        if self.is_roff:
            self._roff(lines)
            return
        while self.is_asciidoc and lines and _ATTRIBUTES.match(lines[0].text.strip()):
            self.add("boilerplate", lines[:1])
            lines = lines[1:]
        taken = self._heading(lines, below) if lines else 0
        if taken < len(lines):
            self._body(lines[taken:])

    def _heading(self, lines: list[_Line], below: _Line | None) -> int:
        """How many lines of the beginning are a heading and its underline."""
        first = lines[0]
        words = first.text.strip()
        if self.is_asciidoc and (marked := _EQUALS.match(words)):
            self.add("heading", lines[:1], len(marked[1]))
            return 1
        signs = [match[1] if (match := _UNDERLINE.match(one.text)) else "" for one in lines[:3]]
        if len(signs) == 3 and signs[0] and signs[0] == signs[2] and not signs[1]:
            self.add("heading", lines[1:2], self._underlined(signs[0] * 2))
            return 3
        is_underlined = len(signs) > 1 and signs[1] and not signs[0] and has_words(words)
        if is_underlined and (len(lines) == 2 or len(lines[1].text.strip()) >= 0.7 * len(words)):
            self.add("heading", lines[:1], self._underlined(signs[1]))
            return 2
        after = lines[1] if len(lines) > 1 else below
        if len(words) > _LONGEST_HEADING or after is None or is_boilerplate(words):
            return 0
        level = 0
        is_capitals = first.indent == 0 and words.upper() == words and _is_prose(words)
        if is_capitals and (after.indent or len(lines) == 1):
            self.under_capitals = after.indent > 0
            level = 1
        elif self.under_capitals and 0 < first.indent < 5 and after.indent > first.indent:
            level = 0 if _ITEM.match(words) or words[-1] in ".,;:" else 2
        elif len(lines) == 1 and first.indent == 0:
            if (numbered := _NUMBERED.match(words)) and words[-1] not in ".,;:":
                level = numbered["number"].count(".") + 1
            elif is_question(words):
                level = 2
        if level:
            self.add("heading", lines[:1], level)
        return 1 if level else 0

    def _underlined(self, sign: str) -> int:
        if sign not in self.underlines:
            self.underlines.append(sign)
        return min(self.underlines.index(sign) + 1, 6)

    def _body(self, lines: list[_Line]) -> None:
        text = self.text[lines[0].start : lines[-1].stop]
        was_literal, self.is_literal = self.is_literal, text.endswith("::")
        leaders = sum(bool(_LEADER.search(one.text)) for one in lines)
        is_markup = bool(_DIRECTIVE.match(lines[0].text))
        if is_markup or is_boilerplate(text) or 2 * leaders > len(lines):
            self.add("boilerplate", lines)
        elif (was_literal and lines[0].indent) or _PROMPT.match(text):
            self.add("code", lines)
            self.is_literal = was_literal
        elif _ITEM.match(lines[0].text):
            self._items(lines)
        else:
            bullets = [number for number, one in enumerate(lines) if _BULLET.match(one.text)]
            body = lines[: bullets[0]] if bullets else lines
            text = self.text[body[0].start : body[-1].stop]
            self.add("paragraph" if _is_prose(text) else "code", body)
            if bullets:
                self._items(lines[bullets[0] :])

    def _items(self, lines: list[_Line]) -> None:
        """An item begins at each line that is indented as the first and has a bullet."""
        item: list[_Line] = []
        for line in lines:
            if item and line.indent <= lines[0].indent and _ITEM.match(line.text):
                self._item(item)
                item = []
            item.append(line)
        self._item(item)

    def _item(self, lines: Sequence[_Line]) -> None:
        """An item without its bullet."""
        self.add("item", lines)
        if bullet := _BULLET.match(lines[0].text):
            start = lines[0].start + bullet.end() - 1
            self.blocks[-1] = self.blocks[-1]._replace(start=start)

    def _roff(self, lines: list[_Line]) -> None:
        for is_request, group in groupby(lines, lambda one: bool(_ROFF.match(one.text))):
            if not is_request:
                self._body(list(group))
                continue
            for line in group:
                if heading := _ROFF_HEADING.match(line.text):
                    start, stop = (line.start + at for at in heading.span("words"))
                    level = 1 if line.text[2] in "Hh" else 2
                    self.blocks.append(Block("heading", start, stop, level))
                else:
                    self.add("boilerplate", [line])


def _is_prose(text: str) -> bool:
    """Whether most of its signs are those of words."""
    words = text.split()
    letters = sum(map(len, re.findall(f"{LETTER}+", text)))
    return letters + len(words) >= _PROSE * (sum(map(len, words)) + len(words))
