"""A batch of documents read back at once, where every text is exactly what its metadata spells.

A text is a name and a list of attributes. Where the attributes that the metadata numbers, written
out in their order, give the list letter by letter, these are the attributes of the text: no
attribute holds a separator, so that a list can be read in one way only. That takes a third of the
time of cutting every list apart; where it fails for any document, that is what is done.
"""

from __future__ import annotations

from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.tokenizer import words_only
from retgen.validators.limit.spec import Template
from retgen.validators.rule import Batch


class Spelled(NamedTuple):
    """What the texts of a batch say, and how long they are."""

    names: list[str]
    terms: NDArray[np.int64]  # (documents, size): ids of the attributes
    lengths: NDArray[np.int64]  # (documents,) characters
    words: NDArray[np.int64] | None  # (documents,) None where white space does not tell them


class Speller:
    """Writes lists of `size` attributes as a template would. `attributes`: text -> id."""

    def __init__(self, template: Template, attributes: dict[str, int], size: int) -> None:
        self.template = template
        self.size = size
        # "A, B and C" must not be another list too
        self.able = size > 0 and not any("," in a or " and " in f" {a} " for a in attributes)
        width = max(attributes.values(), default=0) + 1
        self._known = np.zeros(width, bool)
        self._known[list(attributes.values())] = True
        # how each ends: in the list, before the last, and last, which comes with the text's end
        ends = (", ", " and ", template.tail)
        self._texts = np.full(width * len(ends), "", object)
        self._lengths = np.zeros(width * len(ends), np.int64)
        self._spaces = np.zeros(width * len(ends), np.int64)
        for attribute, number in attributes.items():
            for place, end in enumerate(ends):
                text = attribute + end
                self._texts[number + place * width] = text
                self._lengths[number + place * width] = len(text)
                self._spaces[number + place * width] = text.count(" ")
        places = [0] * (size - 2) + [1, 2]
        self._places = np.array(places[len(places) - size :], np.int64) * width
        self._spaced = words_only("".join([*template, *attributes]))

    def read(self, batch: Batch) -> Spelled | None:
        """What the texts say; None where any of them is not what its metadata spells."""
        terms = self._stated(batch.metadata) if self.able else None
        if terms is None:
            return None
        head, middle, _ = self.template
        start, texts = len(head), batch.texts
        if head and not all(text.startswith(head) for text in texts):
            return None
        stops = [text.find(middle, start) for text in texts]
        if min(stops) <= start:
            return None
        both = list(zip(texts, stops, strict=True))
        names = [text[start:stop] for text, stop in both]
        # without names, whose letters make long texts wider, they are put together much faster
        listed = [text[stop + len(middle) :] for text, stop in both]
        pieces = terms + self._places
        lengths = np.fromiter(map(len, listed), np.int64, len(listed))
        if not np.array_equal(self._lengths[pieces].sum(axis=1), lengths):
            return None
        # each list has the right length, so all are equal if they are when put together
        if "".join(self._texts[pieces].ravel().tolist()) != "".join(listed):
            return None
        lengths += np.array(stops) + len(middle)
        words = None
        if self._spaced and words_only("".join(names)):
            inside = np.fromiter(map(str.count, names, repeat(" ")), np.int64, len(names))
            around = head.count(" ") + middle.count(" ")
            words = inside + around + self._spaces[pieces].sum(axis=1) + 1
        return Spelled(names, terms, lengths, words)

    def _stated(self, metadata: list[Any]) -> NDArray[np.int64] | None:
        """The ids of the metadata, (documents, size); None where any of them are none."""
        try:
            noted = [one["attributes"] for one in metadata]
        except (TypeError, KeyError):
            return None
        if set(map(type, noted)) != {list} or set(map(len, noted)) != {self.size}:
            return None
        flat = list(chain.from_iterable(noted))
        try:
            if type(sum(flat)) is not int:  # as it is of integers, and of truth values
                return None
            terms = np.fromiter(flat, np.int64, len(flat))
        except (TypeError, OverflowError):
            return None
        if any(type(flat[place]) is not int for place in np.flatnonzero(terms <= 1).tolist()):
            return None
        if terms.min() < 0 or terms.max() >= len(self._known) or not self._known[terms].all():
            return None
        return terms.reshape(len(noted), self.size)
