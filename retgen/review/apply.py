"""`gen run --apply-review`: a new version of a run with the labels that people settled.

The settled labels are written into a file of decisions, which the recipe of the new version names.
So the version is made, resumed, repeated and checked like any other run. The run that was reviewed
stays as it is, with its verdicts.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from retgen.data import check_files, open_dataset, read_manifest
from retgen.errors import DatasetError, RunDirectoryError, UsageError
from retgen.manifest import VERDICTS
from retgen.progress import Progress, no_progress
from retgen.recipe import Recipe, load_recipe, resolve
from retgen.review.records import MODEL, Consensus, Item, by_item, consensus, on_texts
from retgen.review.report import model_words, models
from retgen.review.review import changed_items, with_present_ids
from retgen.review.store import Store
from retgen.reviewed.decisions import decisions_bytes
from retgen.run import RunResult, run_upon
from retgen.write import file_info, make_folder, write_file

_KEPT = ("annotator", "relevance", "settles", "reason", "comment", "at", "source")


def apply_review(
    parent: str | Path,
    *,
    out: str | Path | None = None,
    verdicts: str | Path | None = None,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> RunResult:
    """Write a new version of a finished run: `parent`, with what people settled in its review.

    `verdicts`: the review's file, default `parent`/verdicts.sqlite. `out`: default the first of
    NAME_v2, NAME_v3, ... beside the run that is free or is this very version. Raises `UsageError`
    where nothing is settled, `RunDirectoryError` where the run is unfinished, `DatasetError` where
    it was changed.
    """
    parent = Path(parent)
    about = _about(parent)
    check_files(parent, "")
    recipe = load_recipe(parent / "recipe.yaml", finished=True)
    path = Path(verdicts) if verdicts is not None else parent / VERDICTS
    data = decisions_of(parent, about, path)
    folder = Path(out) if out is not None else _next_version(parent, recipe, data)
    if folder.resolve() == parent.resolve():
        raise UsageError(
            f"--out {folder} is the run that was reviewed; a new version never takes its place. "
            "Choose another folder"
        )
    if not _is_free(folder, data):
        raise RunDirectoryError(
            f"{folder} holds something else than this version. Leave --out away, and the next free "
            "name is taken, or choose another"
        )
    decisions = folder / "inputs" / f"decisions-{len(recipe.file.review) + 1}.jsonl"
    make_folder(decisions.parent)
    write_file(decisions, data)
    update = {"name": folder.name.lower(), "review": (*recipe.file.review, decisions)}
    version = resolve(recipe.file.model_copy(update=update))
    return run_upon(parent, version, folder, workers=workers, progress=progress)


def _about(parent: Path) -> dict[str, Any]:
    """What a new version says of its parent. Raises `RunDirectoryError` for an unfinished run."""
    manifest = read_manifest(parent)
    if manifest is None:
        raise RunDirectoryError(
            f"{parent} is no finished run, so there is nothing to apply a review to. Make it with "
            "`gen run`, and review it with `gen review`"
        )
    about = {name: manifest[name] for name in ("name", "created")}
    return about | {"manifest_sha256": file_info(parent / "manifest.json").sha256}


def _next_version(parent: Path, recipe: Recipe, data: bytes) -> Path:
    """The first folder beside the run that is free, or holds this version, finished or not."""
    stem, number = parent.name, 1
    if (found := re.fullmatch(r"(.+)_v(\d+)", stem)) is not None and recipe.file.review:
        stem, number = found[1], int(found[2])
    names = (f"{stem}_v{version}" for version in itertools.count(number + 1))
    return next(one for name in names if _is_free(one := parent.with_name(name), data))


def _is_free(folder: Path, data: bytes) -> bool:
    """Whether a folder holds no file, or this very version, finished or not."""
    held = any(p.read_bytes() == data for p in folder.glob("inputs/decisions*.jsonl"))
    # a killed call leaves folders, a lock, and a partial file whose name begins with a dot
    return held or all(p.is_dir() or p.name.startswith(".") for p in folder.rglob("*"))


def decisions_of(run: Path, about: Mapping[str, Any], path: Path) -> bytes:
    """The file of decisions of a review: its settled items whose texts and labels still hold.

    `about`: the reviewed run, as the file names it.

    Raises `DatasetError` where there is no review, or it is one of other data, and `UsageError`
    where nothing is settled.
    """
    if not path.is_file():
        raise DatasetError(
            f"{path} does not exist: nobody has reviewed {run}. `gen review {run}` opens its page"
        )
    store = Store(path)
    settings = store.settings()
    if settings is None:
        raise DatasetError(f"{path}: nobody has begun this review; `gen review {run}` opens it")
    left = Counter(open=0, waiting=0, undecided=0, stale=0)  # items that change nothing, by cause
    settled: list[tuple[Item, Consensus]] = []
    dataset, items = open_dataset(run), store.items()
    given = by_item(on_texts(store.verdicts(), {item.item_id: item for item in items}))
    if settings.by_question:
        items = with_present_ids(dataset, items)
    for item in sorted(items, key=lambda item: item.item_id):
        state = consensus(given.get(item.item_id, ()), settings.annotators)
        if state.state == "settled" and state.relevance is not None:
            settled.append((item, state))
        elif state.state != "new":
            left["undecided" if state.state == "settled" else state.state] += 1
    stale = changed_items(dataset, settings.split, [item for item, _ in settled])
    left["stale"] = len(stale)
    rows = [
        _row(settings.split, item, state) for item, state in settled if item.item_id not in stale
    ]
    if settled and not rows:
        raise DatasetError(
            f"{path}: none of the {len(settled):,} decisions is on a text and label that {run} "
            "holds, so this is the review of another data set: give the run that was reviewed"
        )
    if not rows:
        raise UsageError(
            f"{path}: nothing is settled yet ({left['open']:,} open, {left['waiting']:,} waiting "
            f"for others, {left['undecided']:,} undecided), so a new version would be the "
            f"old one. `gen review {run} --report` says what to do next"
        )
    head: dict[str, Any] = {"parent": about, "grades": settings.grades, "left": dict(left)}
    if any(one.source == MODEL for verdicts in given.values() for one in verdicts):
        found = models(store.items(), given, settings)
        head["judges"] = {
            f"judge_relevance {number}": {**one._asdict(), "by": name, "measured": model_words(one)}
            for number, (name, one) in enumerate(found.items(), start=1)
        }
    return decisions_bytes(head, rows)


def _row(split: str, item: Item, state: Consensus) -> dict[str, Any]:
    """A row of the file; with the texts where the decision turns the label round."""
    turned = (state.relevance or 0) > 0
    texts = dict(zip(("query", "title", "text"), item.pair[:3], strict=True))
    return {
        "split": split,
        "query_id": item.query_id,
        "doc_id": item.doc_id,
        "label": item.label,
        "shown": item.shown,
        **({"texts": texts} if turned != item.positive else {}),
        "verdicts": [{name: getattr(v, name) for name in _KEPT} for v in state.verdicts],
    }
