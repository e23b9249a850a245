"""PDF by PDFium, DOCX by python-docx: their text, headings and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from io import BytesIO
from operator import itemgetter
from typing import Any

from retgen.errors import DatasetError
from retgen.sources.records import Block, BlockKind, ShortForm
from retgen.sources.structure import ParsedFile, is_boilerplate
from retgen.tokenizer import LETTER

_ITEM = re.compile(r"(?:[•▪◦‣*–-]|\d{1,3}[.)]|\([a-z\d]\))\s")
_NUMBERED = re.compile(r"\d{1,2}((?:\.\d{1,2})+\.?)?\s+[^\W\d_]")  # "2.1 Sails" without an outline
_COUNT = re.compile(r"\A\d{1,2}(?:\.\d{1,2})*\.?\s+")  # which an outline may leave out
# titles that programs fill in, such as the name of the file that was printed
_UNSAID = re.compile(
    r"\(\w+\)|untitled|Word Document|Microsoft Word - .*"
    r"|\S+\.(?:dvi|tex|docx?|odt|rtf|pptx?|odp|xlsx?|indd|qxd|fm|ps|pdf|html?|txt|md)",
    re.IGNORECASE,
)
_TITLE = re.compile(r"(?=.{3,80}$)[^\W\d_]\S*(?: \S+){0,11}(?<![.,:;!])")
_NUMBERED_TITLE = re.compile(r"(?i:chapter |section |part )?(?:\d+|[IVX]+)(?:\.\d+)*[.:]?\s")
_CONTROL = re.compile(r"[\0-\x08\x0e-\x1f\x7f]")
_DIGITS = re.compile(r"\d+")
_EDGES = 2  # lines at the top and bottom of a page that may be its header and footer
_SHORT = 0.7  # of the longest lines of a page: what is shorter ends a paragraph
_HYPHENATED = re.compile(rf"({LETTER}+)[-\u2010\u00ad]\Z")
_BROKEN = "\ufffe"  # where PDFium joins a word that is broken at a line's end
_LOWEST = 6  # level of a heading
_LONGEST_WORD = 50
_WORD = re.compile(f"{LETTER}+")
_FIRST, _LAST = re.compile(r"\A(\d{1,4})(?!\S)"), re.compile(r"(?<!\S)(\d{1,4})\Z")
_LEADER = re.compile(r"(?:\.\s?){4,}\s*\w+\Z")  # of a table of contents

_Piece = tuple[BlockKind, int, str]  # kind, level of a heading, text


def read_pdf(content: bytes) -> ParsedFile:
    """The text of a PDF by its pages, with the headings of its outline.

    Raises `DatasetError` with the reason why it is none, or is locked.
    """
    import pypdfium2

    try:
        with closing(pypdfium2.PdfDocument(content)) as file:
            pages = [_lines(page.get_textpage().get_text_range()) for page in file]
            entries = ((one.get_title(), one.level) for one in file.get_toc())
            outline = {_key(title): min(level + 1, _LOWEST) for title, level in entries}
            title, subject = map(file.get_metadata_value, ("Title", "Subject"))
    except Exception as error:  # whatever its parser meets in broken bytes
        if getattr(error, "err_code", None) == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise DatasetError("the PDF is encrypted; save it without its password") from error
        raise DatasetError(
            "the PDF is damaged or cut off; open it in a viewer and save it again "
            f"(PDFium: {_first_line(error)})"
        ) from error
    if not any(pages):
        raise DatasetError("the PDF holds no text, only pictures of it; recognize its text first")
    return _parsed(title, _pdf_pieces(pages, outline), subject)


def read_docx(content: bytes) -> ParsedFile:
    """The text of a Word document, with the headings of its styles.

    Raises `DatasetError` with the reason why it is none.
    """
    import docx

    try:
        document = docx.Document(BytesIO(content))
        pieces = list(_docx_pieces(document))
        said = document.core_properties
        title, subject = said.title or "", said.subject or ""
    except Exception as error:  # of zip, XML and parts that are missing
        raise DatasetError(f"is no Word document that can be read: {_first_line(error)}") from error
    return _parsed(title, pieces, subject)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _parsed(title: str, pieces: Iterable[_Piece], subject: str) -> ParsedFile:
    """Pieces, a blank line between them."""
    blocks: list[Block] = []
    texts: list[str] = []
    at = 0
    for kind, level, text in pieces:
        if kind in ("paragraph", "item") and is_boilerplate(text):
            kind = "boilerplate"
        blocks.append(Block(kind, at, at + len(text), level))
        texts.append(text)
        at += len(text) + 2
    whole = "\n\n".join(texts)
    title = "" if _UNSAID.fullmatch(title.strip()) else title
    title = title or _title(blocks, whole)
    subject = "" if _UNSAID.fullmatch(subject.strip()) else " ".join(subject.split())
    short_forms = (ShortForm("subject", subject),) if subject else ()
    return ParsedFile(" ".join(title.split()), whole, blocks, (), short_forms)


def _title(blocks: Sequence[Block], text: str) -> str:
    """The title of a file that says none: its title's block, or the one heading of level 1. Several
    are chapters, and the title is the line that the file opens with, where it is short.
    """
    highest = [one for one in blocks if one.level == 1]
    first = next((one for one in highest if one.kind == "title"), None)
    if first is None and blocks and len(highest) != 1:
        opening = text[blocks[0].start : blocks[0].stop]
        if blocks[0].kind == "paragraph" and _TITLE.fullmatch(opening):
            first = blocks[0]
    first = first or next(iter(highest), None)
    title = text[first.start : first.stop] if first is not None else ""
    return "" if len(highest) > 1 and _NUMBERED_TITLE.match(title) else title


# --- PDF ------------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    text = text.encode("utf-8", "ignore").decode()  # lone surrogates of broken fonts
    text = text.replace(_BROKEN, "-\n")
    lines = (" ".join(_CONTROL.sub("", line).split()) for line in text.splitlines())
    return [line for line in lines if line]


def _key(title: str) -> str:
    """A title for comparing: without blanks, which a PDF may lose."""
    return "".join(title.split())


def _pdf_pieces(pages: Sequence[list[str]], outline: dict[str, int]) -> Iterator[_Piece]:
    edges = Counter(
        _DIGITS.sub("0", line) for page in pages for line in {*page[:_EDGES], *page[-_EDGES:]}
    )
    least = max(3, len(pages) // 2)
    around = {line for line, count in edges.items() if count >= least}
    first = _number_of_the_first(pages)
    words = Counter(word for page in pages for line in page for word in _WORD.findall(line))
    for place, page in enumerate(pages):
        lengths = sorted(map(len, page))
        short = _SHORT * lengths[len(lengths) * 9 // 10] if lengths else 0
        contents = _is_contents(page, len(pages))
        held: list[str] = []
        kind: BlockKind
        for number, line in enumerate(page):
            at_edge = not _EDGES <= number < len(page) - _EDGES
            repeated = _DIGITS.sub("0", line) in around
            counted = first is not None and first + place in _page_numbers(line)
            if (at_edge and (repeated or counted)) or (contents and _LAST.search(line)):
                kind, level = "boilerplate", 0
            elif level := outline.get(_key(line)) or outline.get(_key(_COUNT.sub("", line)), 0):
                kind = "heading"
            elif (
                not outline
                and (numbered := _NUMBERED.match(line))
                and len(line) < short
                and line[-1] not in ".,;:"
            ):
                kind, level = "heading", min(1 + (numbered[1] or "").count("."), _LOWEST)
            elif _LEADER.search(line):
                kind = "boilerplate"
            else:
                if held and (_ends(held[-1], short) or _ITEM.match(line)):
                    yield _paragraph(held, words)
                    held = []
                held.append(line)
                continue
            if held:
                yield _paragraph(held, words)
                held = []
            yield kind, level, line
        if held:
            yield _paragraph(held, words)


def _number_of_the_first(pages: Sequence[list[str]]) -> int | None:
    """The number of the first page, if most pages have theirs at an edge, with a chapter's name or
    alone.
    """
    counts: Counter[int] = Counter()
    for place, page in enumerate(pages):
        edges = {*page[:_EDGES], *page[-_EDGES:]}
        counts.update({number - place for line in edges for number in _page_numbers(line)})
    first, count = max(counts.items(), key=itemgetter(1), default=(0, 0))
    return first if count >= max(3, len(pages) // 2) else None


def _is_contents(page: Sequence[str], pages: int) -> bool:
    """Whether a page is a table of contents: most lines end with the number of a page, in order."""
    numbers = [int(found[1]) for line in page if (found := _LAST.search(line))]
    return 2 * len(numbers) > len(page) > 2 * _EDGES and (
        numbers == sorted(numbers) and numbers[-1] <= pages
    )


def _page_numbers(line: str) -> set[int]:
    """What may be a page's number: the number that a line begins with, and the one that it ends
    with.
    """
    return {int(one) for one in (*_FIRST.findall(line), *_LAST.findall(line))}


def _ends(line: str, short: float) -> bool:
    """Whether a line is the last one of its paragraph."""
    return len(line) < short and not _HYPHENATED.search(line)


def _paragraph(lines: Sequence[str], words: Counter[str]) -> _Piece:
    """Lines as one; a word that was broken is whole again where it stands elsewhere, too."""
    text = lines[0]
    for line in lines[1:]:
        broken, rest = _HYPHENATED.search(text, len(text) - _LONGEST_WORD), _WORD.match(line)
        if broken and rest:
            whole = words[broken[1] + rest[0]]
            text = text[: broken.end(1)] + line if whole else text + line
        else:
            text = f"{text} {line}"
    return ("item" if _ITEM.match(text) else "paragraph"), 0, text


# --- DOCX -----------------------------------------------------------------------------------------


def _docx_pieces(document: Any) -> Iterator[_Piece]:
    for one in document.iter_inner_content():
        if hasattr(one, "rows"):
            rows = ([" ".join(cell.text.split()) for cell in row.cells] for row in one.rows)
            yield "table", 0, "\n".join(" | ".join(dict.fromkeys(row)) for row in rows)
        elif text := one.text.strip():
            yield *_style(one.style), text


def _style(style: Any) -> tuple[BlockKind, int]:
    """What a style, or one that it is based on, makes of a paragraph."""
    while style is not None:
        name = str(style.name or "").casefold()
        word, _, rest = name.partition(" ")
        if word == "heading" and rest.isdigit():
            return "heading", min(int(rest), _LOWEST)
        if name in ("title", "caption"):
            return ("title", 1) if name == "title" else ("caption", 0)
        if word == "list":
            return "item", 0
        if word == "toc":
            return "boilerplate", 0
        if "code" in name or "preformatted" in name:
            return "code", 0
        style = style.base_style
    return "paragraph", 0
