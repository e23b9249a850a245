"""`gen export`: a data set in other layouts, streamed.

A layout is one file in `layouts/`. What it writes appears under its name when all of it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from retgen.data import Dataset, open_dataset, pair_tables
from retgen.errors import UsageError
from retgen.export.facts import DatasetFacts, facts_of
from retgen.export.layouts import LayoutCard, layout
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
    for split in splits:
        if split not in dataset.qrels:
            raise UsageError(
                f"{path} has no qrels of split {split!r}"
                f"{did_you_mean(split, dataset.qrels) or '.'} "
                f"Splits: {', '.join(dataset.qrels) or 'none'}"
            )
    facts = facts_of(dataset, path.resolve().name)
    final = Path(out) if out is not None else _default_folder(dataset, path, to)
    own = sorted((dataset.run or dataset.root).glob("training/*.parquet"))
    with whole_folder(final) as folder:
        job = ExportJob(dataset, path, folder, facts, splits, pair_tables(own))
        card = chosen.write(job)
        write_file(folder / "README.md", _readme(job, card))
    return ExportResult(final, job.notes)


def _default_folder(dataset: Dataset, path: Path, to: str) -> Path:
    """Nothing is written into a data set that is not ours."""
    if dataset.run:
        return path / "exports" / to
    return Path("outputs") / f"export_{path.resolve().name}_{to}"


def _readme(job: ExportJob, card: LayoutCard) -> str:
    facts, folder = job.facts, job.folder
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    state = content_id({name: file_info(folder / name).sha256 for name in files})
    lines = [f"# {escape_markdown(facts.name)}", "", card.usage, "", "## Splits", ""]
    counts = ((job.queries(split), job.qrels(split)) for split in job.splits)
    rows = [[f"{sum(1 for _ in one):,}" for one in both] for both in counts]
    named = [[split, *row] for split, row in zip(job.splits, rows, strict=True)]
    lines += [markdown_table(["split", "queries", "qrels"], named)]
    if facts.complete is not None:
        complete = "is known to be not relevant" if facts.complete else "was not judged"
        lines += [f"A pair of query and document without a qrel {complete}.", ""]
    if job.notes:
        lines += ["## Left out", "", *(f"- {escape_markdown(note)}." for note in job.notes), ""]
    lines += ["## Licence and languages", "", *_licences(facts), ""]
    return front_matter(_header(facts, card, state)) + "\n".join(lines)


def _header(facts: DatasetFacts, card: LayoutCard, state: str) -> dict[str, Any]:
    """The YAML header of a layout's card."""
    result: dict[str, Any] = {"pretty_name": facts.name}
    if facts.hub_languages:
        result["language"] = list(facts.hub_languages)
    result["license"] = facts.hub_licence
    result["task_categories"] = ["text-retrieval"]
    result["tags"] = [*(["retgen"] if facts.ours else []), *card.tags]
    if card.configs:
        result["configs"] = [
            {
                "config_name": name,
                "data_files": [{"split": s, "path": path} for s, path in files.items()],
                **({"columns": list(card.columns[name])} if name in card.columns else {}),
            }
            for name, files in card.configs.items()
        ]
        result["dataset_info"] = [{"config_name": n, "description": state} for n in card.configs]
    return result


def _licences(facts: DatasetFacts) -> list[str]:
    if facts.licences:
        result = [f"- {escape_markdown(f'{what}: {one}')}" for what, one in facts.licences.items()]
    else:
        result = ["- licence: not stated"]
    languages = facts.languages if facts.ours else facts.hub_languages
    return [*result, f"- languages: {escape_markdown(', '.join(languages) or 'not stated')}"]


__all__ = ["ExportResult", "export", "write_export"]
