"""The documents of a user: what a recipe says of them, and what `gen new` finds in them.

`DocumentSource` and `PassageSize` are blocks of parameters that families share. `describe_source`
looks at a source before a recipe is written for it: kinds, columns, languages, lengths.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from retgen.dataset_files import file_format
from retgen.errors import DatasetError
from retgen.generators.params import Params, resolved_path
from retgen.sources import (
    FORMATS,
    HUB,
    Columns,
    RefusedRow,
    SourceDocument,
    SourceNotes,
    TableColumns,
    read_sources,
    refusals,
)
from retgen.sources.read import kinds
from retgen.tokenizer import length
from retgen.validators.languages import language_name, letters_of, tell

_LOOKED_AT = 1000  # documents whose language is told
_PIECE = 1000  # characters of each
_ON_THE_HUB = 10_000  # rows of a data set that lies elsewhere
_READ = {"words": 190, "characters": 250}  # of 256 word pieces, about
_LARGE = 0.2  # of a source's text, from which on one document is named
_FEW = 10  # documents, of which each is much
_UNSEEN = 0.2  # of a source's text, from which on passages are proposed
_UNSPACED = {"ja", "km", "lo", "my", "th", "zh"}  # written without blanks between words
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[A-Za-z_./][\w./-]*", re.I | re.A)


def _source_path(value: Path | str, info: ValidationInfo) -> Path | str:
    """A file (of which a run keeps a copy), a folder, or a data set of the Hub.

    What a finished run was made from may have moved.
    """
    context = info.context or {}
    if str(value).startswith(HUB):
        return str(value)
    path = resolved_path(Path(value), info)
    if path is None:
        return value
    if path.is_dir() or (context.get("finished") and not path.exists()):
        return str(path)
    if not path.is_file():
        raise ValueError(f"there is no source {path}: give {FORMATS}")
    return path


class SourceColumns(Params):
    """Which columns hold what. What is left out is guessed: columns with the usual names (text,
    body, ...; `_id` or `id`; title, name, ...), for the text else the one with the longest texts.
    """

    text: str | None = None
    id: str | None = None
    title: str | None = None


class DocumentSource(Params):
    """Where documents come from: one block of parameters for all families."""

    path: Annotated[Path | str, AfterValidator(_source_path)] = Field(description=FORMATS)
    columns: SourceColumns = SourceColumns()
    split: str = Field("train", description="of a data set of the Hub")
    licence: str = Field("not stated", max_length=200)
    limit: int | None = Field(None, ge=1, description="read at most so many rows")
    follow_links: bool = Field(False, description="links of the folder that lead out of it too")

    def rows(
        self, limit: int | None = None, structure: bool = False
    ) -> Iterator[SourceDocument | RefusedRow]:
        """The documents in their order, and what is none; at most `limit` of its rows. Of a source
        of one text file, its chapters.

        `structure`: with their blocks and links.
        """
        return read_sources(
            self.path,
            Columns(**self.columns.model_dump()),
            split=self.split,
            limit=min((n for n in (limit, self.limit) if n is not None), default=None),
            follow_links=self.follow_links,
            structure=structure,
            by_chapter=True,
        )


class PassageSize(Params):
    """Long documents are cut into passages: so many words (characters of scripts without spaces).

    `overlap`: words that a passage shares with the one before it. A document of at most `tokens`
    words stays whole.
    """

    tokens: int = Field(256, ge=16, le=100_000)
    overlap: int = Field(32, ge=0)

    @model_validator(mode="after")
    def _smaller(self) -> PassageSize:
        if self.overlap * 2 > self.tokens:
            raise ValueError(f"overlap {self.overlap} is more than half of tokens {self.tokens}")
        return self


class LargestDocument(NamedTuple):
    """The document that has the most of something, and its share of it."""

    id: str
    share: float

    def note(self, what: str, documents: int) -> str:
        """That it is a large part of `what`, and what to do; "" where it is not. `documents`: how
        many there are.
        """
        if documents < _FEW or self.share <= _LARGE:
            return ""
        return (
            f"{self.id} is {self.share:.0%} of the {what}: if nobody searches in it (a changelog, "
            "a table of data), move it out of the source"
        )


# --- before there is a recipe ---------------------------------------------------------------------


@dataclass(frozen=True)
class SourceDescription:
    """What was found in a source.

    `path`: as a recipe says it. `kinds`: files by their kind; empty for a data set of the Hub.
    `columns`: of each table, by the name of its file. `whole`: all rows were read. `languages`:
    code -> share of documents, most first; "" where none is recognized. `lengths`: shortest, median
    and longest document, counted in `unit`. `encodings`: files in each that is not UTF-8. `unseen`:
    the share of all text that stands behind what an embedder reads of its document. `largest`: the
    document with the most text.
    """

    path: str
    kinds: Mapping[str, int]
    columns: Mapping[str, TableColumns]
    documents: int
    whole: bool
    refused: tuple[RefusedRow, ...]
    languages: Mapping[str, float]
    lengths: tuple[int, int, int]
    unit: str
    encodings: Mapping[str, int]
    unseen: float
    largest: LargestDocument

    @property
    def language(self) -> str:
        """The code of the language of most documents, "" where none is recognized."""
        return next(iter(self.languages), "")

    def lines(self) -> Iterator[str]:
        """The description for people."""
        held = ", ".join(f"{count:,} {one}" for one, count in self.kinds.items())
        more = "" if self.whole else f" in the first {_ON_THE_HUB:,} rows"
        if sum(self.kinds.values()) == 1 and not self.columns and self.documents > 1:
            more += ": its chapters, as it is one file"
        yield (
            f"source: {self.path} ({held or 'a data set of the Hub'}), "
            f"{self.documents:,} document{'s' * (self.documents != 1)}{more}"
        )
        by_rule: dict[str, list[RefusedRow]] = defaultdict(list)
        for row in self.refused:
            by_rule[row.rule].append(row)
        for rule, rows in sorted(by_rule.items(), key=lambda one: -len(one[1])):
            first = f"the first at {rows[0].where}: {rows[0].reason}"
            yield f"refused: {len(rows):,} by {rule}, {first}"
        for name, one in self.columns.items():
            ids = ", ".join(one.ids) or "none, rows are numbered"
            yield f"columns: of {name}: text {one.text}, title {one.title or 'none'}, id {ids}"
        if self.encodings:
            told = ", ".join(f"{count:,} {name}" for name, count in self.encodings.items())
            yield f"encodings: {told}, the others UTF-8; look whether their letters are right"
        shares = [
            f"{language_name(code) if code else 'not recognized'} {_percent(share)}"
            for code, share in self.languages.items()
        ]
        yield f"languages: {', '.join(shares[:5])}{', ...' if len(shares) > 5 else ''}"
        shortest, middle, longest = self.lengths
        yield f"lengths: {shortest:,} to {longest:,} {self.unit}, median {middle:,}"
        if note := self.largest.note("text", self.documents):
            yield f"warning: {note}"
        if self.passages:
            yield f"passages: {self._unseen()}: the recipe cuts passages of {self.passages.tokens}"

    @property
    def passages(self) -> PassageSize | None:
        """Passages to cut, where much of the text would not be read otherwise."""
        if self.unseen < _UNSEEN:
            return None
        size = _READ[self.unit]
        return PassageSize(tokens=size, overlap=size // 8)

    def passages_line(self) -> str:
        """The key `passages` of a recipe's `params`, with its reason; "" where none is proposed."""
        size = self.passages
        if size is None:
            return ""
        pair = f"{{tokens: {size.tokens}, overlap: {size.overlap}}}"
        return f"  passages: {pair}     # {self._unseen()}\n"

    def _unseen(self) -> str:
        return (
            f"{_percent(self.unseen)} of the text lies beyond the first {_READ[self.unit]} "
            f"{self.unit} of its document, about what an embedder reads (256 word pieces)"
        )

    def block(self) -> str:
        """The block `source` of a recipe's `params`, with the columns where all tables have the
        same ones.
        """
        lines = ["  source:", f"    path: {_scalar(self.path)}"]
        tables = set(self.columns.values())
        if len(tables) == 1:
            (one,) = tables
            pairs = {"text": one.text, "id": next(iter(one.ids), None), "title": one.title}
            inside = ", ".join(f"{key}: {_scalar(name)}" for key, name in pairs.items() if name)
            lines.append(f"    columns: {{{inside}}}")
        lines.append("    licence: not stated   # what the documents may be used for, and by whom")
        return "\n".join(lines) + "\n"


