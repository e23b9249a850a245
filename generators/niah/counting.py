"""Tokenizers: how many tokens a sentence has in a text, and how many a finished text has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from retgen.errors import RecipeError
from retgen.generators.niah.params import FILE
from retgen.tokenizer import length
from retgen.validators.niah import NoTokenizer, load_tokenizer

T = TypeVar("T")
_BATCH = 1 << 20  # characters of texts that are encoded at once: what keeps memory flat
_BEFORE = "so"  # stands before a sentence: a word that opens a text may have other tokens


class TokenCounter:
    """Counts tokens: those of a tokenizer of the library `tokenizers`, without one the words
    between blanks, as `retgen.tokenizer` counts them.

    `first`: special tokens before a text; `special`: before and after. `by_words`: every word is
    cut by itself, so a text has the tokens of its sentences.
    """

    def __init__(self, tokenizer: Any = None) -> None:
        self._tokenizer = tokenizer
        self.first, self.special, self.by_words = 0, 0, True
        if tokenizer is not None:
            from tokenizers.pre_tokenizers import BertPreTokenizer

            self.by_words = isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
            mask = tokenizer.encode(_BEFORE).special_tokens_mask
            self.special = sum(mask)
            self.first = next((i for i, special in enumerate(mask) if not special), 0)

    def sizes(self, sentences: Sequence[str]) -> NDArray[np.int64]:
        """Tokens of each sentence where it stands behind a blank, (n,), special ones not counted.

        The sum over a text's sentences is its length with most tokenizers; `lengths` knows.
        """
        opened = [f"{_BEFORE} {sentence}" for sentence in sentences]
        return np.array(self.lengths(opened), np.int64) - self.lengths([_BEFORE])[0]

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, encoded as a model is given it: special ones included."""
        if self._tokenizer is None:
            return [length(text) for text in texts]
        result: list[int] = []
        for some in batches(texts, _BATCH, len):
            result += map(len, self._tokenizer.encode_batch_fast(some))
        return result

    def place(self, text: str, span: tuple[int, int]) -> tuple[int, int]:
        """Tokens of a text before some characters, special ones included, and of these.

        Only asked of a counter that is not `by_words`.
        """
        held = self._tokenizer.encode(text)
        start, stop = (held.char_to_token(place) for place in (span[0], span[1] - 1))
        return start, stop + 1 - start


def batches(items: Iterable[T], most: int, size: Callable[[T], int]) -> Iterator[list[T]]:
    """Consecutive items of together about so large a size, at least one."""
    batch: list[T] = []
    total = 0
    for item in items:
        batch.append(item)
        total += size(item)
        if total >= most:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


@cache
def load_counter(name: Path | str) -> TokenCounter:
    """The counter of a tokenizer as parameters name it. Raises `RecipeError`."""
    try:
        return TokenCounter(load_tokenizer(str(name)))
    except NoTokenizer as error:
        raise RecipeError(
            f"params.tokenizer: {error}; give a {FILE} as the library tokenizers saves it (of a "
            "model: AutoTokenizer.from_pretrained(...).save_pretrained), or count words: --set "
            "params.tokenizer=words"
        ) from error
