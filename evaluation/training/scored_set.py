"""A data set that a model is scored on, before and after its training, and its scores.

scores/
  SET_WHEN.npy          values query by query, (queries, measures)
  SET_WHEN_fused.npy    the same of its fusion with BM25
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, retriever
from retgen.evaluation.retrievers.hybrid import DEPTH, fuse, scaled
from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.scoring.result import primary_of
from retgen.evaluation.scoring.significance import (
    PairedDifference,
    compare,
    difference_between,
    units_of,
)
from retgen.evaluation.training.config import TrainingRun
from retgen.progress import Progress, no_progress
from retgen.search.base import rank_corpus, slug
from retgen.search.collection import Collection
from retgen.search.rankings import Rankings
from retgen.write import cache_folder, make_folder, write_file

if TYPE_CHECKING:
    from sentence_transformers.base.model import BaseModel

Values = NDArray[np.float64]  # (queries, measures)

BEFORE = "before"
AFTER = "after"
IDF = "idf"  # of static embeddings: token vectors weighted, nothing trained
BM25 = "bm25"  # the reference beside them
_LABELS = {BEFORE: "untrained", IDF: "idf alone", AFTER: "trained", BM25: "BM25"}


def fused(name: str) -> str:
    """A model fused with BM25, as `gen eval` names it."""
    return f"minmax:{BM25}+{name}"


def label(name: str) -> str:
    """What a system is called in tables."""
    part = name.removeprefix(fused(""))
    return _LABELS[name] if part == name else f"BM25 + {label(part)}"


@dataclass(frozen=True)
class ScoredSet:
    """A data set that a model is scored on.

    `comparisons`: of the model after, idf alone and the model before, see `compare`; `beside`:
    means of BM25 and of fusions with it, by name and measure, `against`: comparisons with them;
    `intervals`: 95%, by name and measure.
    `note`: why there are no intervals, or "".
    `seen`: how many of the documents and of the queries stand in training pairs.
    """

    role: Literal["test", "outside"]
    collection: Collection
    measures: Measures
    baselines: dict[str, Any] = field(default_factory=dict)
    ceiling: dict[str, float | None] = field(default_factory=dict)
    comparisons: list[PairedDifference] = field(default_factory=list)
    beside: dict[str, dict[str, float]] = field(default_factory=dict)
    against: list[PairedDifference] = field(default_factory=list)
    intervals: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)
    note: str = ""
    seen: tuple[int, int] = (0, 0)

    @property
    def label(self) -> str:
        """What its scores are called: test, or outside NAME."""
        return self.role if self.role == "test" else f"{self.role} {self.collection.name}"

    @property
    def where(self) -> str:
        """Its place in a sentence."""
        name = self.collection.name
        return f"on the test set {name}" if self.role == "test" else f"on {name}, outside,"

    @property
    def primary(self) -> str:
        """The measure that it is judged by."""
        return primary_of(self.measures.names, self.collection)

    def scores(self, trained: TrainingRun, when: str) -> dict[str, float]:
        """Measure to score before or after a training."""
        result = trained.scores.get(when, {})
        keys = {name: f"{self.label} {name}" for name in self.measures.names}
        return {name: result[key] for name, key in keys.items() if key in result}

    def difference(
        self, first: str, second: str, measure: str
    ) -> tuple[float, float, float] | None:
        """Mean of first - second and its 95% interval; None where they were not compared."""
        return difference_between([*self.comparisons, *self.against], first, second, measure)


def paired_differences(
    collection: Collection,
    measures: list[str],
    values: Mapping[str, Values],
    beside: Mapping[str, Values],
) -> dict[str, Any]:
    """`comparisons` of all systems, `intervals` by system and measure, `against`: `comparisons`
    with and among the systems `beside`.

    Where units are too few only `note`, the reason.
    """
    units = units_of(collection)
    if units.note:
        return {"note": units.note}
    every = {**values, **beside}
    return {
        "comparisons": compare(units, values, measures),
        "against": [
            one for one in compare(units, every, measures) if {one.first, one.second} & {*beside}
        ],
        "intervals": {
            name: {
                measure: (low, high)
                for measure, (low, high) in zip(measures, units.interval(of).tolist(), strict=True)
            }
            for name, of in every.items()
        },
    }


class Scorer:
    """Scores systems on data sets, each of a model's scores kept on disk, query by query.

    A model that a killed training has scored already is not scored again.
    """

    def __init__(
        self, scored_sets: Sequence[ScoredSet], folder: Path, model: str, progress: Progress
    ) -> None:
        self._scored_sets, self._folder, self._model = scored_sets, folder, model
        self._progress = progress
        self._lexical: dict[str, Rankings] = {}

    def __call__(self, model: BaseModel, when: str) -> dict[str, float]:
        """Means of a model, by the label of a data set and the measure."""
        from retgen.evaluation.training.kinds import split_name

        kind, result = split_name(self._model)[0], dict[str, float]()
        # embeddings of the model as it was stay on disk: others score it too
        options = Options(cache=cache_folder() if when == BEFORE else None)
        for scored in self._scored_sets:
            file, of_fusion = (self.file(scored, when, fused=fused) for fused in (False, True))
            if not file.is_file():
                by = kind.retriever(self._model, model, options)
                (ranked,) = rank_corpus(by, scored.collection, _deep(scored), no_progress)
                if kind.fused:
                    parts = [self.lexical(scored), ranked.rankings]
                    both = fuse(parts, scored.collection, DEPTH, scaled)
                    _write(of_fusion, _values(scored, both))
                _write(file, _values(scored, ranked.rankings))
            means = read_scores(file).mean(axis=0).tolist()
            keys = (f"{scored.label} {name}" for name in scored.measures.names)
            result |= zip(keys, means, strict=True)
        return result

    def lexical(self, scored: ScoredSet) -> Rankings:
        """BM25's rankings of a data set, deep enough to be fused."""
        if scored.label not in self._lexical:
            by = retriever(BM25, Options())
            *_, ranked = rank_corpus(by, scored.collection, _deep(scored), self._progress)
            self._lexical[scored.label] = ranked.rankings
        return self._lexical[scored.label]

    def compared(self, scored: ScoredSet, run: TrainingRun) -> dict[str, Any]:
        """Comparisons and intervals of a training, with BM25 and fusions beside."""
        names = [when for when in (AFTER, IDF, BEFORE) if when in run.scores]
        values = {name: read_scores(self.file(scored, name)) for name in names}
        beside = {BM25: _values(scored, self.lexical(scored))}
        for name in names:
            if (file := self.file(scored, name, fused=True)).is_file():
                beside[fused(name)] = read_scores(file)
        measures = scored.measures.names
        means = {
            name: dict(zip(measures, value.mean(axis=0).tolist(), strict=True))
            for name, value in beside.items()
        }
        found = paired_differences(scored.collection, measures, values, beside)
        return {**found, "beside": means}

    def file(self, scored: ScoredSet, when: str, *, fused: bool = False) -> Path:
        """Where the scores of a data set stand, query by query."""
        return self._folder / f"{slug(scored.label)}_{when}{'_fused' if fused else ''}.npy"


def _depth(scored: ScoredSet) -> int:
    return scored.measures.depth(scored.collection.documents)


def _deep(scored: ScoredSet) -> int:
    return min(max(_depth(scored), DEPTH), scored.collection.documents)


def _values(scored: ScoredSet, rankings: Rankings) -> Values:
    depth = _depth(scored)
    cut = Rankings(rankings.documents[:, :depth], rankings.scores[:, :depth])
    return scored.measures.per_query(scored.collection, cut)


def _write(file: Path, values: Values) -> None:
    make_folder(file.parent)
    stored = io.BytesIO()
    np.save(stored, values)
    write_file(file, stored.getvalue())


def read_scores(file: Path) -> Values:
    """Scores query by query. Raises `UsageError` for a file that is not as it was written."""
    try:
        return np.asarray(np.load(file), np.float64)
    except (OSError, EOFError, ValueError) as error:
        what = f"{file} is not as the training wrote it. Start anew with --fresh"
        raise UsageError(what) from error
