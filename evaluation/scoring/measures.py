"""Measures by name, and their values query by query. The definitions are ir-measures'.

`recall@k`, `MRR@k`, `MAP` and `success@k` are aliases of ir-measures' `R@k`, `RR@k`, `AP` and
`Success@k`; any other name is read by ir-measures. `graded nDCG@k` is nDCG@k over the grades that
stand beside binary qrels. Keys are kept as they were asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from subprocess import SubprocessError
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.search.collection import Collection
from retgen.search.rankings import Rankings

if TYPE_CHECKING:
    from collections.abc import Iterable


_ALIASES = {"recall": "R", "mrr": "RR", "map": "AP", "success": "Success", "ndcg": "nDCG"}
_CUTOFFS = (1, 2, 10, 20, 100)
_GRADED = "graded "
# of these, a ranking of all relevant documents, the best first, has the highest value
_RISING = frozenset("ap bpref err infap iprec ndcg p r rbp rprec rr success".split())

_Run = Mapping[str, Mapping[str, float]]


_OF_MTEB = {
    "ndcg": "nDCG",
    "recall": "R",
    "map": "AP",
    "mrr": "RR",
    "precision": "P",
    "hit_rate": "Success",
}
_TO_MTEB = {name.lower(): score for score, name in _OF_MTEB.items()}


def mteb_score(name: str) -> str | None:
    """MTEB's name of a measure, None where it has none."""
    base, _, k = name.lower().partition("@")
    base = _ALIASES.get(base, base).lower()
    return f"{_TO_MTEB[base]}_at_{k}" if base in _TO_MTEB and k.isdigit() else None


def default_names(documents: int, grades: bool = False, main: str = "") -> list[str]:
    """What is measured unless asked otherwise: cutoffs that do not reach the whole corpus.

    `main`: the main measure, whose cutoff is among them.
    """
    cutoffs = {*_CUTOFFS, *([k] if (k := cutoff(main)) else [])}
    reach = [k for k in sorted(cutoffs) if k < documents] or [1]
    deepest = max(k for k in reach if k <= 10)
    names = [*(f"recall@{k}" for k in reach), f"nDCG@{deepest}", f"MRR@{deepest}"]
    return [*names, f"{_GRADED}nDCG@{deepest}"] if grades else names


def judged_names(names: Sequence[str]) -> list[str]:
    """Judged@k for every cutoff among the measures."""
    return [f"Judged@{k}" for k in sorted({k for k in map(cutoff, names) if k})]


def cutoff(name: str) -> int | None:
    """The k of a measure's name, None where it has none."""
    result = re.search(r"@(\d+)$", name)
    return int(result.group(1)) if result else None


def _judged_cutoff(name: str) -> int | None:
    """The k of Judged@k, None for other measures.

    ir-measures divides by the length of the ranking where that is less than k; here a place that is
    not filled counts as not judged, unless the corpus has no more documents.
    """
    judged = name.removeprefix(_GRADED).lower().startswith("judged@")
    return cutoff(name) if judged else None


def is_graded(name: str) -> bool:
    """Whether a measure is one over the grades beside binary qrels."""
    return name.startswith(_GRADED)


