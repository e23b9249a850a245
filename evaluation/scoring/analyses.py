"""What `gen eval` looks at beside means over all queries, where it is asked to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from retgen.data import Dataset
from retgen.errors import UsageError
from retgen.evaluation.retrievers import type_of
from retgen.evaluation.scoring import by_type, thresholds
from retgen.evaluation.scoring import misses as errors
from retgen.evaluation.scoring.by_type import break_down
from retgen.evaluation.scoring.columns import values_of
from retgen.evaluation.scoring.failures import failures
from retgen.evaluation.scoring.result import AnalysisResult
from retgen.evaluation.scoring.scores import Score, primary_of
from retgen.progress import Progress
from retgen.search.base import Retriever, SystemRanks
from retgen.search.collection import Collection
from retgen.statistics.clustered import Units

_SETS = {"KW", "SM"}  # CapRetrieval's two sets of queries, which are shown apart


@dataclass(frozen=True)
class Analyses:
    """`by`: columns of the queries to break scores down by. `threshold`: on the cosine, or "best".

    `misses`: the errors among the first documents. `complete`: pairs without a qrel are known to be
    not relevant, whatever the data set says of itself.
    """

    by: tuple[str, ...] = ()
    threshold: thresholds.Threshold | None = None
    misses: bool = False
    complete: bool = False

    def check(self, datasets: Mapping[Path, Dataset], models: Sequence[str]) -> None:
        """Raises `UsageError` for what cannot be looked at."""
        for path, dataset in datasets.items():
            for column in self.by:
                values_of(dataset, column, path)
        if self.threshold is not None and not any(map(_has_vectors, models)):
            raise UsageError(
                "--threshold: is one on the cosine of embeddings, and no embedder is named. Name "
                "one, as --model minilm"
            )


def _has_vectors(name: str) -> bool:
    """Whether a system has one vector a text, as embedders have."""
    kind = type_of(name)
    return kind is not None and kind.trainable and not kind.prefix


@dataclass
class Analysis:
    """The analyses of one collection, which is told of every system."""

    wanted: Analyses
    collection: Collection
    _pairs: thresholds.LabelledPairs | None = field(default=None, init=False)
    _outcomes: list[thresholds.Outcome] = field(default_factory=list, init=False)
    _tops: list[tuple[Score, errors.Top]] = field(default_factory=list, init=False)
    _negatives: dict[str, by_type.Shares] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.wanted.threshold is not None:
            self._pairs = thresholds.labelled_pairs(self.collection)
            if not len(self._pairs.positives):
                raise UsageError(
                    f"--threshold: {self.collection.path} has no relevant document in its corpus"
                )
            if self._pairs.negatives is not None and not len(self._pairs.negatives):
                raise UsageError(
                    f"--threshold: {self.collection.path} has no pair that is known to be not "
                    "relevant. If all pairs were judged, say --complete"
                )

    def depth(self) -> int:
        """How deep rankings must reach for it."""
        wanted = self.wanted.misses or self.collection.breakdown
        return min(errors.DEPTH, self.collection.documents) if wanted else 1

    def classify(self, name: str, retriever: Retriever, progress: Progress) -> None:
        """Look at the cosines of an embedder, where that is wanted."""
        threshold = self.wanted.threshold
        if threshold is not None and self._pairs is not None and _has_vectors(name):
            self._outcomes += thresholds.classify(
                name, retriever, self._pairs, self.collection, threshold, progress
            )

    def add(self, score: Score, ranked: SystemRanks) -> None:
        """Keep what is needed of a ranking."""
        if self.wanted.misses:
            self._tops.append((score, ranked.rankings.documents[:, : errors.DEPTH]))
        if self.collection.breakdown:
            shares = by_type.shares(self.collection, ranked.rankings.documents)
            if shares is not None:
                self._negatives[score.label] = shares

    def finish(self, scores: Sequence[Score], units: Units, folder: Path) -> list[AnalysisResult]:
        """All that came out."""
        parts = []
        by = {}
        for column, values in self._columns().items() if scores else ():
            measure = primary_of(scores[0].names, self.collection)
            by[column] = break_down(
                column, values, self.collection, scores, units, measure, self._negatives
            )
        if by:
            keys = {column: one.to_json() for column, one in by.items()}
            name = self.collection.name
            parts.append(AnalysisResult({"by": keys}, [one.section(name) for one in by.values()]))
        if self._outcomes and self._pairs is not None:
            counts = thresholds.pair_counts(self._pairs, self.collection)
            results = [one.to_json() for one in self._outcomes]
            shown = thresholds.section(self._outcomes, counts)
            parts.append(AnalysisResult({"classification": counts | {"results": results}}, [shown]))
        if self._tops:
            missed = errors.misses(self.collection, self._tops)
            errors.write_misses(folder, self.collection, missed)
            measure = primary_of(scores[0].names, self.collection)
            worst = failures(self.collection, self._tops, measure, errors.DEPTH)
            parts.append(
                AnalysisResult(
                    {"misses": missed.to_json(), "worst": worst.to_json()},
                    [missed.section(), worst.section()],
                )
            )
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
