"""A data set that a model is scored on, before, during and after its training, and its scores.

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
from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.scoring.scores import primary_of
from retgen.evaluation.scoring.significance import (
    PairedDifference,
    compare,
    difference_between,
    units_of,
)
from retgen.evaluation.search.fusion import DEPTH, fuse, scaled
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
        result = trained.scores(when)
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


class Lexical:
    """BM25's rankings of data sets, deep enough to be fused, each made once."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._rankings: dict[str, Rankings] = {}

    def rankings(self, scored: ScoredSet) -> Rankings:
        if scored.label not in self._rankings:
            deep = _deep(scored)
            *_, ranked = rank_corpus(
                retriever(BM25, Options()), scored.collection, deep, self._progress
            )
            self._rankings[scored.label] = ranked.rankings
        return self._rankings[scored.label]

    def values(self, scored: ScoredSet) -> Values:
        """Its scores query by query."""
        return _values(scored, self.rankings(scored))


class Scorer:
    """Scores a model on the data sets; outside ones, and fusions, not during the training.

    `before`: values of the model as it was, by file name, which all seeds share.
    """

    def __init__(
        self,
        scored_sets: Sequence[ScoredSet],
        folder: Path,
        model: str,
        lexical: Lexical,
        before: dict[str, Values],
    ) -> None:
        self._scored_sets, self._folder, self._model = scored_sets, folder, model
        self._lexical, self._before = lexical, before

    def __call__(self, model: BaseModel, when: str) -> dict[str, float]:
        from retgen.evaluation.training.kinds import split_name

        result: dict[str, float] = {}
        for scored in self._scored_sets:
            if when == "during" and scored.role == "outside":
                continue
            file, of_fusion = (
                scores_file(self._folder, scored, when, fused=fused) for fused in (False, True)
            )
            known = {
                one: self._before[one.name]
                for one in (file, of_fusion)
                if when == BEFORE and one.name in self._before
            }
            if not known:
                ranked = self._ranked(model, scored, when)
                known[file] = _values(scored, ranked)
                if when != "during" and split_name(self._model)[0].fused:
                    parts = [self._lexical.rankings(scored), ranked]
                    known[of_fusion] = _values(
                        scored, fuse(parts, scored.collection, DEPTH, scaled)
                    )
            if when != "during":
                for one, values in known.items():
                    _write(one, values)
            if when == BEFORE:
                self._before |= {one.name: values for one, values in known.items()}
            means = known[file].mean(axis=0).tolist()
            result |= {
                f"{scored.label} {name}": mean
                for name, mean in zip(scored.measures.names, means, strict=True)
            }
        return result

    def _ranked(self, model: BaseModel, scored: ScoredSet, when: str) -> Rankings:
        """Embeddings of the model as it was stay on disk: others score it too."""
        from retgen.evaluation.training.kinds import split_name

        options = Options(cache=cache_folder() if when == BEFORE else None)
        by = split_name(self._model)[0].retriever(self._model, model, options)
        depth = _depth(scored) if when == "during" else _deep(scored)
        (ranked,) = rank_corpus(by, scored.collection, depth, no_progress)
        return ranked.rankings


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


def scores_file(folder: Path, scored: ScoredSet, when: str, *, fused: bool = False) -> Path:
    """Where the scores of a data set stand, query by query."""
    return folder / f"{slug(scored.label)}_{when}{'_fused' if fused else ''}.npy"


def read_scores(file: Path) -> Values:
    """Scores query by query. Raises `UsageError` for a file that is not as it was written."""
    try:
        return np.asarray(np.load(file), np.float64)
    except (OSError, EOFError, ValueError) as error:
        what = f"{file} is not as the training wrote it. Start anew with --fresh"
        raise UsageError(what) from error
