"""What two runs say of themselves: recipes and manifests, key by key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from retgen.data import Dataset
from retgen.errors import DatasetError
from retgen.yaml_text import read_yaml

# of manifest.json; what follows from the tables, and what a run took, is not compared
_KEYS = (
    "family", "complete", "evidence", "judges", "models", "prompts", "word_lists", "licences",
    "languages", "parent", "lineage", "versions",
)  # fmt: skip
_ABSENT = None
Differences = dict[str, dict[str, list[Any]]]  # what -> key -> [in A, in B]


def stated(a: Dataset, b: Dataset) -> tuple[Differences | None, list[str]]:
    """The keys that differ, of `recipe` and of each part of the manifest; notes on what is missing.

    None where one of both is no run. Raises `DatasetError` for a file that cannot be read.
    """
    outside = [str(one.root) for one in (a, b) if one.run is None]
    if len(outside) == 1:
        return None, [f"{outside[0]} is no run: recipes, evidence and versions are not compared"]
    if outside:
        return None, []
    result = {"recipe": _differing(_recipe(a), _recipe(b))}
    before, after = _manifest(a), _manifest(b)
    notes = [
        f"{one.run} has no manifest.json, so its run is not finished: evidence, versions and "
        "training files are not compared"
        for one, manifest in ((a, before), (b, after))
        if manifest is None
    ]
    if before is not None and after is not None:
        for key in _KEYS:
            result[key] = _differing(before.get(key), after.get(key), key)
        result["training"] = _differing(_training(before), _training(after))
    return {what: keys for what, keys in result.items() if keys}, notes


def _recipe(dataset: Dataset) -> dict[str, Any]:
    path = (dataset.run or dataset.root) / "recipe.yaml"
    try:
        result = read_yaml(path, error=DatasetError)
    except DatasetError as error:
        raise DatasetError(f"{str(error).rstrip('.')}. {_AGAIN}") from error
    if not isinstance(result, dict):
        raise DatasetError(f"{path} holds no recipe. {_AGAIN}")
    return result


def read_json(path: Path) -> dict[str, Any] | None:
    """An object that retgen wrote; None where there is no such file."""
    try:
        result = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path} cannot be read as JSON. {_AGAIN}") from error
    if not isinstance(result, dict):
        raise DatasetError(f"{path} holds no JSON object. {_AGAIN}")
    return result


_AGAIN = "Write it again with the command that made it, or take it away"


def _manifest(dataset: Dataset) -> dict[str, Any] | None:
    return read_json((dataset.run or dataset.root) / "manifest.json")


def _training(manifest: dict[str, Any]) -> dict[str, Any]:
    """The hash of each training file."""
    files = manifest.get("files")
    return {
        name: info.get("sha256")
        for name, info in (files if isinstance(files, dict) else {}).items()
        if name.startswith("training/") and isinstance(info, dict) and name != "training/README.md"
    }


def _differing(a: Any, b: Any, name: str = "") -> dict[str, list[Any]]:
    """Dotted key -> both values, None where a side has no such key."""
    before, after = dict(_flat(a, name)), dict(_flat(b, name))
    return {
        key: [before.get(key, _ABSENT), after.get(key, _ABSENT)]
        for key in {**before, **after}
        if before.get(key, _ABSENT) != after.get(key, _ABSENT)
    }


def _flat(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flat(one, f"{name}.{key}" if name else str(key))
    elif name:
        yield name, value
