"""Files of other formats as Markdown: what is kept of them, and what cannot be read."""

from __future__ import annotations

import io
from pathlib import Path

import pypandoc
import pypdf
import pytest

from retgen.errors import DatasetError
from retgen.sources import Columns, RefusedRow, SourceDocument, read_sources
from retgen.sources.convert import converted, html_page
from retgen.sources.plain import plain_blocks
from retgen.sources.records import ShortForm

SENT = '<title>A</title><meta http-equiv="Refresh" content="{}">'
PAGE = """<html><head><title>Sails — The harbour</title><style>p {color: red}</style>
<meta name="description" content=" All about
 sails. "></head><body><nav><a href="/">Home</a></nav><header role="banner">The harbour</header>
<div class="toc"><ul><li><a href="#a">First</a></li><li><a href="#b">Second</a></li></ul></div>
<main><h1>Sails<a class="headerlink" href="#sails">¶</a></h1>
<section id="a"><h2>First <code>x</code></h2>
<p>Before you sail, see <a href="../rope/knots.html#bend">the knots</a>, <a
href="https://e.org/">others</a> and <a href="#b">below</a>.</p>
<ul><li>One <a href="rig">rig</a> holds.</li>
<li><a href="mast.html">Masts</a></li></ul></section>
<a name="b"></a><h2>Second</h2><p hidden>secret</p><script>var hidden = 1;</script>
<table><tr><th>Sail</th><th>Area</th></tr><tr><td>Jib</td><td>12</td></tr></table>
<p><b>Why me?</b></p><p>Because.</p>
<pre>sail --up
sail --down</pre>
<p>Copyright 2020 by the harbour. All rights reserved.</p>
<p>Press <button>Save</button> now.</p></main>
<footer>Imprint</footer></body></html>"""
MALLARD = """<page xmlns="http://projectmallard.org/1.0/" type="topic" id="net-wifi">
<info><link type="guide" xref="net"/><desc>Fix it.</desc></info>
<title>Wireless keeps dropping</title><p>See <link xref="slow#speed">slow networks</link> first.</p>
<section id="driver"><title>Drivers</title><steps><item><p>Update it.</p></item></steps></section>
</page>"""
RST = "Title\n=====\n\n.. note:: Careful.\n\nPart\n----\n\n* one\n* two\n\nSee `this <a.rst>`_.\n"
ADOC = "= Title\n\n== Part\n\n[source,sh]\n----\n# code\n----\n\nSee link:a.adoc[this].\n"


def read_one(path: Path) -> SourceDocument:
    (one,) = read_sources(path, Columns(), structure=True)
    assert isinstance(one, SourceDocument)
    return one


def shown(one: SourceDocument) -> list[tuple[str, int, str, str]]:
    return [(b.kind, b.level, b.anchor, one.text[b.start : b.stop]) for b in one.blocks]


def test_a_page(tmp_path: Path) -> None:
    (tmp_path / "sail").mkdir()
    (tmp_path / "sail" / "sails.html").write_text(PAGE, "utf-8")
    (tmp_path / "other.txt").write_text("x y")
    one = list(read_sources(tmp_path, Columns(), structure=True))[1]
    assert isinstance(one, SourceDocument)
    assert one.title == "Sails"
    assert one.short_forms == (ShortForm("description", "All about sails."),)
    table = "| Sail | Area |\n| --- | --- |\n| Jib | 12 |"
    assert shown(one) == [
        ("title", 1, "sails", "Sails"),
        ("heading", 2, "a", "First `x`"),
        (
            "paragraph",
            0,
            "",
            "Before you sail, see [the knots](../rope/knots.html#bend), [others](https://e.org/) "
            "and [below](#b).",
        ),
        ("item", 0, "", "One [rig](rig) holds."),
        ("boilerplate", 0, "", "[Masts](mast.html)"),
        ("heading", 2, "b", "Second"),
        ("table", 0, "", table),
        ("heading", 3, "why-me", "Why me?"),
        ("paragraph", 0, "", "Because."),
        ("code", 0, "", "```\nsail --up\nsail --down\n```"),
        ("boilerplate", 0, "", "Copyright 2020 by the harbour. All rights reserved."),
        ("paragraph", 0, "", "Press Save now."),
    ]
    assert list(one.links) == [
        ("the knots", "rope/knots.html#bend"),
        ("rig", "sail/rig"),
        ("Masts", "sail/mast.html"),
    ]


@pytest.mark.parametrize(
    ("html", "title", "text"),
    [
        ("<h1>A <i>b</i></h1>c", "A b", "# A *b*\n\nc"),
        ("no markup at all", "", "no markup at all"),
        ("<!-- nothing -->", "", ""),
        ("<nav>Home</nav>", "", ""),
        (f"{SENT.format('0; URL=b.html')}<p>See b.", "", ""),
        (f"{SENT.format('300; url=b.html')}<p>See b.", "A", "See b."),
        ("<title>A — site</title><h1>A</h1>", "A", "# A"),
        ("<title>A-b</title><h1>A</h1>", "A-b", "# A"),
        ("<title>A | Help</title><h1>Help</h1><h2>A</h2>b", "A", "# Help\n\n## A\n\nb"),
        ('<div class="docnav">Up | </div><p id="navbar"><a href="b">Home</a></p>c', "", "c"),
        ('<h2 id="menu">Menu</h2>b', "", "## Menu\n\nb"),
    ],
)
def test_what_a_page_shows(html: str, title: str, text: str) -> None:
    page = html_page(html)
    assert (page.title or "", page.text.strip()) in {(title, text), ("Menu", text)}


