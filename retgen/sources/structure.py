"""What all readers of structure share: places of links, and what is no prose."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote, urlsplit

# sentences of licences as files carry them, in any white space
_LICENCE = re.compile(
    r"SPDX-License-Identifier|Permission is (?:hereby )?granted|"
    r"Redistributions? (?:and use )?(?:in|of) (?:source|binary)|\blicen[cs]ed under (?:the|an?) |"
    r"\bis free software|received a copy of the GNU|WITHOUT (?:ANY )?WARRANT|['\"“]as is[,'\"”]|"
    r"\A\W*(?:copyright|©|\(c\)) .*(?:\d{4}|all rights reserved)",
    re.I,
)
_ADDRESS = re.compile(r"<?(?:https?|ftp)://\S+|<?[\w.+-]+@[\w-]+\.[\w.-]+>?")
_LICENCE_LENGTH = 600  # characters in which such a sentence stands


def is_boilerplate(text: str) -> bool:
    """Whether a block is a licence's or copyright's header, or addresses and signs alone."""
    begin = " ".join(text[:_LICENCE_LENGTH].split())
    return bool(_LICENCE.search(begin)) or not has_words(_ADDRESS.sub("", begin))


def is_question(text: str) -> bool:
    """Whether a line asks something: "How do I start?"."""
    return text.rstrip().endswith(("?", "？")) and len(text) <= 200


def has_words(text: str) -> bool:
    """Whether there is a letter or digit."""
    return any(map(str.isalnum, text))


def link_target(href: str, place: str) -> str:
    """The place in the source that a document at `place` links to; "" if that lies elsewhere, or
    is the document itself. A folder stays a folder, "index" of the source's own.
    """
    try:
        parts = urlsplit(href.strip())
    except ValueError:  # brackets that are no IPv6 address
        return ""
    if not place or parts.scheme or parts.netloc or not parts.path:
        return ""
    path = unquote(parts.path)
    base = "" if path.startswith("/") else posixpath.dirname(place)
    target = posixpath.normpath(posixpath.join(base, path.lstrip("/")))
    if target == place or target.split("/")[0] == "..":
        return ""
    target = "index" if target == "." else target
    return f"{target}#{unquote(parts.fragment)}" if parts.fragment else target


def trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    """The place without white space at its ends."""
    piece = text[start:stop]
    stop -= len(piece) - len(piece.rstrip())
    return min(stop, start + len(piece) - len(piece.lstrip())), stop
