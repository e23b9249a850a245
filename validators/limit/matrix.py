"""The rebuilt qrel matrix is the one that the recipe and the metadata describe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from retgen.validators.limit.spec import Spec, error
from retgen.validators.rule import Finding, Judgements


def check_matrix(
    spec: Spec,
    judgements: Judgements,
    rebuilt: dict[str, frozenset[str]],
    columns: dict[str, int],
) -> Iterator[Finding]:
    """Coordinates, distinct rows, shared documents, and a user's own matrix.

    `rebuilt`: relevant documents of each query, from the words. `columns`: matrix column of each
    document with an asked attribute, from its metadata.
    """
    owner: dict[int, str] = {}
    for doc_id in sorted(judgements.relevant_documents & columns.keys()):
        column = columns[doc_id]
        if column < 0 or column in owner:
            also = [owner[column]] if column in owner else []
            yield error(
                "coordinates",
                [doc_id, *also],
                f"the metadata of document {doc_id} gives matrix column {column}"
                + (f", which is that of {also[0]} too" if also else " to a relevant document"),
            )
        owner.setdefault(column, doc_id)
    rows: dict[int, str] = {}
    for query in judgements.queries:
        row = query.metadata.get("row") if isinstance(query.metadata, dict) else None
        if type(row) is not int:
            row = -1
        if not 0 <= row < spec.queries or row in rows:
            also = [rows[row]] if row in rows else []
            yield error(
                "coordinates",
                [query.query_id, *also],
                f"the metadata of query {query.query_id} gives matrix row {row}"
                + (f", which is that of {also[0]} too" if also else ", which does not exist"),
            )
        rows.setdefault(row, query.query_id)
    yield from _structure(spec, judgements, owner)
    twins: dict[frozenset[str], str] = {}
    for query_id, docs in rebuilt.items():
        if spec.distinct_rows and docs and docs in twins:
            yield error(
                "twin-queries",
                [twins[docs], query_id],
                f"queries {twins[docs]} and {query_id} have the same relevant documents",
            )
        twins.setdefault(docs, query_id)
    if spec.common_documents is not None:
        yield from _shared_documents(rebuilt, spec.common_documents)
    if spec.matrix_file is not None:
        yield from _own_matrix(spec.matrix_file, rebuilt, rows, owner)


def _structure(spec: Spec, judgements: Judgements, owner: dict[int, str]) -> Iterator[Finding]:
    """As many relevant documents, and as many queries to each, as the pattern has."""
    relevant = judgements.relevant_documents
    if spec.relevant_documents is not None and len(relevant) != spec.relevant_documents:
        yield error(
            "structure",
            [],
            f"{len(relevant)} documents are relevant to some query, the pattern has "
            f"{spec.relevant_documents}",
        )
    for column in sorted(owner.keys() - set(range(len(relevant)))):
        if column >= 0:
            yield error(
                "coordinates",
                [owner[column]],
                f"the metadata of document {owner[column]} gives matrix column {column}, but "
                f"there are {len(relevant)}",
            )
    if spec.column_sum is None:
        return
    counts = Counter(d for docs in judgements.positives.values() for d in docs)
    for doc_id, count in sorted(counts.items()):
        if count != spec.column_sum:
            yield error(
                "structure",
                [doc_id],
                f"document {doc_id} is relevant to {count} queries, in the pattern each is to "
                f"{spec.column_sum}",
            )


def _own_matrix(
    path: Path, rebuilt: dict[str, frozenset[str]], rows: dict[int, str], owner: dict[int, str]
) -> Iterator[Finding]:
    """Row and column coordinates lead back to the lines of the user's qrels TSV."""
    wanted: dict[str, set[str]] = {}
    columns: dict[str, int] = {}
    for line in path.read_text("utf-8-sig").splitlines()[1:]:
        if not line.strip():
            continue
        asking, document, score = line.split("\t")[:3]
        if float(score) > 0:
            wanted.setdefault(asking, set()).add(document)
            columns.setdefault(document, len(columns))
    for row, documents in enumerate(wanted.values()):
        query_id = rows.get(row, "")
        if rebuilt.get(query_id, set()) != {owner.get(columns[d]) for d in documents}:
            yield error(
                "matrix-file",
                [query_id] if query_id else [],
                f"the relevant documents of query {query_id} are not those of row {row} of "
                f"{path.name}",
            )


def _shared_documents(rebuilt: dict[str, frozenset[str]], common: int) -> Iterator[Finding]:
    """Any two queries share exactly `common` documents, counted through an incidence matrix."""
    ids = list(rebuilt)
    columns = {d: j for j, d in enumerate(sorted({d for docs in rebuilt.values() for d in docs}))}
    incidence = np.zeros((len(ids), len(columns)), np.float32)
    for i, query_id in enumerate(ids):
        incidence[i, [columns[d] for d in rebuilt[query_id]]] = 1
    shared = incidence @ incidence.T
    np.fill_diagonal(shared, common)
    for i, j in np.argwhere(np.triu(shared != common)).tolist():
        yield error(
            "common-documents",
            [ids[i], ids[j]],
            f"queries {ids[i]} and {ids[j]} share {int(shared[i, j])} documents, not {common}",
        )
