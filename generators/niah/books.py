"""Books: cut into sentences, filtered for the questions, and kept with the groups in sources/."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from retgen.errors import SourceRefused
from retgen.generators.niah.groups import (
    DATA,
    Cast,
    NeedleGroup,
    cast,
    cast_of,
    people,
    read_groups,
)
from retgen.generators.niah.leaks import LeakFilter, check_groups
from retgen.generators.niah.params import NiahParams
from retgen.generators.tables import read_rows
from retgen.sources import RefusedRow, SourceDocument, refusals
from retgen.write import write_rows

GROUPS, BOOKS, SENTENCES = "groups.jsonl", "books.jsonl", "sentences.jsonl"

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


# --- sentences ------------------------------------------------------------------------------------


class Sentence(NamedTuple):
    """A sentence of a book. `fault`: why it may not stand in filtered filler, "" where it may."""

    book: str
    text: str
    fault: str = ""


def read_books(params: NiahParams) -> tuple[list[SourceDocument], list[RefusedRow]]:
    """The books of a recipe in order, and what is none. Raises `SourceRefused` without any."""
    if params.books is None:
        return list(_bundled_books(params.groups)), []
    rows = list(params.books.rows())
    books = [one for one in rows if isinstance(one, SourceDocument)]
    refused = [one for one in rows if isinstance(one, RefusedRow)]
    if not books:
        message = f"params.books: {params.books.path} holds no book that can be used."
        shown = [one._asdict() for one in refused]
        raise SourceRefused(f"{message} {refusals(refused)}".rstrip(), shown)
    return books, refused


def _bundled_books(groups: str) -> Iterator[SourceDocument]:
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
        for stop in [*(end.start(1) for end in _END.finditer(line)), len(line)]:
            piece = line[start:stop]
            if stop < len(line) and _ABBREVIATED.search(piece):
                continue
            start = stop + 1  # a blank
            if _is_usable(piece):
                yield piece


def _is_usable(piece: str) -> bool:
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


def counts_by_book(texts: Sequence[Sentence]) -> Iterator[dict[str, object]]:
    """A row a book: how many sentences it has, how many are kept, why the others are not."""
    for book, some in groupby(texts, key=lambda one: one.book):
        faults = Counter(one.fault for one in some)
        yield {
            "book": book,
            "sentences": faults.total(),
            "kept": faults.pop("", 0),
            "left_out": dict(sorted(faults.items())),
        }


# --- what a run keeps in sources ------------------------------------------------------------------


class Material(NamedTuple):
    """What haystacks are made from. `sentences`: of the books; `refused`: what is none."""

    groups: list[NeedleGroup]
    cast: Cast
    sentences: list[Sentence]
    refused: list[RefusedRow]


def gather_material(params: NiahParams, seed: int) -> Material:
    """Read table and books, check them, and give out names."""
    groups = read_groups(params)
    check_groups(groups, params.table)
    leaks = LeakFilter(groups)
    books, refused = read_books(params)
    found = [
        Sentence(book.id, text, leaks.fault(text))
        for book in books
        for text in sentences(book.text)
    ]
    # names that a haystack needs besides that of its needle
    others = max(params.distractors) + int(params.training or "neutral" in params.controls)
    given = cast(groups, names_left(people().names, found), seed, others)
    return Material(groups, given, found, refused)


def held_names(material: Material) -> str:
    """Which names nobody has since the books hold them; "" for none."""
    left = {*material.cast.of_group, *material.cast.free}
    held = [name for name in people().names if name not in left]
    if not held:
        return ""
    return (
        f"the books hold {len(held):,} of the {len(people().names):,} names, so no group has "
        f"those; with other books, groups may have other names: {', '.join(held)}"
    )


def write_sources(material: Material, folder: Path) -> None:
    """Leave the material in a folder."""
    groups = [
        {"group": group.id, **group.model_dump(exclude={"id", "set"}), "name": name}
        for group, name in zip(material.groups, material.cast.of_group, strict=True)
    ]
    write_rows(folder / GROUPS, groups)
    write_rows(folder / BOOKS, counts_by_book(material.sentences))
    write_rows(folder / SENTENCES, (one._asdict() for one in material.sentences))


def read_material(folder: Path, seed: int) -> Material:
    """The material of a run."""
    rows = read_rows(folder / GROUPS)
    found = [Sentence(**row) for row in read_rows(folder / SENTENCES)]
    names = tuple(row.pop("name") for row in rows)
    groups = [NeedleGroup.model_validate({"id": row.pop("group"), **row}) for row in rows]
    return Material(groups, cast_of(names, names_left(people().names, found), seed), found, [])