def describe_source(source: Path | str, folder: Path) -> SourceDescription:
    """Look at a source for a recipe that will lie in `folder`.

    A relative path becomes relative to that folder. Raises `DatasetError` for a source that cannot
    be read or holds no document that can be used.
    """
    on_the_hub = str(source).startswith(HUB)
    place: Path | str = str(source) if on_the_hub else Path(source)
    notes = SourceNotes({}, {})
    refused: list[RefusedRow] = []
    counts: list[int] = []  # words, or characters of scripts without spaces
    of_document: Counter[str] = Counter()
    sample: list[str] = []
    draw = random.Random(0)  # the same documents each time
    limit = _ON_THE_HUB if on_the_hub else None
    for one in read_sources(place, Columns(), limit=limit, notes=notes, by_chapter=True):
        if not isinstance(one, SourceDocument):
            refused.append(one)
            continue
        counts.append(length(one.text))
        of_document[one.id] += counts[-1]
        if len(sample) < _LOOKED_AT:
            sample.append(one.text[: 4 * _PIECE])
        elif (slot := draw.randrange(len(counts))) < _LOOKED_AT:
            sample[slot] = one.text[: 4 * _PIECE]
    if not counts:
        raise DatasetError(
            f"{source} holds no document that can be used. {refusals(refused)}".rstrip()
        )
    told = Counter(map(_language, sample))
    spaced = 2 * sum(told[code] for code in _UNSPACED) <= len(sample)
    unit = "words" if spaced else "characters"
    largest, most = of_document.most_common(1)[0]
    every = max(1, sum(counts))
    found: dict[str, int] = {}
    if isinstance(place, Path):
        found = kinds(place) if place.is_dir() else {file_format(place): 1}
    return SourceDescription(
        path=_relative(place, folder) if isinstance(place, Path) else place,
        kinds=found,
        columns=notes.columns,
        documents=len(of_document),
        whole=limit is None or len(counts) + len(refused) < limit,
        refused=tuple(refused),
        languages={code: count / len(sample) for code, count in told.most_common()},
        lengths=(min(counts), round(median(counts)), max(counts)),
        unit=unit,
        encodings=Counter(notes.encodings.values()),
        unseen=sum(max(0, count - _READ[unit]) for count in counts) / every,
        largest=LargestDocument(largest, most / every),
    )


def _percent(share: float) -> str:
    return "under 1%" if share < 0.01 else f"{share:.0%}"


def _language(text: str) -> str:
    words = letters_of(text)[:_PIECE]
    return tell(words)[0] if any(map(str.isalpha, words)) else ""


def _relative(path: Path, folder: Path) -> str:
    if path.is_absolute():
        return str(path)
    lies = os.path.join(os.path.realpath(path.parent), path.name)
    if path.name in ("", ".."):
        lies = os.path.realpath(path)
    return Path(os.path.relpath(lies, os.path.realpath(folder))).as_posix()


def _scalar(text: str) -> str:
    """A string as YAML reads it back."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
