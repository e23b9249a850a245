"""Files that are a document each: text, Markdown, pages, PDF, DOCX. Long ones are cut in parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from retgen.dataset_files import file_format, open_file
from retgen.errors import DatasetError
from retgen.sources.encodings import UTF_8, declared_encoding, decoded, encoding_of
from retgen.sources.markdown import (
    front_matter,
    front_short_forms,
    front_title,
    looks_like_markdown,
    markdown_blocks,
    markdown_title,
)
from retgen.sources.office import read_docx, read_pdf
from retgen.sources.pages import read_page
from retgen.sources.plain import is_asciidoc, plain_blocks
from retgen.sources.records import (
    Block,
    Link,
    ReadOptions,
    RefusedRow,
    SourceDocument,
    part_id,
)
from retgen.sources.structure import ParsedFile, cut_place, part_of

MARKDOWN, HTML = (".md", ".markdown"), (".html", ".htm")
_OFFICE = {".pdf": read_pdf, ".docx": read_docx}
_PLAIN = (".rst", ".adoc")
TEXT_KINDS = (".txt", *MARKDOWN, *_PLAIN, *HTML, *_OFFICE)
LARGEST = 200_000_000  # bytes of a file that is read as a whole

_OVERSTRUCK = re.compile(".\x08")  # as formatters set bold and underlined letters: x, back, x

# a row that is a page begins and ends with a tag, has an element of HTML, and no Markdown
_TAGGED = re.compile(r"\s*\ufeff?<(?:!--|!doctype\b|[a-z]).*>\s*\Z", re.IGNORECASE | re.DOTALL)
_ELEMENT = re.compile(
    r"</(?:p|div|li|ul|ol|dl|table|h[1-6]|blockquote|pre|section|article|body|span)>|<br\s*/?>",
    re.IGNORECASE,
)
_MARKED = re.compile(r"^(?:#{1,6}\s|```)|\]\(", re.MULTILINE)

_MODULES = {
    **dict.fromkeys(HTML, ("lxml.html", "inscriptis")),
    ".pdf": ("pypdfium2",),
    ".docx": ("docx",),
}


def import_readers(kinds: Iterable[str]) -> None:
    """Import what reads files of these kinds. Raises `ModuleNotFoundError` for what is missing,
    before any file is read.
    """
    for kind in sorted({*kinds}):
        for module in _MODULES.get(kind, ()):
            import_module(module)


def file_documents(
    path: Path, where: str, called: str, reading: ReadOptions
) -> Iterator[SourceDocument | RefusedRow]:
    """A file as a document with the id `called`, as parts of it, or why it is none."""

    def refused(rule: str, reason: str) -> RefusedRow:
        return RefusedRow(where, f"source/{rule}", reason, called)

    try:
        with open_file(path) as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            yield refused("long", f"the file has more than {LARGEST:,} bytes; cut it up")
            return
        if (kind := file_format(path)) in _OFFICE:
            parsed = _OFFICE[kind](content)
        else:
            parsed = _text(content, kind, where, reading)
    except OSError as error:
        yield refused("unreadable", f"cannot be read: {error.strerror}")
    except _NotText as error:
        rule = "binary" if b"\0" in content else "encoding"
        yield refused(rule, str(error))
    except DatasetError as error:
        yield refused("unreadable", str(error).removeprefix(f"{path}: "))
    except RecursionError:
        yield refused("unreadable", "its elements are nested too deeply to be read")
    else:
        if parsed.text.strip():
            place = where if reading.structure else ""
            short_forms = parsed.short_forms if reading.structure else ()
            document = SourceDocument(called, parsed.title, parsed.text, (), (), short_forms, place)
            if kind in HTML or kind in _OFFICE:
                yield from pieces(document, parsed, reading)
            else:
                yield from text_parts(document, reading, kind in MARKDOWN, kind in _PLAIN)
        elif kind in HTML and content.strip():
            yield refused("empty", "the page shows no text, or sends its readers to another page")
        else:
            yield refused("empty", "the file is empty")


class _NotText(DatasetError):
    """Bytes in no encoding."""


def _text(content: bytes, kind: str, where: str, reading: ReadOptions) -> ParsedFile:
    try:
        named = declared_encoding(content) if kind in HTML else None
        encoding = named or encoding_of(content)
        text, encoding = decoded(content, encoding)
    except DatasetError as error:
        raise _NotText(f"the file {error}") from error
    except UnicodeDecodeError as error:
        name = "UTF-8" if encoding == UTF_8 else encoding
        raise _NotText(f"the file is not {name}, as it begins: byte {error.start:,}") from error
    text = _OVERSTRUCK.sub("", text)
    if encoding != UTF_8:
        reading.notes.encodings[where] = encoding
    begin, header = front_matter(text)
    text = text[begin:]
    title, short_forms = front_title(header), front_short_forms(header)
    if kind in HTML and text.strip():
        page = read_page(text, where if reading.structure else "")
        return page._replace(
            title=page.title or title, short_forms=(*short_forms, *page.short_forms)
        )
    if kind in MARKDOWN:
        title = markdown_title(text) or title
    return ParsedFile(title, text, (), (), short_forms)


def text_parts(
    document: SourceDocument, reading: ReadOptions, is_markdown: bool, is_plain: bool = False
) -> Iterator[SourceDocument]:
    """A document with its structure where that is wanted, in parts where it is too long. Markdown
    that is not named so is recognized, except where it `is_plain`.
    """
    text, number = document.text, 1

    def structure(part: str) -> tuple[Sequence[Block], Sequence[Link]]:
        if is_markdown or not (is_plain or is_asciidoc(part) or not looks_like_markdown(part)):
            return markdown_blocks(part, document.place)
        return plain_blocks(part), ()

    while reading.longest is not None and len(text) > reading.longest:
        window = text[: reading.longest]
        parsed = ParsedFile("", window, *structure(window))
        parsed = part_of(parsed, 0, cut_place(window, parsed.blocks, reading.longest))
        if not reading.structure:
            parsed = parsed._replace(blocks=(), links=())
        yield _part(document, parsed, number)
        text, number = text[len(parsed.text) :], number + 1
    if text.strip():
        parsed = ParsedFile("", text, *(structure(text) if reading.structure else ()))
        yield _part(document, parsed, number)


def row_parts(document: SourceDocument, reading: ReadOptions) -> Iterator[SourceDocument]:
    """As `text_parts`, of a table's row, which may hold HTML; none where that shows no text."""
    if not _is_page(document.text):
        yield from text_parts(document, reading, is_markdown=False)
        return
    import_readers((".html",))
    page = read_page(document.text, document.place)
    document = document._replace(title=document.title or page.title)
    yield from pieces(document, page, reading)


def _is_page(text: str) -> bool:
    return bool(_TAGGED.match(text) and _ELEMENT.search(text)) and not _MARKED.search(text)


def pieces(
    document: SourceDocument, parsed: ParsedFile, reading: ReadOptions
) -> Iterator[SourceDocument]:
    """As `text_parts`, of what was read together with its structure."""
    number = 1
    if not reading.structure and (reading.longest is None or len(parsed.text) <= reading.longest):
        parsed = parsed._replace(blocks=(), links=())
    while reading.longest is not None and len(parsed.text) > reading.longest:
        at = cut_place(parsed.text, parsed.blocks, reading.longest)
        yield _part(document, part_of(parsed, 0, at), number)
        parsed, number = part_of(parsed, at, len(parsed.text)), number + 1
    if parsed.text.strip():
        yield _part(document, parsed, number)


def _part(document: SourceDocument, parsed: ParsedFile, number: int) -> SourceDocument:
    """The document's part with a number from 1; of the first, its short forms."""
    return document._replace(
        id=part_id(document.id, number),
        text=parsed.text,
        blocks=tuple(parsed.blocks),
        links=tuple(parsed.links),
        short_forms=document.short_forms if number == 1 else (),
    )
