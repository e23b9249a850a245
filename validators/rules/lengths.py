"""Length outliers: texts far shorter or far longer than the others of their set.

Robust: the logarithm of the length against the median, in units of the median absolute deviation
of its own side (lengths are skewed), so that the outliers themselves do not move the scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from retgen.validators.rule import Batch, Finding, Measured, TextRule

_DEVIATIONS = 5.0  # of a normal law one in two millions is so far out
_TIMES = 4.0  # and that many times shorter or longer than the median
_APART = 8  # characters from the median, at least: a query of one sign is no outlier among words
_LEAST = 50  # texts, fewer say nothing of what is usual
_NORMAL = 1.4826  # the standard deviation of a normal law in median absolute deviations


def _bounds(lengths: NDArray[np.uint32]) -> tuple[int, float, float]:
    """(median, low, high): what is usual, and the bounds beyond which a length is an outlier."""
    present = lengths[lengths > 0]  # an empty text is another rule's business
    if len(present) < _LEAST:
        return 0, 0.0, math.inf
    logarithms = np.log(present.astype(np.float64))
    middle = float(np.median(logarithms))

    def reach(side: NDArray[np.float64]) -> float:
        return max(_DEVIATIONS * _NORMAL * float(np.median(np.abs(side))), math.log(_TIMES))

    below = reach(logarithms[logarithms <= middle] - middle)
    above = reach(logarithms[logarithms >= middle] - middle)
    median = math.exp(middle)
    low, high = median * math.exp(-below), median * math.exp(above)
    return round(median), min(low, median - _APART), max(high, median + _APART)


class LengthOutlier(TextRule):
    """Documents and queries of an unusual length."""

    name = "length-outlier"
    severity = "warning"
    finds = "texts and queries far shorter or longer than the others"
    order = 230

    def start(self) -> None:
        self.state: Measured = Measured()  # characters
        self.outliers: list[tuple[str, int]] = []

    def scan(self, batch: Batch) -> None:
        self.state.parts.append(np.fromiter(map(len, batch.texts), np.uint32, len(batch)))

    def suspicious(self) -> bool:
        lengths = self.state.every(np.uint32)
        self.usual = _, low, high = _bounds(lengths)
        return bool(((lengths > 0) & ((lengths < low) | (lengths > high))).any())

    def confirm(self, batch: Batch) -> None:
        _, low, high = self.usual
        both = zip(batch.ids, map(len, batch.texts), strict=True)
        self.outliers += [(i, size) for i, size in both if size and not low <= size <= high]

    def findings(self) -> Iterator[Finding]:
        median, low, _ = self.usual
        for how in ("longer", "shorter"):
            members = {i: n for i, n in self.outliers if (n < low) == (how == "shorter")}
            if members:
                ids, least, most = [*members], min(members.values()), max(members.values())
                span = f"{least:,}" + (f" to {most:,}" if most > least else "")
                who = self.which(ids, "is", "are")
                yield self.finding(
                    ids,
                    f"{who} far {how} than the others: {span} character{'s' * (most > 1)}, the "
                    f"median is {median:,}",
                )
