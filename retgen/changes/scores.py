"""Scores that `gen eval` wrote of two data sets, compared query by query if they share these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.data import Dataset
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.scoring.evaluate import output_folder
from retgen.evaluation.scoring.significance import PairedDifference, compare, holm, units_of
from retgen.search.base import label, slug
from retgen.search.collection import load

AGAIN = "Write it again with the command that made it, or take it away"
_System = tuple[str, int | None]  # model, dim


@dataclass(frozen=True)
class ScoreChange:
    """A system on one measure in both data sets.

    `compared`: mean of B - A over the queries, its 95% interval and p-value, corrected for all
    systems of the measure; None where the queries are not the same.
    """

    system: _System
    label: str
    measure: str
    before: float
    after: float
    compared: PairedDifference | None = None

    def to_json(self) -> dict[str, Any]:
        """One entry of `scores`."""
        result: dict[str, Any] = {
            "model": self.system[0],
            "dim": self.system[1],
            "metric": self.measure,
            "a": self.before,
            "b": self.after,
            "difference": self.after - self.before,
        }
        if (one := self.compared) is not None:
            result |= {"low": one.low, "high": one.high, "p": one.p, "adjusted": one.adjusted}
        return result


def read_json(path: Path) -> dict[str, Any] | None:
    """An object that retgen wrote; None where there is no such file."""
    try:
        result = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path} cannot be read as JSON. {AGAIN}") from error
    if not isinstance(result, dict):
        raise DatasetError(f"{path} holds no JSON object. {AGAIN}")
    return result


def score_changes(
    a: tuple[Dataset, Path], b: tuple[Dataset, Path], metrics: Sequence[str]
) -> tuple[list[ScoreChange], list[str]]:
    """Differences of all systems that were scored on both, and notes on what was not compared.

    Raises `UsageError` for a measure that no system of both has.
    """
    folders = [output_folder([path]) for _, path in (a, b)]
    results = [read_json(folder / "eval.json") for folder in folders]
    missing = [
        str(path)
        for (dataset, path), result in zip((a, b), results, strict=True)
        # those of data sets that are no runs may be a namesake's
        if result is None
        or (dataset.run is None and Path(str(result.get("dataset"))).resolve() != path.resolve())
    ]
    if missing:
        if metrics:
            raise UsageError(f"--metric: {missing[0]} was not scored; `gen eval {missing[0]}` does")
        note = f"scores are not compared: {missing[0]} was not scored (`gen eval`)"
        return [], [note] * (len(missing) == 1)
    before, after = (result or {} for result in results)
    if before.get("split") != after.get("split"):
        return [], [
            f"scores are not compared: those of A are of split {before.get('split')}, those of B "
            f"of {after.get('split')}"
        ]
    changes = _means(_systems(before), _systems(after), metrics)
    if not changes:
        return [], ["scores are not compared: no system was scored on both with one measure"]
    try:
        return _with_intervals(changes, folders, (a[1], b[1]), str(after.get("split")))
    except DatasetError as error:
        return changes, [f"scores are not compared query by query: {error}"]


def _systems(result: dict[str, Any]) -> dict[_System, dict[str, Any]]:
    rows = result.get("results")
    return {
        (row["model"], row.get("dim")): row
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and isinstance(row.get("metrics"), dict) and "model" in row
    }


def _means(
    before: dict[_System, dict[str, Any]],
    after: dict[_System, dict[str, Any]],
    metrics: Sequence[str],
) -> list[ScoreChange]:
    result = []
    for system in (one for one in before if one in after):
        old, new = before[system]["metrics"], after[system]["metrics"]
        name = label(*system, after[system].get("details") or {})
        result += [
            ScoreChange(system, name, measure, old[measure], new[measure])
            for measure in old
            if measure in new
        ]
    known = {one.measure for one in result}
    if absent := [name for name in metrics if name not in known]:
        raise UsageError(
            f"--metric {absent[0]}: no system was scored with it on both. "
            f"Possible: {', '.join(sorted(known)) or 'none'}"
        )
    return [one for one in result if not metrics or one.measure in metrics]


def _with_intervals(
    changes: list[ScoreChange], folders: Sequence[Path], paths: Sequence[Path], split: str
) -> tuple[list[ScoreChange], list[str]]:
    """The same with intervals and p-values. Raises `DatasetError` with the reason for none."""
    collections = [load(path, split) for path in paths]
    texts = [{query.query_id: query.text for query in one.queries} for one in collections]
    if texts[0] != texts[1]:
        shared = sum(texts[0].get(key) == text for key, text in texts[1].items())
        raise DatasetError(
            f"the data sets share only {shared:,} queries of {len(texts[0]):,} and "
            f"{len(texts[1]):,}"
        )
    units = units_of(collections[1])
    compared: dict[str, dict[_System, PairedDifference]] = {}  # by measure
    for system in dict.fromkeys(one.system for one in changes):
        measures = [one.measure for one in changes if one.system == system]
        values = {
            name: _per_query(
                folder / "per_query" / f"{slug(*system)}.jsonl", path, [*texts[1]], measures
            )
            for name, folder, path in zip("AB", folders, paths, strict=True)
        }
        for one in compare(units, {"B": values["B"], "A": values["A"]}, measures):
            compared.setdefault(one.measure, {})[system] = one
    for measure, rows in compared.items():  # Holm's correction over the systems of each measure
        adjusted = holm([row[:-1] for row in rows.values()])
        compared[measure] = dict(zip(rows, adjusted, strict=True))
    drawn = units.note or f"intervals and p-values of scores are over {units.name} of B"
    return [replace(one, compared=compared[one.measure][one.system]) for one in changes], [drawn]


def _per_query(
    path: Path, dataset: Path, order: Sequence[str], measures: Sequence[str]
) -> NDArray[np.float64]:
    """Scores (queries, measures) in this order. Raises `DatasetError` for those of others."""
    try:
        rows = {row["query-id"]: row for row in map(orjson.loads, path.read_bytes().splitlines())}
        if rows.keys() == {*order}:
            return np.array([[float(rows[one][name]) for name in measures] for one in order])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise DatasetError(
        f"{path} is not of the queries that {dataset} has now; `gen eval` writes it again"
    )
