"""`gen export`: a data set in other layouts, streamed.

A layout is one file in `layouts/`. What it writes appears under its name when all of it is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from retgen.data import open_dataset, pair_tables
from retgen.errors import UsageError
from retgen.export.facts import facts_of
from retgen.export.layouts import Layout, layout
from retgen.export.records import ExportJob
from retgen.markdown import escape_markdown, front_matter, markdown_table
from retgen.messages import did_you_mean
from retgen.reporting.card import content_id
from retgen.write import file_info, whole_folder, write_file


class ExportResult(NamedTuple):
    """What was written: the folder, and what a reader has to know of what was left out."""

    path: Path
    notes: list[str]


def export(
    path: str | Path, to: str, out: str | Path | None = None, splits: Sequence[str] = ()
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
    for split in splits:
        if split not in dataset.qrels:
            raise UsageError(
                f"{path} has no qrels of split {split!r}"
                f"{did_you_mean(split, dataset.qrels) or '.'} "
                f"Splits: {', '.join(dataset.qrels) or 'none'}"
            )
    facts = facts_of(dataset, path.resolve().name)
    if out is None:  # nothing is written into a data set that is not ours
        new = Path("outputs") / f"export_{path.resolve().name}_{to}"
        out = path / "exports" / to if dataset.run else new
    own = sorted((dataset.run or dataset.root).glob("training/*.parquet"))
    with whole_folder(Path(out)) as folder:
        job = ExportJob(dataset, path, folder, facts, splits, pair_tables(own))
        configs = chosen.write(job)
        write_file(folder / "README.md", _readme(job, chosen, configs))
    return ExportResult(Path(out), job.notes)


def _readme(job: ExportJob, chosen: Layout, configs: Sequence[Mapping[str, Any]]) -> str:
    facts = job.facts
    lines = [f"# {escape_markdown(facts.name)}", "", chosen.usage_text(job), "", "## Splits", ""]
    rows = [
        [split, *(f"{sum(1 for _ in records(split)):,}" for records in (job.queries, job.qrels))]
        for split in job.splits
    ]
    lines += [markdown_table(["split", "queries", "qrels"], rows)]
    if facts.complete is not None:
        complete = "is known to be not relevant" if facts.complete else "was not judged"
        lines += [f"A pair of query and document without a qrel {complete}.", ""]
    if job.notes:
        lines += ["## Left out", "", *(f"- {escape_markdown(note)}." for note in job.notes), ""]
    lines += ["## Licence and languages", ""]
    for part, licence in (facts.licences or {"licence": "not stated"}).items():
        lines.append(f"- {escape_markdown(f'{part}: {licence}')}")
    languages = facts.languages if facts.ours else facts.hub_languages
    lines += [f"- languages: {escape_markdown(', '.join(languages) or 'not stated')}", ""]
    header: dict[str, Any] = {"pretty_name": facts.name}
    if facts.hub_languages:
        header["language"] = list(facts.hub_languages)
    header["license"] = facts.hub_licence
    header["task_categories"] = ["text-retrieval"]
    header["tags"] = [*(["retgen"] if facts.ours else []), *chosen.tags]
    if configs:
        header |= {"configs": configs, "dataset_info": described(job.folder, configs)}
    return front_matter(header) + "\n".join(lines)


def described(folder: Path, configs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`dataset_info` of a card: by it the cache of `load_dataset` tells two folders apart."""
    files = {one["path"] for config in configs for one in config["data_files"]}
    state = content_id({name: file_info(folder / name).sha256 for name in files})
    return [{"config_name": one["config_name"], "description": state} for one in configs]


__all__ = ["ExportResult", "export", "write_export"]
