"""What a source gives: a document, or what is none with the reason."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

UNREAD = "source/format"  # the rule of what a folder holds and is not read
IDS = ("_id", "id", "ticket", "slug", "url")
TEXTS = (
    "text body content contents description passage document abstract caption answer article "
    "story summary beschreibung inhalt nachricht contenu texte corps contenido texto "
    "descripción contenuto testo descrizione inhoud tekst treść 本文 内容 正文"
).split()
SHORT_FORMS = ("question", "subject", "summary", "headline", "description")
_ROW = "row-"  # before the number of a row that has no id
TITLES = (
    "title name heading headline subject question titel überschrift betreff bezeichnung titre "
    "objet sujet título asunto titolo oggetto onderwerp tytuł temat 件名 标题 標題"
).split()
BlockKind = Literal[
    "title", "heading", "paragraph", "item", "code", "table", "caption", "boilerplate"
]


class Block(NamedTuple):
    """A piece of structure: characters [start, stop) of its document's text, of one kind.

    `level`: of headings, 1 the highest (the title included). `anchor`: of headings, what a link's
    fragment names. "boilerplate" is what is no prose: navigation, badges, tables of contents,
    licence headers, roff requests.
    """

    kind: BlockKind
    start: int
    stop: int
    level: int = 0
    anchor: str = ""


class Link(NamedTuple):
    """Words of a text, as it shows them, that point to another document of the source.

    `target`: its place as `SourceDocument.place` says it, or as sites write it (without the file's
    suffix, or the folder of an index page); a "#fragment" stays.
    """

    words: str
    target: str


class ShortForm(NamedTuple):
    """What people wrote about a document outside its text. `kind`: "description" (front matter,
    meta element), or the column of a table: "question", "subject", "summary", ...
    """

    kind: str
    text: str


class SourceDocument(NamedTuple):
    """One source document.

    `text`: as it came, white space and all, behind its front matter; of other formats than text
    their Markdown; in Unicode's normal form C. What follows it is structure, empty where that was
    not asked for.
    `blocks`: in order, without overlap. `place`: the file's path from the source's folder on, "" of
    rows of a table.
    """

    id: str
    title: str
    text: str
    blocks: tuple[Block, ...] = ()
    links: tuple[Link, ...] = ()
    short_forms: tuple[ShortForm, ...] = ()
    place: str = ""

    def row(self) -> dict[str, Any]:
        """The document without its structure."""
        return {"id": self.id, "title": self.title, "text": self.text}


def row_id(number: int, within: str) -> str:
    """The id of a row that has none. `within`: its table, in a folder."""
    return f"{within}/{_ROW}{number}" if within else f"{_ROW}{number}"


def is_row_id(document: str) -> bool:
    """Whether an id is but the number of a row, which another one may take."""
    begin, _, number = document.rpartition(_ROW)
    return number.isdecimal() and (not begin or begin.endswith("/"))


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
    """The columns of a table that are read; of `ids` the first that is not empty. "doc.body" is the
    field `body` of an object in the column `doc`.
    """

    text: str
    ids: tuple[str, ...]
    title: str | None
    short_forms: tuple[str, ...] = ()


class SourceNotes(NamedTuple):
    """What is noted while a source is read, by the name of a file: the columns of a table, and the
    encoding of what is not UTF-8.
    """

    columns: dict[str, TableColumns]
    encodings: dict[str, str]


class ReadOptions(NamedTuple):
    """How a source is read. `follow_links`: out of the folder. `structure`: blocks, links, short
    forms, places are wanted.
    """

    columns: Columns
    split: str
    notes: SourceNotes
    follow_links: bool = False
    structure: bool = False


class Record(NamedTuple):
    """What stands at a place. `file`: what an id is called after where another file has it too,
    "" where ids of all files are one set.
    """

    where: str
    it: SourceDocument | RefusedRow
    file: str = ""
