"""`gen eval --fail-if "nDCG@10 < FOLDER"`: is a system surely worse than a result that was kept?

Systems are compared query by query, so that a build fails for what no luck of the queries explains:
where the 95% interval of the paired difference lies below zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson

from retgen.errors import UsageError
from retgen.evaluation.scoring.result import Evaluation
from retgen.search.base import slug
from retgen.statistics.clustered import CHANGE

_CONDITION = re.compile(r"\s*(\S+)\s*<\s*(\S.*?)\s*")


class Kept(NamedTuple):
    """What systems had in a measure: by the name of their file, query by query."""

    measure: str
    folder: Path
    systems: Mapping[str, Mapping[str, float]]


def kept_result(text: str) -> Kept:
    """What `nDCG@10 < FOLDER` names, read before anything is scored, as it may be written into that
    folder. Raises `UsageError` where it is no folder of gen eval, or lacks the measure.
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise UsageError(f'--fail-if {text}: write "MEASURE < FOLDER", as "nDCG@10 < kept/eval"')
    measure, folder = found[1], Path(found[2])
    files = sorted((folder / "per_query").glob("*.jsonl"))
    if not files:
        raise UsageError(f"--fail-if: {folder} is no folder of gen eval with a per_query/ in it")
    systems = {}
    for path in files:
        try:
            rows = map(orjson.loads, path.read_bytes().splitlines())
            systems[path.stem] = {row["query-id"]: float(row[measure]) for row in rows}
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a file that an earlier call left, with other measures
    if not systems:
        raise UsageError(
            f"--fail-if: {files[0]} has no {measure} of every query; name a measure that was kept"
        )
    return Kept(measure, folder, systems)


def surely_lower(result: Evaluation, kept: Kept) -> list[str]:
    """A sentence for each system that is surely below the kept result. Raises `UsageError` where
    it cannot be told: several data sets, another measure, other queries, a system that was not
    kept, too few queries for an interval.
    """
    if len(result.datasets) != 1:
        raise UsageError("--fail-if compares the scores of one data set: give one PATH")
    (scored,) = result.datasets
    if kept.measure not in scored.measures.names:
        raise UsageError(f"--fail-if: {kept.measure} was not measured: add --metric {kept.measure}")
    at = scored.measures.names.index(kept.measure)
    queries = [query.query_id for query in scored.collection.queries]
    worse = []
    for score in scored.scores:
        before = kept.systems.get(slug(score.model, score.dim))
        if before is None:
            raise UsageError(
                f"--fail-if: {kept.folder} has no {kept.measure} of {score.label}. It has: "
                f"{', '.join(sorted(kept.systems))}"
            )
        if before.keys() != {*queries}:
            raise UsageError(
                f"--fail-if: {kept.folder} is of other queries than {scored.collection.path}; keep "
                "a result of the same test set"
            )
        change = score.values[:, at] - np.array([before[one] for one in queries])
        low, high = scored.units.interval(change[:, None], CHANGE)[0].tolist()
        if scored.units.note:  # else NaN says that nothing changed
            raise UsageError(f"--fail-if cannot tell whether a score is lower: {scored.units.note}")
        if high < 0:
            worse.append(
                f"{score.label}: {kept.measure} is surely lower than in {kept.folder}: "
                f"{change.mean():+.4f} (95% interval {low:+.4f} to {high:+.4f})"
            )
    return worse
