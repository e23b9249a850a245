"""Every bundled recipe: proven, and the data and numbers that it had when goldens were frozen.

Frozen are the bytes of corpus, queries and qrels, the rows of Parquet tables, and the numbers of
evaluations; no card, no page, no byte of Parquet. A change that is meant writes them anew with
`make goldens`, which shows what changed, and says in CHANGELOG.md why.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from retgen import evaluate, run, validate
from retgen.dataset_files import card_header
from retgen.recipe import load_recipe
from retgen.recipes import bundled
from tests.conftest import read_jsonl

GOLDENS = Path(__file__).parent / "goldens"
REDUCED: dict[str, dict[str, Any]] = {
    "limit_5m": {"params.docs": 3000},
    "limit_projective": {"params.docs": 3000, "params.p": 13},
    "niah_long": {"params.places": 2},
    "world_operators": {"params.documents": 20_000, "params.answer_sizes": [1, 10, 100]},
}
# the systems whose numbers are kept, by recipe; of haystacks, few, since models read them all
SCORED = {
    "capretrieval": ["bm25", "tfidf", "static:minilm", "minilm"],
    "capretrieval_album": ["bm25", "tfidf"],
    "limit_small": ["bm25", "tfidf", "minilm"],
    "multiconir_people": ["bm25", "static:minilm"],
    "niah_train": ["bm25", "static:minilm"],
    "world_small": ["bm25", "tfidf"],
    "world_twins": ["bm25", "static:minilm"],
}
# how far a number may be off: words are counted, models compute in float32, which differs by
# processor and turns round documents whose scores are close
COUNTED, COMPUTED = 1e-6, 5e-3


def digest(value: Any) -> str:
    """Of a JSON value, numbers to six digits."""
    text = json.dumps(_rounded(value), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def digests(path: Path) -> Iterator[tuple[str, str]]:
    """The data of a run: of JSON Lines their bytes, of Parquet its rows."""
    for folder in ("dataset", "training", "tables"):
        for file in sorted(path.glob(f"{folder}/**/*")):
            name = file.relative_to(path).as_posix()
            if file.suffix == ".parquet":
                yield name, digest(pq.read_table(file).to_pylist())
            elif file.suffix == ".jsonl":
                yield name, hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a system's result by their names, without intervals."""
    if isinstance(value, Mapping):
        if "value" in value:
            value = {"": value["value"]}
        for key, one in value.items():
            if key not in ("intervals", "details", "seconds", "cost"):
                yield from numbers(one, f"{name} {key}".strip())
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from numbers(one, f"{name} {number}")
    elif isinstance(value, int | float):
        yield name, float(f"{value:.6g}")


def agrees(system: str, own: Mapping[str, float], every: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether the numbers of a system are within its tolerance of those that are kept."""
    within = COMPUTED if "minilm" in system else COUNTED
    return system in every and own == pytest.approx(every[system], abs=within, rel=within)


def check_loads(folder: Path, cache: Path) -> None:
    """Load every configuration of a run's dataset/ with `datasets`, and compare all its rows."""
    from datasets import load_dataset

    for config in card_header(folder)["configs"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what other libraries deprecate is theirs
            loaded = load_dataset(str(folder), config["config_name"], cache_dir=str(cache))
        for entry in config["data_files"]:
            rows = [row for file in sorted(folder.glob(entry["path"])) for row in read_jsonl(file)]
            assert loaded[entry["split"]].to_list() == rows


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(bundled()))
def test_a_bundled_recipe_is_proven_and_what_it_was(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan: Any = sys.modules["retgen.validation.scan"]
    # reason: of every family's proof, parts have to give what the whole does
    monkeypatch.setattr(scan, "MOST", 2_000_000)
    changes = REDUCED.get(name, {})
    if (
        "params.docs" not in changes
        and load_recipe(name).job.params.model_dump().get("docs") == 50_000
    ):
        changes = {"params.docs": 3000}
    path = run(name, out=tmp_path / "run", overrides=changes).path
    # but that LIMIT's hard negatives are distractors, of whom words tell
    assert [one for one in validate(path).findings if one.rule != "origin"] == []
    check_loads(path / "dataset", tmp_path / "hf")

    scores: dict[str, dict[str, float]] = {}
    if systems := SCORED.get(name):
        results = evaluate(path, models=systems, out=tmp_path / "eval").to_json()["results"]
        scores = {one["model"]: dict(numbers(one)) for one in results}
        assert list(scores) == systems
    golden = GOLDENS / f"{name}.json"
    kept = json.loads(golden.read_text()) if golden.exists() else {"files": {}, "scores": {}}
    # a number within its tolerance is the one that was frozen
    scores = {
        system: kept["scores"].get(system, {}) if agrees(system, own, kept["scores"]) else own
        for system, own in scores.items()
    }
    found = {"files": dict(digests(path)), "scores": scores}
    if os.environ.get("RETGEN_WRITE_GOLDENS"):
        golden.write_text(json.dumps(found, indent=1) + "\n")
    else:
        assert found == kept
