"""Plain text as blocks."""

from __future__ import annotations

import pytest

from retgen.sources.plain import is_asciidoc, plain_blocks

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

       --slow do not

EXAMPLES
       $ sail --fast

harbour 1.0             2020-01-02                      SAIL(1)
"""

RST = """\
=====
Title
=====

.. contents:: Here

Part one
--------

Some text::

    x = 1

More text with a list:
* one
* two
  of it

1.2 Numbers
~~~~~~~~~~~

- a
- b
"""

NOTES = """\
# Copyright (c) 2020 by the harbour

NOTE ABOUT ROPES

Ropes are long. See below:
https://e.org/ropes

https://e.org/only

How do I tie one?

Slowly.

2.1 Knots

A knot ..... 1
A bend ..... 2

for (i = 0; i < n; i++) { a[i] += b[i] * c[i]; }
"""

ROFF = """\
.\\" a comment
.TH SAIL 1
.SH NAME
sail \\- raise a sail
.SH "SEE ALSO"
.PP
It is a text
of two lines.
"""


ASCIIDOC = """\
sail(1)
=======

[[SAFETY]]
Safety first
------------
Wear a vest, as in:

----------------
$ sail --vest

Vest is on.
----------------
+
--------
$ sail
--------

== More[[MORE]]

See linkgit:sail[7].
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            ASCIIDOC,
            [
                ("heading", 1, "sail(1)"),
                ("boilerplate", 0, "[[SAFETY]]"),
                ("heading", 2, "Safety first"),
                ("paragraph", 0, "Wear a vest, as in:"),
                ("code", 0, "----------------\n$ sail --vest\n\nVest is on.\n----------------"),
                ("boilerplate", 0, "+"),
                ("code", 0, "--------\n$ sail\n--------"),
                ("heading", 2, "== More[[MORE]]"),
                ("paragraph", 0, "See linkgit:sail[7]."),
            ],
        ),
        (
            MANUAL,
            [
                (
                    "boilerplate",
                    0,
                    "SAIL(1)                  User Commands                  SAIL(1)",
                ),
                ("heading", 1, "NAME"),
                ("paragraph", 0, "sail - raise a sail"),
                ("heading", 1, "DESCRIPTION"),
                ("paragraph", 0, "Raise a sail, and\n       lower it."),
                ("heading", 2, "Safety first"),
                ("paragraph", 0, "Wear a vest."),
                ("item", 0, "-f, --fast\n              be quick"),
                ("item", 0, "--slow do not"),
                ("heading", 1, "EXAMPLES"),
                ("code", 0, "$ sail --fast"),
                (
                    "boilerplate",
                    0,
                    "harbour 1.0             2020-01-02                      SAIL(1)",
                ),
            ],
        ),
        (
            RST,
            [
                ("heading", 1, "Title"),
                ("boilerplate", 0, ".. contents:: Here"),
                ("heading", 2, "Part one"),
                ("paragraph", 0, "Some text::"),
                ("code", 0, "x = 1"),
                ("paragraph", 0, "More text with a list:"),
                ("item", 0, "one"),
                ("item", 0, "two\n  of it"),
                ("heading", 3, "1.2 Numbers"),
                ("item", 0, "a"),
                ("item", 0, "b"),
            ],
        ),
        (
            NOTES,
            [
                ("boilerplate", 0, "# Copyright (c) 2020 by the harbour"),
                ("heading", 1, "NOTE ABOUT ROPES"),
                ("paragraph", 0, "Ropes are long. See below:\nhttps://e.org/ropes"),
                ("boilerplate", 0, "https://e.org/only"),
                ("heading", 2, "How do I tie one?"),
                ("paragraph", 0, "Slowly."),
                ("heading", 2, "2.1 Knots"),
                ("boilerplate", 0, "A knot ..... 1\nA bend ..... 2"),
                ("code", 0, "for (i = 0; i < n; i++) { a[i] += b[i] * c[i]; }"),
            ],
        ),
        (
            ROFF,
            [
                ("boilerplate", 0, '.\\" a comment'),
                ("boilerplate", 0, ".TH SAIL 1"),
                ("heading", 1, "NAME"),
                ("paragraph", 0, "sail \\- raise a sail"),
                ("heading", 1, "SEE ALSO"),
                ("boilerplate", 0, ".PP"),
                ("paragraph", 0, "It is a text\nof two lines."),
            ],
        ),
        ("", []),
        (
            "A line.\r\n\r\n\tAnother\fpage.",
            [("paragraph", 0, "A line."), ("paragraph", 0, "Another\fpage.")],
        ),
    ],
)
def test_blocks(text: str, expected: list[tuple[str, int, str]]) -> None:
    assert [
        (one.kind, one.level, text[one.start : one.stop]) for one in plain_blocks(text)
    ] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See <<other>> and\n\n[[_TOC_]]\n\nlink: here [1]", False),
        ("See linkgit:sail[1].", True),
        ("Text\n[source,python]\n----\nx\n----\n", True),
        ("Safety[[SAFETY]]\n------", True),
        ("link:a," * 30_000, False),
        ("<<a," * 30_000, False),
    ],
)
def test_what_asciidoc_alone_has(text: str, expected: bool) -> None:
    assert is_asciidoc(text) == expected


def test_a_million_signs_without_a_blank() -> None:
    assert len(plain_blocks("x" * 1_000_000)) == 1
