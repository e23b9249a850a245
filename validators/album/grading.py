"""Grades worked out from facts that were read: for each query all captions at once.

Facts are rows of columns, one a mention; a query is compared with whole columns. 2: named so, and
salient. 1: of that kind, or in passing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.validators.album.reader import lexicon

_SCENE = ("action", "object", "place", "moment", "topic", "month")
_MENTIONED = ("subject", "object", "place", "topic", "passing")
_COLOURS = ("white", "black", "brown", "grey", "red", "blue", "yellow", "green", "pink", "purple")


class Captions:
    """The facts of captions as columns of codes; -1 is nothing."""

    def __init__(self, facts: Sequence[Sequence[str]]) -> None:
        self._codes = {meaning: i for i, meaning in enumerate(lexicon().above)}
        size = len(self._codes)
        # how well meaning [there] fits meaning [asked]; the last row is that of nothing
        self._fits = np.zeros((size + 1, size), np.int8)
        for meaning, above in lexicon().above.items():
            row = self._codes[meaning]
            self._fits[row, row] = 2
            self._fits[row, [self._codes[one] for one in above]] = 1
        self._scene = {key: np.full(len(facts), -1, np.int64) for key in _SCENE}
        rows: list[tuple[int, int, int, int, bool, bool]] = []
        for i, listed in enumerate(facts):
            rows += self._rows(i, listed)
        table = np.array(rows, np.int64).reshape(-1, 6)
        self._at, self._what, self._number, self._colour = table[:, :4].T
        self._salient, self._subject = table[:, 4:].T.astype(bool)
        self.count = len(facts)

    def _rows(self, i: int, listed: Iterable[str]) -> list[tuple[int, int, int, int, bool, bool]]:
        pairs = [(key, value) for key, _, value in (fact.partition("=") for fact in listed)]
        single = dict(pairs)
        rows = []
        for key, value in pairs:
            colour, number, what = "", -1, value
            if key in self._scene:
                self._scene[key][i] = self._codes[value]
            if key not in _MENTIONED:
                continue
            if key == "subject":
                colour, number = single.get("colour", ""), int(single["number"])
            elif key == "passing":
                if value not in self._codes:  # "red bicycle", but "red wine" is a meaning
                    colour, _, what = value.partition(" ")
                number = 1
            shade = _COLOURS.index(colour) if colour else -1
            rows.append((i, self._codes[what], number, shade, key != "passing", key == "subject"))
        return rows

    def grades(self, asked: Mapping[str, Any]) -> NDArray[np.int8]:
        """0, 1 or 2 of every caption."""
        result = np.full(self.count, 2, np.int8)
        for key in _SCENE:
            if key in asked:
                code = self._codes[asked[key]]
                np.minimum(result, self._fits[self._scene[key], code], out=result)
        if "thing" in asked:
            fits = np.ones(len(self._at), bool)
            if "number" in asked:
                fits &= self._number == asked["number"]
            if "colour" in asked:
                fits &= self._colour == _COLOURS.index(asked["colour"])
            if {"action", "topic", "month"} & asked.keys():  # only a subject does, or is of a topic
                fits &= self._subject
            np.minimum(result, self._best(asked["thing"], fits), out=result)
        if "other" in asked:
            np.minimum(result, self._best(asked["other"], np.True_), out=result)
        return result

    def _best(self, meaning: str, allowed: Any) -> NDArray[np.int8]:
        """The best grade of a mention, of every caption."""
        worth = self._fits[self._what, self._codes[meaning]]
        worth = np.where(allowed, np.where(self._salient, worth, np.minimum(worth, 1)), 0)
        best = np.zeros(self.count, np.int8)
        np.maximum.at(best, self._at, worth.astype(np.int8))
        return best
