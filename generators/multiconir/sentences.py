"""Sentences of a document, cut so that joining them with spaces gives the document back."""

from __future__ import annotations

import re

CONDITIONS = 10  # of every ladder (paper, §3.2)

_SHORTEST, _LONGEST = 5, 60  # words of a sentence that can state a condition

# a full stop after one of these does not end a sentence
_ABBREVIATIONS = frozenset(
    """
    dr mr mrs ms prof st sr jr rev hon gen col capt lt sgt gov sen rep pres messrs mt ft no nos vol
    vols pp p ed eds fig figs art arts sec ch para cl v vs cf al etc e.g i.e inc ltd co corp
    jan feb mar apr jun jul aug sep sept oct nov dec approx dept univ cir supp u.s u.k d.c a.m p.m
    """.split()
)
_END = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s)")
_OPENS = re.compile(r"[\"'“‘(\[]*[A-Z0-9À-ÖØ-Þ]")


def split(text: str) -> list[str]:
    """The sentences of a text whose white space is single spaces."""
    result, start = [], 0
    for end in _END.finditer(text):
        rest = text[end.end() :].lstrip()
        if not _OPENS.match(rest) or _abbreviated(text[start : end.start()], end[0]):
            continue
        result.append(text[start : end.end()].strip())
        start = end.end()
    if last := text[start:].strip():
        result.append(last)
    return result


def _abbreviated(before: str, mark: str) -> bool:
    """Whether a full stop belongs to a short form: Dr., J., No., U.S."""
    if mark != ".":
        return False
    words = before.split()
    last = words[-1].lstrip("\"'“‘([") if words else ""
    return last.casefold() in _ABBREVIATIONS or bool(re.fullmatch(r"[A-Z](\.[A-Z])*", last))


def word_count(text: str) -> int:
    """Words, as separated by white space."""
    return len(text.split())


def usable(text: str) -> bool:
    """Whether a sentence is one, complete, and of a length that can state a condition."""
    return (
        all(_abbreviated(text[: end.start()], end[0]) for end in _END.finditer(text))
        and text.count("(") == text.count(")")
        and text.count('"') % 2 == 0
        and _SHORTEST <= word_count(text) <= _LONGEST
        and bool(_OPENS.match(text))
        and bool(re.search(r"[.!?][\"'”’)\]]*$", text))
    )
