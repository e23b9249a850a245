"""A batch of documents read back at once, where every text is exactly what its metadata spells.

A text is a name and a list of attributes. Where the attributes that the metadata numbers, written
out in their order, give the list letter by letter, these are the attributes of the text: no
attribute holds a separator, so that a list can be read in one way only. That takes a third of the
time of cutting every list apart; where it fails for any document, that is what is done.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.validators.limit.spec import Template
from retgen.validators.rule import Batch

__all__ = ["Spelled", "Speller"]


class Spelled(NamedTuple):
    """`names`: of each document. `terms`: ids of the attributes of each, (documents, size)."""

    names: list[str]
    terms: NDArray[np.int64]


class Speller:
    """Writes lists of `size` attributes as a template would. `attributes`: text -> id."""

    def __init__(self, template: Template, attributes: dict[str, int], size: int) -> None:
        self.template = template
        self.size = size
        # "A, B and C" must not be another list too
        self.able = size > 0 and not any("," in a or " and " in f" {a} " for a in attributes)
        ends = (", ", " and ", template.tail)
        self._ends = ends
        width = max(attributes.values(), default=0) + 1
        self._known = np.zeros(width, bool)
        self._known[list(attributes.values())] = True
        self._texts = {end: np.full(width, "", object) for end in ends}
        self._lengths = {end: np.zeros(width, np.int64) for end in ends}
        for attribute, number in attributes.items():
            for end in ends:
                self._texts[end][number] = attribute + end
                self._lengths[end][number] = len(attribute + end)

    def read(self, batch: Batch) -> Spelled | None:
        """Names and attributes; None where any text is not what its metadata spells."""
        terms = self._stated(batch.metadata) if self.able else None
        if terms is None:
            return None
        head, middle, _ = self.template
        texts = batch.texts
        if head:
            if not all(text.startswith(head) for text in texts):
                return None
            texts = [text[len(head) :] for text in texts]
        names, between, listed = map(list, zip(*[t.partition(middle) for t in texts], strict=True))
        if not all(names) or not all(between):
            return None
        # the last attribute comes with the end of the text
        parts = list(zip(self._ends, (terms[:, :-2], terms[:, -2:-1], terms[:, -1:]), strict=True))
        lengths = sum(self._lengths[end][ids].sum(axis=1) for end, ids in parts)
        if not np.array_equal(np.fromiter(map(len, listed), np.int64, len(listed)), lengths):
            return None
        pieces = np.concatenate([self._texts[end][ids] for end, ids in parts], axis=1)
        # each list has the right length, so all are equal if they are when put together
        same = "".join(pieces.ravel().tolist()) == "".join(listed)
        return Spelled(names, terms) if same else None

    def _stated(self, metadata: list[Any]) -> NDArray[np.int64] | None:
        """The ids of the metadata, (documents, size); None where any of them are none."""
        try:
            noted = [one["attributes"] for one in metadata]
        except (TypeError, KeyError):
            return None
        if set(map(type, noted)) != {list} or set(map(len, noted)) != {self.size}:
            return None
        flat = list(chain.from_iterable(noted))
        if set(map(type, flat)) != {int}:
            return None
        try:
            terms = np.fromiter(flat, np.int64, len(flat))
        except OverflowError:
            return None
        if terms.min() < 0 or terms.max() >= len(self._known) or not self._known[terms].all():
            return None
        return terms.reshape(len(noted), self.size)
