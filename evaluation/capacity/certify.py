"""`gen capacity PATH`: how hard the qrels of a data set are for any single-vector embedder.

Beside the theorems of `qrels.certificate` stands what a search finds: a free embedding, which is an
upper bound, stored and checked in integers. Theorems need no torch, embeddings do.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from retgen.data import open_dataset
from retgen.errors import UsageError
from retgen.evaluation.scoring.significance import relevance_matrix
from retgen.progress import Progress, no_progress
from retgen.qrels import QrelMatrix
from retgen.qrels.certificate import DimensionBound, DimensionCertificate, brackets, certificate
from retgen.qrels.matrix import ReducedMatrix, reduce
from retgen.results.page import Page, Section
from retgen.results.tables import TableView
from retgen.search.collection import Collection, load
from retgen.search.mteb_tasks import dataset_folder
from retgen.write import dump_json, make_folder, write_file

if TYPE_CHECKING:  # it imports torch
    from retgen.evaluation.capacity.embedding import Embedding

_BEGIN = 32  # dimensions in which a first embedding is sought at least
_NO_TORCH = "this needs the package torch: pip install 'retgen[eval]'"


@dataclass(frozen=True)
class CertificateResult:
    """The bracket with what a search added, and the embedding that was found."""

    folder: Path
    collection: Collection
    certificate: DimensionCertificate
    witness: Embedding | None
    notes: list[str]
    command: str

    def to_json(self) -> dict[str, Any]:
        """What `gen capacity PATH --json` prints."""
        shown = self.certificate.to_json()
        shown["brackets"] = [bracket._asdict() for bracket in brackets(self.certificate)]
        result: dict[str, Any] = {
            "dataset": str(self.collection.path),
            "split": self.collection.split,
            "certificate": shown,
            "notes": self.notes,
        }
        if self.witness is not None:
            result["embedding"] = {
                "file": str(self.folder / "embedding.npz"),
                "dimension": self.witness.dimension,
                "smallest_gap": self.witness.gap,
            }
        return result


def certify(
    path: str | Path,
    *,
    split: str | None = None,
    seeds: int = 3,
    minutes: float = 5.0,
    device: str | None = None,
    out: str | Path | None = None,
    command: str = "gen capacity PATH",
    progress: Progress = no_progress,
) -> CertificateResult:
    """Bracket the dimension that the qrels of a data set (or mteb:NAME) need, and write `out`.

    `out` defaults to RUN/capacity for a run directory, else to outputs/capacity_NAME. `minutes` are
    for the search of an embedding; without torch none is sought, and a note says so. Raises
    UsageError for what makes no sense and DatasetError for a data set without positives.
    """
    if not minutes > 0:
        raise UsageError("--minutes: give a positive number")
    if seeds < 1:
        raise UsageError("--seeds: at least 1")
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
    run = collection.dataset.run
    default = run / "capacity" if run else Path("outputs") / f"capacity_{collection.name}"
    folder = Path(out) if out is not None else default
    make_folder(folder)
    reduced, witness = reduce(matrix, total), None
    whole = QrelMatrix(reduced.matrix.indptr, reduced.matrix.indices, reduced.points)
    if not whole.queries:
        notes.append("every query has all documents relevant: nothing is to be told apart")
    else:
        why = _NO_TORCH if place is None else _too_many(whole)
        if place is None or why:
            result.skipped.append({"theorem": "free embedding", "reason": why})
            notes.append(f"no embedding was sought: {why}")
        else:
            from retgen.evaluation.capacity import embedding

            # in one dimension unit vectors cannot move, so it begins above and comes down
            highest = min(max(result.upper, _BEGIN), max(whole.documents - 1, result.upper, 2))
            witness = embedding.smallest(
                whole,
                highest,
                lowest=result.lower,
                seeds=seeds,
                until=time.monotonic() + 60 * minutes,
                device=place,
                progress=progress,
            )
            if witness is None:
                notes.append(
                    f"no embedding was found within {minutes:g} minutes from random starts, which "
                    "proves nothing"
                )
            else:
                _store(folder / "embedding.npz", witness, collection, reduced)
                result = _with_witness(result, witness)
    shown = CertificateResult(folder, collection, result, witness, notes, command)
    write_file(folder / "certificate.json", dump_json(shown.to_json()))
    _page(shown).write(folder, "certificate")
    return shown


def _device(device: str | None) -> str | None:
    """Where embeddings are sought; None where there is no torch."""
    try:
        from retgen.search.embedders.loading import choose_device
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
    reduced: ReducedMatrix,
) -> None:
    """Vectors, with the ids that they stand for."""
    rows = np.flatnonzero(reduced.row_of >= 0)
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
        query_ids=np.array([collection.queries[i].query_id for i in rows.tolist()]),
        query_vector=reduced.row_of[rows],
        document_ids=np.array(list(ids)),
        document_vector=reduced.column_of,
        other_vector=np.array(reduced.matrix.documents if reduced.others else -1),
    )
    write_file(path, out.getvalue())


# --- what is shown ---


def text(result: CertificateResult) -> str:
    """For a terminal."""
    bounds = result.certificate
    before = ["\n".join(_sentences(result))]
    if bounds.lower_bounds:
        best = (">=", bounds.lower_bounds[0]), ("<=", bounds.upper_bounds[0])
        lines = (f"{sign} {one.dimension}: {one.theorem} ({one.reference})" for sign, one in best)
        before.append("\n".join(lines))
    return _page(result).terminal(result.folder / "certificate.html", result.notes, before)


def _sentences(result: CertificateResult) -> list[str]:
    """The results in words."""
    bounds = result.certificate
    if not bounds.lower_bounds:
        return ["Every query has all documents relevant: nothing is to be told apart."]
    message = [
        f"The qrels of {bounds.densities.queries:,} queries over "
        f"{bounds.densities.documents:,} relevant documents: a single-vector embedder "
        f"{bounds.sentence()}."
    ]
    if result.witness is not None:
        message.append(
            f"From random starts an embedding was found in {result.witness.dimension} dimensions "
            "and checked in exact arithmetic."
        )
    return message


def _page(result: CertificateResult) -> Page:
    """certificate.html and certificate.md."""
    return Page(
        result.collection.name,
        "retgen capacity",
        "What is known of the dimension that any single-vector embedder needs for these qrels.",
        _sentences(result),
        list(_sections(result)),
        result.command,
    )


def _sections(result: CertificateResult) -> Iterator[Section]:
    bounds = result.certificate
    known = [[one.notion, str(one.lower), str(one.upper)] for one in brackets(bounds)]
    yield Section(
        "The bracket",
        ["How many dimensions are needed at least, and how many are enough, by what is asked."],
        [TableView(["notion", "at least", "at most"], known)] if known else [],
        notes=result.notes,
    )
    rows = [
        [f"{sign} {one.dimension}", one.notion, one.theorem, one.reference]
        for sign, of in (("≥", bounds.lower_bounds), ("≤", bounds.upper_bounds))
        for one in of
    ]
    heads = ["dimensions", "notion", "because", "reference"]
    yield Section(
        "Every bound",
        [],
        [TableView(heads, rows, names=4)] if rows else [],
        printed=False,
        notes=[f"{one['theorem']}: not computed, {one['reason']}" for one in bounds.skipped],
    )
    graph = bounds.densities
    densities = [
        [what, f"{value:.6f}" if value is not None else "not computed"]
        for what, value in (
            ("density of the query graph", graph.query_graph_density),
            ("density of the document graph", graph.document_graph_density),
            ("average query strength", graph.average_query_strength),
        )
    ]
    yield Section("Densities", [], [TableView(["of the qrels", ""], densities)], printed=False)
