"""A review: the items of a data set, who is asked for what, and what was said."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from retgen.data import Dataset, open_dataset
from retgen.errors import DatasetError, UsageError
from retgen.messages import did_you_mean
from retgen.review import assign, goals, items
from retgen.review.consensus import Consensus, by_item, consensus, read_decision, standing
from retgen.review.records import Item, Part, Settings, ShownPair, Verdict
from retgen.review.store import Store
from retgen.write import lock_file

FILE, _LOCK = "verdicts.sqlite", ".review.lock"
GUIDELINE = (
    "Relevant is a document that gives what the query asks for. Judge the pair by what is written, "
    "not by what you know of it elsewhere. When you cannot tell, say so: it is never counted as "
    "a yes."
)


class ReviewProgress(NamedTuple):
    """How far an annotator is: looks done, of those that are planned so far."""

    done: int
    total: int


class Stale(NamedTuple):
    """A verdict that no longer stands, and why."""

    verdict: Verdict
    reason: str


class Review:
    """One review of one data set. Safe from several threads.

    `path`: the data set as it was named. `folder`: where the review's files lie. `items`: those
    whose texts are kept; more are added when somebody comes to their end.
    """

    def __init__(self, path: Path, folder: Path, store: Store, settings: Settings) -> None:
        self.path, self.folder, self.store, self.settings = path, folder, store, settings
        self._stamp: object = store.note("files")
        self._read_items()

    def _read_items(self) -> None:
        self.items: list[Item] = self.store.items()
        self._by_id = {item.item_id: item for item in self.items}
        self._queues: dict[str, list[assign.Look]] = {}

    @cached_property
    def dataset(self) -> Dataset:
        """The data set that is reviewed."""
        return open_dataset(self.path, checked=False)  # what changed is named verdict by verdict

    @property
    def guideline(self) -> str:
        """What annotators are told to judge by."""
        return self.settings.guideline or GUIDELINE

    def item(self, item_id: str) -> Item:
        """An item by its id. Raises `UsageError` where there is none."""
        found = self._by_id.get(item_id)
        if found is None:
            raise UsageError(f"{self.folder}: there is no item {item_id!r} in this review")
        return found

    def shown_pair(self, item: Item) -> ShownPair:
        """What is shown of an item."""
        result = self.store.shown_pair(item.shown)
        if result is None:
            raise DatasetError(f"{self.store.path} lacks the text of item {item.item_id}")
        return result

    def check_annotator(self, annotator: str) -> None:
        """Raise `UsageError` for a name that nobody was invited by."""
        if annotator not in self.settings.annotators:
            people = self.settings.annotators
            raise UsageError(
                f"{annotator!r} is no annotator of this review"
                f"{did_you_mean(annotator, people) or '.'} Annotators: {', '.join(people)}; "
                "--annotators adds one"
            )

    # --- what is next -----------------------------------------------------------------------------

    def queue(self, annotator: str) -> Sequence[assign.Look]:
        """All looks that an annotator is asked for, in order, as far as they are planned."""
        self.check_annotator(annotator)
        if annotator not in self._queues:
            self._queues[annotator] = assign.queue(annotator, self.items, self.settings)
        return self._queues[annotator]

    def next_item(self, annotator: str) -> assign.Look | None:
        """The next look of an annotator, None where they are through with everything."""
        return next(iter(self.ahead(annotator, 1)), None)

    def ahead(self, annotator: str, count: int) -> list[assign.Look]:
        """The next looks of an annotator, fewer than `count` at the end of everything."""
        while True:
            done, left = self._looks(annotator)
            most = min(count, self._most(done))
            if len(left) >= most or not self._extend():
                return left[:most]

    def planned_looks(self, annotator: str, count: int | None = None) -> list[assign.Look]:
        """The next looks among the items whose texts are kept already."""
        done, left = self._looks(annotator)
        return left[: self._most(done)][:count]

    def progress(self, annotator: str) -> ReviewProgress:
        """How far an annotator is. Control items and second looks count as all others do."""
        done, left = self._looks(annotator)
        return ReviewProgress(done, done + min(len(left), self._most(done)))

    def _most(self, done: int) -> int:
        """How many more looks an annotator is asked for at most, who has `done` some."""
        return max(self.settings.looks - done, 0) if self.settings.looks else sys.maxsize

    def _looks(self, annotator: str) -> tuple[int, list[assign.Look]]:
        """How many looks an annotator has done, and those that are left, without any limit.

        An item that is dealt out to one of several is done when any of them has judged it: who
        joins later is not asked for it again.
        """
        given = standing(self.store.verdicts()).values()
        done = {(v.item_id, v.part) for v in given if v.annotator == annotator}
        others = {v.item_id for v in given if v.annotator != annotator and v.part == "first"}
        left = [
            look
            for look in self.queue(annotator)
            if (look.item.item_id, look.part) not in done
            and (
                look.item.item_id not in others
                or (look.item.item_id, "first") in done
                or assign.is_shared(look.item, self.settings)
            )
        ]
        return sum(part != "adjudication" for _, part in done), left

    def open_items(self, annotator: str = "") -> list[Item]:
        """What annotators disagree about, in the order of looks: the queue of adjudication.

        `annotator`: without items that they have still to judge, blind to what others say.
        """
        by = self.by_item()
        return [
            item
            for item in sorted(self.items, key=lambda one: (one.place, one.population))
            if item.planted is None
            and self.consensus(item, by.get(item.item_id, ())).state == "open"
            and (
                annotator not in assign.awaited_annotators(item, self.settings)
                or any(v.annotator == annotator and v.part == "first" for v in by[item.item_id])
            )
        ]

    def by_item(self) -> dict[str, list[Verdict]]:
        """The verdicts that stand, by item."""
        return by_item(self.store.verdicts())

    def consensus(self, item: Item, verdicts: Sequence[Verdict]) -> Consensus:
        """What holds of an item. `verdicts`: those on it that stand."""
        return consensus(verdicts, assign.awaited_annotators(item, self.settings))

    def _extend(self) -> bool:
        """Read the texts of the pairs that come next; whether there were any."""
        settings = self.settings
        wanted = []
        for name in goals.goal_populations(goals.parse_goals(settings.goals)):
            places = [one.place for one in self.items if one.population == name]
            start = max(places, default=-1) + 1
            wanted += self.store.pairs(name, start, start + items.PLANNED)
        if not wanted:
            return False
        if (why := self.change_message()) is not None:
            raise DatasetError(f"{why}. All {len(self.items):,} items that were read are judged")
        queries = {query.query_id: query for query in self.dataset.queries.read()[0]}
        found = items.documents(self.dataset, {pair.doc_id for pair in wanted})
        self.store.add_items(*items.items_of(wanted, queries, found, settings.split))
        self._read_items()
        return True

    # --- what is said -----------------------------------------------------------------------------

    def record(
        self,
        annotator: str,
        item_id: str,
        part: Part,
        decision: str,
        *,
        shown: str,
        relevance: int | None = None,
        reason: str = "",
        comment: str = "",
        edits: Mapping[str, str] | None = None,
        seconds: float | None = None,
        source: str = "page",
    ) -> Verdict:
        """Keep a verdict; it is on disk when this returns. Raises `UsageError` for what is no one.

        `shown`: the digest of what was seen. `relevance`: of a fix alone. A later verdict of the
        same annotator on the same item takes the place of the earlier one, which is kept too.
        """
        verdict = self.verdict(
            annotator,
            item_id,
            part,
            decision,
            shown=shown,
            relevance=relevance,
            reason=reason,
            comment=comment,
            edits=edits,
            seconds=seconds,
            source=source,
        )
        return verdict._replace(number=self.store.add([verdict])[0])

    def verdict(
        self,
        annotator: str,
        item_id: str,
        part: Part,
        decision: str,
        *,
        shown: str,
        relevance: int | None = None,
        reason: str = "",
        comment: str = "",
        edits: Mapping[str, str] | None = None,
        seconds: float | None = None,
        source: str = "page",
    ) -> Verdict:
        """A verdict as `record` keeps it, checked and not kept; an import keeps many at once."""
        self.check_annotator(annotator)
        item = self.item(item_id)
        if part not in ("first", "second", "adjudication"):
            raise UsageError(f"{part!r} is no part of a review: first, second or adjudication")
        if shown != item.shown:
            raise UsageError(
                f"item {item_id}: the verdict is on another text than the one that is kept; open "
                "the item again and judge what it says now"
            )
        given, said = read_decision(item, decision, self.settings, relevance, edits)
        changes = {
            field: text
            for field, text in (edits or {}).items()
            if text != getattr(self.shown_pair(item), field)
        }
        if decision == "fix" and relevance is None and not changes:
            raise UsageError("a fix is empty: give the right grade, or change a text")
        return Verdict(
            0,
            item_id,
            annotator,
            part,
            given,
            said,
            shown,
            item.label,
            reason,
            comment,
            changes,
            seconds,
            source=source,
        )

    def undo(self, annotator: str) -> Verdict | None:
        """Take back the last verdict of an annotator that stands; which it was, None without one.

        Both stay in the file.
        """
        self.check_annotator(annotator)
        mine = standing(self.store.verdicts(annotator=annotator)).values()
        last = max(mine, key=lambda verdict: verdict.number, default=None)
        if last is not None:
            self.store.add(
                [
                    last._replace(
                        decision="undo",
                        relevance=None,
                        reason="",
                        comment="",
                        edits={},
                        seconds=None,
                        at="",
                    )
                ]
            )
        return last

    # --- a data set that changes ------------------------------------------------------------------

    def change_message(self) -> str | None:
        """What to say where the data set is not the one that items were drawn from, else None.

        Names, sizes and times of files are looked at first; contents only where these differ.
        """
        try:
            files = files_of(self.dataset, self.settings.split)
            now = stamp(files)
        except OSError as error:
            return f"{self.path}: {error.filename} is gone since this review began"
        if now == self._stamp:
            return None
        if digest(files) == self.settings.dataset:
            self._stamp = now
            return None
        return (
            f"{self.path} was changed since this review began: its verdicts are on the pairs as "
            "they were, and say nothing certain of the data set as it is now. Put the old tables "
            "back, or begin anew with --out"
        )

    def stale(self) -> list[Stale]:
        """The verdicts on what the data set no longer says, with the reason; none if unchanged."""
        if self.change_message() is None:
            return []
        verdicts = [v for given in self.by_item().values() for v in given]
        judged = {v.item_id: self.item(v.item_id) for v in verdicts}
        queries = {one.query_id: one for one in self.dataset.queries.read()[0]}
        found = items.documents(self.dataset, {item.doc_id for item in judged.values()})
        split = self.settings.split
        rows = self.dataset.qrels[split].read()[0] if split in self.dataset.qrels else []
        labels = {(row.query_id, row.doc_id): row.relevance for row in rows}
        reasons: dict[str, str] = {}
        for item in judged.values():
            if item.query_id not in queries:
                reasons[item.item_id] = "the query is gone"
            elif item.doc_id not in found:
                reasons[item.item_id] = "the document is gone"
            elif items.shown_of(queries[item.query_id], found[item.doc_id]).digest() != item.shown:
                reasons[item.item_id] = "the text was changed"
            elif item.planted is None and _label(
                labels.get((item.query_id, item.doc_id))
            ) != _label(item.label):
                reasons[item.item_id] = "the label was changed"
        return [Stale(v, reasons[v.item_id]) for v in verdicts if v.item_id in reasons]

    @contextlib.contextmanager
    def serving(self) -> Iterator[Callable[[str], None]]:
        """Hold the review while it is served; gives what notes the address, for other servers.

        Raises `RunDirectoryError` naming another server. A killed process lets go.
        """
        taken = (
            f"{self.folder} is being reviewed by another server: open its page, which any number "
            "of annotators may use at once, or end it"
        )
        with lock_file(self.folder / _LOCK, taken) as note_address:
            yield note_address


# --- the data set under review, and where a review lies -------------------------------------------


def folder_of(path: Path, dataset: Dataset, out: Path | None) -> Path:
    """Where a review's files lie: with a run, else in outputs/ and never in foreign data."""
    if out is not None:
        return out
    return dataset.run or Path("outputs") / f"review_{path.resolve().name}"


