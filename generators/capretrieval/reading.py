"""Documents are read, without those that a test set holds, and kept in the run's sources/."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgen.agents.report import Rejection, Rejections
from retgen.data import open_dataset
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import (
    Passage,
    PassageQuery,
    Whole,
    documents_of,
    spans,
)
from retgen.generators.capretrieval.queries import Faults
from retgen.generators.params import Job
from retgen.on_disk import DiskList, MappedList
from retgen.progress import Progress, no_progress
from retgen.sources import RefusedRow, SourceDocument, refusals
from retgen.sources.read import kinds
from retgen.validators.decontamination import Drop, HeldOut, drop_overlapping, read_test_set
from retgen.work import Engine
from retgen.write import write_rows

if TYPE_CHECKING:
    from retgen.agents.context import Context

DOCUMENTS, PASSAGES, QUERIES = "documents.jsonl", "passages.jsonl", "queries.jsonl"
_STRUCTURE = ("blocks", "links", "short_forms")


def wholes_of(documents: Sequence[SourceDocument], languages: Sequence[str]) -> Sequence[Whole]:
    """Documents with their languages, to be cut."""

    def whole(number: int) -> Whole:
        one = documents[number]
        return Whole(one.id, one.title, one.text, languages[number], one.blocks)

    return MappedList(whole, range(len(documents)))


def text_of(document: SourceDocument) -> str:
    """The title and the text of a document."""
    return f"{document.title} {document.text}"


def nothing_held_out(
    documents: Sequence[SourceDocument], refused: Sequence[RefusedRow], clean: Rejections
) -> str:
    """Why there is no test split."""
    if not documents:
        return (
            f"params.decontaminate: of {len(clean):,} documents none is left, since the test sets "
            f"hold all of them; the first: {next(iter(clean)).reason}. They are listed in "
            "rejected.jsonl."
        )
    same = (
        "is one document"
        if len(documents) == 1
        else (
            f"are {len(documents):,} documents that share their wording (near-duplicates, or "
            "filled-in templates), which have to stay on one side"
        )
    )
    message = (
        f"params.source: there {same}: none can be held out for a test split. Give 2 documents or "
        "more that differ, or one file with headings, whose chapters are documents then."
    )
    return f"{message} {refusals(refused)}".rstrip()


def held_out_sets(params: CapRetrievalParams) -> list[HeldOut]:
    from retgen.search.mteb_tasks import dataset_folder

    return [
        read_test_set(name, open_dataset(dataset_folder(name)))
        for name in params.decontaminate.test_sets
    ]


def read_documents(
    job: Job[CapRetrievalParams],
    folder: Path,
    tests: Sequence[HeldOut],
    engine: Engine,
    progress: Progress = no_progress,
) -> tuple[Sequence[SourceDocument], list[RefusedRow], Rejections]:
    """Copy the source's documents into the run, without those that a test set holds."""
    read = DiskList[SourceDocument]()
    refused: list[RefusedRow] = []
    source = job.params.source
    within = Path(source.path) if source is not None else Path()
    files = sum(kinds(within).values()) if source is not None and within.is_dir() else 0
    for number, one in enumerate(documents_of(job.params, job.limit, structure=True), start=1):
        progress("documents read", number, max(number, files))
        if isinstance(one, RefusedRow):
            refused.append(one)
        else:
            read.append(one)
    dropped: dict[str, Drop] = {}
    if tests:
        texts = {
            f"{one.id}\0{start}": one.text[start:stop]
            for one in read
            for start, stop in spans(one.text, job.params.passages, one.blocks)
        }
        found = drop_overlapping(texts, tests, job.params.decontaminate.rouge_l, engine)
        dropped = {name.rpartition("\0")[0]: drop for name, drop in reversed(found.items())}
    kept = DiskList(one for one in read if one.id not in dropped) if dropped else read
    write_rows(folder / DOCUMENTS, map(document_row, kept))
    rejected = (
        Rejections(
            Rejection("decontaminated/document", dropped[one.id].reason, one.row())
            for one in read
            if one.id in dropped
        )
        if dropped
        else Rejections()
    )
    return kept, refused, rejected


def document_row(one: SourceDocument) -> dict[str, Any]:
    """A row of sources/documents.jsonl: the document with its structure."""
    lists = {name: [list(part) for part in getattr(one, name)] for name in _STRUCTURE}
    return one.row() | lists | {"place": one.place}


def reject_rows(refused: Sequence[RefusedRow], context: Context) -> None:
    """Keep what is not used of a source with its reason; no agent was asked about it."""
    for lost in refused:
        where = {"where": lost.where} | ({"id": lost.id} if lost.id else {})
        record = {"record": where, "history": []}
        context.report.rejected.append(Rejection(lost.rule, f"{lost.where}: {lost.reason}", record))


def queries_of_tests(
    queries: Sequence[PassageQuery],
    tests: Sequence[HeldOut],
    params: CapRetrievalParams,
    context: Context,
) -> Faults:
    """The queries that a test set holds."""
    if not tests:
        return {}
    texts = {str(number): one.text for number, one in enumerate(queries)}
    found = drop_overlapping(texts, tests, params.decontaminate.rouge_l, context.engine)
    return {int(number): ("decontaminated/query", drop.reason) for number, drop in found.items()}


def passage_row(one: Passage, split: str) -> dict[str, Any]:
    """A row of sources/passages.jsonl."""
    return {
        "id": one.id,
        "source": one.source,
        "start": one.start,
        "stop": one.stop,
        "language": one.language,
        "split": split,
    }
