"""A document cut into the sentences of its ladder; sets of conditions as bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def sentences_of(
    text: str, known: Sequence[tuple[str, tuple[int, bool]]]
) -> list[tuple[int, bool]] | None:
    """A text cut into known pieces, joined by single spaces; the longest that fits is taken."""
    result, at = [], 0
    while at < len(text):
        for piece, which in known:
            end = at + len(piece)
            if text.startswith(piece, at) and text[end : end + 1] in ("", " "):
                result.append(which)
                break
        else:
            return None
        at = end + 1
    return result if at == len(text) + 1 else None


def bits_of(numbers: Any) -> int:
    """Rising numbers from 1 to 16 as bits. Raises ValueError for anything else."""
    if type(numbers) is not list or numbers != sorted(set(numbers)):
        raise ValueError(numbers)
    result = 0
    for number in numbers:
        if type(number) is not int or not 1 <= number <= 16:
            raise ValueError(number)
        result |= 1 << number - 1
    return result


def numbers_of(broken: int) -> str:
    return ", ".join(str(c + 1) for c in range(16) if broken >> c & 1) or "none"
