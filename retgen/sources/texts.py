"""Files that are a document each, and texts with their structure. Long ones are cut in parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from unicodedata import normalize

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
from retgen.sources.records import ReadOptions, RefusedRow, SourceDocument, part_id

MARKDOWN = (".md", ".markdown")
TEXT_KINDS = (".txt", *MARKDOWN, *CONVERTED)
LARGEST = 200_000_000  # bytes of a file that is read as a whole

_CUTS = ("\n# ", "\n## ", "\n### ", "\n\n", "\n", " ")  # where a long text is cut, best first
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
        text, encoding = ("", "") if kind in BYTES else decoded(content, kind in HTML)
        if encoding:
            reading.notes.encodings[where] = encoding
        text = _OVERSTRUCK.sub("", composed(text))
        begin, header = front_matter(text)
        body = content if kind in BYTES else text[begin:]
        read = converted(body, kind) if kind in CONVERTED else Converted("", text[begin:])
    except OSError as error:
        yield refused("unreadable", f"cannot be read: {error.strerror}")
    except NotText as error:
        yield refused("binary" if b"\0" in content else "encoding", f"the file {error}")
    except DatasetError as error:
        yield refused("unreadable", str(error).removeprefix(f"{path}: "))
    else:
        title = read.title or (markdown_title(read.text) if kind != ".txt" else "")
        document = SourceDocument(called, title or front_title(header), read.text)
        if reading.structure:
            short_forms = (*front_short_forms(header), *read.short_forms)
            document = document._replace(short_forms=short_forms, place=composed(where))
        if read.text.strip():
            yield from parts(document, reading, read.anchors)
        elif kind in HTML and content.strip():
            yield refused("empty", "the page shows no text, or sends its readers to another page")
        else:
            yield refused("empty", "the file is empty")


def composed(text: str) -> str:
    """A text in Unicode's normal form C, in which people type queries: files of macOS and some PDF
    are in another one.
    """
    return normalize("NFC", text)


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
    """A document with its structure where that is wanted, in parts where it is too long; short
    forms are of the first. `anchors`: as of `Converted`.
    """
    rest, longest, number = document.text, reading.longest or len(document.text), 1
    while rest.strip():
        cut = len(rest)
        if cut > longest:
            places = (rest.rfind(one, longest // 2, longest) + 1 for one in _CUTS)
            cut = next(filter(None, places), longest)
        one = document._replace(id=part_id(document.id, number), text=rest[:cut])
        yield _structured(one, anchors) if reading.structure else one
        document = document._replace(short_forms=())
        rest, number = rest[cut:], number + 1


def _structured(document: SourceDocument, anchors: Mapping[str, str] | None) -> SourceDocument:
    """A document with blocks and links: of Markdown where its text looks like that."""
    if not looks_like_markdown(document.text):
        return document._replace(blocks=tuple(plain_blocks(document.text)))
    blocks, links = markdown_blocks(document.text, document.place, anchors)
    return document._replace(blocks=tuple(blocks), links=tuple(links))
