"""Texts in Markdown: rendered by a real parser they are the texts that were given, and no markup."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from retgen.markdown import code_spans, escape_markdown, front_matter, markdown_table
from tests.pages import rendered

HOSTILE = [
    "<script>alert(1)</script>",
    "</td></table><h1>x",
    "<!-- x",
    "<![CDATA[x]]>",
    "<?php x ?>",
    "&lt;b&gt; &#60;i&#62; &amp; AT&T",
    "<https://evil.example>",
    "<a@evil.example>",
    "[x](https://evil.example)",
    "![x](https://evil.example/p.png)",
    "[x][x]",
    "a | b",
    "\\",
    "*a* **b**",
    "~~a~~",
    "``` x",
    "``a`b``",
    "###### x",
    "-",
    "- - -",
    "+ x",
    "12) x",
    "> x",
    "= =",
    "    code",
    "\tcode",
    "a\n\n# b",
    "a  \nb",
    "a\r\nb",
    "a\x0bb\x0cc\x85d\u2028e",
    "a\x00b\x1b[31mc",
    "$x$ $$y$$",
    "\\(x\\)",
    "x<y and y>z, p < 0.05",
    "<",
    ">",
    "&",
    "-0.5",
    "+0.5",
    "C++",
    "#1",
    "recall@2",
    "5 * 3 = 15",
]


def plain(text: str) -> str:
    return " ".join("".join(" " if ord(c) < 32 or 127 <= ord(c) < 160 else c for c in text).split())


@pytest.mark.parametrize(
    ("before", "after", "tags"),
    [
        ("# ", "", ["h1"]),
        ("- ", "\n- x", ["ul", "li", "li"]),
        ("", "", ["p"]),
        ("Paragraph\n", "\nand on.", ["p"]),
        ("So **bold**: ", ".", ["p", "strong"]),
    ],
)
def test_a_text_is_rendered_as_itself(before: str, after: str, tags: list[str]) -> None:
    for text in HOSTILE:
        result = rendered(f"{before}{escape_markdown(text)}{after}")
        assert (result.tags, result.attributes) == (tags, []), text
        assert plain(text) in " ".join(result.text.split())


def test_a_cell_holds_its_text() -> None:
    for text in HOSTILE:
        page = rendered(markdown_table([text, "n"], [[text, 1], ["x", text]]))
        row = ["tr", "th", "th"]
        assert page.tags == ["table", "thead", *row, "tbody", *["tr", "td", "td"] * 2], text
        assert page.attributes == [("style", "text-align:right")] * 3
        lines = [line.strip() for line in page.text.splitlines() if line.strip()]
        assert lines == [plain(text), "n", plain(text), "1", "x", plain(text)]


@given(st.text(st.sampled_from("ab1 \n\t#-+=*_~`<>!/[]()|\\&;:.@$\"'{}^"), max_size=14))
def test_no_text_is_markup(text: str) -> None:
    for before, tags in (("# ", ["h1"]), ("- ", ["ul", "li"]), ("", ["p"] if plain(text) else [])):
        result = rendered(f"{before}{escape_markdown(text)}")
        assert (result.tags, result.text.strip()) == (tags, plain(text))
    cell = rendered(markdown_table(["a"], [[text]]))
    assert cell.tags == ["table", "thead", "tr", "th", "tbody", "tr", "td"]
    assert [line for line in cell.text.split("\n") if line] == [*filter(None, ["a", plain(text)])]


def test_links_that_need_no_mark_are_broken_up() -> None:
    """GitHub makes links of bare addresses, which the parser here does not."""
    assert escape_markdown("see https://evil.example, WWW.evil.example or me@evil.example") == (
        "see https&#58;//evil.example, WWW&#46;evil.example or me&#64;evil.example"
    )


def test_plain_texts_stay_readable() -> None:
    for text in (
        "Apache-2.0 (retgen)",
        "openai:gpt-5_mini",
        "extract_conditions, by rules",
        "P>HN1",
        "AT&T",
        "-0.1234",
        "< 0.001",
        "bm25, k1=1.2",
        "0.912 to 0.934",
        "±0.01",
        "recall@2",
        "R² 0.99",
    ):
        assert escape_markdown(text) == text


def test_only_code_is_marked() -> None:
    assert code_spans("Drawn as a `dense` matrix <b>(x)</b>.\n") == (
        "Drawn as a `dense` matrix &#60;b>(x)&#60;/b>."
    )
    result = rendered(code_spans("`<b>` and ``` <i> `# x` [a](b) `open <u>"))
    assert set(result.tags) == {"p", "code"}
    assert code_spans("a `b") == "a `b`"


def test_a_header_holds_what_it_was_given() -> None:
    tree = {
        "name": "a\n---\nlicense: mit",
        "b": ["x: y", "# z", "- w", "'", '"', "---", "\u2028"],
        "long": "--- " * 100,
    }
    text = front_matter(tree)
    head, rule, rest = text.removeprefix("---\n").partition("\n---\n")
    assert (rule, rest) == ("\n---\n", "\n")
    assert YAML(typ="safe").load(head) == tree
