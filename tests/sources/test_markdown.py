"""Markdown as blocks and links."""

from __future__ import annotations

import pytest

from retgen.sources import shown_words
from retgen.sources.markdown import looks_like_markdown, markdown_blocks, markdown_title

TEXT = """<!-- a note -->
# The *first* `one`

[![Build](https://e.org/a.svg)](https://e.org) [![x](y.svg)](z)

Some text with a [link *to*
it](../guide/x.md#y), [a ref][r] and `code`.

- [A page](a.md)
- item two
  goes on

  and on
1. **How do I start?**

**Why not?**
Because.

**Really?**

Setext
======

> quote [q](/r/s/)
> more

```py
# no heading
```

| a | b |
|---|---|
| [c](d.md) | e |

<details><summary>Can I <b>do</b> it?</summary>

Yes.
</details>

## Setext {#custom}
### Same
### Same

{% include x %}

https://e.org/alone

    code too

[r]: ./b.md "B"
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_blocks_and_links(ends: str) -> None:
    text = TEXT.replace("\n", ends)
    blocks, links = markdown_blocks(text, "docs/p/a.md")
    assert [
        (one.kind, one.level, one.anchor, text[one.start : one.stop].replace(ends, "\n"))
        for one in blocks
    ] == [
        ("boilerplate", 0, "", "<!-- a note -->"),
        ("title", 1, "the-first-one", "The *first* `one`"),
        ("boilerplate", 0, "", "[![Build](https://e.org/a.svg)](https://e.org) [![x](y.svg)](z)"),
        (
            "paragraph",
            0,
            "",
            "Some text with a [link *to*\nit](../guide/x.md#y), [a ref][r] and `code`.",
        ),
        ("boilerplate", 0, "", "[A page](a.md)"),
        ("item", 0, "", "item two\n  goes on"),
        ("item", 0, "", "and on"),
        ("heading", 2, "how-do-i-start", "How do I start?"),
        ("paragraph", 0, "", "**Why not?**\nBecause."),
        ("heading", 2, "really", "Really?"),
        ("heading", 1, "setext", "Setext"),
        ("paragraph", 0, "", "quote [q](/r/s/)\n> more"),
        ("code", 0, "", "```py\n# no heading\n```"),
        ("table", 0, "", "| a | b |\n|---|---|\n| [c](d.md) | e |"),
        ("boilerplate", 0, "", "<details><summary>"),
        ("heading", 2, "can-i-do-it", "Can I <b>do</b> it?"),
        ("boilerplate", 0, "", "</summary>"),
        ("paragraph", 0, "", "Yes."),
        ("boilerplate", 0, "", "</details>"),
        ("heading", 2, "custom", "Setext"),
        ("heading", 3, "same", "Same"),
        ("heading", 3, "same-1", "Same"),
        ("boilerplate", 0, "", "{% include x %}"),
        ("boilerplate", 0, "", "https://e.org/alone"),
        ("code", 0, "", "code too"),
    ]
    assert links == [
        ("link to it", "docs/guide/x.md#y"),
        ("a ref", "docs/p/b.md"),
        ("q", "r/s"),
        ("c", "docs/p/d.md"),
    ]


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("b", "docs/p/b"),
        ("b/", "docs/p/b"),
        ("..", "docs"),
        ("/", "index"),
        ("my%20page.md#x", "docs/p/my page.md#x"),
        ("c.md#%E0%A4%B6%E0%A5%81%E0%A4%B0%E0%A5%82-में", "docs/p/c.md#शुरू-में"),
        ("b.md?raw=1", "docs/p/b.md"),
        ("../../../out.md", ""),
        ("a.md#here", ""),
        ("#here", ""),
        ("https://e.org/b.md", ""),
        ("//e.org/b.md", ""),
        ("mailto:a@e.org", ""),
    ],
)
def test_targets_of_links(href: str, target: str) -> None:
    text = f"See [this page]({href})."
    _, links = markdown_blocks(text, "docs/p/a.md")
    assert [one.target for one in links] == ([target] if target else [])
    assert markdown_blocks(text, "")[1] == []  # of a row, which lies nowhere


def test_front_matter_that_is_left_in_a_row() -> None:
    text = "---\ntitle: T\ndescription: D\n---\n# H\n"
    blocks, _ = markdown_blocks(text, "")
    assert [(one.kind, text[one.start : one.stop]) for one in blocks] == [
        ("boilerplate", text[:-5].rstrip()),
        ("title", "H"),
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# The *first* `one`\n\n# Second\n", "The first one"),
        ("Text.\n\n## Not this\n\nThis\none\n===\n", "This one"),
        ("```\n# a comment\n```\n\n# Real\n", "Real"),
        ("```\n" + "# a comment\n" * 20 + "```\n\n# Real\n", "Real"),
        ("#\n\n#hashtag\n", ""),
        ("Only text.", ""),
    ],
)
def test_the_title_of_a_markdown_page(text: str, title: str) -> None:
    assert markdown_title(text) == title


@pytest.mark.parametrize(
    ("text", "is_markdown"),
    [
        ("# Kites\nThey fly.\n", True),
        ("Kites\n\n## Strings\nLong.\n", True),
        ("a\n```\nx", True),
        ("See [a](b.md).", True),
        ("| a | b |", True),
        ("#hashtag and - dash", False),
        ("[1] (see below)", False),
        ("# the port\nport = 1\n\n# the host\nhost = 2\n", False),  # comments
        ("#!/bin/sh\necho 1\n", False),
    ],
)
def test_texts_that_look_like_markdown(text: str, is_markdown: bool) -> None:
    assert looks_like_markdown(text) is is_markdown


def test_words_without_marks() -> None:
    assert shown_words("The **big** `x`, [link](y)\n<b>and</b> ![p](q)") == "The big x, link and p"


def test_anchors_keep_vowel_signs() -> None:
    blocks, _ = markdown_blocks("# शुरू में!\n\nपाठ।\n", "a.md")
    assert blocks[0].anchor == "शुरू-में"
