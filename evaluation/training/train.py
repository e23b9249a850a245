"""`gen train`: what does training on the data change, on its test set and outside of it?

out/
  views.json       what is scored; a folder holds one training and its scores
  scores/          values query by query, see retgen.evaluation.training.scored_set
  teacher/         scores of a teacher, see retgen.evaluation.training.teachers
  model/ ...       see retgen.evaluation.training.fit
  NAME/            with `compare`: the same for every variant but the first; of pairs pairs-NAME/
  seed-43/ ...     with `seeds`: the same for every seed but the first, of each variant
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

from retgen.agents.models import DEFAULT_OPTIONS, ModelOptions
from retgen.data import open_dataset
from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, check_name, type_of
from retgen.evaluation.scoring.baselines import baselines
from retgen.evaluation.scoring.measures import Measures, default_names
from retgen.evaluation.training.config import (
    TrainingRun,
    discard,
    make_config,
    read_own,
    without_hard_negatives,
    write_own,
)
from retgen.evaluation.training.pairs import shared_pairs, shared_texts
from retgen.evaluation.training.result import Training, TrainingVariant
from retgen.evaluation.training.scored_set import (
    Lexical,
    ScoredSet,
    Scorer,
    read_scores,
    scores_file,
)
from retgen.evaluation.training.subgroups import (
    QuerySplit,
    paired_differences,
    split_by,
    split_nonlexical,
    subgroups_of,
)
from retgen.evaluation.training.teachers import check_teacher, teacher_of
from retgen.evaluation.training.variants import (
    AFTER,
    BEFORE,
    BM25,
    IDF,
    NEGATIVES,
    PairSource,
    check_variants,
    fused,
    plans,
)
from retgen.messages import did_you_mean
from retgen.progress import Progress, no_progress
from retgen.search.base import slug
from retgen.search.collection import load, manifest_of
from retgen.search.mining import check_by
from retgen.search.mteb_tasks import dataset_folder
from retgen.write import cache_folder, dump_json, file_info, make_folder, write_file


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
    compare: Sequence[str] = (),
    by: str | None = None,
    mine_by: str = "bm25",
    seeds: int = 1,
    out: str | Path | None = None,
    device: str | None = None,
    fresh: bool = False,
    command: str | None = None,
    progress: Progress = no_progress,
    report_to: Sequence[str] = (),
    model_options: ModelOptions = DEFAULT_OPTIONS,
) -> Training:
    """Fine-tune `model` on the pairs of `path`, score it before, during and after, write `out`.

    `test`: the data set scored on, `path` itself by default. `outside`: others, or mteb:NAME,
    scored before and after. `split`, `data`, `limit`: see `read_pairs`. `preset` and `settings`:
    see `TrainConfig`; a transformer on a CPU is trained with the preset cpu and the settings, where
    neither a preset nor its length (epochs, max_steps) is given.
    `compare`: variants (see `variants`) that are trained with the same steps and seeds, the
    reference first; `mine_by`: what `mined` ranks by. `by`: a column of the queries, whose values
    are scored apart too. `seeds`: so many trainings a variant, from the configuration's seed on;
    scores are their means. `report_to`: trackers, see `fit.train`. `model_options`:
    ledger, cap and prices of a teacher that is a chat model. `out` defaults to
    outputs/train_NAME_MODEL. A repeated call resumes, or shows what is finished, unless `fresh`.
    Raises `UsageError` or `DatasetError` for what cannot be.
    """
    _check_trainable(model)
    config = make_config(preset, settings)
    _check_trackers(report_to)
    path = dataset_folder(path)
    source = PairSource(path, split, limit, data)
    check_variants(compare, source)
    check_by(mine_by)
    if config.teacher is not None:
        check_teacher(config.teacher, config)
    if "in-batch" in compare:
        without_hard_negatives(config)  # which not every loss can do
    if seeds < 1:
        raise UsageError(f"--seeds must be at least 1, not {seeds}")
    scored_sets = _scored_sets(test or path, _several(outside), metrics, progress)
    splits = {
        one.label: split_by(by, one.collection, one.role == "test")
        if by is not None
        else split_nonlexical(one.collection)
        for one in scored_sets
    }
    # takes seconds to import
    from retgen.evaluation.training.fit import train as fit
    from retgen.evaluation.training.kinds import resolve, slow

    lasts = {"epochs", "max_steps"} & set(settings or {})  # the user says how long
    short = preset is None and not lasts and slow(model, device)
    if short:
        hard = config.learns_from_hard_negatives or {"own", "mined"} & set(compare)
        config = make_config("cpu", {**({"hard_negatives": 1} if hard else {}), **(settings or {})})
    config = resolve(config, model)
    embeddings = Options(device=device, cache=cache_folder())
    folder = (
        Path(out)
        if out is not None
        else (Path("outputs") / f"train_{path.resolve().name}_{slug(model)}")
    )
    if fresh and config.teacher is not None and (folder / "identity.json").is_file():
        for scores in folder.glob("teacher/*.npy"):  # what a chat model answered is paid for
            scores.unlink()
    teacher = teacher_of(config, embeddings, folder / "teacher", model_options, progress)
    todo = plans(compare, source, config, mine_by, embeddings, progress, teacher)
    make_folder(folder)
    if fresh:  # before anything new is said of the folder
        for old in _places(folder):
            discard(old)
            shutil.rmtree(old / "scores", ignore_errors=True)
    _check_scored_sets(folder, scored_sets)
    before: dict[str, NDArray[np.float64]] = {}
    lexical = Lexical(progress)
    variants: list[TrainingVariant] = []
    for place, (name, plan) in enumerate(todo.items()):
        runs: list[TrainingRun] = []
        for turn in range(seeds):
            change: dict[str, Any] = {"seed": config.seed + turn}
            if variants:  # the reference's budget
                change["max_steps"] = variants[0].runs[turn].steps
            into = _place(folder, name) if place else folder
            into = into / f"seed-{config.seed + turn}" if turn else into
            runs.append(
                fit(
                    model,
                    plan.pairs,
                    plan.config.model_copy(update=change),
                    into,
                    evaluate=Scorer(scored_sets, into / "scores", model, lexical, before),
                    device=device,
                    progress=progress,
                    report_to=report_to,
                )
            )
        shared = shared_pairs(plan.pairs, scored_sets[0].collection)
        variants.append(TrainingVariant(name, plan.words, plan.pairs, plan.config, runs, shared))
    message = command or shlex.join(["gen", "train", str(path), "--model", model])
    measured = [
        replace(
            scored,
            baselines=baselines(scored.collection, scored.measures, progress),
            ceiling=scored.measures.ceiling(scored.collection),
            seen=shared_texts([variant.pairs for variant in variants], scored.collection),
            **_compare(scored, variants, splits[scored.label], lexical),
        )
        for scored in scored_sets
    ]
    result = Training(folder, model, variants, measured, message, data_facts(path), short)
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


def _place(folder: Path, variant: str) -> Path:
    """Where a variant but the first stands; a training file may have the name of another there."""
    return folder / (variant if variant in NEGATIVES else f"pairs-{variant}")


def _places(folder: Path) -> list[Path]:
    """Where trainings of an earlier call may stand."""
    variants = [
        folder,
        *(_place(folder, name) for name in NEGATIVES),
        *folder.glob(_place(folder, "*").name),
    ]
    return [*variants, *(place for variant in variants for place in sorted(variant.glob("seed-*")))]


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


def _compare(
    scored: ScoredSet,
    variants: Sequence[TrainingVariant],
    split: QuerySplit | None,
    lexical: Lexical,
) -> dict[str, Any]:
    """Comparisons and intervals of all queries, BM25 beside, and subgroups; seeds are averaged."""
    first = variants[0].runs[:1]
    runs = {(variant.name, AFTER): variant.runs for variant in variants}
    runs |= {(when, when): first for when in (IDF, BEFORE) if first[0].scores(when)}
    values = {
        name: np.mean([read_scores(_file(run, scored, when)) for run in of], axis=0)
        for (name, when), of in runs.items()
    }
    beside = {BM25: lexical.values(scored)}
    for (name, when), of in runs.items():
        fusions = [_file(run, scored, when, fused=True) for run in of]
        if all(file.is_file() for file in fusions):
            beside[fused(name)] = np.mean([read_scores(file) for file in fusions], axis=0)
    collection, measures = scored.collection, scored.measures
    return {
        **paired_differences(collection, measures.names, values, beside),
        "beside": {
            name: dict(zip(measures.names, of.mean(axis=0).tolist(), strict=True))
            for name, of in beside.items()
        },
        "subgroups": (
            None if split is None else subgroups_of(split, collection, measures, values, beside)
        ),
    }


def _file(run: TrainingRun, scored: ScoredSet, when: str, *, fused: bool = False) -> Path:
    return scores_file(run.path.parent / "scores", scored, when, fused=fused)
