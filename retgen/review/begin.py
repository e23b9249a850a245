"""Begin a review, or take it up again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from retgen.agents.session import notice
from retgen.data import Dataset, open_dataset
from retgen.errors import UsageError
from retgen.progress import Progress, no_progress
from retgen.review.records import Item, Settings, by_item, on_texts
from retgen.review.review import (
    FILE,
    Review,
    changed_items,
    digest,
    files_of,
    with_present_ids,
)
from retgen.review.sample import check_pool, draw
from retgen.review.store import Store
from retgen.search.collection import manifest_of
from retgen.write import make_folder


def open_review(
    path: Path | str,
    *,
    annotators: Sequence[str] | None = None,
    size: int | None = None,
    pool: Sequence[str] | None = None,
    split: str | None = None,
    out: Path | str | None = None,
    begun: bool = False,
    progress: Progress = no_progress,
) -> Review:
    """The review of a data set, begun where there is none. None: as it stands, or the default.

    Annotators may change at any time, all else before the first verdict: a sample whose size
    follows from its verdicts has no bound. `begun`: refuse to begin one, in place of a lost file.
    """
    path = Path(path)
    wanted: dict[str, Any] = {
        "annotators": None if annotators is None else tuple(annotators),
        "size": size,
        "pool": None if pool is None else tuple(pool),
        "split": split,
    }
    wanted = {key: value for key, value in wanted.items() if value is not None}
    _check(wanted)
    dataset = open_dataset(path, checked=False)  # changes are named verdict by verdict
    # with a run, else in outputs/ and never in foreign data
    folder = Path(out or dataset.run or Path("outputs") / f"review_{path.resolve().name}")
    file = folder / FILE
    empty = file.is_file() and not file.stat().st_size
    if begun and (empty or not file.is_file()):
        raise UsageError(
            f"{file} is not there, or empty, so there is nothing to report: put it back, or begin "
            f"a review with `gen review {path}`"
        )
    if empty:
        raise UsageError(f"{file} is empty: put a copy in its place, or delete it to begin anew")
    make_folder(folder)
    store = Store(file)
    stands = store.settings()
    if stands is not None:
        fixed = [k for k in wanted if k != "annotators" and wanted[k] != getattr(stands, k)]
        if not fixed:
            settings = replace(stands, **wanted)
            changed = digest(files_of(dataset, stands.split)) != stands.dataset
            if stands.by_question and changed and not begun:
                _draw_again(path, dataset, store, settings, progress)
                return Review(path, folder, store, store.settings() or settings)
            if settings != stands:
                store.keep_settings(settings)
            return Review(path, folder, store, settings)
        if verdicts := store.verdicts():
            stated = ", ".join(f"{key} {_said(getattr(stands, key))}" for key in fixed)
            raise UsageError(
                f"{file} holds {len(verdicts):,} verdicts and was begun with {stated}: leave "
                f"--{', --'.join(fixed)} away, or begin another review with --out"
            )
        split = split or stands.split
    first = replace(stands or Settings(), **wanted)
    settings, items = _draw(path, dataset, split, first, progress)
    store.plan(settings, items)
    return Review(path, folder, store, settings)


def _draw(
    path: Path, dataset: Dataset, split: str | None, settings: Settings, progress: Progress
) -> tuple[Settings, list[Item]]:
    """The items of a review, and its settings with what they were drawn from."""
    settings, items = draw(path, split, settings, progress)
    family = str(manifest_of(dataset).get("family", ""))
    seen = digest(files_of(dataset, settings.split))
    return replace(settings, family=family, dataset=seen), items


def _draw_again(
    path: Path, dataset: Dataset, store: Store, settings: Settings, progress: Progress
) -> None:
    """Draw the candidates of questions that were changed or added. Verdicts stay: a pair is known
    by the question's text and the document's id. Judged pairs that are not drawn again stay too;
    those whose texts or label changed count no longer.
    """
    items = store.items()
    judged = by_item(on_texts(store.verdicts(), {one.item_id: one for one in items}))
    kept = with_present_ids(dataset, [one for one in items if one.item_id in judged])
    gone = changed_items(dataset, settings.split, kept)
    if gone:
        first = next(iter(gone.values()))
        notice(f"{len(gone):,} judged pairs count no longer; of the first {first}")
    settings, items = _draw(path, dataset, settings.split, settings, progress)
    known = {item.item_id for item in items} | gone.keys()
    store.plan(settings, [*items, *(one for one in kept if one.item_id not in known)], again=True)


def _check(wanted: dict[str, Any]) -> None:
    """Raise `UsageError` for settings that can mean nothing."""
    check_pool(wanted.get("pool", ("none",)))
    if wanted.get("size", 1) < 1:
        raise UsageError(f"--size {wanted['size']}: judge one label at least")
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


def _said(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
