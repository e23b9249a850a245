"""How a review begins, and how it is taken up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from retgen.data import open_dataset
from retgen.errors import DatasetError, UsageError
from retgen.messages import did_you_mean
from retgen.progress import Progress, no_progress
from retgen.review import candidates, goals, items
from retgen.review.consensus import standing
from retgen.review.records import Settings
from retgen.review.review import (
    FILE,
    Review,
    digest,
    files_of,
    folder_of,
    labels_proven,
    stamp,
)
from retgen.review.store import Store
from retgen.search.collection import manifest_of
from retgen.write import make_folder

MODES = ("grade", "check")
_FREE = ("annotators", "goals", "looks")  # what may change while people judge
_SHARES = ("overlap", "plants", "second")


def open_review(
    path: Path | str,
    *,
    annotators: Sequence[str] | None = None,
    goals: Sequence[str] | None = None,
    mode: str | None = None,
    overlap: float | None = None,
    plants: float | None = None,
    second: float | None = None,
    pool: Sequence[str] | None = None,
    depth: int | None = None,
    split: str | None = None,
    seed: int | None = None,
    looks: int | None = None,
    out: Path | str | None = None,
    progress: Progress = no_progress,
) -> Review:
    """The review of a data set, begun where there is none; None leaves what stands, or the default.

    Annotators, goals and looks may be changed at any time, all else before the first verdict.
    """
    path = Path(path)
    wanted = {
        "annotators": None if annotators is None else tuple(annotators),
        "goals": None if goals is None else tuple(goals),
        "mode": mode,
        "overlap": overlap,
        "plants": plants,
        "second": second,
        "pool": None if pool is None else tuple(pool),
        "depth": depth,
        "split": split,
        "seed": seed,
        "looks": looks,
    }
    given = {key: value for key, value in wanted.items() if value is not None}
    return begin(path, given, None if out is None else Path(out), progress)


def begin(path: Path, wanted: Mapping[str, Any], out: Path | None, progress: Progress) -> Review:
    """The review of a data set with some settings, new or as it stands."""
    _check(wanted)
    dataset = open_dataset(path, checked=False)  # what changed is named verdict by verdict
    folder = folder_of(path, dataset, out)
    make_folder(folder)
    file = folder / FILE
    if file.is_file() and not file.stat().st_size:
        raise UsageError(f"{file} is empty: put a copy in its place, or delete it to begin anew")
    store = Store(file)
    stands = store.settings()
    if stands is not None:
        verdicts = store.verdicts()
        settings = replace(stands, **wanted)
        fixed = [key for key in wanted if key not in _FREE and wanted[key] != getattr(stands, key)]
        if fixed and verdicts:
            said = ", ".join(f"{key} {_said(getattr(stands, key))}" for key in fixed)
            raise UsageError(
                f"{store.path} holds {len(verdicts):,} verdicts and was begun with {said}: leave "
                f"--{', --'.join(fixed)} away, or begin another review with --out"
            )
        if not fixed:
            _check_goals(path, store, settings)
            gone = {v.annotator for v in standing(verdicts).values()} - set(settings.annotators)
            if gone:
                raise UsageError(
                    f"--annotators leaves out {', '.join(sorted(gone))}, whose verdicts stand; "
                    "name them too"
                )
            if settings != stands:
                store.keep_settings(settings)
            review = Review(path, folder, store, settings)
            _of_this_data_set(review)
            return review
    else:
        settings = replace(Settings(goals=goals.DEFAULT), **wanted)
    split = wanted.get("split", stands.split if stands is not None else None)
    made = candidates.make_pool(path, split, settings.pool, settings.depth, progress)
    manifest = manifest_of(dataset)
    labels = [r for given in made.collection.qrels.values() for r in given.values()]
    files = files_of(dataset, made.collection.split)
    stamped = stamp(files)
    settings = replace(
        settings,
        split=made.collection.split,
        family=str(manifest.get("family", "")),
        grades=3 if max(labels, default=0) > 1 else 2,
        dataset=digest(files),
    )
    planned = items.plan(made, settings, proven=labels_proven(manifest), progress=progress)
    if not planned.pairs:
        raise UsageError(
            f"{path}: there is nothing to look at in split {settings.split}: no pair has a label, "
            f"and {', '.join(settings.pool)} ranked nothing"
        )
    if "goals" not in wanted:
        settings = replace(settings, goals=_possible(settings.goals, planned))
    store.plan(settings, planned.pairs, planned.items, planned.texts)
    store.keep_note("files", stamped)
    store.keep_note("left_out", len(made.collection.missing))
    _check_goals(path, store, settings)
    return Review(path, folder, store, settings)


def check_begun(path: Path, out: Path | None) -> None:
    """Raise `UsageError` where no review is kept, so that none that was lost is begun anew."""
    file = folder_of(path, open_dataset(path, checked=False), out) / FILE
    if not file.is_file() or not file.stat().st_size:
        raise UsageError(
            f"{file} is not there, or empty, so there is nothing to report: put it back, or begin "
            f"a review with `gen review {path}`"
        )


def _check(wanted: Mapping[str, Any]) -> None:
    """Raise `UsageError` for settings that can mean nothing."""
    goals.parse_goals(wanted.get("goals", ()))
    candidates.check_pool(wanted.get("pool", ("bm25",)), wanted.get("depth", 1))
    if wanted.get("mode", "grade") not in MODES:
        raise UsageError(
            f"--mode {wanted['mode']}: there is no such mode"
            f"{did_you_mean(wanted['mode'], MODES) or '.'} Modes: {', '.join(MODES)}"
        )
    for name in _SHARES:
        share = wanted.get(name, 0.0)
        if not 0 <= share <= (1 if name != "plants" else 0.5):
            most = "1" if name != "plants" else "0.5"
            raise UsageError(f"--{name} {share:g}: is a share from 0 to {most}")
    people = wanted.get("annotators", ("me",))
    if not people or not all(name.strip() for name in people):
        raise UsageError("--annotators: name who judges, as --annotators anna,ben")
    if len(set(people)) < len(people):
        raise UsageError(f"--annotators {','.join(people)}: a name stands twice")
    for name in people:
        if not name.isprintable() or name != name.strip() or len(name) > 60:
            raise UsageError(f"--annotators {name!r}: a name is one line of up to 60 characters")
        if "/" in name or "\\" in name or not name.strip("."):  # it stands in addresses
            raise UsageError(f"--annotators {name!r}: a name holds no slash, and more than dots")


def _possible(texts: tuple[str, ...], planned: items.ReviewPlan) -> tuple[str, ...]:
    """The goals that ask something of this data set; default ones that do not are dropped."""
    there = {pair.population for pair in planned.pairs}
    return tuple(text for text in texts if _population(text) in there)


def _population(goal: str) -> str:
    """The population without which a goal asks nothing."""
    return "positives" if goals.parse_goal(goal).question == "wrong" else "others"


def _check_goals(path: Path, store: Store, settings: Settings) -> None:
    for text in settings.goals:
        if _population(text) == "positives" and not store.pairs("positives", 0, 1):
            raise UsageError(
                f"--goal {text!r}: no pair of {path} has a positive label in split "
                f"{settings.split}, so none can be wrong; ask what is missed instead"
            )
        if _population(text) == "others" and not store.pairs("others", 0, 1):
            raise UsageError(
                f"--goal {text!r}: every pair that {', '.join(settings.pool)} found in the first "
                f"{settings.depth} has a positive label, so the pool holds nothing that could be "
                "missed; make it wider with --pool or --depth"
            )


def _of_this_data_set(review: Review) -> None:
    """Raise `DatasetError` for the verdicts of another data set; one that changed is let pass."""
    if not review.items or review.change_message() is None:
        return
    known = {query.query_id for query in review.dataset.queries.read()[0]}
    if not any(item.query_id in known for item in review.items):
        raise DatasetError(
            f"{review.store.path} is the review of another data set: none of its "
            f"{len(review.items):,} items asks a query of {review.path}. Move it away; a review of "
            "this data set may also be kept elsewhere (gen review --out FOLDER)"
        )


def _said(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
