"""Pages of HTML: what they show, their blocks, links and short forms."""

from __future__ import annotations

import pytest

from retgen.sources import ShortForm
from retgen.sources.pages import read_page

PAGE = """<!DOCTYPE html>
<html><head><title> Ships &amp;
 boats </title><style>p {color: red}</style><script>var hidden = 1;</script></head>
<body><nav><a href="/">Home</a></nav><div role="navigation">Menu</div>
<h1>Ships</h1><p>A <b>ship</b> is
large.</p><pre>keep
  this</pre><p hidden>secret</p><p style="display:none">gone</p><!-- note -->
<ul><li>sail</li><li>שלום 🙂</li></ul><footer>All rights</footer></body></html>"""

SENT = '<title>A</title><meta http-equiv="Refresh" content="{}">'
STRUCTURED = """<html><head><title>Sails — The harbour</title>
<meta name="description" content=" All about
 sails. "></head><body><header role="banner">The harbour</header>
<div class="toc"><ul><li><a href="#a">First</a></li><li><a href="#b">Second</a></li></ul></div>
<main><h1>Sails<a class="headerlink" href="#sails">¶</a></h1>
<section id="a"><span id="also"></span><h2>First <code>x</code></h2>
<p>Before you sail, see <a href="../rope/knots.html#bend">the knots</a>, <a
href="https://e.org/">others</a> and <a href="#b">below</a>.</p>
<ul><li>One <a href="rig">rig</a>.</li><li><p>Two.</p><p>Three.</p></li>
<li><a href="mast.html">Masts</a></li></ul></section>
<a name="b"></a><h2>Second</h2>
<table><caption>Sizes</caption><tr><th>Sail</th><th>Area</th></tr><tr><td>Jib</td><td>12</td></tr></table>
<figure><figcaption>A jib.</figcaption></figure>
<dl><dt>How do I reef?</dt><dd><p>Slowly.</p></dd><dt>jib</dt><dd>A sail.</dd></dl>
<p><b>Why me?</b></p><p>Because.</p>
<details><summary>Is it safe?</summary>Yes.</details>
<pre>sail --up
sail --down</pre>
<p>Copyright 2020 by the harbour. All rights reserved.</p>
<div>Loose text.<br><br>More of it.</div></main>
<footer>Imprint</footer></body></html>"""


def test_a_page_as_it_is_shown() -> None:
    page = read_page(PAGE)
    assert page.title == "Ships & boats"
    assert page.text.split("\n") == [
        "Ships",
        "",
        "A ship is large.",
        "",
        "keep",
        "  this",
        "  * sail",
        "  * שלום 🙂",
    ]


@pytest.mark.parametrize(
    ("html", "title", "text"),
    [
        ("<h1>A <i>b</i></h1>c", "A b", "A b\n\nc"),
        ("no markup at all", "", "no markup at all"),
        ('<?xml version="1.0" encoding="latin-1"?><p>café</p>', "", "café"),
        ("<!-- nothing -->", "", ""),
        ("<nav>Home</nav>", "", ""),
        (f"{SENT.format('0; URL=b.html')}<p>See b.", "", ""),
        (f"{SENT.format('300; url=b.html')}<p>See b.", "A", "See b."),
        (f"<noscript>{SENT.format('0;url=b.html')}</noscript><p>See b.", "", "See b."),
        (f"{SENT.format('0; url=b.html')}<p>{'See b. ' * 200}", "A", ("See b. " * 200).strip()),
        ("<title>A — site</title><h1>A</h1>", "A", "A"),
        ("<title>A-b</title><h1>A</h1>", "A-b", "A"),
        ("<title>A — B 3.2</title><h1>B 3.2</h1><h1>A</h1>", "A", "B 3.2\n\nA"),
        ("<title>B - A</title><h1>B</h1><h1>A</h1>", "A", "B\n\nA"),
        # navigation by its name, but not what is no link or has a heading
        (
            '<div class="docnav">Up | </div><p id="nav"><a href="b">Home</a></p>c',
            "",
            "c",
        ),
        ('<div class="related menu"><h2><a href="a">A</a></h2></div>b', "", "A\n\nb"),
        ('<h2 id="menu"><a href="m">Menu</a></h2>b', "", "Menu\n\nb"),
        ('<div class="menu">Soup of the <a href="d">day</a>.</div>b', "", "Soup of the day.\nb"),
        # the name of the site, as the page's only heading of the first level, and outside of it
        ("<title>A | Help</title><h1>Help</h1><h2>A</h2>b", "A", "Help\n\nA\n\nb"),
        ("<title>A - C</title><h1>C</h1><main><h1>A</h1>b</main>", "A", "A\n\nb"),
        # what a button opens; not what is hidden for good, or a menu
        (
            "<h3><button aria-expanded=false>Why?</button></h3><!-- --><div hidden><p>As <button>X</button>"
            " is.</div><div hidden>Draft</div>",
            "",
            "Why?\n\n  As X is.",
        ),
        ("<p>Press <button>Save</button> now.</p>", "", "Press Save now."),
        (
            "<button aria-controls='m t'>+</button><ul hidden id=m><li><a href='a'>Home</a></ul>"
            "<p hidden id=t>Told.</p><p role=tabpanel hidden>Tab.</p><p hidden=until-found>Found.</p>",
            "",
            "Told.\n\nTab.\n\nFound.",
        ),
        # what a script would show
        (
            "<h1><span><span hidden class=mac>Cmd</span><span hidden>Ctrl</span></span> keys</h1>b",
            "Ctrl keys",
            "Ctrl keys\n\nb",
        ),
        (
            "Hold <span>Ctrl</span><span hidden>Cmd</span>, <span hidden>Error</span>",
            "",
            "Hold Ctrl ,",
        ),
        (
            "On <span hidden>Ctrl</span> <span hidden>Cmd</span>: <span hidden>A</span>"
            "<span hidden>B</span><span hidden> </span>.",
            "",
            "On Cmd : B .",
        ),
        (
            "<header><a href='i'>Help</a><a href='j'>Home</a><script>var x = open();</script></header>"
            "<aside><input>Search</aside>b",
            "",
            "b",
        ),
        (
            "<aside><p>See <a href='c'>the footnote of the calendar</a>.</p></aside>b",
            "",
            "See the footnote of the calendar.\n\nb",
        ),
        (
            "<header><h1>A</h1></header><aside>See <a href='c'>c</a> for more.</aside>",
            "A",
            "A\n\nSee c for more.",
        ),
        (
            "<table><tr><td><h1>A</h1></td><td>b</td></tr><tr><td>c</td></tr></table>",
            "A",
            "A\n\n      b\n      c",
        ),
    ],
)
def test_pages_of_other_kinds(html: str, title: str, text: str) -> None:
    page = read_page(html)
    assert (page.title, page.text.strip()) == (title, text)


