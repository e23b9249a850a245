"""`gen train`: what does training on the data change, on its test set and outside of it?

out/
  views.json       what is scored; a folder holds one training and its scores
  scores/          values query by query, see retgen.evaluation.training.scored_set
  model/ ...       see retgen.evaluation.training.fit
  train.json/.md/.html, figures/
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from retgen.data import open_dataset
from retgen.errors import UsageError
from retgen.evaluation.retrievers import check_name, type_of
from retgen.evaluation.scoring.baselines import baselines
from retgen.evaluation.scoring.measures import Measures, default_names
from retgen.evaluation.training.config import begun, discard, make_config, read_own, write_own
from retgen.evaluation.training.pairs import read_pairs, shared_pairs, shared_texts
from retgen.evaluation.training.result import Training
from retgen.evaluation.training.scored_set import ScoredSet, Scorer
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
    out: str | Path | None = None,
    device: str | None = None,
    trust_remote_code: bool = False,
    fresh: bool = False,
    command: str | None = None,
    progress: Progress = no_progress,
) -> Training:
    """Fine-tune `model` on the pairs of `path`, score it before and after, write `out`.

    `test`: the data set scored on, `path` itself by default. `outside`: others, or mteb:NAME,
    scored before and after. `split`, `data`, `limit`: see `read_pairs`. `preset` and `settings`:
    see `TrainConfig`; a transformer on a CPU is trained with the preset cpu and the settings, where
    neither a preset nor its length (epochs, max_steps) is given. `out` defaults to
    outputs/train_NAME_MODEL. A repeated call resumes, or shows what is finished, unless `fresh`.
    Of several processes that torchrun started, all train and the first one scores and writes; the
    others end with SystemExit. Raises `UsageError` or `DatasetError` for what cannot be.
    """
    _check_trainable(model)
    config = make_config(preset, settings)
    path = dataset_folder(path)
    scored_sets = _scored_sets(test or path, _several(outside), metrics, progress)
    # takes seconds to import
    from retgen.evaluation.training.fit import train as fit
    from retgen.evaluation.training.kinds import resolve, slow
    from retgen.evaluation.training.models import rank

    lasts = {"epochs", "max_steps"} & set(settings or {})  # the user says how long
    short = preset is None and not lasts and slow(model, device)
    if short:
        config = make_config("cpu", settings)
    config = resolve(config, model)
    default = Path("outputs") / f"train_{path.resolve().name}_{slug(model)}"
    folder = Path(out) if out is not None else default
    pairs = read_pairs(path, split, limit, data)
    if rank() == 0:
        make_folder(folder)
        if fresh:  # before anything new is said of the folder
            discard(folder)
        _check_scored_sets(folder, scored_sets)
    scorer = Scorer(scored_sets, folder / "scores", model, progress)
    options: dict[str, Any] = {"device": device, "trusted": trust_remote_code}
    run = fit(model, pairs, config, folder, evaluate=scorer, progress=progress, **options)
    if rank():
        raise SystemExit(0)
    measured = [
        replace(
            scored,
            baselines=baselines(scored.collection, scored.measures, progress),
            ceiling=scored.measures.ceiling(scored.collection),
            seen=shared_texts(pairs, scored.collection),
            **scorer.compared(scored, run),
        )
        for scored in scored_sets
    ]
    result = Training(
        folder,
        model,
        pairs,
        config,
        run,
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


_TRAINABLE = ("minilm", "static:minilm")


def _check_trainable(name: str) -> None:
    result = type_of(name)
    if result is None or not result.trainable:
        why = (
            "cannot be trained."
            if result
            else f"there is no such model{did_you_mean(name, _TRAINABLE) or '.'}"
        )
        raise UsageError(
            f"--model {name}: {why} Give minilm, static:minilm, or the folder or Hub id of a "
            "sentence-transformers model; behind sparse:, late: or cross: for another kind"
        )
    check_name(name)


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
    if path.is_file() and begun(folder) and read_own(path) != wanted:
        raise UsageError(
            f"{folder} holds a training that is scored on something else (views.json). Choose "
            "another --out, or start it anew with --fresh."
        )
    write_file(path, dump_json(wanted))
