"""`gen train`: what does training on the data change, on its test set and outside of it?

out/
  views.json       what is scored; a folder holds one training and its scores
  scores/          values query by query, see retgen.evaluation.training.scored_set
  model/ ...       see retgen.evaluation.training.fit
  seed-43/ ...     with `seeds`: the same for every seed but the first
  train.json/.md/.html, figures/
"""

from __future__ import annotations

import importlib.util
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.data import open_dataset
from retgen.errors import UsageError
from retgen.evaluation.retrievers import check_name, type_of
from retgen.evaluation.scoring.baselines import baselines
from retgen.evaluation.scoring.measures import Measures, default_names
from retgen.evaluation.training.config import (
    TrainingRun,
    discard,
    make_config,
    read_own,
    write_own,
)
from retgen.evaluation.training.pairs import read_pairs, shared_pairs, shared_texts
from retgen.evaluation.training.result import Training
from retgen.evaluation.training.scored_set import (
    AFTER,
    BEFORE,
    BM25,
    IDF,
    Lexical,
    ScoredSet,
    Scorer,
    fused,
    paired_differences,
    read_scores,
    scores_file,
)
from retgen.messages import did_you_mean
from retgen.progress import Progress, no_progress
from retgen.search.base import slug
from retgen.search.collection import load, manifest_of
from retgen.search.mteb_tasks import dataset_folder
from retgen.write import dump_json, file_info, make_folder, write_file


def train(
    path: str | Path,
    model: str = "minilm",
    *,
    test: str | Path | None = None,
    outside: str | Path | Sequence[str | Path] = (),
    split: str | None = None,
    data: Sequence[str] = (),
    limit: int | None = None,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    metrics: Sequence[str] = (),
    seeds: int = 1,
    out: str | Path | None = None,
    device: str | None = None,
    fresh: bool = False,
    command: str | None = None,
    progress: Progress = no_progress,
    report_to: Sequence[str] = (),
) -> Training:
    """Fine-tune `model` on the pairs of `path`, score it before, during and after, write `out`.

    `test`: the data set scored on, `path` itself by default. `outside`: others, or mteb:NAME,
    scored before and after. `split`, `data`, `limit`: see `read_pairs`. `preset` and `settings`:
    see `TrainConfig`; a transformer on a CPU is trained with the preset cpu and the settings, where
    neither a preset nor its length (epochs, max_steps) is given.
    `seeds`: so many trainings, from the configuration's seed on; scores are their means.
    `report_to`: trackers, see `fit.train`. `out` defaults to outputs/train_NAME_MODEL. A repeated
    call resumes, or shows what is finished, unless `fresh`.
    Raises `UsageError` or `DatasetError` for what cannot be.
    """
    _check_trainable(model)
    config = make_config(preset, settings)
    _check_trackers(report_to)
    path = dataset_folder(path)
    if seeds < 1:
        raise UsageError(f"--seeds must be at least 1, not {seeds}")
    scored_sets = _scored_sets(test or path, _several(outside), metrics, progress)
    # takes seconds to import
    from retgen.evaluation.training.fit import train as fit
    from retgen.evaluation.training.kinds import resolve, slow

    lasts = {"epochs", "max_steps"} & set(settings or {})  # the user says how long
    short = preset is None and not lasts and slow(model, device)
    if short:
        hard = {"hard_negatives": 1} if config.learns_from_hard_negatives else {}
        config = make_config("cpu", {**hard, **(settings or {})})
    config = resolve(config, model)
    folder = (
        Path(out)
        if out is not None
        else (Path("outputs") / f"train_{path.resolve().name}_{slug(model)}")
    )
    pairs = read_pairs(path, split, limit, data)
    make_folder(folder)
    if fresh:  # before anything new is said of the folder
        for old in _places(folder):
            discard(old)
            shutil.rmtree(old / "scores", ignore_errors=True)
    _check_scored_sets(folder, scored_sets)
    before: dict[str, NDArray[np.float64]] = {}
    lexical = Lexical(progress)
    runs: list[TrainingRun] = []
    for seed in range(config.seed, config.seed + seeds):
        into = folder / f"seed-{seed}" if runs else folder
        runs.append(
            fit(
                model,
                pairs,
                config.model_copy(update={"seed": seed}),
                into,
                evaluate=Scorer(scored_sets, into / "scores", model, lexical, before),
                device=device,
                progress=progress,
                report_to=report_to,
            )
        )
    measured = [
        replace(
            scored,
            baselines=baselines(scored.collection, scored.measures, progress),
            ceiling=scored.measures.ceiling(scored.collection),
            seen=shared_texts(pairs, scored.collection),
            **_compare(scored, runs, lexical),
        )
        for scored in scored_sets
    ]
    result = Training(
        folder,
        model,
        pairs,
        config,
        runs,
        measured,
        command or shlex.join(["gen", "train", str(path), "--model", model]),
        data_facts(path),
        short,
        shared_pairs(pairs, scored_sets[0].collection),
    )
    training = file_info(folder / "training.json").sha256
    write_own(folder / "train.json", {**result.to_json(), "training": training})
    from retgen.evaluation.training.page import write_page

    write_page(result)
    return result


