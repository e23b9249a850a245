"""MTEB's result files: what `gen eval` scores stands beside what MTEB scored itself.

Below a folder that `mteb.ResultCache` reads:

    results/MODEL/REVISION/TASK.json and model_meta.json
    results/MODEL/REVISION/experiments/SETTINGS/...      cut, shortened, prompted or cast models

A model of the Hub has its name there and a task of MTEB its own, so that results join; other
systems are named retgen/NAME, and other data sets as the task that `gen export --to mteb` writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import xxhash

from retgen.data import read_manifest
from retgen.write import dump_json, make_folder, write_file

if TYPE_CHECKING:
    from retgen.evaluation.scoring.scores import Score
    from retgen.search.collection import Collection

from retgen.evaluation.scoring.measures import measure_of_mteb, mteb_score
from retgen.search.mteb_tasks import DESCRIPTION, MtebTaskName

NO_LANGUAGE = "und-Zyyy"  # ISO 639 and 15924 for what is not known
_UNKNOWN = (  # keys of MTEB's description of a model
    "loader release_date languages n_parameters memory_usage_mb license open_weights "
    "public_training_code public_training_data use_instructions training_datasets"
).split()
_NO_REVISION = "no_revision_available"  # as MTEB writes it


def task_name(name: str) -> str:
    """The name of a data set's task: words run together, capitals kept, Retrieval at its end."""
    words = [word for word in re.split(r"[^0-9A-Za-z]+", name) if word]
    joined = "".join(word[0].upper() + word[1:] for word in words)
    prefix = "Set" if not joined or joined[0].isdigit() else ""
    return prefix + joined + ("" if joined.endswith("Retrieval") else "Retrieval")


def mteb_task_of(collection: Collection) -> MtebTaskName:
    """What MTEB calls this data set: its own words for its own tasks."""
    try:
        stated = orjson.loads((collection.path / DESCRIPTION).read_bytes())
        return MtebTaskName(**{key: stated[key] for key in MtebTaskName._fields})
    except (OSError, ValueError, KeyError, TypeError):
        pass
    score = mteb_score(collection.main_measure) or "ndcg_at_10"
    return MtebTaskName(
        task_name(collection.name), "local", "default", _languages(collection), score
    )


def _languages(collection: Collection) -> list[str]:
    if collection.dataset.run is not None:
        manifest = read_manifest(collection.dataset.run) or {}
        return [str(one) for one in manifest.get("languages") or [NO_LANGUAGE]]
    return [NO_LANGUAGE]


def write_mteb(
    folder: Path,
    collection: Collection,
    score: Score,
    main: float,
    settings: Mapping[str, Any],
    seconds: float,
) -> Path:
    """Write one system's scores. `main`: the task's own; `settings`: what a model was told."""
    task = mteb_task_of(collection)
    named = {}
    for name, value in score.metrics.items():
        if (score_name := mteb_score(name)) is not None:
            named[score_name] = round(value, 5)
    if measure_of_mteb(task.main_score):
        named[task.main_score] = round(main, 5)
    row = {
        **named,
        "main_score": round(main, 5),
        "hf_subset": task.subset,
        "languages": task.languages,
    }
    content = {
        "dataset_revision": task.revision,
        "task_name": task.name,
        "mteb_version": _version(),
        "scores": {collection.split: [row]},
        "evaluation_time": round(seconds, 3),
        "kg_co2_emissions": None,
    }
    meta = _model(score, settings)
    name, revision = str(meta["name"]).replace("/", "__"), str(meta["revision"])
    place = folder / "mteb" / "results" / name / revision
    if meta["experiment_kwargs"]:
        place = place / "experiments" / _setting(meta["experiment_kwargs"])
    make_folder(place)
    write_file(place / "model_meta.json", dump_json(meta))
    path = place / f"{task.name}.json"
    write_file(path, dump_json(content))
    return path


def _version() -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("mteb")
    except PackageNotFoundError:
        return None


def _model(score: Score, settings: Mapping[str, Any]) -> dict[str, Any]:
    """MTEB's description of a model, with null for what is not known."""
    from retgen.search.base import slug

    details = score.details
    given: dict[str, Any] = {}
    if "device" in details:  # a model, which the settings are about
        given = {key: value for key, value in settings.items() if value is not None}
    if score.dim is not None and not details.get("full_dimension", True):
        given["embed_dim"] = score.dim
    return {
        **dict.fromkeys(_UNKNOWN),
        "loader_kwargs": {},
        "name": details.get("hub") or f"retgen/{slug(score.model)}",
        "revision": details.get("revision") or _NO_REVISION,
        "max_tokens": details.get("max_length"),
        "embed_dim": score.dim,
        "framework": [],
        "similarity_fn_name": details.get("similarity"),
        "modalities": ["text"],
        "model_type": _kinds(score.model),
        "experiment_kwargs": given or None,
    }


def _kinds(model: str) -> list[str]:
    kinds = {
        "bm25": "sparse",
        "rank-bm25": "sparse",
        "tfidf": "sparse",
        "sparse": "sparse",
        "attribute-oracle": "sparse",
        "late": "late-interaction",
        "hybrid": "hybrid",
        "minmax": "hybrid",
        "rerank": "cross-encoder",
    }
    return [kinds.get(model.partition(":")[0], "dense")]


def _setting(given: Mapping[str, Any]) -> str:
    """The folder of a model's settings, as MTEB names it; a hash where that is too long."""
    values = {key: re.sub(r'[<>:"|?*/\\\x00]', "_", str(value)) for key, value in given.items()}
    name = "__".join(f"{key}_{values[key]}" for key in sorted(values))
    return name if len(name.encode()) <= 200 else xxhash.xxh3_128_hexdigest(name.encode())
