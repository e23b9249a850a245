"""Fillers compared: what is left of texts without their needles, as digests of their sentences."""

from __future__ import annotations

import re
from array import array

TAIL = 4  # sentences at the end of a filler that bring its text to its length, at most

# up to the end of a sentence, the quotes and brackets after it, and white space
_SENTENCE = re.compile(
    r".+?(?:[.!?\u2026][\"'\u2019\u201d\u00bb)\]]*(?:\s+|\Z)|[\u3002\uff01\uff1f]\s*|\Z)", re.S
)


def without(text: str, start: int, stop: int) -> str:
    """A text without its needle."""
    return f"{text[:start].rstrip()} {text[stop:].lstrip()}".strip()


def digests(text: str) -> bytes:
    """Four bytes for each sentence of a text, in order."""
    import xxhash

    sentences = (" ".join(one.split()).encode() for one in _SENTENCE.findall(text))
    return array("I", map(xxhash.xxh32_intdigest, sentences)).tobytes()


def differ(one: bytes, other: bytes) -> tuple[int, int]:
    """How many sentences each of two fillers has behind those with which both begin."""
    first, second = array("I", one), array("I", other)
    shorter = min(len(first), len(second))
    front = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    return len(first) - front, len(second) - front


def digest(text: str) -> int:
    """Eight bytes for a whole text."""
    import xxhash

    return xxhash.xxh3_64_intdigest(text.encode())