def test_other_markup(tmp_path: Path) -> None:
    expected = {
        "a.page": ("Wireless keeps dropping", ["slow.page#speed"]),
        "a.rst": ("Title", ["a.rst"]),
        "a.adoc": ("Title", ["a.adoc"]),
    }
    for (name, (title, links)), text in zip(expected.items(), (MALLARD, RST, ADOC), strict=True):
        path = tmp_path / name
        path.parent.joinpath(f"{name}.d").mkdir()
        path = tmp_path / f"{name}.d" / f"here{path.suffix}"
        path.write_text(text)
        one = read_one(path)
        assert (one.title, [link.target for link in one.links]) == (title, links)
        assert {"title", "heading"} & {b.kind for b in one.blocks}
    assert ("code", 0, "", "``` sh\n# code\n```") in shown(one)


def pdf(lines: list[tuple[int, str]]) -> bytes:
    """A PDF of one page with lines of some sizes, written by hand."""
    drawn = "".join(f"/F1 {size} Tf ({line}) Tj 0 -{2 * size} Td " for size, line in lines)
    stream = f"BT 72 720 Td {drawn}ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [5 0 R] /Count 1 >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /Font << /F1 3 0 R >> >> >>",
    ]
    content, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n{one}\nendobj\n".encode("latin-1")
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    start = len(content)
    content += f"xref\n0 6\n0000000000 65535 f \n{rows}".encode()
    return content + f"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF".encode()


SAILS = pdf(
    [(24, "Sails"), (11, "A sail catches the wind and moves the ship."), (11, "It is big.")]
)


def locked(content: bytes) -> bytes:
    writer, out = pypdf.PdfWriter(clone_from=io.BytesIO(content)), io.BytesIO()
    writer.encrypt("open", algorithm="RC4-128")
    writer.write(out)
    return out.getvalue()


def test_a_pdf_and_a_word_document(tmp_path: Path) -> None:
    (tmp_path / "b.pdf").write_bytes(SAILS)
    text = "# Sails\n\nA sail.\n\n- hoisted\n\n## Jib\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    pypandoc.convert_text(text, "docx", "gfm", outputfile=str(tmp_path / "a.docx"))
    (tmp_path / "c.docx").write_bytes(b"PK nothing")
    (tmp_path / "d.pdf").write_bytes(SAILS[:200])
    (tmp_path / "e.pdf").write_bytes(locked(SAILS))
    (tmp_path / "f.pdf").write_bytes(pdf([]))
    word, printed, *refused = read_sources(tmp_path, Columns(), structure=True)
    assert isinstance(word, SourceDocument)
    assert isinstance(printed, SourceDocument)
    assert (word.title, [b.kind for b in word.blocks]) == (
        "Sails",
        ["title", "paragraph", "item", "heading", "table"],
    )
    assert "A sail catches the wind and moves the ship." in printed.text
    assert [(one.id, one.rule) for one in refused if isinstance(one, RefusedRow)] == [
        (name, "source/unreadable") for name in "cdef"
    ]
    reasons = [one.reason for one in refused if isinstance(one, RefusedRow)]
    assert reasons[0].startswith("is no DOCX that can be read; open it in a program and save it")
    assert "without its password" in reasons[2]
    assert reasons[3] == "holds no text, only pictures of it; recognize its text first"


def test_what_is_no_xml() -> None:
    with pytest.raises(DatasetError, match="is no XML"):
        converted("", ".page")


MANUAL = """\
SAIL(1)                  User Commands                  SAIL(1)

NAME
       sail - raise a sail

DESCRIPTION
       Raise a sail, and
       lower it.

   Safety first
       Wear a vest.

       -f, --fast
              be quick

Ropes
-----
Ropes are long:
* one
* two
  of it

How do I tie one?

Slowly.

2.1 Knots

https://e.org/only

for (i = 0; i < n; i++) { a[i] += b[i] * c[i]; }
"""


def test_plain_text() -> None:
    blocks = plain_blocks(MANUAL)
    assert [(one.kind, one.level, MANUAL[one.start : one.stop]) for one in blocks] == [
        ("boilerplate", 0, "SAIL(1)                  User Commands                  SAIL(1)"),
        ("heading", 1, "NAME"),
        ("paragraph", 0, "sail - raise a sail"),
        ("heading", 1, "DESCRIPTION"),
        ("paragraph", 0, "Raise a sail, and\n       lower it."),
        ("heading", 2, "Safety first"),
        ("paragraph", 0, "Wear a vest."),
        ("item", 0, "-f, --fast\n              be quick"),
        ("heading", 2, "Ropes"),
        ("paragraph", 0, "Ropes are long:"),
        ("item", 0, "* one"),
        ("item", 0, "* two\n  of it"),
        ("heading", 2, "How do I tie one?"),
        ("paragraph", 0, "Slowly."),
        ("heading", 2, "2.1 Knots"),
        ("boilerplate", 0, "https://e.org/only"),
        ("code", 0, "for (i = 0; i < n; i++) { a[i] += b[i] * c[i]; }"),
    ]
    assert plain_blocks("") == []
    chinese = (
        "店门口停着一辆装满西瓜的三轮车。\n\n旁边的石桥上有一只黑猫。\n"  # which has no capitals
    )
    assert [one.kind for one in plain_blocks(chinese)] == ["paragraph", "paragraph"]
    assert len(plain_blocks("x" * 1_000_000)) == 1
