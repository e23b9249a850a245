"""A source looked at before a recipe is written for it: kinds, columns, languages, lengths."""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from retgen.dataset_files import file_format
from retgen.errors import DatasetError
from retgen.sources import HUB, Columns, Held, Refused, SourceDocument, read_sources, refusals
from retgen.sources.folders import kinds
from retgen.validators.languages import letters_of, named, tell

_LOOKED_AT = 1000  # documents whose language is told
_PIECE = 1000  # characters of each
_ON_THE_HUB = 10_000  # rows of a data set that lies elsewhere
_UNSPACED = {"ja", "km", "lo", "my", "th", "zh"}  # written without blanks between words
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[A-Za-z_./][\w./-]*", re.I | re.A)


@dataclass(frozen=True)
class SourceDescription:
    """What was found in a source.

    `path`: as a recipe says it. `kinds`: files by their kind; empty for a data set of the Hub.
    `columns`: of each table, by the name of its file. `whole`: all rows were read. `languages`:
    code -> share of documents, most first; "" where none is recognized. `lengths`: shortest, median
    and longest document, counted in `unit`.
    """

    path: str
    kinds: Mapping[str, int]
    columns: Mapping[str, Held]
    documents: int
    whole: bool
    refused: tuple[Refused, ...]
    languages: Mapping[str, float]
    lengths: tuple[int, int, int]
    unit: str

    @property
    def language(self) -> str:
        """The code of the language of most documents, "" where none is recognized."""
        return next(iter(self.languages), "")

    def lines(self) -> Iterator[str]:
        """The description for people."""
        held = ", ".join(f"{count:,} {one}" for one, count in self.kinds.items())
        more = "" if self.whole else f" in the first {_ON_THE_HUB:,} rows"
        yield (
            f"source: {self.path} ({held or 'a data set of the Hub'}), "
            f"{self.documents:,} document{'s' * (self.documents != 1)}{more}"
        )
        by_rule = Counter(one.rule for one in self.refused)
        for rule, count in by_rule.most_common():
            first = next(one for one in self.refused if one.rule == rule)
            yield f"refused: {count:,} by {rule}, the first at {first.where}: {first.reason}"
        for name, one in self.columns.items():
            ids = ", ".join(one.ids) or "none, rows are numbered"
            yield f"columns: of {name}: text {one.text}, title {one.title or 'none'}, id {ids}"
        shares = [
            f"{named(code) if code else 'not recognized'} {_percent(share)}"
            for code, share in self.languages.items()
        ]
        yield f"languages: {', '.join(shares[:5])}{', ...' if len(shares) > 5 else ''}"
        shortest, middle, longest = self.lengths
        yield f"lengths: {shortest:,} to {longest:,} {self.unit}, median {middle:,}"

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
    held: dict[str, Held] = {}
    refused: list[Refused] = []
    words: list[int] = []
    characters: list[int] = []
    sample: list[str] = []
    draw = random.Random(0)  # the same documents each time
    rows = 0
    limit = _ON_THE_HUB if on_the_hub else None
    for one in read_sources(place, Columns(), limit=limit, held=held):
        rows += 1
        if not isinstance(one, SourceDocument):
            refused.append(one)
            continue
        parts = one.text.split()
        words.append(len(parts))
        characters.append(sum(map(len, parts)))
        if len(sample) < _LOOKED_AT:
            sample.append(one.text[: 4 * _PIECE])
        elif (slot := draw.randrange(len(words))) < _LOOKED_AT:
            sample[slot] = one.text[: 4 * _PIECE]
    if not words:
        raise DatasetError(
            f"{source} holds no document that can be used. {refusals(refused)}".rstrip()
        )
    languages = _languages(sample)
    spaced = sum(languages.get(code, 0) for code in _UNSPACED) <= 0.5
    counts = words if spaced else characters
    return SourceDescription(
        path=str(place) if isinstance(place, str) else _relative(place, folder),
        kinds={} if isinstance(place, str) else _kinds(place),
        columns=held,
        documents=len(words),
        whole=limit is None or rows < limit,
        refused=tuple(refused),
        languages=languages,
        lengths=(min(counts), round(median(counts)), max(counts)),
        unit="words" if spaced else "characters",
    )


def _percent(share: float) -> str:
    return "under 1%" if share < 0.01 else f"{share:.0%}"


def _languages(texts: list[str]) -> dict[str, float]:
    counts = Counter(_language(text) for text in texts)
    return {code: count / len(texts) for code, count in counts.most_common()}


def _language(text: str) -> str:
    words = letters_of(text)[:_PIECE]
    return tell(words)[0] if any(map(str.isalpha, words)) else ""


def _kinds(path: Path) -> dict[str, int]:
    return kinds(path) if path.is_dir() else {file_format(path): 1}


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
