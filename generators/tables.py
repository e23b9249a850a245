"""What the tables of all families are made with: ids, and files of JSON Lines read back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.streams import Permutation

_DIGITS = 7  # of an id, at least


class Ids:
    """A letter and the digits of a keyed bijection of the index; another purpose, another one."""

    def __init__(self, seed: int, purpose: str, letter: str, count: int) -> None:
        self._digits = max(_DIGITS, len(str(count - 1)))
        self._letter = ord(letter)
        self._order = Permutation(seed, f"{purpose}/{letter}", 10**self._digits)

    def fields(self, index: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The ids of records `index` (n,) as ASCII, (n, 1 + digits)."""
        powers = 10 ** np.arange(self._digits - 1, -1, -1, dtype=np.int64)
        digits = self._order(index)[:, None] // powers % 10 + ord("0")
        letter = np.full((len(index), 1), self._letter)
        return np.concatenate([letter, digits], axis=1).astype(np.uint8)

    def texts(self, index: NDArray[np.int64]) -> list[str]:
        """The ids of records `index` (n,)."""
        return [row.tobytes().decode() for row in self.fields(index)]


def iterate_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of JSON Lines that retgen has written or bundles, one by one."""
    with open(path, "rb") as file:
        yield from map(orjson.loads, file)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON Lines that retgen has written or bundles."""
    return list(iterate_rows(path))
