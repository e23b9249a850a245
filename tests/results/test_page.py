"""Pages of results: one skeleton, tables that say which value is best, what is folded away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from retgen.highlights import Segment
from retgen.results.page import Box, Fold, MarkedRecord, Page, Section, Tile, Verdict
from retgen.results.pictures import Bars
from retgen.results.tables import TableView
from tests.pages import Read

SCORES = TableView(
    ["system", "dim", "recall@2"],
    [["<b>bm25", "", "0.9000"], ["minilm", "384", "0.4000"], ["random order", "", "0.1000"]],
    faint=[2],
    best={(0, 2)},
    beside={(0, 2): "0.850–0.950", (1, 2): "0.300–0.500"},
)


def test_a_page_of_results(tmp_path: Path) -> None:
    section = Section(
        "Scores",
        ["Means."],
        [SCORES],
        [Bars(file="bars", title="t", caption="a <picture>", groups=[], series={})],
        ["a note"],
        [Fold("By style", [SCORES])],
    )
    html = Page(
        "set",
        "retgen evaluation",
        "46 documents.",
        ["One.", "Two <i>."],
        [section],
        "gen eval 'a b'",
    ).html(tmp_path / "figures")
    assert {one.name for one in (tmp_path / "figures").iterdir()} == {"bars.svg"}
    page = Read(html)
    assert page.tags.count("table") == 2
    assert page.tags.count("thead") == 2
    assert page.tags.count("strong") == 2
    assert page.tags.count("small") == 4
    assert page.tags.count("details") == page.tags.count("summary") == 1
    assert page.attributes.count(("scope", "row")) == page.attributes.count(("scope", "col")) == 6
    assert page.attributes.count(("class", "faint")) == 2
    assert ("aria-label", "a <picture>") in page.attributes
    assert "b" not in page.tags
    assert "i" not in page.tags
    # the summary comes first, the command last
    places = [page.text.index(text) for text in ("One.", "Two <i>.", "Means.", "gen eval 'a b'")]
    assert places == sorted(places)
    assert '<strong title="best of its column">0.9000</strong>' in html


def test_what_a_page_may_have() -> None:
    """First a verdict, counts and statements; code between backticks, and marks of either kind."""
    marked = [Segment("a "), Segment("<b>", "query")]
    section = Section(
        "One: two",
        ["Run `gen x` ` now."],
        code=["gen <x>"],
        folded=[Fold("All", code="a: <1>")],
        changes=[MarkedRecord(marked, [("before", True, marked), ("", False, marked)])],
    )
    html = Page(
        "x",
        "retgen",
        "",
        [],
        [section] * 5,
        "gen x",
        [Verdict("good", "YES", "All of it.", "0 off")],
        [Tile("46", "documents", "of all"), Tile("1", "query")],
        [Box("It shows", "fair", [("A.", "B.")])],
        "The end.",
    ).html()
    for text in (
        '<div class="verdict good"><b>YES</b><span>All of it.</span>\n'
        '<span class="counts">0 off</span></div>',
        '<div class="tile"><b>46</b><span>documents</span><small>of all</small></div>',
        '<div class="box fair"><h3>It shows</h3><ul>\n<li><b>A.</b> B.</li>',
        '<a href="#part-1">One</a>',
        "<p>Run <code>gen x</code> ` now.</p>",
        "<pre>gen &lt;x&gt;</pre>",
        "<details><summary>All</summary>\n<pre>a: &lt;1&gt;</pre>",
        '<h3 dir="auto">a <mark>&lt;b&gt;</mark></h3>',
        '<p class="document" dir="auto">a <del>&lt;b&gt;</del></p>',
        "<p>The end.</p>\n<p>Made by <code>gen x</code></p></footer>",
    ):
        assert text in html, text
    plain = Page("x", "retgen", "", [], [section], "gen x").html()
    assert not any(f'class="{name}' in plain for name in ("summary", "verdict", "tiles", "boxes"))
    assert "<nav>" not in plain


def test_what_a_command_prints() -> None:
    sections = [
        Section("Scores", tables=[SCORES, replace(SCORES, title="Again")], terminal_title="a/b"),
        Section("More", tables=[SCORES], printed=False, folded=[Fold("Folded", [SCORES])]),
        Section("Last", folded=[Fold("Open", [SCORES, SCORES], printed=True)]),
    ]
    page = Page("x", "retgen evaluation", "", ["It won."], sections, "gen eval x")
    table = SCORES.text()
    assert page.terminal(Path("out/eval.html"), ["a note", "a note"], ["before"]) == (
        f"before\n\na/b\n{table}\n\nAgain\n{table}\n\nOpen\n{table}\n\nOpen\n{table}\n"
        "note: a note\npage: out/eval.html"
    )


def test_markdown_has_what_the_page_has() -> None:
    sections = [
        Section(
            "Scores",
            ["Means."],
            [replace(SCORES, title="Scores")],
            notes=["a *note*"],
            folded=[Fold("By style", [SCORES])],
            printed=False,
        ),
    ]
    page = Page("x", "retgen evaluation", "46 documents.", ["It won."], sections, "gen eval x")
    lines = page.markdown().splitlines()
    assert [line for line in lines if line.startswith("#")] == ["# x", "## Scores", "### By style"]
    assert sum("0.9000 (0.850–0.950)" in line for line in lines) == 2
    assert lines[2:5] == ["46 documents.", "", "It won."]
    assert lines[-1] == "- a &#42;note&#42;"
