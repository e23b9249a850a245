"""Texts cut into what a model reads: by its own tokenizer, between words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_AT_ONCE = 256  # texts tokenised at a time

Cutter = Callable[[Sequence[str]], list[list[str]]]


def cutter(tokenizer: Any, limit: int | None, prompt: str = "") -> Cutter | None:
    """What cuts texts into pieces of at most `limit` tokens, prompt and special tokens included.

    None without a limit, and for tokenizers that do not tell where in a text a token stands.
    """
    if limit is None or not getattr(tokenizer, "is_fast", False):
        return None
    room = limit - int(tokenizer.num_special_tokens_to_add(pair=False))
    if prompt:
        room -= len(_encoded(tokenizer, [prompt])["input_ids"][0])
    return None if room < 1 else lambda texts: _cut_all(tokenizer, texts, room)


def _cut_all(tokenizer: Any, texts: Sequence[str], room: int) -> list[list[str]]:
    result: list[list[str]] = []
    for start in range(0, len(texts), _AT_ONCE):
        part = texts[start : start + _AT_ONCE]
        offsets = _encoded(tokenizer, part)["offset_mapping"]
        result += [_cut(text, of, room) for text, of in zip(part, offsets, strict=True)]
    pieces = [piece for of in result if len(of) > 1 for piece in of]
    # where a tokenizer looks across white space, a piece may have more tokens than its text had
    long = [p for p, count in zip(pieces, _counts(tokenizer, pieces), strict=True) if count > room]
    if not long or room == 1:
        return result
    again = dict(zip(long, _cut_all(tokenizer, long, room - 1), strict=True))
    return [[p for piece in of for p in again.get(piece, [piece])] for of in result]


def _counts(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """Tokens of each text."""
    counts: list[int] = []
    for start in range(0, len(texts), _AT_ONCE):
        ids = _encoded(tokenizer, texts[start : start + _AT_ONCE])["input_ids"]
        counts += [len(one) for one in ids]
    return counts


def _cut(text: str, offsets: Sequence[tuple[int, int]], room: int) -> list[str]:
    """Pieces of at most `room` tokens; a word is cut only where it alone has more."""
    if len(offsets) <= room:
        return [text]
    starts = np.array([start for start, _ in offsets])
    # some tokenizers count the space before a word as a part of it
    words = np.array(
        [
            i
            for i, at in enumerate(starts)
            if at == 0 or text[at].isspace() or text[at - 1].isspace()
        ]
    )
    pieces, begin = [], 0
    while begin < len(starts):
        stop = begin + room
        if stop < len(starts):
            last = int(words[np.searchsorted(words, stop, side="right") - 1])
            stop = last if last > begin else stop
        end = int(starts[stop]) if stop < len(starts) else len(text)
        pieces.append(text[int(starts[begin]) : end].strip())
        begin = stop
    return pieces


def _encoded(tokenizer: Any, texts: Sequence[str]) -> Any:
    return tokenizer(
        list(texts),
        add_special_tokens=False,
        truncation=False,
        padding=False,
        verbose=False,
        return_offsets_mapping=True,
        return_attention_mask=False,
        return_token_type_ids=False,
    )
