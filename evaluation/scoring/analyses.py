"""What `gen eval` looks at beside means over all queries, where it is asked to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from retgen.data import Dataset
from retgen.evaluation.scoring.by_column import break_down, values_of
from retgen.evaluation.scoring.failures import Top, failures
from retgen.evaluation.scoring.result import Part, Score, primary_of
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


def analyse(
    wanted: Analyses,
    collection: Collection,
    scores: Sequence[Score],
    tops: Sequence[tuple[Score, Top]],
    units: Units,
) -> list[Part]:
    """Keys of eval.json, and sections of the page and the terminal. `tops`: as of `failures`."""
    parts: list[Part] = []
    if not scores:
        return parts
    measure = primary_of(scores[0].names, collection)
    by = {
        column: break_down(column, values, collection, scores, units, measure)
        for column, values in _columns(wanted, collection).items()
    }
    if by:
        keys = {column: of for column, (of, _) in by.items()}
        parts.append(({"by": keys}, [section for _, section in by.values()]))
    if wanted.worst:
        worst, section = failures(collection, tops, measure)
        parts.append(({"worst": worst}, [section]))
    return parts


def _columns(wanted: Analyses, collection: Collection) -> dict[str, Mapping[str, str]]:
    if columns := wanted.by or collection.breakdown:
        return {one: values_of(collection.dataset, one, collection.path) for one in columns}
    sets = {
        query.query_id: query.metadata["set"]
        for query in collection.queries
        if isinstance(query.metadata, dict) and query.metadata.get("set") in _SETS
    }
    whole = len(sets) == len(collection.queries) and set(sets.values()) == _SETS
    return {"set": sets} if whole else {}
