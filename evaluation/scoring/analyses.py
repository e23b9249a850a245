"""What `gen eval` looks at beside means over all queries, where it is asked to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from retgen.data import Dataset
from retgen.evaluation.scoring.by_type import break_down
from retgen.evaluation.scoring.columns import values_of
from retgen.evaluation.scoring.failures import DEPTH, Top, failures
from retgen.evaluation.scoring.result import Part
from retgen.evaluation.scoring.scores import Score, primary_of
from retgen.search.base import SystemRanks
from retgen.search.collection import Collection
from retgen.statistics.clustered import Units

_SETS = {"KW", "SM"}  # CapRetrieval's two sets of queries, which are shown apart


@dataclass(frozen=True)
class Analyses:
    """`by`: columns of the queries to break scores down by. `worst`: the worst queries.

    `complete`: pairs without a qrel are known to be not relevant, whatever the data set says of
    itself.
    """

    by: tuple[str, ...] = ()
    worst: bool = False
    complete: bool = False

    def check(self, datasets: Mapping[Path, Dataset]) -> None:
        """Raises `UsageError` for a column that no query has."""
        for path, dataset in datasets.items():
            for column in self.by:
                values_of(dataset, column, path)


@dataclass
class Analysis:
    """The analyses of one collection, which is told of every system."""

    wanted: Analyses
    collection: Collection
    _tops: list[tuple[Score, Top]] = field(default_factory=list, init=False)

    def depth(self) -> int:
        """How deep rankings must reach for it."""
        return min(DEPTH, self.collection.documents) if self.wanted.worst else 1

    def add(self, score: Score, ranked: SystemRanks) -> None:
        """Keep what is needed of a ranking."""
        if self.wanted.worst:
            self._tops.append((score, ranked.rankings.documents[:, :DEPTH]))

    def finish(self, scores: Sequence[Score], units: Units) -> list[Part]:
        """Keys of eval.json, and sections of the page and the terminal."""
        if not scores:
            return []
        measure = primary_of(scores[0].names, self.collection)
        by = {
            column: break_down(column, values, self.collection, scores, units, measure)
            for column, values in self._columns().items()
        }
        parts: list[Part] = []
        if by:
            keys = {column: of for column, (of, _) in by.items()}
            parts.append(({"by": keys}, [section for _, section in by.values()]))
        if self._tops:
            worst, section = failures(self.collection, self._tops, measure)
            parts.append(({"worst": worst}, [section]))
        return parts

    def _columns(self) -> dict[str, Mapping[str, str]]:
        dataset, path = self.collection.dataset, self.collection.path
        if columns := self.wanted.by or self.collection.breakdown:
            return {column: values_of(dataset, column, path) for column in columns}
        sets = {
            query.query_id: query.metadata["set"]
            for query in self.collection.queries
            if isinstance(query.metadata, dict) and query.metadata.get("set") in _SETS
        }
        whole = len(sets) == len(self.collection.queries) and set(sets.values()) == _SETS
        return {"set": sets} if whole else {}
