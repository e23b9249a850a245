"""A review: the items of a data set, the next one of each person, and their verdicts."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from retgen.data import Dataset, open_dataset
from retgen.errors import UsageError
from retgen.messages import did_you_mean
from retgen.review.records import (
    REST,
    Consensus,
    Item,
    Part,
    Settings,
    Verdict,
    by_item,
    consensus,
    on_texts,
    standing,
)
from retgen.review.sample import documents, shown_of
from retgen.review.store import Store
from retgen.write import file_info, lock_file

FILE, _LOCK = "verdicts.sqlite", ".review.lock"
PARTS: tuple[Part, ...] = ("labels", "missing")
GUIDELINE = (
    "Relevant is a document that gives what the query asks for. Judge the pair by what is written, "
    "not by what you know of it elsewhere. When you cannot tell, say so: it is never counted as "
    "a yes."
)


def grade_meanings(grades: int) -> list[str]:
    """What the grades of a scale mean, from 0."""
    none = "it does not answer the query, whatever words it shares"
    if grades < 3:
        return [none, "it answers the query and all of its conditions"]
    part = "it answers a part of the query, or all but a detail"
    return [none, part, "it answers the whole query"]


class Review:
    """One review of one data set. Safe from several threads.

    `path`: the data set as it was named. `folder`: where the review's files lie. `items`: all of
    them, in the order in which everybody judges them.
    """

    def __init__(self, path: Path, folder: Path, store: Store, settings: Settings) -> None:
        self.path, self.folder, self.store, self.settings = path, folder, store, settings
        self.items = store.items()
        self._by_id = {item.item_id: item for item in self.items}

    @cached_property
    def dataset(self) -> Dataset:
        """The data set that is reviewed."""
        return open_dataset(self.path, checked=False)  # changes are named verdict by verdict

    def item(self, item_id: str) -> Item:
        """An item by its id. Raises `UsageError` where there is none."""
        if item_id not in self._by_id:
            raise UsageError(f"{self.folder}: there is no item {item_id!r} in this review")
        return self._by_id[item_id]

    def items_of(self, query_id: str) -> list[Item]:
        """The items of a query, in order."""
        return [item for item in self.items if item.query_id == query_id]

    def check_annotator(self, annotator: str) -> None:
        """Raise `UsageError` for a name that the review does not know."""
        people = self.settings.annotators
        if annotator not in people:
            raise UsageError(
                f"{annotator!r} is no annotator of this review"
                f"{did_you_mean(annotator, people) or '.'} Annotators: {', '.join(people)}; "
                "--annotators adds one"
            )

    # --- what is next -----------------------------------------------------------------------------

    def left(self, annotator: str) -> list[Item]:
        """The items that an annotator has not judged, in order."""
        self.check_annotator(annotator)
        done = {v.item_id for v in self.standing() if v.annotator == annotator and not v.settles}
        return [item for item in self.items if item.item_id not in done]

    def progress(self, annotator: str) -> list[tuple[int, int, int]]:
        """(number of a part, items that the annotator judged, its items), of parts with items."""
        left = [item.part for item in self.left(annotator)]
        totals = [sum(item.part == part for item in self.items) for part in PARTS]
        return [
            (number, total - left.count(part), total)
            for number, (part, total) in enumerate(zip(PARTS, totals, strict=True), start=1)
            if total
        ]

    def open_items(self, annotator: str = "") -> list[Item]:
        """Items on which annotators disagree.

        `annotator`: without the items that this person has still to judge, blind to the others.
        """
        by = self.by_item()
        unseen = set() if not annotator else {item.item_id for item in self.left(annotator)}
        return [
            item
            for item in self.items
            if item.item_id not in unseen
            and self.consensus(by.get(item.item_id, ())).state == "open"
        ]

    def standing(self) -> list[Verdict]:
        """The verdicts that stand, on the texts that the items have now."""
        return [*standing(on_texts(self.store.verdicts(), self._by_id)).values()]

    def by_item(self) -> dict[str, list[Verdict]]:
        """The same, by item."""
        return by_item(on_texts(self.store.verdicts(), self._by_id))

    def consensus(self, verdicts: Sequence[Verdict]) -> Consensus:
        """State of an item, from its standing verdicts."""
        return consensus(verdicts, self.settings.annotators)

    # --- verdicts ---------------------------------------------------------------------------------

    def verdict(
        self,
        annotator: str,
        item_id: str,
        relevance: int | None,
        *,
        shown: str,
        settles: bool = False,
        reason: str = "",
        comment: str = "",
        seconds: float | None = None,
        source: str = "page",
    ) -> Verdict:
        """A checked verdict that is not kept yet. Raises `UsageError` for an impossible one.

        `shown`: the digest of the texts that were judged.
        """
        self.check_annotator(annotator)
        item = self.item(item_id)
        if shown != item.shown:
            raise UsageError(
                f"item {item_id}: the verdict is on another text than the one that is kept; open "
                "the item again and judge what it says now"
            )
        if relevance is not None and not 0 <= relevance < self.settings.grades:
            scale = ", ".join(map(str, range(self.settings.grades)))
            raise UsageError(f"the grade {relevance} is not on this review's scale: {scale}")
        given = (0, item_id, annotator, relevance, shown, item.label, settles, False)
        return Verdict(*given, reason, comment, seconds, source=source)

    def record(self, annotator: str, item_id: str, relevance: int | None, **about: Any) -> Verdict:
        """Keep a verdict; it is on disk when this returns. Takes what `verdict` takes.

        A person's later verdict on an item takes the place of the earlier one, which stays in the
        file.
        """
        verdict = self.verdict(annotator, item_id, relevance, **about)
        return verdict._replace(number=self.store.add([verdict])[0])

    def none_of_the_rest(self, annotator: str, query_id: str) -> None:
        """Keep 0 for every item of a query that an annotator has not judged."""
        rest = [item for item in self.left(annotator) if item.query_id == query_id]
        given = (self.verdict(annotator, one.item_id, 0, shown=one.shown) for one in rest)
        self.store.add([one._replace(source=REST) for one in given])

    def undo(self, annotator: str) -> Verdict | None:
        """Take back the last standing verdict of an annotator and return it; None without one.

        What `none_of_the_rest` gave at once is taken back at once.
        """
        self.check_annotator(annotator)
        mine = [verdict for verdict in self.standing() if verdict.annotator == annotator]
        last = max(mine, key=lambda verdict: verdict.number, default=None)
        if last is not None:
            bare = last._replace(relevance=None, reason="", comment="", seconds=None, at="")
            given = [last]
            if last.source == REST:
                asked = self.item(last.item_id).query_id
                rest = {item.item_id for item in self.items if item.query_id == asked}
                given = [one for one in mine if one.source == REST and one.item_id in rest]
            bare = bare._replace(withdrawn=True)
            self.store.add(
                bare._replace(item_id=one.item_id, shown=one.shown, label=one.label)
                for one in given
            )
        return last

    # --- a data set that changes ------------------------------------------------------------------

    def change_message(self) -> str | None:
        """Say that the data set is not the one that the items were drawn from; None if it is."""
        try:
            if digest(files_of(self.dataset, self.settings.split)) == self.settings.dataset:
                return None
        except OSError as error:
            return f"{self.path}: {error.filename} is gone since this review began"
        return (
            f"{self.path} was changed since this review began: its verdicts are on the pairs as "
            "they were, and say nothing certain of the data set as it is now. Put the old tables "
            "back, or begin anew with --out"
        )

    def stale(self) -> list[tuple[Verdict, str]]:
        """The verdicts on pairs that the data set holds no longer, each with the reason."""
        if self.change_message() is None:
            return []
        items = self.items
        if self.settings.by_question:
            items = with_present_ids(self.dataset, items)
        reasons = changed_items(self.dataset, self.settings.split, items)
        return [(v, reasons[v.item_id]) for v in self.standing() if v.item_id in reasons]

    @contextlib.contextmanager
    def serving(self) -> Iterator[Callable[[str], None]]:
        """Hold the review while it is served; gives a function that notes the page's address.

        Raises `RunDirectoryError` naming another server. A killed process lets go.
        """
        taken = (
            f"{self.folder} is being reviewed by another server: open its page, which any number "
            "of annotators may use at once, or end it"
        )
        with lock_file(self.folder / _LOCK, taken) as note_address:
            yield note_address


# --- the data set under review --------------------------------------------------------------------


def with_present_ids(dataset: Dataset, items: Sequence[Item]) -> list[Item]:
    """Items on questions that people asked, with the ids that these questions have now."""
    ids = {one.text: one.query_id for one in dataset.queries.read()[0]}
    return [replace(item, query_id=ids.get(item.pair.query, item.query_id)) for item in items]


def changed_items(dataset: Dataset, split: str, items: Sequence[Item]) -> dict[str, str]:
    """The items whose texts or label a data set does not hold as they were, with the reason."""
    queries = {one.query_id: one for one in dataset.queries.read()[0]}
    found = documents(dataset, {item.doc_id for item in items})
    rows = dataset.qrels[split].read()[0] if split in dataset.qrels else []
    labels = {(row.query_id, row.doc_id): row.relevance for row in rows}
    reasons: dict[str, str] = {}
    for item in items:
        query, document = queries.get(item.query_id), found.get(item.doc_id)
        # a pair without a label counts as one that is not relevant
        label = max(float(labels.get((item.query_id, item.doc_id)) or 0), 0.0)
        if query is None:
            reasons[item.item_id] = "the query is gone"
        elif document is None:
            reasons[item.item_id] = "the document is gone"
        elif shown_of(query, document).digest() != item.shown:
            reasons[item.item_id] = "the text was changed"
        elif label != max(float(item.label or 0), 0.0):
            reasons[item.item_id] = "the label was changed"
    return reasons


def files_of(dataset: Dataset, split: str) -> list[Path]:
    """The files that a review's items are drawn from."""
    tables = [dataset.corpus, dataset.queries]
    tables += [dataset.qrels[split]] if split in dataset.qrels else []
    return [path for table in tables for path in table.files]


def digest(files: Sequence[Path]) -> str:
    """SHA-256 of all files, in order. A file is read again only if its size or times changed."""
    found = [(path, path.stat()) for path in files]
    parts = [_sha256(p, i.st_size, i.st_mtime_ns, i.st_ctime_ns) for p, i in found]
    return hashlib.sha256("".join(parts).encode()).hexdigest()


@cache
def _sha256(path: Path, size: int, changed: int, status_changed: int) -> str:
    return file_info(path).sha256
