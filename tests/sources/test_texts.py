"""Files that are a document each: titles, what a page shows, what cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from retgen.sources import Columns, RefusedRow, SourceDocument, read_sources
from retgen.sources.formats import markdown_title, shown

PAGE = """<!DOCTYPE html>
<html><head><title> Ships &amp;
 boats </title><style>p {color: red}</style><script>var hidden = 1;</script></head>
<body><nav><a href="/">Home</a></nav><div role="navigation">Menu</div>
<h1>Ships</h1><p>A <b>ship</b> is
large.</p><pre>keep
  this</pre><p hidden>secret</p><p style="display:none">gone</p><!-- note -->
<ul><li>sail</li><li>שלום 🙂</li></ul><footer>All rights</footer></body></html>"""


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# The *first* `one`\n\n# Second\n", "The first one"),
        ("Text.\n\n## Not this\n\nThis\none\n===\n", "This one"),
        ("```\n# a comment\n```\n\n# Real\n", "Real"),
        ("---\ntitle: 'Of the front: matter'\n---\n\n## Two\n", "Of the front: matter"),
        ("---\r\ntitle: 7\r\n---\r\ntext", "7"),
        ("---\ntitle: Front\n---\n# Heading\n", "Heading"),
        ("---\n{broken: [\n---\ntext\n", ""),
        ("---\n- a list\n---\ntext\n", ""),
        ("#\n\n#hashtag\n", ""),
        ("Only text.", ""),
    ],
)
def test_the_title_of_a_markdown_page(text: str, title: str) -> None:
    assert markdown_title(text) == title


def test_a_page_as_it_is_shown() -> None:
    title, text = shown(PAGE)
    assert title == "Ships & boats"
    assert text.split("\n") == [
        "Ships", "", "A ship is large.", "", "keep", "  this", "  * sail", "  * שלום 🙂",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("html", "title", "text"),
    [
        ("<h1>A <i>b</i></h1>c", "A b", "A b\n\nc"),
        ("no markup at all", "", "no markup at all"),
        ('<?xml version="1.0" encoding="latin-1"?><p>café</p>', "", "café"),
        ("<!-- nothing -->", "", ""),
        ("<nav>Home</nav>", "", ""),
    ],
)
def test_pages_of_other_kinds(html: str, title: str, text: str) -> None:
    read = shown(html)
    assert (read[0], read[1].strip()) == (title, text)


def test_files_that_are_documents_and_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE, "utf-8")
    (tmp_path / "b.htm.gz").write_bytes(gzip.compress(b"<title>B</title><p>Text."))
    (tmp_path / "c.html").write_text("<script>1</script>")
    (tmp_path / "d.md").write_bytes("\ufeff# Über\r\n\r\n* x  \n".encode())
    (tmp_path / "e.txt").write_bytes("Text".encode("utf-16"))
    (tmp_path / "f.txt").write_bytes(b"caf\xe9")
    (tmp_path / "g.txt").write_text(" \n")
    (tmp_path / "h.html").write_text("<b>" * 10_000 + "deep")
    assert list(read_sources(tmp_path, Columns())) == [
        SourceDocument("a", "Ships & boats", shown(PAGE)[1]),
        SourceDocument("b", "B", "Text.\n"),
        RefusedRow("c.html", "source/empty", "the page shows no text", "c"),
        SourceDocument("d", "Über", "# Über\r\n\r\n* x  \n"),
        RefusedRow("e.txt", "source/encoding", "the file is UTF-16, not UTF-8", "e"),
        RefusedRow("f.txt", "source/encoding", "the file is not UTF-8", "f"),
        RefusedRow("g.txt", "source/empty", "the file is empty", "g"),
        RefusedRow(
            "h.html", "source/unreadable", "its elements are nested too deeply to be read", "h"
        ),
    ]


def test_a_file_of_ten_megabytes_is_refused_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"word " * 2_000_000)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"word " * 2_000_000))
    (tmp_path / "c.txt").write_text("é" * 11, "utf-8")
    (tmp_path / "d.txt").write_text("🙂" * 10, "utf-8")
    reason = "the text has more than 1,000,000 characters; cut it up"
    read = list(read_sources(tmp_path, Columns()))
    assert read[:2] == [
        RefusedRow("a.txt", "source/long", reason, "a"), RefusedRow("b.txt.gz", "source/long", reason, "b"),
    ]  # fmt: skip
    shorter = list(read_sources(tmp_path, Columns(), longest=10))
    assert shorter[2:] == [
        RefusedRow(
            "c.txt", "source/long", "the text has 11 characters, more than 10; cut it up", "c"
        ),
        SourceDocument("d", "", "🙂" * 10),
    ]
    whole = list(read_sources(tmp_path, Columns(), longest=None))
    assert [len(one.text) for one in whole if isinstance(one, SourceDocument)] == [
        10_000_000,
        11,
        10,
    ]
