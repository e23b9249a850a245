"""Length outliers: texts far shorter or far longer than the others of their set.

Robust: the logarithm of the length against the median, in units of the median absolute deviation
of its own side (lengths are skewed), so that the outliers themselves do not move the scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.validators.rule import Batch, Finding, JudgedRule, Judgements, RuleState

_DEVIATIONS = 5.0  # of a normal law one in two millions is so far out
_TIMES = 4.0  # and that many times shorter or longer than the median
_LEAST = 50  # texts, fewer say nothing of what is usual
_NORMAL = 1.4826  # the standard deviation of a normal law in median absolute deviations
_FIELDS = ("texts", "titles")


@dataclass
class _Lengths(RuleState):
    """Characters of each document's text and title: eight bytes a document."""

    parts: dict[str, list[NDArray[np.uint32]]] = field(
        default_factory=lambda: {column: [] for column in _FIELDS}
    )


class _Usual(NamedTuple):
    """What is usual: the median, and the bounds beyond which a length is an outlier."""

    median: int
    low: float
    high: float

    @classmethod
    def of(cls, lengths: NDArray[np.uint32]) -> _Usual | None:
        present = lengths[lengths > 0]  # an empty text is another rule's business
        if len(present) < _LEAST:
            return None
        logarithms = np.log(present.astype(np.float64))
        middle = float(np.median(logarithms))

        def reach(side: NDArray[np.float64]) -> float:
            return max(_DEVIATIONS * _NORMAL * float(np.median(np.abs(side))), math.log(_TIMES))

        below = reach(logarithms[logarithms <= middle] - middle)
        above = reach(logarithms[logarithms >= middle] - middle)
        return cls(round(math.exp(middle)), math.exp(middle - below), math.exp(middle + above))

    def beyond(self, length: int) -> str:
        if not length or self.low <= length <= self.high:
            return ""
        return "shorter" if length < self.low else "longer"


class LengthOutlier(JudgedRule):
    """Documents, titles and queries of an unusual length."""

    name = "length-outlier"
    severity = "warning"
    finds = "texts, titles and queries far shorter or longer than the others"
    order = 230

    def __init__(self, judgements: Judgements) -> None:
        self.usual: dict[str, _Usual] = {}
        self.outliers: dict[tuple[str, str], list[tuple[str, int]]] = {}
        super().__init__(judgements)

    def start(self) -> None:
        self.state: _Lengths = _Lengths()

    def scan(self, batch: Batch) -> None:
        for column, parts in self.state.parts.items():
            values: Sequence[str] = getattr(batch, column)
            parts.append(np.fromiter(map(len, values), np.uint32, len(values)))

    def suspicious(self) -> bool:
        suspects = False
        for column, parts in self.state.parts.items():
            lengths = np.concatenate([np.empty(0, np.uint32), *parts])
            if (usual := _Usual.of(lengths)) is not None:
                self.usual[column] = usual
                here = (lengths > 0) & ((lengths < usual.low) | (lengths > usual.high))
                suspects |= bool(here.any())
        return suspects

    def confirm(self, batch: Batch) -> None:
        for column, usual in self.usual.items():
            for doc_id, value in zip(batch.ids, getattr(batch, column), strict=True):
                if how := usual.beyond(len(value)):
                    self.outliers.setdefault((column, how), []).append((doc_id, len(value)))

    def findings(self) -> Iterator[Finding]:
        names = {
            "texts": ("the text of document {}", "the texts of {:,} documents"),
            "titles": ("the title of document {}", "the titles of {:,} documents"),
        }
        for (column, how), members in sorted(self.outliers.items()):
            yield self._finding(*names[column], how, members, self.usual[column].median)
        lengths = np.fromiter((len(one.text) for one in self.judgements.queries), np.uint32)
        usual = _Usual.of(lengths)
        if usual is None:
            return
        for how in ("longer", "shorter"):
            both = ((query.query_id, len(query.text)) for query in self.judgements.queries)
            members = [one for one in both if usual.beyond(one[1]) == how]
            if members:
                yield self._finding("query {}", "{:,} queries", how, members, usual.median)

    def _finding(
        self, one: str, many: str, how: str, members: list[tuple[str, int]], median: int
    ) -> Finding:
        ids = [text_id for text_id, _ in members]
        lengths = sorted(length for _, length in members)
        span = f"{lengths[0]:,}" + (f" to {lengths[-1]:,}" if lengths[-1] > lengths[0] else "")
        subject = f"{one.format(ids[0])} is" if len(ids) == 1 else f"{many.format(len(ids))} are"
        return self.finding(
            ids,
            f"{subject} far {how} than the others: {span} character{'s' * (lengths[-1] > 1)}, "
            f"the median is {median:,}",
        )
