"""Books cut into sentences, which haystacks are made of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from retgen.errors import SourceRefused
from retgen.generators.niah.groups import DATA
from retgen.generators.niah.params import NiahParams
from retgen.sources import RefusedRow, SourceDocument, refusals

LICENCE = "Apache-2.0 (retgen)"
PROSE = DATA / "prose"
# bundled books for training; the others are for testing
TRAIN = frozenset(
    {"brick_kiln", "dye_works", "ferry_log", "letter_carrier", "lighthouse_stairs", "orchard_year"}
)

_END = re.compile(r"[.!?][\"')\]\u201d\u2019]*(\s+)(?=[\"'(\[\u201c\u2018]*[A-Z\u00c0-\u00de])")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mrs?|Ms|Dr|Prof|St|Capt|Col|Gen|No|vs|etc|e\.g|i\.e)|\b[A-Z])\.$"
)
_WHOLE = re.compile(r"[A-Z\u00c0-\u00de\"'(\u201c\u2018].*[.!?][\"')\]\u201d\u2019]*$")
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*")
_LONGEST = 1000  # characters: what is longer is no sentence
_FEWEST = 2  # words


class Sentence(NamedTuple):
    """A sentence of a book. `fault`: why it may not stand in filtered filler, "" where it may."""

    book: str
    text: str
    fault: str = ""


def read_books(params: NiahParams) -> tuple[list[SourceDocument], list[RefusedRow]]:
    """The books of a recipe in order, and what is none. Raises `SourceRefused` without any."""
    if params.books is None:
        return list(_bundled(params.groups)), []
    source = params.books
    books, refused = list[SourceDocument](), list[RefusedRow]()
    for one in source.rows(longest=None):
        if isinstance(one, RefusedRow):
            refused.append(one)
        else:
            books.append(one)
    if not books:
        message = f"params.books: {source.path} holds no book that can be used."
        rows = [one._asdict() for one in refused]
        raise SourceRefused(f"{message} {refusals(refused)}".rstrip(), rows)
    return books, refused


def _bundled(groups: str) -> Iterator[SourceDocument]:
    """The bundled books of a set; their first line is the title."""
    for path in sorted(PROSE.glob("*.txt")):
        if groups == "all" or (path.stem in TRAIN) == (groups == "train"):
            title, _, text = path.read_text("utf-8").partition("\n")
            yield SourceDocument(path.stem, title, text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, white space made single blanks; headings and the like left out."""
    for paragraph in _PARAGRAPH.split(text):
        start = 0
        line = " ".join(paragraph.split())
        ends = [*_END.finditer(line), None]
        for end in ends:
            piece = line[start : end.start(1) if end else len(line)]
            if end and _ABBREVIATED.search(piece):
                continue
            start = end.end() if end else len(line)
            if usable(piece):
                yield piece


def usable(piece: str) -> bool:
    """Whether a piece is a whole sentence by itself: no heading, no half of a quotation."""
    return (
        bool(_WHOLE.match(piece))
        and len(piece) <= _LONGEST
        and len(piece.split()) >= _FEWEST
        and piece.count('"') % 2 == 0
        and piece.count("\u201c") == piece.count("\u201d")
        and piece.count("(") == piece.count(")")
        and piece.isprintable()
    )


def names_left(names: Sequence[str], texts: Sequence[Sentence]) -> list[str]:
    """The names that no book holds, in any spelling with or without a capital."""
    wanted = {name.casefold(): name for name in names}
    held: set[str] = set()
    for one in texts:
        held.update(wanted.keys() & set(re.findall(r"\w+", one.text.casefold())))
    return [name for name in names if name.casefold() not in held]


def by_book(texts: Sequence[Sentence]) -> list[dict[str, object]]:
    """A row a book: how many sentences it has, how many are kept, why the others are not."""
    counts: dict[str, Counter[str]] = {}
    for one in texts:
        counts.setdefault(one.book, Counter())[one.fault] += 1
    return [
        {
            "book": book,
            "sentences": faults.total(),
            "kept": faults[""],
            "left_out": {name: faults[name] for name in sorted(faults) if name},
        }
        for book, faults in counts.items()
    ]
