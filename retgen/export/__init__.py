"""`gen export`: a data set in other layouts, streamed.

A layout is one file in `layouts/`. What it writes appears under its name when all of it is there.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from retgen.data import Dataset, open_dataset, pair_tables
from retgen.errors import DatasetError, OutputError, UsageError
from retgen.export.facts import DatasetFacts, facts_of
from retgen.export.files import file_with_times, jsonl_to_parquet
from retgen.export.judged import JudgedRecords
from retgen.export.layouts import ExportJob, LayoutCard, card_yaml_header, layout
from retgen.markdown import escape_markdown, front_matter, markdown_table
from retgen.messages import did_you_mean
from retgen.reporting.card import content_id
from retgen.write import file_info, whole_folder, write_file

_SCRATCH = ".judged.sqlite"


class ExportResult(NamedTuple):
    """What was written: the folder, and what a reader has to know of what was left out."""

    path: Path
    notes: list[str]


def export(
    path: str | Path,
    to: str,
    out: str | Path | None = None,
    splits: Sequence[str] = (),
) -> Path:
    """Write the data set of a run (or any that `gen validate` reads) in another layout.

    `to`: a layout, as docs/export.md lists them. `splits`: of the qrels, all where none is named.
    Default folder: RUN/exports/TO of a run, else outputs/export_NAME_TO. Returns the folder, which
    appears when all of it is written; its README.md states licence, languages, splits, and what
    was left out. Raises `UsageError` for a layout or split that is not there, `OutputError` where
    the folder is not empty, `DatasetError` for an unfinished run or invalid rows.
    """
    return write_export(path, to, out, splits).path


def write_export(
    path: str | Path,
    to: str,
    out: str | Path | None = None,
    splits: Sequence[str] = (),
    checked: bool = True,
) -> ExportResult:
    """`export`, with what was left out. `checked`: as of `open_dataset`."""
    chosen = layout(to)
    dataset, path = open_dataset(path, checked=checked), Path(path)
    facts = facts_of(dataset, path.resolve().name)
    _check_splits(dataset, path, splits)
    final = Path(out) if out is not None else _default_folder(dataset, path, to)
    with _scratch_errors(final), whole_folder(final) as folder:
        with closing(JudgedRecords(dataset, path, folder / _SCRATCH)) as judged:
            chosen_splits = _splits_to_write(judged, dataset, path, splits)
            job = ExportJob(
                dataset,
                path,
                folder,
                facts,
                judged,
                chosen_splits,
                () if splits else tuple(s for s in dataset.qrels if s not in chosen_splits),
                pair_tables(_training_tables(dataset)),
            )
            page = chosen.write(job)
            counts = {split: judged.count(split) for split in job.splits}
        (folder / _SCRATCH).unlink()
        page = _with_texts_kept(job, page)
        write_file(folder / "README.md", _readme(job, page, counts))
    return ExportResult(final, job.notes)


def _with_texts_kept(job: ExportJob, page: LayoutCard) -> LayoutCard:
    """The page of a layout, all its files Parquet where `load_dataset` would guess JSON Lines."""
    if not page.configs or file_with_times(job.folder) is None:
        return page
    for path in job.folder.rglob("*.jsonl"):
        jsonl_to_parquet(path, path.with_suffix(".parquet"))
        path.unlink()
    job.notes[:] = [note.replace(".jsonl", ".parquet") for note in job.notes]
    usage = "\n".join(page.usage).replace(".jsonl", ".parquet").replace("name json", "name parquet")
    why = "Ids or texts look like dates, which readers of JSON Lines take for times: so, Parquet."
    configs = {
        name: {split: re.sub(r"\.jsonl$", ".parquet", path) for split, path in files.items()}
        for name, files in page.configs.items()
    }
    return replace(page, usage=[usage, "", why], configs=configs)


@contextmanager
def _scratch_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OutputError(
            f"cannot write {path}: {error}. Qrels and judged documents are kept beside it for the "
            "time of the export: free some space, or choose another folder with --out"
        ) from error


def _training_tables(dataset: Dataset) -> list[Path]:
    return sorted((dataset.run or dataset.root).glob("training/*.parquet"))


def _default_folder(dataset: Dataset, path: Path, to: str) -> Path:
    """Nothing is written into a data set that is not ours."""
    if dataset.run:
        return path / "exports" / to
    return Path("outputs") / f"export_{path.resolve().name}_{to}"


def _check_splits(dataset: Dataset, path: Path, wanted: Sequence[str]) -> None:
    for split in wanted:
        if split not in dataset.qrels:
            raise UsageError(
                f"{path} has no qrels of split {split!r}"
                f"{did_you_mean(split, dataset.qrels) or '.'} "
                f"Splits: {', '.join(dataset.qrels) or 'none'}"
            )


def _splits_to_write(
    judged: JudgedRecords, dataset: Dataset, path: Path, wanted: Sequence[str]
) -> tuple[str, ...]:
    """The splits to write; one without a positive is left out, unless it was asked for."""
    known = judged.splits()
    for split in wanted:
        if split not in known:
            raise DatasetError(
                f"{path}: no qrel of split {split} is above 0, so there is nothing to export of it"
            )
    if not known:
        what = "no qrel is above 0" if dataset.qrels else "it has no qrels"
        raise DatasetError(
            f"{path}: {what}, so no query has a document to find and there is nothing to export"
        )
    return tuple(split for split in known if not wanted or split in wanted)


def _readme(job: ExportJob, page: LayoutCard, counts: dict[str, tuple[int, int]]) -> str:
    facts, folder = job.facts, job.folder
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    state = content_id({name: file_info(folder / name).sha256 for name in files})
    lines = [f"# {escape_markdown(facts.name)}", "", *page.usage, ""]
    rows = [[split, f"{queries:,}", f"{qrels:,}"] for split, (queries, qrels) in counts.items()]
    lines += ["## Splits", "", markdown_table(["split", "queries", "qrels"], rows)]
    if facts.complete is not None:
        complete = "is known to be not relevant" if facts.complete else "was not judged"
        lines += [f"A pair of query and document without a qrel {complete}.", ""]
    if job.notes:
        lines += ["## Left out", "", *(f"- {escape_markdown(note)}." for note in job.notes), ""]
    lines += ["## Licence and languages", "", *_licences(facts), ""]
    return front_matter(card_yaml_header(job, page, state)) + "\n".join(lines)


def _licences(facts: DatasetFacts) -> list[str]:
    if facts.licences:
        result = [f"- {escape_markdown(f'{what}: {one}')}" for what, one in facts.licences.items()]
    else:
        result = ["- licence: not stated"]
    languages = facts.languages if facts.ours else facts.hub_languages
    return [*result, f"- languages: {escape_markdown(', '.join(languages) or 'not stated')}"]


__all__ = ["ExportResult", "export", "write_export"]
