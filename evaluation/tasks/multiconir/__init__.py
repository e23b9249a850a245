"""MultiConIR: candidate sets that are ladders of hard negatives, each a condition further off.

A data set without their metadata holds none, and nothing here looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from retgen.evaluation.tasks.multiconir.compare import LadderData, mean_rates
from retgen.evaluation.tasks.multiconir.ladders import KEYS
from retgen.evaluation.tasks.multiconir.page import sections, sentences
from retgen.evaluation.tasks.multiconir.panels import by_label
from retgen.evaluation.tasks.multiconir.rates import Rates
from retgen.evaluation.tasks.multiconir.summary import summary
from retgen.evaluation.tasks.task import SystemResult, Task
from retgen.results.page import Section
from retgen.search.collection import Collection

__all__ = ["INSTRUCTION", "Ladders"]

# what the paper puts before the queries of embedders that take instructions (Appendix A), in the
# form that their makers give
INSTRUCTION = (
    "Instruct: Given a domain retrieval query, retrieve documents that meet the specified "
    "conditions.\nQuery: "
)


class Ladders(Task[Rates]):
    """Win rates and flip rates on ladders (MultiConIR, sections 3 to 5)."""

    name = "ladders"
    title = "Ladders"
    item = "ladder"
    keys = KEYS
    models = ("bm25-paper", "bm25")
    paper = "MultiConIR"
    instruction = INSTRUCTION

    def read(self, collection: Collection) -> LadderData:
        return LadderData(collection)

    def summary(self, result: SystemResult[Rates]) -> dict[str, Any]:
        """The keys of `retgen.evaluation.tasks.multiconir.summary`, and the same by domain."""
        each = {}
        if len(result.domains) > 1:
            each = {name: summary(rates) for name, rates in result.domains.items()}
        return summary(mean_rates(result)) | {"domains": each or list(result.domains)}

    def sections(self, results: Sequence[SystemResult[Rates]]) -> Iterable[Section]:
        return sections(results)

    def sentences(self, results: Sequence[SystemResult[Rates]]) -> Sequence[str]:
        return sentences(by_label(results))
