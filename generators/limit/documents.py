"""Documents as JSON Lines, made in blocks without a Python object a document.

A block is a matrix of bytes: one fixed-width field for every piece of every line, padded with NUL,
which JSON never holds. Deleting the NULs leaves the text. So a document costs a few table look-ups
in NumPy, and document i depends on nothing but i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.generators.ids import Ids
from retgen.generators.limit.latent import Latent
from retgen.generators.limit.names import Names
from retgen.streams import Stream

_BLOCK = 1024  # documents; small enough that a block's arrays stay in the processor's cache


@dataclass(frozen=True)
class Documents:
    """The corpus table (see `Rows`).

    `attributes`: texts that the recipe may use, `attribute_ids`: their ids in the whole list.
    """

    count: int
    seed: int
    per_document: int
    latent: Latent
    names: Names
    ids: Ids
    attributes: Sequence[str]
    attribute_ids: Sequence[int]
    templates: Sequence[str]

    def __post_init__(self) -> None:
        cut = [_cut(template) for template in self.templates]
        tables = {
            "head": _table(['","title":"","text":"' + _json(head) for head, _, _ in cut]),
            "middle": _table([_json(middle) for _, middle, _ in cut]),
            "tail": _table([_json(tail) + '","metadata":{"attributes":[' for *_, tail in cut]),
            "first": _table([_json(name) + " " for name in self.names.first]),
            "last": _table([_json(name) for name in self.names.last]),
            # an attribute is followed by a comma, by "and", or by nothing
            "listed": _table([_json(text) + ", " for text in self.attributes]),
            "before last": _table([_json(text) + " and " for text in self.attributes]),
            "plain": _table([_json(text) for text in self.attributes]),
            "id,": _table([f"{number}," for number in self.attribute_ids]),
            "id": _table([str(number) for number in self.attribute_ids]),
        }
        object.__setattr__(self, "_tables", tables)
        object.__setattr__(self, "_padded", bytearray())

    def jsonl(self, start: int, stop: int) -> bytes:
        """Documents start..stop-1 as JSON Lines."""
        return b"".join(
            self._block(first, min(first + _BLOCK, stop)) for first in range(start, stop, _BLOCK)
        )

    def _block(self, start: int, stop: int) -> bytearray:
        tables: dict[str, NDArray[np.bytes_]] = self._tables  # type: ignore[attr-defined]
        n = stop - start
        index = np.arange(start, stop)
        sets = self.attribute_sets(start, stop)
        given, last = self.names.parts(index)
        template = np.zeros(n, np.int64)
        if len(self.templates) > 1:
            stream = Stream(self.seed, "limit/document templates")
            template = stream.draws(start, stop, np.array([len(self.templates)], np.uint64))[:, 0]
        listed = [
            tables["listed"][sets[:, :-2]],
            tables["before last"][sets[:, -2:-1]],
            tables["plain"][sets[:, -1:]],
        ]
        numbers = [tables["id,"][sets[:, :-1]], tables["id"][sets[:, -1:]]]
        fields = [
            _constant('{"_id":"', n),
            self.ids.fields(index),
            _bytes(tables["head"][template], n),
            *(_bytes(tables["first"][one], n) for one in given),
            *(_bytes(column, n) for column in (tables["last"][last], tables["middle"][template])),
            *(_bytes(column, n) for column in listed if column.size),
            _bytes(tables["tail"][template], n),
            *(_bytes(column, n) for column in numbers if column.size),
            _constant('],"column":', n),
            _bytes(self._columns(start, stop), n),
            _constant("}}\n", n),
        ]
        width = sum(field.shape[1] for field in fields)
        padded: bytearray = self._padded  # type: ignore[attr-defined]
        if len(padded) != n * width:  # the same memory again and again: fresh pages cost time
            padded = bytearray(n * width)
            object.__setattr__(self, "_padded", padded)
        np.concatenate(fields, axis=1, out=np.frombuffer(padded, np.uint8).reshape(n, width))
        return padded.translate(None, b"\0")

    def attribute_sets(self, start: int, stop: int) -> NDArray[np.int64]:
        """The attributes of documents start..stop-1 in their order: (n, per_document)."""
        latent, size = self.latent, self.per_document
        sets = np.empty((stop - start, size), np.int64)
        low, high = np.searchsorted(latent.special, [start, stop])
        special = latent.special[low:high] - start
        # a distractor needs `size` fillers; without distractors there may be fewer than that
        drawn = _samples(Stream(self.seed, "limit/fillers"), start, stop, len(latent.fillers), size)
        if drawn.shape[1] == size:
            sets[:] = latent.fillers[drawn]
        degrees = np.diff(latent.starts[low : high + 1])
        for degree in np.unique(degrees):
            rows = special[degrees == degree]
            first = latent.starts[low:high][degrees == degree]
            sets[rows, :degree] = latent.held[first[:, None] + np.arange(degree)]
            sets[rows, degree:] = latent.fillers[drawn[rows, : size - degree]]
        if len(special):
            # what must be held is mixed with the rest, so that its place in the list says nothing
            order = _samples(Stream(self.seed, "limit/order"), start, stop, size, size)[special]
            sets[special] = np.take_along_axis(sets[special], order, axis=1)
        return sets

    def _columns(self, start: int, stop: int) -> NDArray[np.bytes_]:
        """The matrix column of each document as text, -1 for a distractor: (n,)."""
        low, high = np.searchsorted(self.latent.special, [start, stop])
        columns = np.full(stop - start, -1, np.int64)
        columns[self.latent.special[low:high] - start] = self.latent.column[low:high]
        return columns.astype("S20")


def _samples(
    stream: Stream, start: int, stop: int, population: int, size: int
) -> NDArray[np.int64]:
    """Ordered samples without replacement, one a record: (stop - start, min(size, population)).

    The first steps of Fisher and Yates' shuffle, all records of the block at a time.
    """
    n, size = stop - start, min(size, population)
    bounds = np.arange(population, population - size, -1).astype(np.uint64)
    draws = stream.draws(start, stop, bounds)
    # the deck is most of the memory touched, so its numbers are as short as they can be
    short = np.int16 if population < 1 << 15 else np.int32
    deck = np.tile(np.arange(population, dtype=short), (n, 1))
    flat = deck.reshape(-1)
    there = np.ascontiguousarray((draws + np.arange(size)).T) + np.arange(n) * population
    for step in range(size):
        left = deck[:, step].copy()
        deck[:, step] = flat.take(there[step])
        flat[there[step]] = left
    return deck[:, :size].astype(np.int64)


def _cut(template: str) -> tuple[str, str, str]:
    head, _, rest = template.partition("{name}")
    middle, _, tail = rest.partition("{attributes}")
    return head, middle, tail


def _json(text: str) -> str:
    """A text as it stands inside a JSON string."""
    return orjson.dumps(text).decode()[1:-1]


def _table(texts: Sequence[str]) -> NDArray[np.bytes_]:
    """Texts as UTF-8 in one fixed-width column, padded with NUL: (n,)."""
    return np.array([text.encode() for text in texts] or [b""])


def _bytes(column: NDArray[np.bytes_], n: int) -> NDArray[np.uint8]:
    return np.ascontiguousarray(column).view(np.uint8).reshape(n, -1)


def _constant(text: str, n: int) -> NDArray[np.uint8]:
    return np.broadcast_to(np.frombuffer(text.encode(), np.uint8), (n, len(text)))