def files_of(dataset: Dataset, split: str) -> list[Path]:
    """The files that a review's items are drawn from."""
    tables = [dataset.corpus, dataset.queries]
    tables += [named[split] for named in (dataset.qrels, dataset.graded) if split in named]
    return [path for table in tables for path in table.files]


def stamp(files: list[Path]) -> list[list[Any]]:
    """Name, size and times of files: as long as these stand, nothing was changed.

    The time of the last change of anything is the system's, and nobody sets it.
    """
    result = []
    for path in files:
        there = path.stat()
        result.append([path.name, there.st_size, there.st_mtime_ns, there.st_ctime_ns])
    return result


def digest(files: list[Path]) -> str:
    """SHA-256 of all files, in order."""
    result = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            result.update(hashlib.file_digest(file, "sha256").digest())
    return result.hexdigest()


def labels_proven(manifest: dict[str, Any]) -> bool | None:
    """Whether all labels are proven; None if their evidence is unknown."""
    evidence = manifest.get("evidence")
    if not isinstance(evidence, dict):
        return None
    return bool(evidence.get("structural")) and not (
        evidence.get("judged") or evidence.get("human")
    )


def _label(relevance: float | None) -> float:
    """A pair without a label is as one that is not relevant: both are the other population's."""
    return max(float(relevance or 0), 0.0)
