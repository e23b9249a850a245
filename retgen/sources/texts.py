"""Files that are a document each, and texts with their structure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from unicodedata import category, normalize

from retgen.dataset_files import file_format, open_file
from retgen.errors import DatasetError
from retgen.sources.convert import BYTES, CONVERTED, HTML, Converted, converted, import_readers
from retgen.sources.encodings import NotText, decoded
from retgen.sources.markdown import (
    front_matter,
    front_short_forms,
    front_title,
    looks_like_markdown,
    markdown_blocks,
    markdown_title,
)
from retgen.sources.plain import plain_blocks
from retgen.sources.records import ReadOptions, RefusedRow, SourceDocument

MARKDOWN = (".md", ".markdown")
TEXT_KINDS = (".txt", *MARKDOWN, *CONVERTED)
LARGEST = 200_000_000  # bytes of a file that is read as a whole

_UNSEEN = ("Cc", "Cf")  # classes of signs: control, and format such as U+200B and U+FEFF
_OVERSTRUCK = re.compile(".\x08")  # as formatters set bold and underlined letters: x, back, x
# a row that is a page begins and ends with a tag, has an element of HTML, and no Markdown
_TAGGED = re.compile(r"\s*\ufeff?<(?:!--|!doctype\b|[a-z]).*>\s*\Z", re.IGNORECASE | re.DOTALL)
_ELEMENT = re.compile(
    r"</(?:p|div|li|ul|ol|dl|table|h[1-6]|blockquote|pre|section|article|body|span)>|<br\s*/?>",
    re.IGNORECASE,
)
_MARKED = re.compile(r"^(?:#{1,6}\s|```)|\]\(", re.MULTILINE)


def file_document(
    path: Path, where: str, called: str, reading: ReadOptions
) -> SourceDocument | RefusedRow:
    """A file as a document with the id `called`, or why it is none."""

    def refused(rule: str, reason: str) -> RefusedRow:
        return RefusedRow(where, f"source/{rule}", reason, called)

    kind = file_format(path)
    try:
        with open_file(path) as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            return refused("long", f"the file has more than {LARGEST:,} bytes; cut it up")
        text, encoding = ("", "") if kind in BYTES else decoded(content, kind in HTML)
        if encoding:
            reading.notes.encodings[where] = encoding
        text = _OVERSTRUCK.sub("", composed(text))
        begin, header = front_matter(text)
        body = content if kind in BYTES else text[begin:]
        read = converted(body, kind) if kind in CONVERTED else Converted("", text[begin:])
    except OSError as error:
        return refused("unreadable", f"cannot be read: {error.strerror}")
    except NotText as error:
        return refused("binary" if b"\0" in content else "encoding", f"the file {error}")
    except DatasetError as error:
        return refused("unreadable", str(error).removeprefix(f"{path}: "))
    else:
        title = read.title or (markdown_title(read.text) if kind != ".txt" else "")
        document = SourceDocument(called, title or front_title(header), read.text)
        if reading.structure:
            short_forms = (*front_short_forms(header), *read.short_forms)
            document = document._replace(short_forms=short_forms, place=composed(where))
        if not is_blank(read.text):
            return structured(document, reading, read.anchors)
        if kind in HTML and content.strip():
            return refused("empty", "the page shows no text, or sends its readers to another page")
        return refused("empty", "the file is empty")


def composed(text: str) -> str:
    """A text in Unicode's normal form C, in which people type queries: files of macOS and some PDF
    are in another one.
    """
    return normalize("NFC", text)


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: white space, and signs without width or form, alone."""
    return all(sign.isspace() or category(sign) in _UNSEEN for sign in text)


def row_document(document: SourceDocument, reading: ReadOptions) -> SourceDocument:
    """A table's row, which may hold HTML, with its structure where that is wanted."""
    text = document.text
    if not (_TAGGED.match(text) and _ELEMENT.search(text)) or _MARKED.search(text):
        return structured(document, reading)
    import_readers((".html",))
    page = converted(text, ".html")
    document = document._replace(title=document.title or page.title, text=page.text)
    return structured(document, reading, page.anchors)


def structured(
    document: SourceDocument, reading: ReadOptions, anchors: Mapping[str, str] | None = None
) -> SourceDocument:
    """A document with blocks and links where they are wanted: of Markdown where its text looks like
    that. `anchors`: as of `Converted`.
    """
    if not reading.structure:
        return document
    if not looks_like_markdown(document.text):
        return document._replace(blocks=tuple(plain_blocks(document.text)))
    blocks, links = markdown_blocks(document.text, document.place, anchors)
    return document._replace(blocks=tuple(blocks), links=tuple(links))
