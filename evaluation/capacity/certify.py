"""`gen capacity PATH`: how hard the qrels of a data set are for any single-vector embedder.

Beside the theorems of `qrels.certificate` stands what a search finds: shattered documents (from
below), a free embedding (from above, stored and checked in integers), and the widest margins for
unit vectors with the caps that no embedding exceeds. Theorems need no torch, embeddings do.
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from retgen.data import open_dataset
from retgen.errors import UsageError
from retgen.evaluation.capacity import HIGHEST
from retgen.evaluation.capacity.certify_page import CertificateResult, Margin, write_page
from retgen.evaluation.scoring.significance import relevance_matrix
from retgen.progress import Progress, no_progress
from retgen.qrels import QrelMatrix
from retgen.qrels.certificate import DimensionBound, DimensionCertificate, certificate
from retgen.qrels.margins import margin_caps
from retgen.qrels.matrix import ReducedMatrix, reduce
from retgen.qrels.radon import CELLS, find_shattered
from retgen.search.collection import Collection, load
from retgen.search.mteb_tasks import dataset_folder
from retgen.write import dump_json, make_folder, write_file

if TYPE_CHECKING:  # they import torch
    from retgen.evaluation.capacity.embedding import Embedding, Widest


_BEGIN = 32  # dimensions in which a first embedding is sought at least
_SWEEP = 6  # doublings of the dimension in the sweep of margins
_SHATTERED = (
    "V. N. Vapnik, A. Ya. Chervonenkis (1971); J. Radon (1921); proof in retgen.qrels.radon"
)


def certify(
    path: str | Path,
    *,
    split: str | None = None,
    dims: Sequence[int] = (),
    margin: float | None = None,
    seeds: int = 3,
    minutes: float = 5.0,
    device: str | None = None,
    out: str | Path | None = None,
    command: str = "gen capacity PATH",
    progress: Progress = no_progress,
) -> CertificateResult:
    """Bracket the dimension that the qrels of a data set (or mteb:NAME) need, and write `out`.

    `out` defaults to RUN/capacity for a run directory, else to outputs/capacity_NAME. `dims`: where
    margins are sought, default from the lower bound on in doublings. `minutes` are for the search
    of an embedding, and as many for margins; without torch neither is sought, and a note says so.
    Raises UsageError for what makes no sense and DatasetError for a data set without positives.
    """
    if margin is not None and not 0 < margin <= 2:
        raise UsageError("--margin: scores of unit vectors differ by more than 0 and at most 2")
    if not minutes > 0:
        raise UsageError("--minutes: give a positive number")
    if seeds < 1:
        raise UsageError("--seeds: at least 1")
    if not all(1 <= d <= HIGHEST for d in dims):
        raise UsageError(f"--dims: dimensions are whole numbers from 1 to {HIGHEST:,}")
    path = dataset_folder(path)
    open_dataset(path)  # a wrong path is told before torch is imported
    place = _device(device)
    collection = load(path, split, progress)
    notes = list(collection.notes)
    if not collection.complete:
        notes.append("pairs without a judgement are taken as not relevant")
    matrix = relevance_matrix(collection)
    progress("bounds", 0, 1)
    # documents that the corpus lacks are asked for all the same
    total = collection.documents + len(collection.missing)
    result = certificate(matrix, total)
    progress("bounds", 1, 1)
    folder = Path(out) if out is not None else _default_folder(collection.path)
    make_folder(folder)
    reduced = reduce(matrix, total)
    whole = QrelMatrix(reduced.matrix.indptr, reduced.matrix.indices, reduced.points)
    if not whole.queries:
        notes.append("every query has all documents relevant: nothing is to be told apart")
        return _written(
            CertificateResult(
                folder, collection, result, None, None, [], margin, None, notes, command
            )
        )
    result = _with_shattered(result, reduced)
    witness, margins, reached = None, [], None
    caps = margin_caps(reduced)
    why = _NO_TORCH if place is None else _too_many(whole)
    if place is None or why:
        result.skipped.extend(
            {"theorem": what, "reason": why} for what in ("free embedding", "margins")
        )
        notes += [f"no embedding and no margin was sought: {why}"]
    else:
        until = time.monotonic() + 60 * minutes
        witness = _search(whole, result, seeds, until, place, progress)
        if witness is not None:
            _store(folder / "embedding.npz", witness, collection, matrix, reduced)
            result = _with_witness(result, witness)
        else:
            notes.append(
                f"no embedding was found within {minutes:g} minutes from random starts, "
                "which proves nothing"
            )
        until = time.monotonic() + 60 * minutes
        known = witness.dimension if witness is not None else result.upper
        sweep = sorted(set(dims)) or _doublings(result.lower, known, whole.documents - 1)
        from retgen.evaluation.capacity import embedding

        known_to_be = embedding.as_widest(whole, witness) if witness is not None else None
        widest = _widest(whole, sweep, known_to_be, until, place, progress)
        if len(widest) < len(sweep):
            notes.append(f"margins of {len(sweep) - len(widest)} dimensions: no time left")
        if margin is not None:
            widest, reached = _descend(whole, widest, margin, result.lower, until, place, progress)
        margins = [
            Margin(
                one.dimension,
                one.margin if 0 < one.margin < math.inf else None,
                caps.at(one.dimension),
            )
            for one in widest
        ]
    return _written(
        CertificateResult(
            folder, collection, result, witness, caps, margins, margin, reached, notes, command
        )
    )


_NO_TORCH = "this needs the package torch: pip install 'retgen[eval]'"


def _device(device: str | None) -> str | None:
    """Where embeddings are sought; None where there is no torch."""
    try:
        from retgen.search.embedders.devices import choose_device
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        if device is not None:
            raise UsageError(f"--device {device}: {_NO_TORCH}") from error
        return None
    return choose_device(device)


def _too_many(whole: QrelMatrix) -> str:
    """Why no embedding is sought; empty where one is."""
    from retgen.evaluation.capacity.embedding import CELLS as most

    if whole.queries * whole.documents <= most:
        return ""
    return (
        f"{whole.queries:,} x {whole.documents:,} different queries and documents are too many "
        f"to optimise (more than {most:,} cells)"
    )


def _written(result: CertificateResult) -> CertificateResult:
    write_file(result.folder / "certificate.json", dump_json(result.to_json()))
    write_page(result)
    return result


def _default_folder(path: Path) -> Path:
    if (path / "recipe.yaml").is_file() and (path / "dataset").is_dir():
        return path / "capacity"
    return Path("outputs") / f"capacity_{path.resolve().name}"


def _with_shattered(result: DimensionCertificate, reduced: ReducedMatrix) -> DimensionCertificate:
    """The VC dimension of the matrix, and that of its transpose."""
    matrix = reduced.matrix
    if matrix.queries * matrix.documents > CELLS:
        why = f"{matrix.queries:,} x {matrix.documents:,} are too many to search"
        result.skipped.append({"theorem": "Vapnik and Chervonenkis", "reason": why})
        return result
    lower = list(result.lower_bounds)
    for what, by, table in (
        ("documents", "queries", matrix),
        ("queries", "documents", matrix.transpose()),
    ):
        cut = find_shattered(table)
        v = len(cut.columns)
        if v > 1:
            details: dict[str, Any] = {"vc_dimension": v, "complete": cut.complete}
            if what == "documents":
                details["columns"] = [int(reduced.columns[j]) for j in cut.columns]
            lower.append(
                DimensionBound(
                    v - 1,
                    f"{by} cut all {2**v:,} subsets out of some {v} {what} (VC dimension "
                    f"{'' if cut.complete else 'at least '}{v}), and half-spaces shatter at most "
                    "d + 1 points",
                    _SHATTERED,
                    details=details,
                    sign_rank=v,
                )
            )
    lower.sort(key=lambda bound: -bound.dimension)
    return replace(result, lower_bounds=lower)


def _search(
    whole: QrelMatrix,
    result: DimensionCertificate,
    seeds: int,
    until: float,
    device: str,
    progress: Progress,
) -> Embedding | None:
    """From above: at the proven upper bound, or where an optimiser has an easier start."""
    from retgen.evaluation.capacity import embedding

    # in one dimension unit vectors cannot move, so it begins above and comes down
    highest = min(max(result.upper, _BEGIN), max(whole.documents - 1, result.upper, 2))
    return embedding.smallest(
        whole,
        highest,
        lowest=result.lower,
        seeds=seeds,
        until=until,
        device=device,
        progress=progress,
    )


def _with_witness(result: DimensionCertificate, witness: Embedding) -> DimensionCertificate:
    bound = DimensionBound(
        witness.dimension,
        f"vectors of {witness.dimension} whole numbers found from random starts; every query's "
        "relevant documents score above all others in exact arithmetic",
        "embedding.npz",
        details={"smallest_gap": witness.gap},
    )
    upper = sorted([*result.upper_bounds, bound], key=lambda one: one.dimension)
    return replace(result, upper_bounds=upper)


def _store(
    path: Path,
    witness: Embedding,
    collection: Collection,
    matrix: QrelMatrix,
    reduced: ReducedMatrix,
) -> None:
    """Vectors with the ids that they stand for, checked once more against all qrels."""
    from retgen.evaluation.capacity.embedding import smallest_gap

    message = np.flatnonzero(reduced.row_of >= 0)
    asked = matrix.take_rows(message)
    vector = reduced.column_of
    if reduced.others:  # one that no query asks for stands for all of these
        vector = np.append(vector, reduced.matrix.documents)
    every = QrelMatrix(asked.indptr, asked.indices, len(vector))
    gap = smallest_gap(every, witness.queries[reduced.row_of[message]], witness.documents[vector])
    if gap != witness.gap:
        raise AssertionError(f"the stored embedding has a gap of {gap}, not {witness.gap}")
    ids: dict[str, int] = {}
    for query in collection.queries:
        for doc, relevance in collection.qrels[query.query_id].items():
            if relevance > 0:
                ids.setdefault(doc, len(ids))
    out = io.BytesIO()
    np.savez_compressed(
        out,
        queries=witness.queries,
        documents=witness.documents,
        query_ids=np.array([collection.queries[i].query_id for i in message.tolist()]),
        query_vector=reduced.row_of[message],
        document_ids=np.array(list(ids)),
        document_vector=reduced.column_of,
        other_vector=np.array(reduced.matrix.documents if reduced.others else -1),
    )
    write_file(path, out.getvalue())


def _doublings(lower: int, known: int, highest: int) -> list[int]:
    """The lower bound, where an embedding is known, and doublings of that."""
    steps = [lower, known, *(known * 2**i for i in range(1, _SWEEP))]
    return sorted({d for d in steps if d <= highest} | {min(highest, steps[-1])})


def _widest(
    whole: QrelMatrix,
    dims: Sequence[int],
    known: Widest | None,
    until: float,
    device: str,
    progress: Progress,
) -> list[Widest]:
    """The widest margins found, each dimension beginning at the one before, or at `known`, too."""
    from retgen.evaluation.capacity import embedding

    result: list[Widest] = []
    for place, d in enumerate(dims):
        if time.monotonic() >= until:
            break
        progress("margins", place, len(dims))
        starts = [one for one in (known, *result[-1:]) if one is not None and one.dimension <= d]
        start = max(starts, key=lambda one: one.margin, default=None)
        result.append(embedding.widen_margin(whole, d, start, until=until, device=device))
    progress("margins", len(result), len(dims))
    return result


def _descend(
    whole: QrelMatrix,
    widest: list[Widest],
    wanted: float,
    lower: int,
    until: float,
    device: str,
    progress: Progress,
) -> tuple[list[Widest], int | None]:
    """The fewest dimensions found that reach a margin, by bisection of the sweep's gap.

    No fewer than `lower` do.
    """
    from retgen.evaluation.capacity import embedding

    reach = [one for one in widest if one.margin >= wanted]
    if not reach:
        return widest, None
    best, result = reach[0], list(widest)
    below = [one for one in widest if one.dimension < best.dimension]
    low = below[-1].dimension if below else lower - 1
    while best.dimension - low > 1 and time.monotonic() < until:
        progress("dimensions", best.dimension, best.dimension)
        middle = (low + best.dimension) // 2
        start = [one for one in result if one.dimension < middle]
        one = embedding.widen_margin(
            whole, middle, start[-1] if start else None, until=until, device=device
        )
        result = sorted([*result, one], key=lambda one: one.dimension)
        if one.margin >= wanted:
            best = one
        else:
            low = middle
    return result, best.dimension
