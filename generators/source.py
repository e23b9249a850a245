"""Where a recipe's documents come from, and how they are cut: blocks that families share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from retgen.generators.params import Params, located
from retgen.sources import (
    FORMATS,
    HUB,
    LONGEST,
    Columns,
    RefusedRow,
    SourceDocument,
    read_sources,
)


def _located(value: Path | str, info: ValidationInfo) -> Path | str:
    """A file (of which a run keeps a copy), a folder, or a data set of the Hub.

    What a finished run was made from may have moved.
    """
    context = info.context or {}
    if str(value).startswith(HUB):
        return str(value)
    path = located(Path(value), info)
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


class Source(Params):
    """Where documents come from: one block of parameters for all families."""

    path: Annotated[Path | str, AfterValidator(_located)] = Field(description=FORMATS)
    columns: SourceColumns = SourceColumns()
    split: str = Field("train", description="of a data set of the Hub")
    licence: str = Field("not stated", max_length=200)
    limit: int | None = Field(None, ge=1, description="read at most so many rows")
    follow_links: bool = Field(False, description="links of the folder that lead out of it too")

    def rows(
        self, limit: int | None = None, longest: int | None = LONGEST
    ) -> Iterator[SourceDocument | RefusedRow]:
        """The documents in their order, and what is none; at most `limit` of its rows."""
        return read_sources(
            self.path, Columns(**self.columns.model_dump()), split=self.split, longest=longest,
            limit=min((n for n in (limit, self.limit) if n is not None), default=None),
            follow_links=self.follow_links,
        )  # fmt: skip


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
