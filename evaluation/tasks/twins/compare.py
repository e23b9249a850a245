"""The triples of a data set as candidate sets, and the changes that come of their scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from retgen.evaluation.collection import Collection
from retgen.evaluation.search.candidates.sets import CandidateSet
from retgen.evaluation.tasks.task import Comparison, Measured, Scores, TaskData
from retgen.evaluation.tasks.twins.changes import Changes, changes
from retgen.evaluation.tasks.twins.triples import FACTORS, Asked, load_triples
from retgen.statistics.clustered import too_few


class TripleData(TaskData[Changes]):
    """The triples of one data set."""

    def __init__(self, collection: Collection) -> None:
        self.name = collection.name
        self.asked = load_triples(collection)
        self.domains = [collection.name]
        count = len({one.triple for one in self.asked})
        self.notes = list(filter(None, [too_few(count, f"{count} triples")]))

    def comparison(self, limit: int | None = None, *, paid: bool = False) -> TripleComparison:
        every = dict.fromkeys(one.triple for one in self.asked)
        chosen = set(list(every)[:limit])
        asked = [one for one in self.asked if one.triple in chosen]
        described = f"{len(chosen):,} of {len(every):,} triples"
        return TripleComparison(self.name, asked, described)


class TripleComparison(Comparison[Changes]):
    """Every query with base, twin, control and some documents about something else."""

    def __init__(self, name: str, asked: Sequence[Asked], described: str) -> None:
        self.name, self._asked, self.described = name, asked, described
        self.sets = [CandidateSet(one.text, one.texts) for one in asked]

    def measure(self, scores: Scores, noise: float) -> Measured[Changes]:
        number = {t: i for i, t in enumerate(dict.fromkeys(one.triple for one in self._asked))}
        factors = {name: [one.factors[name] for one in self._asked] for name in FACTORS}
        triples = [number[one.triple] for one in self._asked]
        result = changes(scores, triples, factors, noise)
        return Measured({self.name: result}, self._rows(scores))

    def _rows(self, scores: Scores) -> Iterator[Mapping[str, Any]]:
        for one, of in zip(self._asked, scores, strict=True):
            base, twin, control, *others = of.tolist()
            yield {
                "query-id": one.query_id,
                "triple": one.triple,
                **one.factors,
                "base": base,
                "twin": twin,
                "control": control,
                "others": others,
            }
