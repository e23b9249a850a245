"""Ladders of a data set: a positive document, its hard negatives, the queries about them.

A ladder is read off the metadata of corpus and queries: `ladder`, `broken` and `orders` of a
document, `ladder`, `domain`, `style` and `conditions` of a query. The documents of Task 4
come from tables/task4_WORDS, where they are there. All texts are held: some 20 KB a ladder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from retgen.data import TableFiles
from retgen.errors import DatasetError
from retgen.evaluation.tasks.task import noted_documents, noted_queries
from retgen.search.base import CandidateSet
from retgen.search.collection import Collection

STYLES = ("instruction", "descriptive")


class LadderLevel(NamedTuple):
    """A hard negative, and the numbers (from 1) of the conditions that it violates."""

    text: str
    broken: frozenset[int]


@dataclass(frozen=True)
class CandidateLadder:
    """`queries`: by style, the one that asks for conditions 1..n at n - 1. `orders`: the hard
    negatives HN1, HN2, ... of each order in which conditions are broken. `singles`: by condition,
    the document that violates it alone; `wordings`: how each condition asks. `padded`: by words and
    style, query 10 with the positive and its hard negatives.
    """

    ladder_id: str
    domain: str
    queries: Mapping[str, Sequence[str]]
    positive: str
    orders: Mapping[int, Sequence[LadderLevel]]
    singles: Mapping[int, str] = field(default_factory=dict)
    wordings: Sequence[str] = ()
    padded: dict[int, dict[str, CandidateSet]] = field(default_factory=dict)

    @property
    def conditions(self) -> int:
        """Conditions of the longest query."""
        return len(next(iter(self.queries.values())))


KEYS = frozenset({"ladder", "style", "conditions"})  # of a query about a ladder


def load_ladders(collection: Collection) -> tuple[list[CandidateLadder], list[str]]:
    """The ladders of a data set in the order of their queries, and notes about what is not there.

    Raises `DatasetError` for a ladder that lacks a rung or a query, since neighbours would then not
    be one condition apart.
    """
    try:
        return _load(collection)
    except (TypeError, ValueError) as error:
        raise DatasetError(
            f"{collection.path}: its metadata names ladders, but not as a ladder set does "
            f"(conditions, broken and orders are whole numbers): {error}"
        ) from error


def _load(collection: Collection) -> tuple[list[CandidateLadder], list[str]]:
    path = collection.path
    queries: dict[str, dict[str, dict[int, str]]] = {}
    domains: dict[str, str] = {}
    wordings: dict[str, Sequence[str]] = {}
    for query, note in noted_queries(collection, KEYS):
        name = str(note["ladder"])
        styles = queries.setdefault(name, {})
        styles.setdefault(str(note["style"]), {})[int(note["conditions"])] = query.text
        domains[name] = str(note.get("domain") or collection.name)
        wordings[name] = max(wordings.get(name, ()), note.get("wordings") or (), key=len)
    left_out = _incomplete(collection, queries)
    documents: dict[str, list[tuple[LadderLevel, Sequence[int]]]] = {name: [] for name in queries}
    for _, text, note in noted_documents(collection, "ladder"):
        level = LadderLevel(text, frozenset(note.get("broken") or ()))
        orders = note.get("orders")
        of = documents.setdefault(str(note["ladder"]), [])
        of.append((level, (1,) if orders is None else orders))
    result = [
        _ladder(path, name, domains[name], queries[name], documents[name], wordings[name])
        for name in queries
    ]
    _check_alike(path, result)
    notes = _tables(collection, {ladder.ladder_id: ladder for ladder in result})
    if left_out:
        notes.append(
            f"{left_out} of {len(result) + left_out} ladders are left out: in a review, people "
            "rejected a positive of theirs"
        )
    return result, notes


def _ladder(
    path: Path,
    name: str,
    domain: str,
    queries: Mapping[str, Mapping[int, str]],
    documents: Sequence[tuple[LadderLevel, Sequence[int]]],
    wordings: Sequence[str],
) -> CandidateLadder:
    levels = sorted((one for one in documents if one[0].broken), key=lambda one: len(one[0].broken))
    orders: dict[int, list[LadderLevel]] = {}
    for level, named in levels:
        for order in named:
            orders.setdefault(int(order), []).append(level)
    positives = [level.text for level, _ in documents if not level.broken]
    counts = {
        **{f"queries ({style})": sorted(of) for style, of in queries.items()},
        **{f"documents (order {n})": [len(one.broken) for one in of] for n, of in orders.items()},
    }
    faults = [
        f"{what} of {', '.join(map(str, found))} conditions, not of 1, 2, 3, ..."
        for what, found in counts.items()
        if found != list(range(1, len(found) + 1))
    ]
    if not positives or not orders:
        faults = ["no positive document" if orders else "no document"]
    if faults:
        raise DatasetError(
            f"{path}: ladder {name} has {faults[0]}; `gen validate` says what is missing"
        )
    return CandidateLadder(
        name,
        domain,
        {style: [of[n] for n in sorted(of)] for style, of in sorted(queries.items(), key=_style)},
        positives[-1],
        dict(sorted(orders.items())),
        {min(level.broken): level.text for level, _ in levels if len(level.broken) == 1},
        wordings,
    )


def _incomplete(collection: Collection, queries: dict[str, dict[str, dict[int, str]]]) -> int:
    """Take out the ladders of a reviewed version that lost a query; how many."""
    run = collection.dataset.run
    if run is None or not (run / "tables" / "human.jsonl").is_file():
        return 0
    full = max((max(of) for styles in queries.values() for of in styles.values()), default=0)
    lost = [
        name for name, styles in queries.items() if any(len(of) < full for of in styles.values())
    ]
    for name in lost:
        del queries[name]
    return len(lost)


def _style(named: tuple[str, Any]) -> int:
    return STYLES.index(named[0]) if named[0] in STYLES else len(STYLES)


def _check_alike(path: Path, ladders: Sequence[CandidateLadder]) -> None:
    """Averages over ladders mean something where all of them have the same queries and rungs."""
    shapes = [
        (
            tuple((style, len(texts)) for style, texts in ladder.queries.items()),
            tuple(sorted({len(rungs) for rungs in ladder.orders.values()})),
        )
        for ladder in ladders
    ]
    usual = Counter(shapes).most_common(1)
    for ladder, shape in zip(ladders, shapes, strict=True):
        if shape != usual[0][0]:
            raise DatasetError(
                f"{path}: ladder {ladder.ladder_id} has other queries or fewer documents than "
                "most; `gen validate` says what is missing"
            )


def _tables(collection: Collection, ladders: Mapping[str, CandidateLadder]) -> list[str]:
    """Fill in what the tables hold, and say what they do not."""
    folder = (collection.dataset.run or collection.path) / "tables"
    files = sorted(folder.glob("*.jsonl")) + sorted(folder.glob("*.parquet"))
    padded: dict[int, Path] = {}
    for file in files:
        if length := re.fullmatch(r"task4_(\d+)", file.stem):
            padded.setdefault(int(length[1]), file)
    for words, file in sorted(padded.items()):
        for row in _rows(file):
            ladder = ladders.get(str(row.get("id")))
            if ladder is not None:
                query, texts = _row(file, row, ladder.conditions)
                group = CandidateSet(query, texts, str(words))
                ladder.padded.setdefault(words, {})[str(row.get("style"))] = group
    if any(ladder.padded for ladder in ladders.values()):
        return []
    return ["there is no tables/task4_512.jsonl, so Task 4 (length) is not measured"]


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    for row in TableFiles(path.stem, (path,)):
        if not isinstance(row, dict):
            raise DatasetError(f"{path}: holds a row that {row.reason}")
        yield row


def _row(path: Path, row: Mapping[str, Any], query: int) -> tuple[str, tuple[str, ...]]:
    """The text of a query of a row, and its documents, the positive first."""
    documents = [row.get("Positive")]
    while (text := row.get(f"HN{len(documents)}")) is not None:
        documents.append(text)
    asked = row.get(f"Query{query}")
    if not isinstance(asked, str) or len(documents) < 2 or None in documents:
        raise DatasetError(
            f"{path}: the row of {row.get('id')} lacks Query{query}, Positive or HN1"
        )
    return asked, tuple(map(str, documents))