class Measures:
    """Some measures, ready to be computed. Raises `UsageError` for names that mean nothing."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(dict.fromkeys(names))
        self._parsed = [_parse(name) for name in self.names]

    def check(self, collection: Collection) -> None:
        """Raises `UsageError` for measures over grades that a collection has not."""
        named = [name for name in self.names if is_graded(name)]
        if named and collection.grades is None:
            raise UsageError(
                f"--metric {named[0]}: {collection.path} has no grades beside its qrels "
                f"(qrels_graded). Ask for {named[0].removeprefix(_GRADED)}"
            )

    def depth(self, documents: int) -> int:
        """How deep rankings must reach: the largest cutoff; 1,000 for measures without one."""
        wanted = [cutoff(name) or 1000 for name in self.names]
        return min(max(wanted, default=1), documents)

    def per_query(self, collection: Collection, rankings: Rankings) -> NDArray[np.float64]:
        """Values (queries, measures), 0 for a query of which nothing was ranked."""
        run = _run(collection, rankings)
        return self._values(collection, run, run)

    def one_ranking(self, collection: Collection, doc_ids: Sequence[str]) -> NDArray[np.float64]:
        """Values (queries, measures) of the same ranking for every query."""
        depth = self.depth(collection.documents)

        def row(own: str | None) -> dict[str, float]:
            kept = [doc for doc in doc_ids if doc != own][:depth]
            return {doc: float(depth - rank) for rank, doc in enumerate(kept)}

        of_all = row(None)
        run = {
            query.query_id: of_all if own < 0 else row(query.query_id)
            for query, own in zip(collection.queries, collection.own.tolist(), strict=True)
        }
        return self._values(collection, run, run)

    def ceiling(self, collection: Collection) -> dict[str, float | None]:
        """The best mean that any ranking reaches; None of a measure that need not rise with it.

        Below 1 where a cutoff is less than the number of relevant documents, where the corpus lacks
        judged ones, and of Judged@k where fewer than k are judged.
        """
        values = self._values(
            collection,
            _ideal(collection, collection.qrels),
            _ideal(collection, collection.grades or {}),
        )
        result: dict[str, float | None] = {}
        for name, mean in zip(self.names, values.mean(axis=0).tolist(), strict=True):
            base = name.removeprefix(_GRADED).partition("@")[0].lower()
            if k := _judged_cutoff(name):
                result[name] = _most_judged(collection, k)
            else:
                rises = _ALIASES.get(base, base).lower() in _RISING
                result[name] = mean if rises else None
        return result

    def _values(self, collection: Collection, run: _Run, by_grade: _Run) -> NDArray[np.float64]:
        """Values (queries, measures) of a ranking; of `by_grade` those over grades."""
        values = np.zeros((len(collection.queries), len(self.names)))
        over = {name: is_graded(name) for name in self.names}
        if not all(over.values()):
            self._fill(values, collection, False, collection.qrels, run)
        if any(over.values()):
            self._fill(values, collection, True, collection.grades or {}, by_grade)
        return values

    def _fill(
        self,
        values: NDArray[np.float64],
        collection: Collection,
        over_grades: bool,
        qrels: Mapping[str, Mapping[str, int]],
        run: _Run,
    ) -> None:
        import ir_measures

        rows = {query.query_id: row for row, query in enumerate(collection.queries)}
        columns: dict[Any, list[int]] = {}
        for column, (name, measure) in enumerate(zip(self.names, self._parsed, strict=True)):
            if is_graded(name) != over_grades:
                continue
            if k := _judged_cutoff(name):
                size = min(k, collection.page_count)
                for query_id, row in rows.items():
                    first = list(run.get(query_id, ()))[:k]
                    found = sum(doc in qrels[query_id] for doc in first)
                    values[row, column] = found / size
            else:
                columns.setdefault(measure, []).append(column)
        run = {query_id: row for query_id, row in run.items() if row}
        if not columns or not run:
            return
        result: Iterable[Any] = ir_measures.iter_calc(list(columns), qrels, run)
        try:
            for metric in result:
                values[rows[metric.query_id], columns[metric.measure]] = metric.value
        # whatever the programs behind ir-measures stumble over
        except (ArithmeticError, LookupError, OSError, ValueError, SubprocessError) as error:
            raise UsageError(
                f"--metric {', '.join(self.names)}: ir-measures could not compute it on "
                f"{collection.path} ({type(error).__name__}). Leave out the measure that needs ids "
                "or grades of another kind."
            ) from error


def _ideal(collection: Collection, qrels: Mapping[str, Mapping[str, int]]) -> _Run:
    """The relevant documents that the corpus holds, the best first."""
    return {
        query_id: {d: float(r) for d, r in docs.items() if r > 0 and d not in collection.missing}
        for query_id, docs in qrels.items()
    }


def _most_judged(collection: Collection, k: int) -> float:
    k = min(k, collection.page_count)
    judged = [
        min(k, sum(doc not in collection.missing for doc in collection.qrels[query.query_id]))
        for query in collection.queries
    ]
    return float(np.mean(judged)) / k


def _run(collection: Collection, rankings: Rankings) -> dict[str, dict[str, float]]:
    """As ir-measures wants it: scores by falling rank, so that every measure sees our ties."""
    run = {}
    scores = [float(s) for s in range(rankings.depth, 0, -1)]
    for row, query in enumerate(collection.queries):
        documents = rankings.documents[row]
        ids = collection.doc_ids[documents[documents >= 0]].tolist()
        run[query.query_id] = {doc.decode(): s for doc, s in zip(ids, scores, strict=False)}
    return run


def _parse(name: str) -> Any:
    import ir_measures

    base, at, k = name.removeprefix(_GRADED).partition("@")
    try:
        measure = ir_measures.parse_measure(_ALIASES.get(base.lower(), base) + at + k)
        supported = ir_measures.DefaultPipeline.supports(measure)
    except (NameError, ValueError, SyntaxError, AssertionError, TypeError, KeyError):
        supported = False
    supported = supported and cutoff(name) != 0
    if not supported:
        raise UsageError(
            f"--metric {name}: is no measure. Examples: recall@10, nDCG@10, MRR@10, MAP@100, "
            "success@1, P@5, Judged@10 (names of ir-measures), graded nDCG@10 (over the grades "
            "beside binary qrels)"
        )
    return measure
