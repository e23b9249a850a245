"""Every bundled recipe: proven, and byte for byte what it was when `goldens` were frozen.

A change that is meant writes them anew, with `make goldens`, and says in CHANGELOG.md why.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from retgen import evaluate, run, validate
from retgen.recipe import load_recipe
from retgen.recipes import bundled

GOLDENS = Path(__file__).parent / "goldens"
REDUCED: dict[str, dict[str, Any]] = {
    "limit_5m": {"params.docs": 3000},
    "limit_projective": {"params.docs": 3000, "params.p": 13},
    "niah_long": {"params.places": 2},
    "world_operators": {"params.documents": 20_000, "params.answer_sizes": [1, 10, 100]},
}
# one of each family, and what `gen eval` looks at there
SCORED = ("capretrieval_album", "limit_small", "multiconir_people", "niah_train", "world_small",
          "world_twins")  # fmt: skip
# what differs from run to run, and where it lies
_CHANCE = {"created", "versions", "timings", "seconds", "folder", "dataset", "files", "command"}


def digest(value: Any) -> str:
    """Of a JSON value, numbers to six digits."""
    text = json.dumps(_rounded(value), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _rounded(one) for key, one in value.items() if key not in _CHANCE}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def digests(path: Path) -> Iterator[tuple[str, str]]:
    """Of the tables of a run: of a Parquet file its rows, since its bytes are its writer's."""
    for folder in ("dataset", "training", "tables"):
        for file in sorted(path.glob(f"{folder}/**/*")):
            name = file.relative_to(path).as_posix()
            if file.suffix == ".parquet":
                yield name, digest(pq.read_table(file).to_pylist())
            elif file.is_file():
                yield name, hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def by_key(name: str, tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of each key of a JSON file, so that what changed is named."""
    for key, value in tree.items():
        if key not in _CHANCE:
            yield f"{name}: {key}", digest(value)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(bundled()))
def test_a_bundled_recipe_is_proven_and_what_it_was(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan: Any = sys.modules["retgen.validation.scan"]
    # reason: of every family's proof, parts have to give what the whole does
    monkeypatch.setattr(scan, "MOST", 2_000_000)
    monkeypatch.setattr(scan, "BRIEF", -1.0)
    changes = REDUCED.get(name, {})
    if "params.docs" not in changes and load_recipe(name).params.model_dump().get("docs") == 50_000:
        changes = {"params.docs": 3000}
    path = run(name, out=tmp_path / "run", overrides=changes).path
    # but that LIMIT's hard negatives are distractors, of whom words tell
    assert [one for one in validate(path).findings if one.rule != "origin"] == []

    found = dict(digests(path))
    found |= by_key("report.json", json.loads((path / "report.json").read_text()))
    if name in SCORED:
        models = ["bm25-paper"] if name.startswith("multiconir") else ["bm25", "tfidf"]
        scored = evaluate(path, models=models, out=tmp_path / "eval").to_json()
        found |= by_key("eval.json", scored)
    golden = GOLDENS / f"{name}.json"
    if os.environ.get("RETGEN_WRITE_GOLDENS"):
        golden.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(golden.read_text())
