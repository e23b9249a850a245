"""PDF and DOCX, written by the tests: their text, headings, tables; what cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import docx
import pypdf
import pytest

from retgen.errors import DatasetError
from retgen.sources import Columns, RefusedRow, ShortForm, SourceDocument, read_sources
from retgen.sources.office import read_docx, read_pdf


def pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """A PDF with the lines of each page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    kids = []
    for lines in pages:
        shown = "".join(f"({line}) Tj T* " for line in lines)
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown}ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents "
            f"{len(objects)} 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
        )
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    content, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n{one}\nendobj\n".encode("latin-1")
    start = len(content)
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    content += f"xref\n0 {size}\n0000000000 65535 f \n{rows}".encode()
    return content + f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF".encode()


MANUAL = [
    [
        "Harbour manual",
        "Sails",
        "A sail is a piece of cloth that catches the wind and moves the",
        "ship. Its infor-",
        "mation stands well-",
        "known elsewhere, the information.",
        "- It is hoisted.",
        "- It is lowered.",
        "page 1",
    ],
    ["Harbour manual", "Ropes", "A rope is long.", "page 2"],
    ["Harbour manual", "Knots", "A knot holds a rope.", "page 3"],
]


def written(path: Path, pages: Sequence[Sequence[str]], password: str = "") -> Path:
    writer = pypdf.PdfWriter()
    path.write_bytes(pdf(pages))
    writer.append(str(path))
    for number, lines in enumerate(pages):
        writer.add_outline_item(title=lines[1], page_number=number)
    writer.add_metadata({"/Title": "The manual", "/Subject": "Sails and ropes"})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    with open(path, "wb") as file:
        writer.write(file)
    return path


def test_a_pdf(tmp_path: Path) -> None:
    parsed = read_pdf(written(tmp_path / "a.pdf", MANUAL).read_bytes())
    assert parsed.title == "The manual"
    assert parsed.short_forms == (ShortForm("subject", "Sails and ropes"),)
    assert [(one.kind, one.level, parsed.text[one.start : one.stop]) for one in parsed.blocks] == [
        ("boilerplate", 0, "Harbour manual"),
        ("heading", 1, "Sails"),
        (
            "paragraph",
            0,
            "A sail is a piece of cloth that catches the wind and moves the ship. "
            "Its information stands well-known elsewhere, the information.",
        ),
        ("item", 0, "- It is hoisted."),
        ("item", 0, "- It is lowered."),
        ("boilerplate", 0, "page 1"),
        ("boilerplate", 0, "Harbour manual"),
        ("heading", 1, "Ropes"),
        ("paragraph", 0, "A rope is long."),
        ("boilerplate", 0, "page 2"),
        ("boilerplate", 0, "Harbour manual"),
        ("heading", 1, "Knots"),
        ("paragraph", 0, "A knot holds a rope."),
        ("boilerplate", 0, "page 3"),
    ]


PAGES = [
    ["Contents", "1 Sails 2", "2 Ropes 3", "3 Anchors 4", "4 Oars 4", "i"],
    [
        "1.2. Sails",
        "Of cloth",
        "A sail is a piece of cloth that catches the wind, all day.",
        "The crew hoists it.",
        "2 Chapter 1. Rigging",
    ],
    [
        "2.1. Ropes 3",
        "Of hemp",
        "A rope is long and strong, and a good one holds for ten years.",
        "The crew coils it.",
        "5 knots are enough.",
    ],
    [
        "3 Anchors",
        "Of iron",
        "An anchor holds the ship where the water is not too deep for it.",
        "The crew weighs it.",
        "4 Chapter 2. Iron",
    ],
]


def test_page_numbers_beside_names_that_change() -> None:
    """Running heads, of a section each, and a table of contents are no text that is searched."""
    parsed = read_pdf(pdf(PAGES))
    shown = [(one.kind, parsed.text[one.start : one.stop]) for one in parsed.blocks]
    assert [text for kind, text in shown if kind == "boilerplate"] == [
        "1 Sails 2",
        "2 Ropes 3",
        "3 Anchors 4",
        "4 Oars 4",
        "2 Chapter 1. Rigging",
        "2.1. Ropes 3",
        "4 Chapter 2. Iron",
    ]
    assert [text for kind, text in shown if kind == "heading"] == ["1.2. Sails", "3 Anchors"]
    assert ("paragraph", "5 knots are enough.") in shown


