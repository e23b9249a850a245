"""Rankings: the best documents of each query, with ties broken as trec_eval breaks them.

trec_eval orders by score (a 32-bit float) descending, then by document id descending, and ignores
the rank column of a run. Everything here does the same, so a score never depends on the order in
which a corpus happened to be read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from retgen.errors import DatasetError
from retgen.search.collection import Collection
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

    def without(self, documents: NDArray[np.int64], depth: int) -> Rankings:
        """The first `depth` of each query, without one document each: (queries,), -1 for none."""
        if bool((documents < 0).all()):
            return self
        kept = (self.documents != documents[:, None]) & (self.documents >= 0)
        order = np.argsort(~kept, axis=1, kind="stable")[:, :depth]
        of = np.where(kept, self.documents, -1), np.where(kept, self.scores, np.float32(0))
        return Rankings(*(np.take_along_axis(one, order, axis=1) for one in of))

    def by_page(self, collection: Collection, depth: int) -> Rankings:
        """The best `depth` pages of each query, by their best passages; of a collection without
        pages what is there.
        """
        pages = collection.pages
        if pages is None:
            return self

        def of_query(row: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
            ranked = pages[self.documents[row][self.documents[row] >= 0]]
            _, first = np.unique(ranked, return_index=True)
            return ranked[first], self.scores[row][first]

        return self.of(map(of_query, range(len(self.documents))), collection, depth)

    @classmethod
    def of(
        cls,
        rows: Iterable[tuple[NDArray[np.int64], NDArray[Any]]],
        collection: Collection,
        depth: int,
        priority: NDArray[np.int64] | None = None,
    ) -> Rankings:
        """The best of some documents of each query, given with their scores: both of one shape.

        `priority`: of equal scores, by default the collection's.
        """
        priority = collection.priority if priority is None else priority
        documents = np.full((len(collection.queries), depth), -1, np.int64)
        scores = np.zeros(documents.shape, np.float32)
        for row, found in enumerate(rows):
            documents[row], scores[row] = best(*found, priority, depth)
        return cls(documents, scores)


def corpus_order(documents: int) -> NDArray[np.int64]:
    """Priorities with which of equal scores the first document comes first."""
    return np.arange(documents - 1, -1, -1)


def best(
    documents: NDArray[np.int64],
    scores: NDArray[Any],
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


def write_run(path: Path, collection: Collection, rankings: Rankings, tag: str) -> bool:
    """A TREC run: query id, Q0, document id, rank, score, tag, separated by spaces.

    Returns whether some id is written as `_cells` says, since the format has no place for it.
    """
    tag = tag.replace(" ", "_")
    documents, queries = _cells_of(collection)
    with AtomicFile(path) as file:
        for row, query in enumerate(collection.queries):
            kept = rankings.documents[row] >= 0
            names = map(bytes.decode, collection.doc_ids[rankings.documents[row][kept]].tolist())
            asked, scores = queries.get(query.query_id, query.query_id), rankings.scores[row][kept]
            lines = [
                # nine digits tell any two 32-bit floats apart, so a reader finds the same ties
                f"{asked} Q0 {documents.get(name, name)} {rank} {score:.9g} {tag}\n"
                for rank, (name, score) in enumerate(zip(names, scores.tolist(), strict=True), 1)
            ]
            file.write("".join(lines).encode())
    return bool(documents or queries)


def _cells_of(collection: Collection) -> tuple[dict[str, str], dict[str, str]]:
    """`_cells` of a collection's documents and queries."""
    return (
        _cells(map(bytes.decode, collection.doc_ids.tolist())),
        _cells(query.query_id for query in collection.queries),
    )


def _cells(ids: Iterable[str]) -> dict[str, str]:
    """How a TREC run holds the ids that have white space, or are empty: percent-encoded.

    Where another id reads so, percent signs are added at the end.
    """
    coded: list[str] = []
    plain: set[str] = set()  # that could be taken for a coded one
    for name in ids:
        if name.split() != [name]:
            coded.append(name)
        elif "%" in name:
            plain.add(name)
    result = {}
    for name in coded:
        cell = "".join(quote(one) if one.isspace() or one == "%" else one for one in name)
        while not cell or cell in plain:
            cell += "%"
        plain.add(cell)
        result[name] = cell
    return result


def read_run(path: Path, collection: Collection, depth: int) -> tuple[Rankings, list[str]]:
    """A TREC run as rankings of a collection, and notes about what did not fit.

    Raises `DatasetError` for a file that is no run, or that ranks nothing of this collection.
    """
    index = {query.query_id: row for row, query in enumerate(collection.queries)}
    document_of, query_of = ({c: i for i, c in of.items()} for of in _cells_of(collection))
    names: list[list[str]] = [[] for _ in index]
    values: list[list[float]] = [[] for _ in index]
    strangers: set[str] = set()
    for _, query, doc, score in run_lines(path):
        row = index.get(query_of.get(query, query))
        if row is None:
            strangers.add(query)
        else:
            names[row].append(document_of.get(doc, doc))
            values[row].append(score)
    if not any(names):
        example = f", for example {sorted(strangers)[0]}" if strangers else ""
        raise DatasetError(
            f"{path}: ranks no query of {collection.path} that has a relevant document"
            f"{example}; is it a run of another data set?"
        )
    every = {name for row in names for name in row}
    places = collection.places(every)
    unknown = sorted(every - places.keys())

    def known_documents(row: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        if len({*names[row]}) < len(names[row]):
            raise DatasetError(
                f"{path}: query {collection.queries[row].query_id} ranks a document twice"
            )
        place = np.array([places.get(name, -1) for name in names[row]], np.int64)
        known = (place >= 0) & (place != collection.own[row])
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
            f"example {unknown[0]}"
        )
    return rankings, notes


def run_lines(path: Path) -> Iterator[tuple[int, str, str, float]]:
    """(line, query id, document id, score) of each line of a TREC run, the ids as they stand there.

    As trec_eval does, cells and lines end at ASCII's white space alone. Raises `DatasetError`.
    """
    try:
        lines = path.read_text("utf-8").encode().splitlines()
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}: is not a UTF-8 text file") from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            query, _, doc, _, value, _ = line.split()
            if not math.isfinite(score := float(value)):
                raise ValueError
        except ValueError:
            raise DatasetError(
                f"{path}, line {number}: a line of a TREC run is: query id, Q0, document id, rank, "
                f"score, tag; this is {line.decode().strip()[:60]!r}"
            ) from None
        yield number, query.decode(), doc.decode(), score