def data_facts(path: Path) -> dict[str, Any]:
    """What a data set says of itself, for the card of a model: "name", and of a run also "recipe",
    "retgen" (the version that made it) and "licences" of its parts.
    """
    stated = manifest_of(open_dataset(path))
    return {
        "name": path.resolve().name,
        "recipe": stated.get("name"),
        "retgen": stated.get("versions", {}).get("retgen"),
        "licences": stated.get("licences") or {},
    }


def _several(outside: str | Path | Sequence[str | Path]) -> list[str | Path]:
    return [outside] if isinstance(outside, str | Path) else list(outside)


def _places(folder: Path) -> list[Path]:
    """Where trainings of an earlier call may stand."""
    return [folder, *sorted(folder.glob("seed-*"))]


_TRAINABLE = ("minilm", "static:minilm")


def _check_trainable(name: str) -> None:
    result = type_of(name)
    if result is None or not result.trainable:
        why = "cannot be trained." if result else f"there is no such model{_nearest(name)}"
        raise UsageError(
            f"--model {name}: {why} Give minilm, static:minilm, or the folder or Hub id of a "
            "sentence-transformers model; behind sparse:, late: or cross: for another kind"
        )
    check_name(name)


_TRACKERS = ("trackio", "wandb", "tensorboard")


def _check_trackers(names: Sequence[str]) -> None:
    for name in names:
        if name not in _TRACKERS:
            raise UsageError(f"--report-to {name}: give {', '.join(_TRACKERS)}")
        if importlib.util.find_spec(name) is None:
            raise UsageError(f"--report-to {name}: it is not installed; pip install {name}")


def _nearest(name: str) -> str:
    return did_you_mean(name, _TRAINABLE) or "."


def _scored_sets(
    test: str | Path, outside: Sequence[str | Path], metrics: Sequence[str], progress: Progress
) -> list[ScoredSet]:
    scored_sets: list[ScoredSet] = []
    for place, path in enumerate([test, *outside]):
        collection = load(dataset_folder(path), None, progress)
        names = metrics or default_names(collection.documents, collection.grades is not None)
        measures = Measures(names)
        measures.check(collection)
        scored = ScoredSet("outside" if place else "test", collection, measures)
        if any(scored.label == other.label for other in scored_sets):
            raise UsageError(
                f"--outside {path}: another data set outside is called {collection.name} too, and "
                "scores go by the name. Rename one of the folders."
            )
        scored_sets.append(scored)
    return scored_sets


def _check_scored_sets(folder: Path, scored_sets: Sequence[ScoredSet]) -> None:
    """A training keeps what it is scored on: or its "before" would be of something else."""
    wanted = [
        {
            "role": scored.label,
            "name": scored.collection.name,
            "split": scored.collection.split,
            "documents": scored.collection.documents,
            "queries": len(scored.collection.queries),
            "measures": scored.measures.names,
            "digest": scored.collection.digest(),
        }
        for scored in scored_sets
    ]
    path = folder / "views.json"
    begun = any(
        (place / "training.json").is_file() or any(place.glob("checkpoints/*/progress.json"))
        for place in _places(folder)
    )
    if path.is_file() and begun and read_own(path) != wanted:
        raise UsageError(
            f"{folder} holds a training that is scored on something else (views.json). Choose "
            "another --out, or start it anew with --fresh."
        )
    write_file(path, dump_json(wanted))


def _compare(scored: ScoredSet, runs: Sequence[TrainingRun], lexical: Lexical) -> dict[str, Any]:
    """Comparisons and intervals, BM25 beside; seeds are averaged."""
    of = {AFTER: runs} | {when: runs[:1] for when in (IDF, BEFORE) if runs[0].scores(when)}
    values = {name: _mean([_file(run, scored, name) for run in runs]) for name, runs in of.items()}
    beside = {BM25: lexical.values(scored)}
    for name, averaged in of.items():
        files = [_file(run, scored, name, fused=True) for run in averaged]
        if all(file.is_file() for file in files):
            beside[fused(name)] = _mean(files)
    names = scored.measures.names
    return {
        **paired_differences(scored.collection, names, values, beside),
        "beside": {
            name: dict(zip(names, value.mean(axis=0).tolist(), strict=True))
            for name, value in beside.items()
        },
    }


def _mean(files: Sequence[Path]) -> NDArray[np.float64]:
    return np.asarray(np.mean([read_scores(file) for file in files], axis=0))


def _file(run: TrainingRun, scored: ScoredSet, when: str, *, fused: bool = False) -> Path:
    return scores_file(run.path.parent / "scores", scored, when, fused=fused)
