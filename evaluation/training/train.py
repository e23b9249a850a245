"""`gen train`: what does training on the data change, on its test set and outside of it?

out/
  views.json       what is scored; a folder holds one training and its scores
  scores/          values query by query, before and after, (queries, measures) .npy
  model/ ...       see retgen.evaluation.training.fit
  in_batch_only/   with `compare`: the same training without its hard negatives
  train.json/.md/.html, figures/
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.evaluation.collection import Collection, load
from retgen.evaluation.retrievers import Options, check_name, type_of
from retgen.evaluation.scoring.baselines import baselines
from retgen.evaluation.scoring.measures import Measures, default_names
from retgen.evaluation.scoring.mteb_datasets import located
from retgen.evaluation.scoring.significance import Bootstrap, Difference
from retgen.evaluation.search.names import slug
from retgen.evaluation.training.config import (
    TrainConfig,
    Trained,
    discard,
    make_config,
    read_own,
    without_hard_negatives,
)
from retgen.evaluation.training.pairs import Pairs, read_pairs
from retgen.evaluation.training.result import WITHOUT, ScoredSet, Training
from retgen.progress import Progress, silent
from retgen.write import dump_json, make_folder, write_file

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def train(
    path: str | Path,
    model: str = "minilm",
    *,
    test: str | Path | None = None,
    outside: str | Path | None = None,
    split: str | None = None,
    limit: int | None = None,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    metrics: Sequence[str] = (),
    compare: bool = False,
    out: str | Path | None = None,
    device: str | None = None,
    fresh: bool = False,
    command: str | None = None,
    progress: Progress = silent,
) -> Training:
    """Fine-tune `model` on the pairs of `path`, score it before, during and after, write `out`.

    `test`: the data set scored on, `path` itself by default. `outside`: another one, or mteb:NAME,
    scored before and after. `split`, `limit`: see `read_pairs`. `preset` and `settings`: see
    `TrainConfig`. `compare`: train once more with in-batch negatives only, for as many steps.
    `out` defaults to outputs/train_NAME_MODEL. A repeated call resumes, or shows what is finished,
    unless `fresh`. Raises `UsageError` or `DatasetError` for what cannot be.
    """
    _check_trainable(model)
    config = make_config(preset, settings)
    other = without_hard_negatives(config) if compare else None
    path = located(path)
    pairs = read_pairs(path, split, limit)
    if compare and not pairs.negatives_used(config.hard_negatives):
        message = pairs.negatives_in_words(config.hard_negatives)
        raise UsageError(f"--compare: there is nothing to compare with: {message}")
    scored_sets = _scored_sets(test or path, outside, metrics, progress)
    folder = Path(out) if out is not None else (
        Path("outputs") / f"train_{path.resolve().name}_{slug(model)}"
    )  # fmt: skip
    make_folder(folder)
    if fresh:  # before anything new is said of the folder
        for old in (folder, folder / "in_batch_only"):
            discard(old)
            shutil.rmtree(old / "scores", ignore_errors=True)
    _check_scored_sets(folder, scored_sets)
    # takes seconds to import
    from retgen.evaluation.training.fit import train as fit

    def one(config: TrainConfig, place: Path) -> Trained:
        scorer = _Scorer(scored_sets, place / "scores", model)
        return fit(
            model, pairs, config, place, evaluate=scorer, device=device, progress=progress,
        )  # fmt: skip

    trained = one(config, folder)
    in_batch_only = None
    if other is not None:
        steps = without_hard_negatives(config, trained.steps)
        in_batch_only = one(steps, folder / "in_batch_only")
    message = command or shlex.join(["gen", "train", str(path), "--model", model])
    measured = [
        replace(
            scored,
            baselines=baselines(scored.collection, scored.measures, progress),
            ceiling=scored.measures.ceiling(scored.collection),
            comparisons=_compare(scored, folder, in_batch_only is not None),
        )
        for scored in scored_sets
    ]
    result = Training(
        folder, model, config, pairs, trained, in_batch_only, measured,
        _shared(pairs, scored_sets[0].collection), message,
    )  # fmt: skip
    write_file(folder / "train.json", dump_json(result.to_json()))
    from retgen.evaluation.training.page import write_page

    write_page(result)
    return result


def _check_trainable(name: str) -> None:
    check_name(name)
    result = type_of(name)
    if result is not None and not result.trainable:
        raise UsageError(
            f"--model {name}: cannot be trained. Give minilm, static:minilm, or the folder or Hub "
            "id of a sentence-transformers model"
        )


def _scored_sets(
    test: str | Path, outside: str | Path | None, metrics: Sequence[str], progress: Progress
) -> list[ScoredSet]:
    scored_sets = []
    for role, path in (("test", test), ("outside", outside)):
        if path is None:
            continue
        collection = load(located(path), None, progress)
        names = metrics or default_names(collection.documents, collection.grades is not None)
        measures = Measures(names)
        measures.check(collection)
        scored_sets.append(ScoredSet("test" if role == "test" else "outside", collection, measures))
    return scored_sets


def _check_scored_sets(folder: Path, scored_sets: Sequence[ScoredSet]) -> None:
    """A training keeps what it is scored on: or its "before" would be of something else."""
    wanted = [
        {
            "role": scored.role,
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
        for place in (folder, folder / "in_batch_only")
    )
    if path.is_file() and begun and read_own(path) != wanted:
        raise UsageError(
            f"{folder} holds a training that is scored on something else (views.json). Choose "
            "another --out, or start it anew with --fresh."
        )
    write_file(path, dump_json(wanted))


class _Scorer:
    """Scores a model on the data sets; that outside only before and after."""

    def __init__(self, scored_sets: Sequence[ScoredSet], folder: Path, model: str) -> None:
        self._scored_sets, self._folder, self._model = scored_sets, folder, model

    def __call__(self, model: SentenceTransformer, when: str) -> dict[str, float]:
        result: dict[str, float] = {}
        for scored in self._scored_sets:
            if when == "during" and scored.role == "outside":
                continue
            values = self._values(model, scored)
            if when != "during":
                make_folder(self._folder)
                np.save(self._folder / f"{scored.role}_{when}.npy", values)
            for name, mean in zip(scored.measures.names, values.mean(axis=0).tolist(), strict=True):
                result[f"{scored.role} {name}"] = mean
        return result

    def _values(self, model: SentenceTransformer, scored: ScoredSet) -> NDArray[np.float64]:
        from retgen.evaluation.embedders.base import SentenceEmbedder
        from retgen.evaluation.search.dense import Dense

        options = Options()
        dense = Dense(self._model, SentenceEmbedder(self._model, model, options), options)
        depth = scored.measures.depth(scored.collection.documents)
        (ranked,) = dense.rank(scored.collection, depth, silent)
        return scored.measures.per_query(scored.collection, ranked.rankings)


def _compare(scored: ScoredSet, folder: Path, in_batch_only: bool) -> list[Difference]:
    """Paired differences between the models, on the same draws of what queries share."""
    files = {
        "after": folder / "scores" / f"{scored.role}_after.npy",
        "before": folder / "scores" / f"{scored.role}_before.npy",
    }
    if in_batch_only:
        files[WITHOUT] = folder / "in_batch_only" / "scores" / f"{scored.role}_after.npy"
    if not all(file.is_file() for file in files.values()):
        return []
    values = {name: np.load(file) for name, file in files.items()}
    return Bootstrap(scored.collection).compare(values, scored.measures.names)


def _shared(pairs: Pairs, collection: Collection) -> int:
    """How many training pairs are pairs of a collection, by their texts."""
    asked: dict[str, set[str]] = {}
    for query in collection.queries:
        relevant = {d for d, r in collection.qrels[query.query_id].items() if r > 0}
        asked.setdefault(query.text, set()).update(relevant)
    wanted = set(pairs.anchors) & asked.keys()
    named = {doc.encode() for text in wanted for doc in asked[text]}
    if not named:
        return 0
    texts = collection.texts(np.flatnonzero(np.isin(collection.doc_ids, list(named))))
    by_id = {collection.doc_ids[i].decode(): text for i, text in texts.items()}
    known = {(q, by_id[doc]) for q in wanted for doc in asked[q] if doc in by_id}
    return sum(pair in known for pair in zip(pairs.anchors, pairs.positives, strict=True))