@pytest.mark.parametrize(("entries", "kind"), [(40, "item"), (200, "boilerplate")])
def test_an_index_is_no_prose(entries: int, kind: str) -> None:
    items = "".join(f"<dt>word {n}, <a href='p{n}'>Pages {n}</a></dt>" for n in range(entries))
    page = read_page(f"<h1>Index</h1><p>Of words.</p><h2>A</h2><dl>{items}</dl>", "index.html")
    assert [one.kind for one in page.blocks] == ["title", "paragraph", "heading", *[kind] * entries]
    assert len(page.links) == entries


def test_blocks_and_links() -> None:
    page = read_page(STRUCTURED, "sail/sails.html")
    assert page.title == "Sails"
    assert page.short_forms == (ShortForm("description", "All about sails."),)
    shown = [
        (block.kind, block.level, block.anchor, page.text[block.start : block.stop])
        for block in page.blocks
    ]
    assert shown == [
        ("title", 1, "", "Sails"),
        ("heading", 2, "also", "First x"),
        ("paragraph", 0, "", "Before you sail, see the knots, others and below."),
        ("item", 0, "", "One rig."),
        ("item", 0, "", "Two."),
        ("item", 0, "", "Three."),
        ("boilerplate", 0, "", "Masts"),
        ("heading", 2, "b", "Second"),
        ("caption", 0, "", "Sizes"),
        ("table", 0, "", shown[9][3]),
        ("caption", 0, "", "A jib."),
        ("heading", 6, "", "How do I reef?"),
        ("paragraph", 0, "", "Slowly."),
        ("item", 0, "", "jib"),
        ("item", 0, "", "A sail."),
        ("heading", 6, "", "Why me?"),
        ("paragraph", 0, "", "Because."),
        ("heading", 6, "", "Is it safe?"),
        ("paragraph", 0, "", "Yes."),
        ("code", 0, "", "sail --up\nsail --down"),
        ("boilerplate", 0, "", "Copyright 2020 by the harbour. All rights reserved."),
        ("paragraph", 0, "", "Loose text."),
        ("paragraph", 0, "", "More of it."),
    ]
    assert shown[9][3].split() == ["Sail", "Area", "Jib", "12"]
    assert [(page.text[one.start : one.stop], one.target) for one in page.links] == [
        ("the knots", "rope/knots.html#bend"),
        ("rig", "sail/rig"),
        ("Masts", "sail/mast.html"),
    ]


def test_cells_are_not_as_wide_as_their_column() -> None:
    html = (
        "<p>Before.</p><table><tr><th>Name</th><th>Meaning</th></tr>"
        f"<tr><td>a</td><td>{'long ' * 30}</td></tr><tr><td>b</td><td>short</td></tr></table>"
        "<pre>x     y</pre><p>After, see <a href='other.html'>the other page</a>.</p>"
    )
    page = read_page(html, "here.html")
    assert [line.strip() for line in page.text.splitlines() if line.strip()] == [
        "Before.",
        "Name  Meaning",
        f"a  {('long ' * 30).strip()}",
        "b  short",
        "x     y",
        "After, see the other page.",
    ]
    shown = [page.text[one.start : one.stop].split() for one in page.blocks]
    assert [one.kind for one in page.blocks] == ["paragraph", "table", "code", "paragraph"]
    assert shown[1][:3] == ["Name", "Meaning", "a"]
    assert shown[1][-2:] == ["b", "short"]
    assert shown[3] == ["After,", "see", "the", "other", "page."]
    [link] = page.links
    assert page.text[link.start : link.stop] == "the other page"