@pytest.mark.parametrize(
    ("opening", "headings", "title"),
    [
        ("Rigging for beginners", ["1 Sails", "2 Ropes"], "Rigging for beginners"),
        ("Rigging is what holds the sails of a ship.", ["1 Sails", "2 Ropes"], ""),
        ("Rigging for beginners", ["1 Sails", "1.1 Ropes"], "1 Sails"),
        ("Rigging is what holds the sails of a ship.", ["1 Sails", "1.1 Ropes"], "1 Sails"),
    ],
)
def test_the_title_of_a_pdf_that_says_none(opening: str, headings: list[str], title: str) -> None:
    """Not the first of its chapters."""
    body = "A sail is a piece of cloth that catches the wind, and a rope is what holds it there."
    pages = [[opening, body], *([one, body] for one in headings)]
    assert read_pdf(pdf(pages)).title == title


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the PDF is damaged or cut off; open it"),
        (b"%PDF-1.4\nnothing", "the PDF is damaged or cut off; open it"),
        (pdf(MANUAL)[:300], "the PDF is damaged or cut off; open it"),
        (pdf([[]]), "the PDF holds no text, only pictures of it; recognize its text first"),
    ],
)
def test_a_pdf_that_cannot_be_read(content: bytes, message: str) -> None:
    with pytest.raises(DatasetError) as error:
        read_pdf(content)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_pdf_with_a_password(tmp_path: Path) -> None:
    written(tmp_path / "a.pdf", MANUAL, password="open")
    assert list(read_sources(tmp_path, Columns())) == [
        RefusedRow(
            "a.pdf", "source/unreadable", "the PDF is encrypted; save it without its password", "a"
        ),
    ]


def word(path: Path, title: str = "") -> Path:
    document = docx.Document()
    document.core_properties.title = title
    document.core_properties.subject = "Sails and ropes"
    document.add_paragraph("Harbour manual", style="Title")
    document.add_heading("Sails", 1)
    document.add_paragraph("A sail catches the wind.")
    document.add_paragraph("It is hoisted.", style="List Bullet")
    document.add_paragraph("  ")
    table = document.add_table(2, 2)
    for cell, text in zip((one for row in table.rows for one in row.cells), "abcd", strict=True):
        cell.text = text
    document.add_paragraph("Table 1", style="Caption")
    document.add_heading("Jib", 2)
    document.add_paragraph("sail --up", style="macro")
    document.add_paragraph("Copyright 2020 by the harbour")
    document.save(str(path))
    return path


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("", "Harbour manual"),
        ("Of the file", "Of the file"),
        ("Node.js", "Node.js"),
        ("manual-2.dvi", "Harbour manual"),
        ("Microsoft Word - manual.doc", "Harbour manual"),
    ],
)
def test_a_word_document(tmp_path: Path, title: str, shown: str) -> None:
    parsed = read_docx(word(tmp_path / "a.docx", title).read_bytes())
    assert parsed.title == shown
    assert parsed.short_forms == (ShortForm("subject", "Sails and ropes"),)
    assert [(one.kind, one.level, parsed.text[one.start : one.stop]) for one in parsed.blocks] == [
        ("title", 1, "Harbour manual"),
        ("heading", 1, "Sails"),
        ("paragraph", 0, "A sail catches the wind."),
        ("item", 0, "It is hoisted."),
        ("table", 0, "a | b\nc | d"),
        ("caption", 0, "Table 1"),
        ("heading", 2, "Jib"),
        ("paragraph", 0, "sail --up"),
        ("boilerplate", 0, "Copyright 2020 by the harbour"),
    ]


def test_documents_of_a_folder(tmp_path: Path) -> None:
    word(tmp_path / "a.docx")
    written(tmp_path / "b.pdf", MANUAL)
    (tmp_path / "c.docx").write_bytes(b"PK nothing")
    (tmp_path / "d.pdf").write_bytes(b"\0" * 100)
    read = list(read_sources(tmp_path, Columns(), structure=True))
    assert [
        (one.id, one.place, len(one.blocks)) for one in read if isinstance(one, SourceDocument)
    ] == [
        ("a", "a.docx", 9),
        ("b", "b.pdf", 14),
    ]
    refused = [one for one in read if isinstance(one, RefusedRow)]
    assert [(one.id, one.rule) for one in refused] == [
        ("c", "source/unreadable"),
        ("d", "source/unreadable"),
    ]
    assert refused[0].reason == "is no Word document that can be read: File is not a zip file"
