"""Documents are read, without those that a test set holds, and kept in the run's sources/."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgen.agents.report import Rejection
from retgen.data import open_dataset
from retgen.errors import SourceRefused
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import Passage, documents_of, spans
from retgen.generators.params import Job
from retgen.on_disk import DiskList
from retgen.sources import RefusedRow, SourceDocument, refusals
from retgen.sources.read import kinds
from retgen.validators.decontamination import HeldOut, drop_overlapping, read_test_set
from retgen.write import write_rows

if TYPE_CHECKING:
    from retgen.agents.context import Context

DOCUMENTS, PASSAGES, QUERIES = "documents.jsonl", "passages.jsonl", "queries.jsonl"
_STRUCTURE = ("blocks", "links", "short_forms")
_PLACE = ("id", "source", "start", "stop", "language")  # of a passage


def text_of(document: SourceDocument) -> str:
    """The title and the text of a document."""
    return f"{document.title} {document.text}"


def no_document(params: CapRetrievalParams, refused: Sequence[RefusedRow]) -> SourceRefused:
    """The error of a source without any document."""
    where = "the bundled captions" if params.source is None else str(params.source.path)
    message = f"params.source: {where} holds no document that can be used. {refusals(refused)}"
    return SourceRefused(message.rstrip(), [one._asdict() for one in refused])


def held_out_sets(params: CapRetrievalParams) -> list[HeldOut]:
    from retgen.search.mteb_tasks import dataset_folder

    return [
        read_test_set(name, open_dataset(dataset_folder(name)))
        for name in params.decontaminate.test_sets
    ]


def read_documents(
    job: Job[CapRetrievalParams], context: Context, tests: Sequence[HeldOut] = ()
) -> tuple[Sequence[SourceDocument], list[RefusedRow]]:
    """Copy the source's documents into the run, without those that a test set holds, and say what
    is not used of it. Raises `SourceRefused` where no document is left.
    """
    read, refused, params = DiskList[SourceDocument](), list[RefusedRow](), job.params
    folder = Path(params.source.path) if params.source is not None else None
    files = sum(kinds(folder).values()) if folder is not None and folder.is_dir() else 0
    for number, one in enumerate(documents_of(params, job.limit, structure=True), start=1):
        context.progress("documents read", number, max(number, files))
        if isinstance(one, RefusedRow):
            refused.append(one)
        else:
            read.append(one)
    if not read:
        raise no_document(params, refused)
    dropped: dict[str, str] = {}  # a document that a test set holds -> which text there
    if tests:
        texts = {
            f"{one.id}\0{start}": one.text[start:stop]
            for one in read
            for start, stop in spans(one.text, params.passages, one.blocks)
        }
        drops = drop_overlapping(texts, tests, params.decontaminate.rouge_l, context.engine)
        dropped = {name.rpartition("\0")[0]: drop.reason for name, drop in reversed(drops.items())}
        context.report.rejected.extend(
            Rejection("decontaminated/document", dropped[one.id], one.row())
            for one in read
            if one.id in dropped
        )
        read = DiskList(one for one in read if one.id not in dropped)
    write_rows(context.folder / DOCUMENTS, map(_document_row, read))
    if not read:
        raise SourceRefused(
            f"params.decontaminate: of {len(dropped):,} documents none is left, since the test "
            f"sets hold all of them; the first: {context.report.rejected[0].reason}. They are "
            "listed in rejected.jsonl.",
            (),
        )
    return read, refused


def _document_row(one: SourceDocument) -> dict[str, Any]:
    """A row of sources/documents.jsonl: the document with its structure."""
    lists = {name: [list(part) for part in getattr(one, name)] for name in _STRUCTURE}
    return one.row() | lists | {"place": one.place}


def passage_row(one: Passage, split: str) -> dict[str, Any]:
    """A row of sources/passages.jsonl: a passage without its text."""
    return {name: getattr(one, name) for name in _PLACE} | {"split": split}


def reject_rows(refused: Sequence[RefusedRow], context: Context) -> None:
    """Keep what is not used of a source with its reason; no agent was asked about it."""
    for lost in refused:
        where = {"where": lost.where} | ({"id": lost.id} if lost.id else {})
        record = {"record": where, "history": []}
        context.report.rejected.append(Rejection(lost.rule, f"{lost.where}: {lost.reason}", record))
