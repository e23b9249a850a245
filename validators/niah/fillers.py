"""Fillers compared: what is left of texts without their needles, as digests of their sentences."""

from __future__ import annotations

import re
from array import array

# a sentence: up to its end, the quotes and brackets after it, and white space
_SENTENCE = re.compile(
    r".+?(?:[.!?\u2026][\"'\u2019\u201d\u00bb)\]]*(?:\s+|\Z)|[\u3002\uff01\uff1f]\s*|\Z)", re.S
)
_LONGEST = 120  # characters; a longer sentence is compared in pieces


def without(text: str, start: int, stop: int) -> str:
    """A text without its needle, its sentences a space apart."""
    return f"{text[:start].rstrip()} {text[stop:].lstrip()}".strip()


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [" ".join(one.split()) for one in _SENTENCE.findall(text)]


def digests(found: list[str]) -> bytes:
    """Four bytes for each sentence, or piece of a long one, in order."""
    import xxhash

    pieces = (
        one[place : place + _LONGEST].encode()
        for one in found
        for place in range(0, len(one), _LONGEST)
    )
    return array("I", map(xxhash.xxh32_intdigest, pieces)).tobytes()


def differ(one: bytes, other: bytes) -> tuple[int, int]:
    """How many pieces each of two fillers has that are not in common at its beginning and end."""
    first, second = array("I", one), array("I", other)
    shorter = min(len(first), len(second))
    front = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    back = next(
        (i for i in range(shorter - front) if first[-1 - i] != second[-1 - i]), shorter - front
    )
    return len(first) - front - back, len(second) - front - back


def room(found: list[str], needle: int) -> int:
    """Pieces that the end of a filler may differ in, where a needle of so many characters stands.

    It takes the place of as much text, and the sentence that it falls into is cut.
    """
    longest = max(map(len, found), default=0)
    return (needle + 2 * longest) // _LONGEST + 3
