"""Measures by name, and their values query by query. The definitions are ir-measures'.

`recall@k`, `MRR@k`, `MAP` and `success@k` are aliases of ir-measures' `R@k`, `RR@k`, `AP` and
`Success@k`; any other name is read by ir-measures. Keys are kept as they were asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from subprocess import SubprocessError
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.evaluation.collection import Collection
from retgen.evaluation.rankings import Rankings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Measures", "cutoff", "default_names", "judged_names"]

_ALIASES = {"recall": "R", "mrr": "RR", "map": "AP", "success": "Success", "ndcg": "nDCG"}
_CUTOFFS = (1, 2, 10, 20, 100)


def default_names(documents: int) -> list[str]:
    """What is measured unless asked otherwise: cutoffs that do not reach the whole corpus."""
    reach = [k for k in _CUTOFFS if k < documents] or [1]
    deepest = max(k for k in reach if k <= 10)
    return [*(f"recall@{k}" for k in reach), f"nDCG@{deepest}", f"MRR@{deepest}"]


def judged_names(names: Sequence[str]) -> list[str]:
    """Judged@k for every cutoff among the measures."""
    return [f"Judged@{k}" for k in sorted({k for k in map(cutoff, names) if k})]


def cutoff(name: str) -> int | None:
    """The k of a measure's name, None where it has none."""
    found = re.search(r"@(\d+)$", name)
    return int(found.group(1)) if found else None


class Measures:
    """Some measures, ready to be computed. Raises `UsageError` for names that mean nothing."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(dict.fromkeys(names))
        self._parsed = [_parse(name) for name in self.names]

    def depth(self, documents: int) -> int:
        """How deep rankings must reach: the largest cutoff; 1,000 for measures without one."""
        wanted = [cutoff(name) or 1000 for name in self.names]
        return min(max(wanted, default=1), documents)

    def per_query(self, collection: Collection, rankings: Rankings) -> NDArray[np.float64]:
        """Values (queries, measures), 0 for a query of which nothing was ranked."""
        run = _run(collection, rankings)
        return self._values(collection, run)

    def one_ranking(self, collection: Collection, doc_ids: Sequence[str]) -> NDArray[np.float64]:
        """Values (queries, measures) of the same ranking for every query."""
        row = {doc: float(len(doc_ids) - rank) for rank, doc in enumerate(doc_ids)}
        return self._values(collection, {query.query_id: row for query in collection.queries})

    def _values(
        self, collection: Collection, run: Mapping[str, Mapping[str, float]]
    ) -> NDArray[np.float64]:
        import ir_measures

        rows = {query.query_id: row for row, query in enumerate(collection.queries)}
        columns: dict[Any, list[int]] = {}
        for column, measure in enumerate(self._parsed):
            columns.setdefault(measure, []).append(column)
        values = np.zeros((len(rows), len(self.names)))
        if not run:
            return values
        found: Iterable[Any] = ir_measures.iter_calc(list(columns), collection.qrels, run)
        try:
            for metric in found:
                values[rows[metric.query_id], columns[metric.measure]] = metric.value
        # whatever the programs behind ir-measures stumble over
        except (ArithmeticError, LookupError, OSError, ValueError, SubprocessError) as error:
            raise UsageError(
                f"--metric {', '.join(self.names)}: ir-measures could not compute it on "
                f"{collection.path} ({type(error).__name__}). Leave out the measure that needs ids "
                "or grades of another kind."
            ) from error
        return values


def _run(collection: Collection, rankings: Rankings) -> dict[str, dict[str, float]]:
    """As ir-measures wants it: scores by falling rank, so that every measure sees our ties."""
    run = {}
    scores = [float(s) for s in range(rankings.depth, 0, -1)]
    for row, query in enumerate(collection.queries):
        documents = rankings.documents[row]
        ids = collection.doc_ids[documents[documents >= 0]].tolist()
        if ids:  # Judged@k divides by how many were ranked
            run[query.query_id] = {doc.decode(): s for doc, s in zip(ids, scores, strict=False)}
    return run


def _parse(name: str) -> Any:
    import ir_measures

    base, at, k = name.partition("@")
    try:
        measure = ir_measures.parse_measure(_ALIASES.get(base.lower(), base) + at + k)
        supported = ir_measures.DefaultPipeline.supports(measure)
    except (NameError, ValueError, SyntaxError, AssertionError, TypeError, KeyError):
        supported = False
    supported = supported and cutoff(name) != 0
    if not supported:
        raise UsageError(
            f"--metric {name}: is no measure. Examples: recall@10, nDCG@10, MRR@10, MAP@100, "
            "success@1, P@5, Judged@10 (names of ir-measures)"
        )
    return measure
