"""`gen diff`: two data sets compared, record by record; corpora are read as streams."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from retgen.changes.records import (
    HashedTable,
    label_examples,
    match_labels,
    match_texts,
    text_examples,
)
from retgen.changes.report import Diff, diff_page
from retgen.changes.runs import manifest_differences, score_changes
from retgen.data import TableFiles, open_dataset
from retgen.errors import UsageError
from retgen.progress import Progress, no_progress
from retgen.write import make_folder, write_file


def diff(
    a: str | Path,
    b: str | Path,
    *,
    metrics: Sequence[str] = (),
    examples: int = 3,
    page: str | Path | None = None,
    command: str | None = None,
    progress: Progress = no_progress,
) -> Diff:
    """What changed from A to B, two runs or data sets in any layout that `open_dataset` reads.

    Records are matched by their ids; one that is missing under its id, but stands with the same
    title and text under another, is renamed, and so are its qrels. Counts are exact. `examples`:
    how many of each kind are shown. `metrics`: the measures of `gen eval` to compare; default all
    that both have. `page`: an HTML file to write. Memory: 32 bytes a document, and as much a qrel.
    Raises `DatasetError` for invalid rows, or no data set, and `UsageError`.
    """
    if examples < 0:
        raise UsageError("--examples: a number from 0")
    if page is not None and Path(page).is_dir():
        raise UsageError(f"--page {page}: is a folder; name a file in it, as diff.html")
    paths = Path(a), Path(b)
    sets = open_dataset(paths[0]), open_dataset(paths[1])

    def tables(old: TableFiles | None, new: TableFiles | None) -> tuple[HashedTable, HashedTable]:
        return HashedTable(old, paths[0], progress), HashedTable(new, paths[1], progress)

    documents = match_texts(*tables(sets[0].corpus, sets[1].corpus))
    queries = match_texts(*tables(sets[0].queries, sets[1].queries))
    qrels, graded = (
        {
            split: match_labels(*tables(old.get(split), new.get(split)), queries, documents)
            for split in {**old, **new}
        }
        for old, new in ((sets[0].qrels, sets[1].qrels), (sets[0].graded, sets[1].graded))
    )
    shown = [
        *text_examples("documents", documents, examples),
        *text_examples("queries", queries, examples),
    ]
    for table, splits in (("qrels", qrels), ("graded", graded)):
        for split, one in splits.items():
            shown += label_examples(table, split, one, queries, documents, examples)
    repeated = [
        f"{path}: {number:,} {what} have an id that stood before; the second of an id is compared "
        "with the second"
        for what, changes in (("documents", documents), ("queries", queries))
        for path, number in zip(paths, changes.repeated, strict=True)
        if number
    ]
    stated, notes = manifest_differences(*sets)
    changed, of_scores = score_changes((sets[0], paths[0]), (sets[1], paths[1]), metrics)
    result = Diff(
        *paths,
        documents,
        queries,
        qrels,
        graded,
        shown,
        stated,
        changed,
        [*repeated, *notes, *of_scores],
        command or shlex.join(["gen", "diff", str(a), str(b)]),
    )
    if page is not None:
        make_folder(Path(page).parent)
        write_file(Path(page), diff_page(result).html())
    return result
