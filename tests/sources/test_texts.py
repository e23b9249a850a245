"""Files that are a document each: encodings, front matter, long ones, what cannot be read."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from retgen.sources import Columns, RefusedRow, SourceDocument, SourceNotes, read_sources
from retgen.sources.convert import html_page
from retgen.sources.encodings import decoded

PAGE = """<!DOCTYPE html>
<html><head><title> Ships &amp;
 boats </title><style>p {color: red}</style><script>var hidden = 1;</script></head>
<body><nav><a href="/">Home</a></nav><div role="navigation">Menu</div>
<h1>Ships</h1><p>A <b>ship</b> is
large.</p><pre>keep
  this</pre><p hidden>secret</p><p style="display:none">gone</p><!-- note -->
<ul><li>sail</li><li>שלום 🙂</li></ul><footer>All rights</footer></body></html>"""


def test_files_that_are_documents_and_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE, "utf-8")
    (tmp_path / "b.htm.gz").write_bytes(gzip.compress(b"<title>B</title><p>Text."))
    (tmp_path / "c.html").write_text("<script>1</script>")
    (tmp_path / "d.md").write_bytes("\ufeff# Über\r\n\r\n* x  \n".encode())
    (tmp_path / "e.txt").write_bytes("Text".encode("utf-16"))
    (tmp_path / "f.txt").write_bytes("über größer".encode() + b"caf\xe9")
    (tmp_path / "f2.txt").write_bytes(b"\x81\x8d\x01" * 50)
    (tmp_path / "f3.txt").write_bytes("水壶烧水".encode()[:-1])
    (tmp_path / "g.txt").write_text(" \n")
    (tmp_path / "g2.md").write_text("\ufeff\u200b\u200d \u2060\n", "utf-8")  # of no width
    (tmp_path / "j.txt").write_text("N\bNA\bAME _\bpic\n")  # as formatters overstrike
    (tmp_path / "i.txt").write_bytes(b"\x7fELF\x02\x01\0\0")
    (tmp_path / "h.html").write_text("<div>" * 1_200 + "deep")
    assert list(read_sources(tmp_path, Columns())) == [
        SourceDocument("a", "Ships & boats", html_page(PAGE).text),
        SourceDocument("b", "B", "Text.\n"),
        RefusedRow(
            "c.html",
            "source/empty",
            "the page shows no text, or sends its readers to another page",
            "c",
        ),
        SourceDocument("d", "Über", "# Über\r\n\r\n* x  \n"),
        SourceDocument("e", "", "Text"),
        SourceDocument("f", "", "über größercafé"),  # one byte of another encoding
        RefusedRow("f2.txt", "source/encoding", "the file holds bytes that are no text", "f2"),
        SourceDocument("f3", "", "水壶烧"),  # cut off within a sign
        RefusedRow("g.txt", "source/empty", "the file is empty", "g"),
        RefusedRow("g2.md", "source/empty", "the file is empty", "g2"),
        RefusedRow(
            "h.html", "source/unreadable", "its elements are nested too deeply to be read", "h"
        ),
        RefusedRow("i.txt", "source/binary", "the file holds bytes that are no text", "i"),
        SourceDocument("j", "", "NAME pic\n"),
    ]


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (b"Gem\xe4\xdf", "Gemäß"),  # of another encoding, not cut off
        (b"x\xe4\xf6\xfc", "xäöü"),
        (b"x\xe2\x82", "x"),  # of a sign of three bytes
        (b"x\xf0\x9f\x98", "x"),  # of one of four
        (b"\xe4\xe4\xe2\x82", "ää"),
    ],
)
def test_only_a_sign_that_is_cut_off_is_left_out(end: bytes, text: str) -> None:
    before = "Über größere Wörter. " * 20
    assert decoded(before.encode() + end, False) == (before + text, "UTF-8 and cp1252")


def test_front_matter_is_parsed_off(tmp_path: Path) -> None:
    front = {
        "a.md": "---\ntitle: 'A: one'\ndescription: >\n  Two\n  words.\nsummary: 7\n---\nText.",
        "b.md": '+++\ntitle = "B"\nsubtitle = "Sub"\ndate = 2020-01-01\n+++\n# Heading\n',
        "c.html": "---\ntitle: C\ndescription: Of the front.\n---\n<p>Text of C.",
        "d.txt": "---\r\ntitle: D\r\n---\r\nText of D.",
        "e.md": "---\ntitle: {{ page.title }}\n---\nText of E.",
        "f.md": "---\ntitle: never closed\n\nText of F.",
        "g.md": "---\n\nA rule.\n\n---\n\nText of G.",
        "h.md": "---\ntitle: H\n---\n",
    }
    for name, text in front.items():
        (tmp_path / name).write_bytes(text.encode())
    read = {
        one.id: (one.title, one.text, [tuple(form) for form in one.short_forms])
        if isinstance(one, SourceDocument)
        else one.reason
        for one in read_sources(tmp_path, Columns(), structure=True)
    }
    assert read == {
        "a": ("A: one", "Text.", [("description", "Two words.")]),
        "b": ("Heading", "# Heading\n", [("subtitle", "Sub")]),
        "c": ("C", "Text of C.\n", [("description", "Of the front.")]),
        "d": ("D", "Text of D.", []),
        "e": ("", "Text of E.", []),
        "f": ("", front["f.md"], []),
        "g": ("", front["g.md"], []),
        "h": "the file is empty",
    }


ENCODED = {
    "latin": ("latin-1", "cp1252", "Der Hafen wurde früh für größere Schiffe geöffnet."),
    "quotes": ("cp1252", "cp1252", "It’s the company’s “harbour” – opened in spring."),
    "polish": ("cp1250", "cp1250", "Port został otwarty dla statków. Żółć, źdźbło, łódź."),
    "russian": ("koi8-r", "koi8_r", "Гавань была открыта для кораблей весной того же года."),
    "chinese": ("gbk", "gb18030", "港口于同年春天向公司的船只开放，许多居民前来观看。"),
    "greek": ("cp1253", "cp1253", "Το λιμάνι άνοιξε για τα πλοία της εταιρείας την άνοιξη."),
    # letters beyond ASCII that come late, and some within code that looks like no text
    "late": ("cp1252", "cp1252", "plain words. " * 9_000 + "Größe und Übermut, schöne Straße."),
    "code": (
        "cp1252",
        "cp1252",
        "``$ git add `foo`; [['a', {x: 1}]] #|~^`` \\ José Müller ``:: //",
    ),
}


def test_encodings_are_told_and_noted(tmp_path: Path) -> None:
    for name, (encoding, _, text) in ENCODED.items():
        (tmp_path / f"{name}.txt").write_bytes(text.encode(encoding))
    notes = SourceNotes({}, {})
    read = list(read_sources(tmp_path, Columns(), notes=notes))
    assert {one.id: one.text for one in read if isinstance(one, SourceDocument)} == {
        name: text for name, (_, _, text) in ENCODED.items()
    }
    assert notes.encodings == {f"{name}.txt": told for name, (_, told, _) in ENCODED.items()}


@pytest.mark.parametrize(
    ("label", "encoding", "text", "noted"),
    [
        ("iso-8859-7", "iso8859_7", "Γειά σου", "iso8859-7"),
        ("ISO-2022-JP", "iso2022_jp", "港が開いた", "iso2022_jp"),
        ("gb2312", "gb18030", "港口开放了镕", "gb18030"),
        ("iso-8859-2", "utf-8", "Żółć", None),  # which it is not
        ("x-none", "cp1252", "früh geöffnet", "cp1252"),
    ],
)
def test_a_page_names_its_encoding(
    tmp_path: Path, label: str, encoding: str, text: str, noted: str | None
) -> None:
    page = f'<meta http-equiv="Content-Type" content="text/html; charset={label}"><p>{text}'
    (tmp_path / "a.html").write_bytes(page.encode(encoding))
    notes = SourceNotes({}, {})
    (read,) = read_sources(tmp_path, Columns(), notes=notes)
    assert isinstance(read, SourceDocument)
    assert read.text.strip() == text
    assert notes.encodings == ({"a.html": noted} if noted else {})


def test_a_missing_reader_is_named_before_a_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("Text.")
    (tmp_path / "b.docx").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "kreuzberg", None)
    with pytest.raises(ModuleNotFoundError, match="kreuzberg"):
        next(read_sources(tmp_path, Columns()))
