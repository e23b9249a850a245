"""Rankings: the best documents of each query, with ties broken as trec_eval breaks them.

trec_eval orders by score (a 32-bit float) descending, then by document id descending, and ignores
the rank column of a run. Everything here does the same, so a score never depends on the order in
which a corpus happened to be read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retgen.errors import DatasetError
from retgen.evaluation.collection import Collection
from retgen.write import AtomicFile


@dataclass(frozen=True)
class Rankings:
    """Of all queries of a collection: rows are queries.

    `documents` int64 (queries, depth): index into the corpus, best first, -1 where fewer were
    ranked. `scores` float32 (queries, depth).
    """

    documents: NDArray[np.int64]
    scores: NDArray[np.float32]

    @property
    def depth(self) -> int:
        """Documents a query, at most."""
        return int(self.documents.shape[1])

    @classmethod
    def of(
        cls,
        rows: Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]],
        collection: Collection,
        depth: int,
    ) -> Rankings:
        """The best of some documents of each query, given with their scores: both of one shape."""
        documents = np.full((len(collection.queries), depth), -1, np.int64)
        scores = np.zeros(documents.shape, np.float32)
        for row, found in enumerate(rows):
            documents[row], scores[row] = best(*found, collection.priority, depth)
        return cls(documents, scores)


def best(
    documents: NDArray[np.int64],
    scores: NDArray[np.float32],
    priority: NDArray[np.int64],
    depth: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The first `depth` of some scored documents of one query, padded with -1 and 0.

    `documents` (c,) indices, `scores` (c,), `priority` (corpus,). A score of -0 counts as 0.
    """
    scores = scores.astype(np.float32) + np.float32(0)
    if len(scores) > 4 * depth:  # sort only what is among the first
        # from below: numpy takes four times as long at the upper end, where ties are many
        bar = -np.partition(-scores, depth - 1)[depth - 1]
        above, ties = np.flatnonzero(scores > bar), np.flatnonzero(scores == bar)
        missing = depth - len(above)
        order = np.argpartition(-priority[documents[ties]], missing - 1)[:missing]
        kept = np.concatenate([above, ties[order]])
        documents, scores = documents[kept], scores[kept]
    order = np.lexsort((-priority[documents], -scores))[:depth]
    result = np.full(depth, -1, np.int64)
    values = np.zeros(depth, np.float32)
    result[: len(order)] = documents[order]
    values[: len(order)] = scores[order]
    return result, values


def write_run(path: Path, collection: Collection, rankings: Rankings, tag: str) -> None:
    """A TREC run: query id, Q0, document id, rank, score, tag, separated by spaces.

    White space in an id, which the format has no place for, is written %20 and %09.
    """
    tag = tag.replace(" ", "_")
    with AtomicFile(path) as file:
        for row, query in enumerate(collection.queries):
            kept = rankings.documents[row] >= 0
            ids = collection.doc_ids[rankings.documents[row][kept]].tolist()
            scores = rankings.scores[row][kept].tolist()
            lines = [
                # nine digits tell any two 32-bit floats apart, so a reader finds the same ties
                f"{_cell(query.query_id)} Q0 {_cell(doc.decode())} {rank} {score:.9g} {tag}\n"
                for rank, (doc, score) in enumerate(zip(ids, scores, strict=True), start=1)
            ]
            file.write("".join(lines).encode())


def space(ids: NDArray[np.bytes_]) -> bool:
    """Whether some id holds white space, which a TREC run has no place for."""
    return any(bool((np.char.find(ids, space) >= 0).any()) for space in (b" ", b"\t"))


def _cell(text: str) -> str:
    return text.replace(" ", "%20").replace("\t", "%09")


def read_run(path: Path, collection: Collection, depth: int) -> tuple[Rankings, list[str]]:
    """A TREC run as rankings of a collection, and notes about what did not fit.

    Raises `DatasetError` for a file that is no run, or that ranks nothing of this collection.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}: is not a UTF-8 text file") from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
    index = {_cell(query.query_id): row for row, query in enumerate(collection.queries)}
    ids = collection.doc_ids
    if space(ids):
        ids = np.char.replace(np.char.replace(ids, b" ", b"%20"), b"\t", b"%09")
    order = np.argsort(ids, kind="stable")
    names: list[list[bytes]] = [[] for _ in index]
    values: list[list[float]] = [[] for _ in index]
    strangers: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row, doc_id, score = _run_line(path, number, line, index, strangers)
        if row is not None:
            names[row].append(doc_id)
            values[row].append(score)
    if not any(names):
        example = f", for example {sorted(strangers)[0]}" if strangers else ""
        raise DatasetError(
            f"{path}: ranks no query of {collection.path} that has a relevant document"
            f"{example}; is it a run of another data set?"
        )
    unknown: set[bytes] = set()

    def known_documents(row: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        docs = np.array(names[row], np.bytes_)
        if len(np.unique(docs)) < len(docs):
            raise DatasetError(
                f"{path}: query {collection.queries[row].query_id} ranks a document twice"
            )
        place = order[np.minimum(np.searchsorted(ids, docs, sorter=order), len(ids) - 1)]
        known = ids[place] == docs
        unknown.update(docs[~known].tolist())
        return place[known], np.array(values[row], np.float32)[known]

    rankings = Rankings.of(map(known_documents, range(len(index))), collection, depth)
    notes = []
    if strangers:
        notes.append(
            f"{len(strangers):,} queries of the run have no relevant document here and are "
            f"ignored, for example {sorted(strangers)[0]}"
        )
    if unknown:
        notes.append(
            f"{len(unknown):,} documents of the run are not in the corpus and are ignored, for "
            f"example {sorted(unknown)[0].decode()}"
        )
    return rankings, notes


def _run_line(
    path: Path, number: int, line: str, index: dict[str, int], strangers: set[str]
) -> tuple[int | None, bytes, float]:
    cells = line.split()
    try:
        if len(cells) != 6:
            raise ValueError
        score = float(cells[4])
        if not math.isfinite(score):
            raise ValueError
    except ValueError:
        raise DatasetError(
            f"{path}, line {number}: a line of a TREC run is: query id, Q0, document id, rank, "
            f"score, tag; this is {line.strip()[:60]!r}"
        ) from None
    row = index.get(cells[0])
    if row is None:
        strangers.add(cells[0])
    return row, cells[2].encode(), score
