"""Scores that `gen eval` wrote of two data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from retgen.data import Dataset
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.scoring.evaluate import output_folder
from retgen.search.base import label

AGAIN = "Write it again with the command that made it, or take it away"


def score_changes(
    a: tuple[Dataset, Path], b: tuple[Dataset, Path], metrics: Sequence[str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Differences of all systems that were scored on both, as `gen diff --json` prints them, and
    notes on what was not compared.

    Raises `UsageError` for a measure that no system of both has.
    """
    results = [_read(output_folder([path]) / "eval.json") for _, path in (a, b)]
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
    old, new = _systems(before), _systems(after)
    found = [
        {
            "model": model,
            "dim": dim,
            "label": label(model, dim, new[model, dim].get("details") or {}),
            "metric": measure,
            "a": value,
            "b": other,
            "difference": other - value,
        }
        for model, dim in old
        if (model, dim) in new
        for measure, value in old[model, dim]["metrics"].items()
        if (other := new[model, dim]["metrics"].get(measure)) is not None
    ]
    known = sorted({one["metric"] for one in found})
    if absent := [name for name in metrics if name not in known]:
        raise UsageError(
            f"--metric {absent[0]}: no system was scored with it on both. "
            f"Possible: {', '.join(known) or 'none'}"
        )
    if not found:
        return [], ["scores are not compared: no system was scored on both with one measure"]
    return [one for one in found if not metrics or one["metric"] in metrics], []


def _read(path: Path) -> dict[str, Any] | None:
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


def _systems(result: dict[str, Any]) -> dict[tuple[str, int | None], dict[str, Any]]:
    rows = result.get("results")
    return {
        (row["model"], row.get("dim")): row
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and isinstance(row.get("metrics"), dict) and "model" in row
    }
