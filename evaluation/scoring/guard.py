"""`gen eval --fail-if "nDCG@10 < FOLDER"`: is a system surely worse than a result that was kept?

Systems are compared query by query, so that a build fails for what no luck of the queries explains:
where the 95% interval of the paired difference lies below zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson

from retgen.errors import UsageError
from retgen.evaluation.scoring.result import Evaluation, labels_hash
from retgen.search.base import slug
from retgen.statistics.clustered import CHANGE

_CONDITION = re.compile(r"\s*(\S+)\s*<\s*(\S.*?)\s*")


class Kept(NamedTuple):
    """What systems had in a measure: by the name of their file, query by query.

    `labels`: the `labels_hash` of the labels that they were scored with.
    """

    measure: str
    folder: Path
    labels: str
    systems: Mapping[str, Mapping[str, float]]


def kept_result(text: str, paths: Sequence[Path], metrics: Sequence[str] = ()) -> Kept:
    """What `nDCG@10 < FOLDER` names, read before anything is scored, as it may be written into that
    folder. `paths`, `metrics`: what is going to be scored, and by what, where that was named.

    Raises `UsageError` where it is no folder of gen eval, lacks the measure, or cannot be compared.
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise UsageError(f'--fail-if {text}: write "MEASURE < FOLDER", as "nDCG@10 < kept/eval"')
    measure, folder = found[1], Path(found[2])
    if len(paths) != 1:
        raise UsageError("--fail-if compares the scores of one data set: give one PATH")
    if metrics and measure not in metrics:
        raise UsageError(f"--fail-if: {measure} was not measured: add --metric {measure}")
    if not any((folder / "per_query").glob("*.jsonl")):
        raise UsageError(f"--fail-if: {folder} is no folder of gen eval with a per_query/ in it")
    try:
        content = orjson.loads((folder / "eval.json").read_bytes())
        labels = content["labels"]
        # beside them may lie what earlier calls left
        names = [slug(row["model"], row["dim"]) for row in content["results"] if row["metrics"]]
        systems = {name: _values(folder / "per_query" / f"{name}.jsonl", measure) for name in names}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"--fail-if: {folder} holds no eval.json of one data set whose systems have {measure} "
            "of every query in per_query/; keep a result that gen eval wrote"
        ) from error
    return Kept(measure, folder, labels, systems)


def _values(path: Path, measure: str) -> dict[str, float]:
    rows = map(orjson.loads, path.read_bytes().splitlines())
    return {row["query-id"]: float(row[measure]) for row in rows}


def surely_lower(result: Evaluation, kept: Kept) -> list[str]:
    """A sentence for each system that is surely below the kept result. Raises `UsageError` where
    it cannot be told: other queries or labels, a system that was not kept, too few queries for an
    interval.
    """
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
        if kept.labels != labels_hash(scored.collection):
            raise UsageError(
                f"--fail-if: {kept.folder} has other labels than {scored.collection.path}; keep a "
                "result of the same test set"
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
