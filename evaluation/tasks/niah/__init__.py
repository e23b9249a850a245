"""Needles in haystacks: is a text that answers a question found, however long the text is?

A data set without their metadata holds none, and nothing here looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from retgen.evaluation.tasks.niah.cells import SystemCells
from retgen.evaluation.tasks.niah.compare import HaystackData
from retgen.evaluation.tasks.niah.haystacks import KEYS
from retgen.evaluation.tasks.niah.page import sections
from retgen.evaluation.tasks.niah.sentences import sentences
from retgen.evaluation.tasks.niah.summary import summary
from retgen.evaluation.tasks.task import SystemResult, Task, by_domain, by_label
from retgen.results.page import Section
from retgen.search.collection import Collection

__all__ = ["NeedlesInHaystacks"]


class NeedlesInHaystacks(Task[SystemCells]):
    """Scores of haystacks by length, place and make, against the same texts without needle."""

    name = "haystacks"
    title = "Needles in haystacks"
    item = "question"
    keys = KEYS
    models = ("bm25",)
    limits_all = True
    aside = (
        "Rankings of the whole corpus mix haystacks of all lengths and places, and each question "
        "has as many relevant ones as there are places, orders and lengths: recall, its baselines "
        "and dimensions say little of such a set, and what it is for stands above."
    )

    def read(self, collection: Collection) -> HaystackData:
        return HaystackData(collection)

    def summary(self, result: SystemResult[SystemCells]) -> dict[str, Any]:
        """The keys of `retgen.evaluation.tasks.niah.summary`; of several data sets by `domains`."""
        return by_domain(result, summary)

    def sections(self, results: Sequence[SystemResult[SystemCells]]) -> Iterable[Section]:
        return sections(results)

    def sentences(self, results: Sequence[SystemResult[SystemCells]]) -> Sequence[str]:
        return sentences(by_label(results))
