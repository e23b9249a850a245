"""Plain text as blocks: paragraphs at blank lines, items, headings where they are plain.

Headings are underlined lines, capitals over indented text and what is indented a little below them
(manual pages as they are shown), numbered lines (RFCs), and lines that ask. Also what readers of
other texts share: what asks, and what is no prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from retgen.sources.records import Block
from retgen.tokenizer import LETTER

_CHUNK = re.compile(r"(?:^[^\S\n]*\S.*(?:\n|\Z))+", re.M)  # lines that no blank line parts
_UNDERLINE = re.compile(r"\s*([=\-~^\"'`*+#])\1{2,}\s*\Z")
_ITEM = re.compile(r"^[^\S\n]*(?:[*•‣·–-]|\d{1,3}[.)]|--?\w\S*)(?:\s+|$)", re.M)
_NUMBERED = re.compile(r"\d{1,2}((?:\.\d{1,2})*)\.?\s+[^\W\d_]")
_PAGE_EDGE = re.compile(r".*\(\d\w*\)\s*\Z")  # of a manual page: LS(1) ... LS(1)
_PROSE = 0.75  # letters and blanks of a text, at least; of code there are fewer
_LONGEST_HEADING = 80
# sentences of licences as files carry them, in any white space
_LICENCE = re.compile(
    r"SPDX-License-Identifier|Permission is (?:hereby )?granted|"
    r"Redistributions? (?:and use )?(?:in|of) (?:source|binary)|\blicen[cs]ed under (?:the|an?) |"
    r"\bis free software|received a copy of the GNU|WITHOUT (?:ANY )?WARRANT|['\"“]as is[,'\"”]|"
    r"\A\W*(?:copyright|©|\(c\)) .*(?:\d{4}|all rights reserved)",
    re.I,
)
_ADDRESS = re.compile(r"<?(?:https?|ftp)://\S+|<?[\w.+-]+@[\w-]+\.[\w.-]+>?")
_LICENCE_LENGTH = 600  # characters in which such a sentence stands


def is_boilerplate(text: str) -> bool:
    """Whether a block is a licence's or copyright's header, or addresses and signs alone."""
    begin = " ".join(text[:_LICENCE_LENGTH].split())
    return bool(_LICENCE.search(begin)) or not has_words(_ADDRESS.sub("", begin))


def is_question(text: str) -> bool:
    """Whether a line asks something: "How do I start?"."""
    return text.rstrip().endswith(("?", "？")) and len(text) <= 200


def has_words(text: str) -> bool:
    """Whether there is a letter or digit."""
    return any(map(str.isalnum, text))


def plain_blocks(text: str) -> list[Block]:
    """The blocks of a text, in order."""
    blocks: list[Block] = []
    manual = False  # below capitals over indented text
    for chunk in _CHUNK.finditer(text):
        start, lines = chunk.start(), chunk.group().splitlines(keepends=True)
        first = lines[0].strip()
        indents = [len(one) - len(one.lstrip()) for one in lines[:2]]
        is_underlined = len(lines) > 1 and _UNDERLINE.match(lines[1]) is not None
        level = 0
        if is_underlined:
            level = 1 if lines[1].strip()[0] == "=" else 2
        elif len(first) > _LONGEST_HEADING or is_boilerplate(first):
            pass
        elif len(lines) == 1 and not text[chunk.end() :].strip():
            pass  # a heading stands over something
        elif not indents[0] and first.isupper() and _is_prose(first):
            level = int(len(lines) == 1 or indents[1] > 0)
            manual = manual or (level > 0 and len(lines) > 1)
        elif manual and 0 < indents[0] < 5 and len(lines) > 1 and indents[1] > indents[0]:
            level = 0 if _ITEM.match(lines[0]) or first[-1] in ".,;:" else 2
        elif len(lines) == 1 and not indents[0] and first[-1] not in ".,;:":
            numbered = _NUMBERED.match(first)
            level = numbered[1].count(".") + 1 if numbered else 2 * is_question(first)
        if level:
            at = start + indents[0]
            blocks.append(Block("heading", at, at + len(first), min(level, 6)))
            start += sum(map(len, lines[: 1 + is_underlined]))
        blocks += _body(text, start, chunk.end())
    return blocks


def _body(text: str, start: int, stop: int) -> Iterator[Block]:
    """What stands below a heading: a paragraph, and the items behind it."""
    begins = [start, *(one.start() for one in _ITEM.finditer(text, start, stop)), stop]
    for begin, end in pairwise(begins):
        piece = text[begin:end]
        if not piece.strip():
            continue
        bullet = _ITEM.match(piece)
        is_item = bullet is not None and piece[bullet.end() :].strip() != ""
        begin += len(piece) - len(piece.lstrip())
        end = begin + len(piece.strip())
        if is_boilerplate(piece) or _PAGE_EDGE.fullmatch(piece.strip()):
            yield Block("boilerplate", begin, end)
        elif is_item:
            yield Block("item", begin, end)
        else:
            yield Block("paragraph" if _is_prose(piece) else "code", begin, end)


def _is_prose(text: str) -> bool:
    """Whether most of its signs are those of words."""
    words = text.split()
    letters = sum(map(len, re.findall(f"{LETTER}+", text)))
    return letters + len(words) >= _PROSE * (sum(map(len, words)) + len(words))
