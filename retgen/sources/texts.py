"""Files that are a document each: plain text, reStructuredText, Markdown, HTML."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from itertools import pairwise
from pathlib import Path
from typing import Any

from retgen.dataset_files import file_format, open_file
from retgen.errors import DatasetError
from retgen.sources.records import Reading, Refused, SourceDocument, too_long
from retgen.yaml_text import parse_yaml

PLAIN, MARKDOWN, HTML = (".txt", ".rst"), (".md", ".markdown"), (".html", ".htm")
KINDS = (".txt", *MARKDOWN, ".rst", *HTML)

_UTF8_BYTES = 4  # of a character at most
_HEAD = 50_000  # characters in which the title of a text is looked for
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?\r?\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
# what a page shows around its text, or shows to nobody
_AROUND = (
    "//nav|//footer|//*[@role='navigation']|//*[@hidden]|//*[@aria-hidden='true']"
    "|//noscript|//template|//button|//select|//textarea|//svg"
)


def text_file(path: Path, where: str, called: str, reading: Reading) -> SourceDocument | Refused:
    """A file as a document with the id `called`, or why it is none."""
    most = None if reading.longest is None else reading.longest * _UTF8_BYTES
    try:
        with open_file(path) as file:
            content = file.read() if most is None else file.read(most + 1)
    except OSError as error:
        return Refused(where, "source/unreadable", f"cannot be read: {error.strerror}", called)
    except DatasetError as error:
        reason = str(error).removeprefix(f"{path}: ")
        return Refused(where, "source/unreadable", reason, called)
    if most is not None and len(content) > most:
        return too_long(where, called, reading.longest or 0)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        is_16 = content.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        reason = "the file is UTF-16, not UTF-8" if is_16 else "the file is not UTF-8"
        return Refused(where, "source/encoding", reason, called)
    held, title = file_format(path), ""
    if held in MARKDOWN:
        title = markdown_title(text)
    elif held in HTML and text.strip():
        try:
            title, text = shown(text)
        except RecursionError:
            reason = "its elements are nested too deeply to be read"
            return Refused(where, "source/unreadable", reason, called)
        if not text.strip():
            return Refused(where, "source/empty", "the page shows no text", called)
    if not text.strip():
        return Refused(where, "source/empty", "the file is empty", called)
    if reading.longest is not None and len(text) > reading.longest:
        return too_long(where, called, reading.longest, len(text))
    return SourceDocument(called, title, text)


def markdown_title(text: str) -> str:
    """The first heading of level 1, else `title:` of the front matter, else ""."""
    from markdown_it import MarkdownIt

    head = text[:_HEAD]
    front = _FRONT.match(head)
    tokens = MarkdownIt("commonmark").parse(head[front.end() :] if front else head)
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.tag == "h1":
            parts = inline.children or ()
            words = (" " if one.type.endswith("break") else one.content for one in parts)
            if title := " ".join("".join(words).split()):
                return title
    return _front_title(front[1]) if front else ""


def _front_title(front: str) -> str:
    try:
        header = parse_yaml(front, "front matter", error=DatasetError)
    except DatasetError:
        return ""
    title = header.get("title") if isinstance(header, dict) else None
    return " ".join(str(title).split()) if title is not None else ""


def shown(html: str) -> tuple[str, str]:
    """Title and visible text of a page, without its navigation; ("", "") of what is no page."""
    import lxml.etree
    import lxml.html
    from inscriptis import Inscriptis

    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        page: Any = lxml.html.document_fromstring(html.encode(), parser=parser)
    except lxml.etree.ParserError:  # nothing but comments
        return "", ""
    for element in page.xpath(_AROUND):
        if element.getparent() is not None:
            element.drop_tree()
    titles = page.xpath("//head/title") or page.xpath("//h1")
    title = " ".join(titles[0].text_content().split()) if titles else ""
    return title, Inscriptis(page).get_text()
