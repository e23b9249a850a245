"""Files that are a document each, and texts with their structure. Long ones are cut in parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from retgen.dataset_files import file_format, open_file
from retgen.errors import DatasetError
from retgen.sources.convert import BYTES, CONVERTED, HTML, Converted, converted, import_readers
from retgen.sources.encodings import UTF_8, declared_encoding, decoded, encoding_of
from retgen.sources.markdown import (
    front_matter,
    front_short_forms,
    front_title,
    looks_like_markdown,
    markdown_blocks,
    markdown_title,
)
from retgen.sources.plain import plain_blocks
from retgen.sources.records import ReadOptions, RefusedRow, SourceDocument, part_id
from retgen.sources.structure import cut_place, part_of

MARKDOWN = (".md", ".markdown")
TEXT_KINDS = (".txt", *MARKDOWN, *CONVERTED)
LARGEST = 200_000_000  # bytes of a file that is read as a whole

_OVERSTRUCK = re.compile(".\x08")  # as formatters set bold and underlined letters: x, back, x
# a row that is a page begins and ends with a tag, has an element of HTML, and no Markdown
_TAGGED = re.compile(r"\s*\ufeff?<(?:!--|!doctype\b|[a-z]).*>\s*\Z", re.IGNORECASE | re.DOTALL)
_ELEMENT = re.compile(
    r"</(?:p|div|li|ul|ol|dl|table|h[1-6]|blockquote|pre|section|article|body|span)>|<br\s*/?>",
    re.IGNORECASE,
)
_MARKED = re.compile(r"^(?:#{1,6}\s|```)|\]\(", re.MULTILINE)


def file_documents(
    path: Path, where: str, called: str, reading: ReadOptions
) -> Iterator[SourceDocument | RefusedRow]:
    """A file as a document with the id `called`, as parts of it, or why it is none."""

    def refused(rule: str, reason: str) -> RefusedRow:
        return RefusedRow(where, f"source/{rule}", reason, called)

    kind = file_format(path)
    try:
        with open_file(path) as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            yield refused("long", f"the file has more than {LARGEST:,} bytes; cut it up")
            return
        text = "" if kind in BYTES else _decoded(content, kind, where, reading)
        begin, header = front_matter(text)
        body = content if kind in BYTES else text[begin:]
        read = converted(body, kind) if kind in CONVERTED else Converted("", text[begin:])
    except OSError as error:
        yield refused("unreadable", f"cannot be read: {error.strerror}")
    except _NotText as error:
        yield refused("binary" if b"\0" in content else "encoding", str(error))
    except DatasetError as error:
        yield refused("unreadable", str(error).removeprefix(f"{path}: "))
    else:
        title = read.title or (markdown_title(read.text) if kind != ".txt" else "")
        document = SourceDocument(called, title or front_title(header), read.text)
        if reading.structure:
            short_forms = (*front_short_forms(header), *read.short_forms)
            document = document._replace(short_forms=short_forms, place=where)
        if read.text.strip():
            yield from parts(document, reading, read.anchors)
        elif kind in HTML and content.strip():
            yield refused("empty", "the page shows no text, or sends its readers to another page")
        else:
            yield refused("empty", "the file is empty")


class _NotText(DatasetError):
    """Bytes in no encoding."""


def _decoded(content: bytes, kind: str, where: str, reading: ReadOptions) -> str:
    try:
        named = declared_encoding(content) if kind in HTML else None
        encoding = named or encoding_of(content)
        text, encoding = decoded(content, encoding)
    except DatasetError as error:
        raise _NotText(f"the file {error}") from error
    except UnicodeDecodeError as error:
        name = "UTF-8" if encoding == UTF_8 else encoding
        raise _NotText(f"the file is not {name}, as it begins: byte {error.start:,}") from error
    if encoding != UTF_8:
        reading.notes.encodings[where] = encoding
    return _OVERSTRUCK.sub("", text)


def row_parts(document: SourceDocument, reading: ReadOptions) -> Iterator[SourceDocument]:
    """As `parts`, of a table's row, which may hold HTML; none where that shows no text."""
    text = document.text
    anchors: Mapping[str, str] = {}
    if _TAGGED.match(text) and _ELEMENT.search(text) and not _MARKED.search(text):
        import_readers((".html",))
        page = converted(text, ".html")
        document = document._replace(title=document.title or page.title, text=page.text)
        anchors = page.anchors
    yield from parts(document, reading, anchors)


def parts(
    document: SourceDocument, reading: ReadOptions, anchors: Mapping[str, str] | None = None
) -> Iterator[SourceDocument]:
    """A document with its structure where that is wanted, in parts where it is too long. `anchors`:
    as of `Converted`.
    """
    text, number = document.text, 1
    while reading.longest is not None and len(text) > reading.longest:
        window = _structured(document._replace(text=text[: reading.longest]), anchors)
        part = part_of(window, 0, cut_place(window.text, window.blocks, reading.longest))
        if not reading.structure:
            part = part._replace(blocks=(), links=())
        yield _part(part, number)
        text, number = text[len(part.text) :], number + 1
    if text.strip():
        rest = document._replace(text=text)
        yield _part(_structured(rest, anchors) if reading.structure else rest, number)


def _structured(document: SourceDocument, anchors: Mapping[str, str] | None) -> SourceDocument:
    """A document with blocks and links: of Markdown where its text looks like that."""
    if not looks_like_markdown(document.text):
        return document._replace(blocks=tuple(plain_blocks(document.text)))
    blocks, links = markdown_blocks(document.text, document.place, anchors)
    return document._replace(blocks=tuple(blocks), links=tuple(links))


def _part(document: SourceDocument, number: int) -> SourceDocument:
    """The document's part with a number from 1; of the first, its short forms."""
    short_forms = document.short_forms if number == 1 else ()
    return document._replace(id=part_id(document.id, number), short_forms=short_forms)
