"""A source that is one document, a book or a manual, is given as its chapters.

What is searched for in one document alone is a place in it: its chapters are the documents then,
of which some can be held out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from retgen.sources.markdown import shown_words
from retgen.sources.records import Block, ReadOptions, Record, SourceDocument
from retgen.sources.texts import structured
from retgen.tokenizer import MARKS

ENOUGH = 100  # chapters: where fewer stand at a level, those of the next one are taken too
_HEADINGS = ("title", "heading")
_NO_TEXT = (*_HEADINGS, "boilerplate")
_NUMBER = re.compile(r"(?:\d+\.)+\d*\s+")
_SIGNS = re.compile(rf"[^\w{MARKS}]+")


Chapter = tuple[int, int, str]  # characters [start, stop) of a text, and its heading, "" without


def by_chapter(records: Iterable[Record], reading: ReadOptions) -> Iterator[Record]:
    """Records of a file whose document is whole and has its structure: its chapters, as `reading`
    wants documents.
    """
    ids = Counter[str]()
    for record in records:
        one = record.it
        if not isinstance(one, SourceDocument):
            yield record
            continue
        found = chapters(one.text, one.blocks)
        one = one._replace(blocks=(), links=())
        if not reading.structure:
            one = one._replace(short_forms=(), place="")
        if len(found) < 2:
            yield record._replace(it=structured(one, reading))
            continue
        for start, stop, title in found:
            document = one._replace(
                id=_called(one.id, title, ids),
                title=title or one.title,
                text=one.text[start:stop],
                short_forms=(),  # they are of the whole
            )
            if document.text.strip():
                yield record._replace(it=structured(document, reading))


def chapters(text: str, blocks: Sequence[Block]) -> list[Chapter]:
    """Where a text is cut: at the highest headings, and lower ones until there are `ENOUGH`.

    Headings that have no text before the next one are in one chapter, and it is called by the last
    of them. What stands before the first has no title.
    """
    found: list[Chapter] = []
    for level in sorted({one.level for one in blocks if one.kind in _HEADINGS}):
        found = _cut(text, blocks, level)
        if len(found) >= ENOUGH:
            break
    return found


def _cut(text: str, blocks: Sequence[Block], level: int) -> list[Chapter]:
    starts, titles = [0], [""]
    has_text = False
    for one in blocks:
        if one.kind in _HEADINGS and one.level <= level:
            if has_text:
                starts.append(text.rfind("\n", 0, one.start) + 1)
                titles.append("")
                has_text = False
            titles[-1] = shown_words(text[one.start : one.stop]).lstrip("= ")
        elif one.kind not in _NO_TEXT:
            has_text = True
    ends = pairwise([*starts, len(text)])
    return [(*both, title) for both, title in zip(ends, titles, strict=True)]


def _called(document: str, title: str, ids: Counter[str]) -> str:
    """ "manual#getting-started", and "manual#getting-started-2" of the second one."""
    slug = _SIGNS.sub("-", _NUMBER.sub("", title)).strip("-").lower()
    name = f"{document}#{slug}" if slug else document
    ids[name] += 1
    return name if ids[name] == 1 else f"{name}-{ids[name]}"
