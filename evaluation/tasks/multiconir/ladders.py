"""Ladders of a data set: a positive document, its hard negatives, the queries about them.

A ladder is read off the metadata of corpus and queries: `ladder` and `broken` of a document,
`ladder`, `domain`, `style` and `conditions` of a query. The documents of Task 4 come from
tables/task4_WORDS, where they are there. All texts are held: some 20 KB a ladder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retgen.data import TableFiles
from retgen.errors import DatasetError
from retgen.evaluation.tasks.task import noted_documents, noted_queries
from retgen.search.base import CandidateSet
from retgen.search.collection import Collection

STYLES = ("instruction", "descriptive")
Documents = dict[frozenset[int], str]  # by the numbers (from 1) of the conditions they violate


@dataclass(frozen=True)
class CandidateLadder:
    """`queries`: by style, the one that asks for conditions 1..n at n - 1. `texts`: the positive,
    HN1, HN2, ...: HNi violates conditions 1..i. `singles`: by condition, the document that violates
    it alone; `wordings`: how each condition asks. `padded`: by words and style, the longest query
    with the positive and its hard negatives.
    """

    ladder_id: str
    domain: str
    queries: Mapping[str, Sequence[str]]
    texts: tuple[str, ...]
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

    Raises `DatasetError` for a ladder that lacks a document or a query, since neighbours would then
    not be one condition apart.
    """
    try:
        return _load(collection)
    except (TypeError, ValueError) as error:
        raise DatasetError(
            f"{collection.path}: its metadata names ladders, but not as a ladder set does "
            f"(conditions and broken are whole numbers): {error}"
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
    documents: dict[str, Documents] = {name: {} for name in queries}
    for _, text, note in noted_documents(collection, "ladder"):
        broken = frozenset(map(int, note.get("broken") or ()))
        documents.setdefault(str(note["ladder"]), {})[broken] = text
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
    documents: Documents,
    wordings: Sequence[str],
) -> CandidateLadder:
    levels = {
        len(broken): text
        for broken, text in documents.items()
        if broken == {*range(1, len(broken) + 1)}
    }
    numbers = {f"queries ({style})": sorted(of) for style, of in queries.items()}
    numbers["documents"] = sorted({*levels} - {0})
    faults = [
        f"{what} of {', '.join(map(str, found))} conditions, not of 1, 2, 3, ..."
        for what, found in numbers.items()
        if found != list(range(1, len(found) + 1))
    ]
    if 0 not in levels or len(levels) == 1:
        faults = ["no positive document" if 0 not in levels else "no hard negative"]
    if not documents:
        faults = ["no document"]
    if faults:
        raise DatasetError(
            f"{path}: ladder {name} has {faults[0]}; `gen validate` says what is missing"
        )
    return CandidateLadder(
        name,
        domain,
        {style: [of[n] for n in sorted(of)] for style, of in sorted(queries.items(), key=_style)},
        tuple(levels[i] for i in range(len(levels))),
        {min(broken): text for broken, text in documents.items() if len(broken) == 1},
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
    """Averages over ladders mean something where all have as many queries and documents."""
    shapes = [
        (tuple((style, len(texts)) for style, texts in one.queries.items()), len(one.texts))
        for one in ladders
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
    files: dict[int, Path] = {}
    for file in sorted(folder.glob("*.jsonl")) + sorted(folder.glob("*.parquet")):
        if length := re.fullmatch(r"task4_(\d+)", file.stem):
            files.setdefault(int(length[1]), file)
    for words, file in sorted(files.items()):
        for row in TableFiles(file.stem, (file,)):
            if not isinstance(row, dict):
                raise DatasetError(f"{file}: holds a row that {row.reason}")
            if (ladder := ladders.get(str(row.get("id")))) is not None:
                one = _padded(file, row, ladder.conditions, words)
                ladder.padded.setdefault(words, {})[str(row.get("style"))] = one
    if any(ladder.padded for ladder in ladders.values()):
        return []
    return ["there is no tables/task4_512.jsonl, so Task 4 (length) is not measured"]


def _padded(path: Path, row: Mapping[str, Any], query: int, words: int) -> CandidateSet:
    """The text of a query of a row, and its documents, the positive first."""
    documents = [row.get("Positive")]
    while (text := row.get(f"HN{len(documents)}")) is not None:
        documents.append(text)
    asked = row.get(f"Query{query}")
    if not isinstance(asked, str) or len(documents) < 2 or None in documents:
        raise DatasetError(
            f"{path}: the row of {row.get('id')} lacks Query{query}, Positive or HN1"
        )
    return CandidateSet(asked, tuple(map(str, documents)), str(words))
