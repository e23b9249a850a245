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
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import xxhash

from retgen.write import dump_json, make_folder, write_file

if TYPE_CHECKING:
    from retgen.evaluation.collection import Collection
    from retgen.evaluation.scoring.scores import Score
import shutil
from collections.abc import Iterable

from retgen.bucket_run import is_address, local_copy
from retgen.errors import UsageError
from retgen.evaluation.scoring.measures import measure_of_mteb, mteb_score
from retgen.evaluation.scoring.multiconir_files import is_published, ladders_folder
from retgen.messages import did_you_mean
from retgen.write import AtomicFile, cache_folder

DESCRIPTION = "task.json"  # beside a task of MTEB's registry that was brought to disk
NO_LANGUAGE = "und-Zyyy"  # ISO 639 and 15924 for what is not known
_NO_REVISION = "no_revision_available"  # as MTEB writes it


class MtebTaskName(NamedTuple):
    """A data set as MTEB names it."""

    name: str
    revision: str
    subset: str
    languages: list[str]
    main_score: str


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
        try:
            manifest = orjson.loads((collection.dataset.run / "manifest.json").read_bytes())
            return [str(one) for one in manifest["languages"]] or [NO_LANGUAGE]
        except (OSError, ValueError, KeyError, TypeError):
            pass
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
    row = {**named, "main_score": round(main, 5), "hf_subset": task.subset,
           "languages": task.languages}  # fmt: skip
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
    from retgen.evaluation.search.base import slug

    details = score.details
    given: dict[str, Any] = {}
    if "device" in details:  # a model, which the settings are about
        given = {key: value for key, value in settings.items() if value is not None}
    if score.dim is not None and not details.get("full_dimension", True):
        given["embed_dim"] = score.dim
    return {
        "loader": None, "loader_kwargs": {},
        "name": details.get("hub") or f"retgen/{slug(score.model)}",
        "revision": details.get("revision") or _NO_REVISION,
        "release_date": None, "languages": None, "n_parameters": None, "memory_usage_mb": None,
        "max_tokens": details.get("max_length"), "embed_dim": score.dim, "license": None,
        "open_weights": None, "public_training_code": None, "public_training_data": None,
        "framework": [],
        "similarity_fn_name": details.get("similarity"),
        "use_instructions": None, "training_datasets": None, "modalities": ["text"],
        "model_type": _kinds(score.model), "experiment_kwargs": given or None,
    }  # fmt: skip


def _kinds(model: str) -> list[str]:
    kinds = {"bm25": "sparse", "rank-bm25": "sparse", "tfidf": "sparse", "sparse": "sparse",
             "attribute-oracle": "sparse", "late": "late-interaction", "hybrid": "hybrid",
             "minmax": "hybrid", "rerank": "cross-encoder"}  # fmt: skip
    return [kinds.get(model.partition(":")[0], "dense")]


def _setting(given: Mapping[str, Any]) -> str:
    """The folder of a model's settings, as MTEB names it; a hash where that is too long."""
    values = {key: re.sub(r'[<>:"|?*/\\\x00]', "_", str(value)) for key, value in given.items()}
    name = "__".join(f"{key}_{values[key]}" for key in sorted(values))
    return name if len(name.encode()) <= 200 else xxhash.xxh3_128_hexdigest(name.encode())


def dataset_folder(path: str | Path) -> Path:
    """The folder that `mteb:NAME`, a run in a bucket or MultiConIR's published files stand for; any
    other path as it is.
    """
    text = str(path)
    if is_address(text):
        return local_copy(text)
    if text.startswith("mteb:"):
        return fetch(text.removeprefix("mteb:"))
    return ladders_folder(Path(path)) if is_published(Path(path)) else Path(path)


def fetch(name: str) -> Path:
    """The folder of a retrieval task of MTEB's registry, downloaded once, in the cache.

    Raises `UsageError` for an unknown name, a task of another kind and where the Hub cannot be
    reached.
    """
    kept = cache_folder() / "mteb" / name
    if (kept / "qrels.jsonl").is_file():  # written last
        return kept
    import mteb
    from huggingface_hub import constants, get_session

    from retgen.evaluation.embedders.loading import quiet  # imports torch

    tasks: dict[str, Any] = {t.metadata.name: t for t in mteb.get_tasks(task_types=["Retrieval"])}
    if name not in tasks:
        hint = did_you_mean(name, tasks)
        raise UsageError(f"mteb:{name}: MTEB has no retrieval task {name!r}{hint or '.'}")
    task = tasks[name]
    try:
        with quiet():
            # fails at once without a network, where loading retries each of its files
            get_session().head(constants.ENDPOINT, timeout=20)
            task.load_data()
    # whatever loaders of foreign data may raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise UsageError(
            f"mteb:{name}: cannot be loaded ({reason}). Without a network give a folder in MTEB, "
            "BEIR or Hub layout instead."
        ) from error
    write_task(task, kept)
    return kept


def write_task(task: Any, folder: Path) -> None:
    """Write a loaded retrieval task of MTEB: corpus, queries, and qrels of its first split."""
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder)
    name, subset = next(iter(task.dataset.items()))
    languages = task.metadata.eval_langs  # a list, or one for each subset
    described = MtebTaskName(
        task.metadata.name, task.metadata.revision, name,
        list(languages[name] if isinstance(languages, Mapping) else languages),
        task.metadata.main_score,
    )  # fmt: skip
    write_file(folder / DESCRIPTION, dump_json(described._asdict()))
    data = subset["test" if "test" in subset else next(iter(subset))]
    rows = (
        {"_id": row["id"], "title": row.get("title") or "", "text": row["text"]}
        for row in data["corpus"]
    )
    _write(folder / "corpus.jsonl", rows)
    _write(
        folder / "queries.jsonl",
        ({"_id": row["id"], "text": row["text"]} for row in data["queries"]),
    )
    judged: Mapping[str, Mapping[str, float]] = data["relevant_docs"]
    _write(
        folder / "qrels.jsonl",
        (
            {"query-id": query_id, "corpus-id": doc_id, "score": relevance}
            for query_id, of in judged.items()
            for doc_id, relevance in of.items()
        ),
    )


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with AtomicFile(path) as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
