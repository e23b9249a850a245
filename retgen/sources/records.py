"""What a source gives: a document, or what is none with the reason."""

from __future__ import annotations

from typing import NamedTuple

UNREAD = "source/format"  # the rule of what a folder holds and is not read
IDS = ("_id", "id")
TEXTS = (
    "text", "body", "content", "contents", "description", "passage", "document", "abstract",
    "caption", "answer", "article", "story", "summary",
)  # fmt: skip
TITLES = ("title", "name", "heading", "headline", "subject", "question")


class SourceDocument(NamedTuple):
    """One source document. `text`: as it came, white space and all; of HTML what a page shows."""

    id: str
    title: str
    text: str


class RefusedRow(NamedTuple):
    """A row that is no document. `where`: file and row, `id` where the row names one."""

    where: str
    rule: str
    reason: str
    id: str | None = None


class Columns(NamedTuple):
    """Names of columns. None: guessed (`text`: by name, else the longest texts; `id` and `title`:
    the usual names where they exist, else none).
    """

    text: str | None = None
    id: str | None = None
    title: str | None = None


class TableColumns(NamedTuple):
    """The columns of a table that are read; of `ids` the first that is not empty."""

    text: str
    ids: tuple[str, ...]
    title: str | None


class ReadOptions(NamedTuple):
    """How a source is read. `longest`: characters of a document, None for any number. `held`: where
    the columns of each table are noted, by the name of its file. `follow_links`: out of the folder.
    """

    columns: Columns
    split: str
    longest: int | None
    held: dict[str, TableColumns]
    follow_links: bool = False


class Record(NamedTuple):
    """What stands at a place. `file`: what an id is called after where another file has it too,
    "" where ids of all files are one set.
    """

    where: str
    it: SourceDocument | RefusedRow
    file: str = ""


def too_long(where: str, name: str, longest: int, characters: int | None = None) -> RefusedRow:
    """`characters` None: so many that they were not counted."""
    held = f"{characters:,} characters, more than" if characters else "more than"
    reason = f"the text has {held} {longest:,}{'' if characters else ' characters'}; cut it up"
    return RefusedRow(where, "source/long", reason, name)
