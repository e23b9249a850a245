"""Markdown in which the texts of users, documents and servers stay texts.

Whoever writes a page of Markdown escapes here what others wrote, as the templates do for HTML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from retgen.yaml_text import to_yaml

# Signs that are structure for CommonMark, for GitHub's tables, strikethrough and bare links, or for
# the Hub's formulas; where one is plain, it stays as it is, so that the file can be read too.
_MARKUP = re.compile(
    r"[|`*~$\[\\]"
    r"|<(?=\S)|&(?=#?\w{1,40};)"
    r"|_(?![^\W_])|(?<![^\W_])_"
    r"|:(?=//)|(?<=www)\.|@(?=[\w-]+\.\w)"
    # at its beginning: a quotation, a list, a heading, a rule; at its end: the end of a heading
    r"|^>|^[-+#=](?=[-+#=\s]|$)|^\d{1,9}[.)](?=\s|$)|(?<=\s)#(?=#*$)",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def escape_markdown(text: str) -> str:
    """One line of Markdown that is rendered as the text, each run of white space as one blank.

    Signs become character references, which are never read as structure (CommonMark 0.31.2, 2.5).
    """
    return _MARKUP.sub(_reference, _line(text))


def _line(text: str) -> str:
    return " ".join(_CONTROL.sub(" ", text).split())


def _reference(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}&#{ord(match[0][-1])};"


def code_spans(text: str) -> str:
    """The same of a text in which `code` is marked."""
    pieces = enumerate(_line(text).split("`"))
    return "".join(
        f"`{piece}`" if i % 2 and piece else _MARKUP.sub(_reference, piece) for i, piece in pieces
    )


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[object]], names: int = 1) -> str:
    """A table of cells that are texts; the first `names` columns stand left, the others right."""
    rule = ["---" if i < names else "---:" for i in range(len(head))]
    lines = ([escape_markdown(str(cell)) for cell in line] for line in (head, *rows))
    first, *others = (f"| {' | '.join(line)} |\n" for line in lines)
    return "".join([first, f"| {' | '.join(rule)} |\n", *others])


def front_matter(tree: Mapping[str, Any]) -> str:
    """The YAML header of a card of the Hub."""
    return f"---\n{to_yaml(tree, width=None)}---\n\n"
