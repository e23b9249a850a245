"""`gen export`: a data set in other layouts, streamed; `--passages` re-chunks its documents.

A layout is one file in `layouts/`. What it writes appears under its name when all of it is there.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import orjson
from pydantic import ValidationError

from retgen.data import Dataset, open_dataset, pair_tables
from retgen.errors import DatasetError, OutputError, UsageError
from retgen.export.facts import DatasetFacts, facts_of
from retgen.export.files import file_read_as_times, jsonl_to_parquet
from retgen.export.judged import JudgedRecords
from retgen.export.layouts import ExportJob, LayoutCard, card_yaml_header, layout
from retgen.generators import Family, Records, families, family
from retgen.generators.source import PassageSize
from retgen.markdown import escape_markdown, front_matter, markdown_table
from retgen.messages import SourceMap, did_you_mean, validation_messages
from retgen.recipe import SOURCES
from retgen.recipe_file import seed_number
from retgen.reporting.card import content_id
from retgen.write import file_info, whole_folder, write_file, write_lines

_OPTION = "--passages"
_BLOCK = 10_000  # rows
_SCRATCH = ".judged.sqlite"


class ExportResult(NamedTuple):
    """What was written: the folder, and what a reader has to know of what was left out."""

    path: Path
    notes: list[str]


def export(
    path: str | Path,
    to: str,
    out: str | Path | None = None,
    passages: str | None = None,
    splits: Sequence[str] = (),
) -> Path:
    """Write the data set of a run (or any that `gen validate` reads) in another layout.

    `to`: a layout, as docs/export.md lists them. `splits`: of the qrels, all where none is named.
    Default folder: RUN/exports/TO of a run, else outputs/export_NAME_TO. Returns the folder, which
    appears when all of it is written; its README.md states licence, languages, splits, and what
    was left out. Raises `UsageError` for a layout or split that is not there, `OutputError` where
    the folder is not empty, `DatasetError` for an unfinished run or invalid rows.

    `passages`: cut the source documents of a finished run in another way ("tokens=256,overlap=32",
    or "none": whole), and make the qrels again from the evidence spans of the queries,
    without any model; the family has the rule. A README.md states it, and the default folder is
    RUN/exports/TO_passages_256_32. Raises `UsageError` for families that cut no documents.
    """
    return write_export(path, to, out, passages, splits).path


def write_export(
    path: str | Path,
    to: str,
    out: str | Path | None = None,
    passages: str | None = None,
    splits: Sequence[str] = (),
    checked: bool = True,
) -> ExportResult:
    """`export`, with what was left out. `checked`: as of `open_dataset`."""
    chosen = layout(to)
    size = passage_size(passages) if passages is not None else None
    dataset, path = open_dataset(path, checked=checked), Path(path)
    made = rechunked_records(dataset, path, size) if passages is not None else None
    facts = facts_of(dataset, path.resolve().name)
    _check_splits(dataset, path, splits)
    name = to if passages is None else f"{to}_passages_{_cutting(size)}"
    final = Path(out) if out is not None else _default_folder(dataset, path, name)
    with _scratch_errors(final), whole_folder(final) as folder:
        source = (
            written_records(made, dataset, folder) if made is not None else nullcontext(dataset)
        )
        with source as shown, closing(JudgedRecords(shown, path, folder / _SCRATCH)) as judged:
            chosen_splits = _splits_to_write(judged, shown, path, splits)
            job = ExportJob(
                shown,
                path,
                folder,
                facts,
                judged,
                chosen_splits,
                () if splits else tuple(s for s in shown.qrels if s not in chosen_splits),
                () if made is not None else pair_tables(_training_tables(dataset)),
            )
            page = chosen.write(job)
            counts = {split: judged.count(split) for split in job.splits}
        (folder / _SCRATCH).unlink()
        page = _with_texts_kept(job, page)
        cut = made.card if made is not None else ()
        write_file(folder / "README.md", _readme(job, page, counts, cut))
    return ExportResult(final, job.notes)


def _with_texts_kept(job: ExportJob, page: LayoutCard) -> LayoutCard:
    """The page of a layout, all its files Parquet where `load_dataset` would guess JSON Lines."""
    if not page.configs or file_read_as_times(job.folder) is None:
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


def _cutting(size: PassageSize | None) -> str:
    return "none" if size is None else f"{size.tokens}_{size.overlap}"


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


def _readme(
    job: ExportJob, page: LayoutCard, counts: dict[str, tuple[int, int]], cut: Sequence[str]
) -> str:
    facts, folder = job.facts, job.folder
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    state = content_id({name: file_info(folder / name).sha256 for name in files})
    lines = [f"# {escape_markdown(facts.name)}", "", *page.usage, ""]
    lines += [line for paragraph in cut for line in (paragraph, "")]
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


def passage_size(text: str) -> PassageSize | None:
    """A size as `--passages` gives it: "tokens=256,overlap=32", or "none" (whole documents)."""
    if text.strip() == "none":
        return None
    given: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or key.strip() in given:
            raise UsageError(
                f"{_OPTION} {text}: must be tokens=256,overlap=32, or none for whole documents"
            )
        given[key.strip()] = value.strip()
    try:
        return PassageSize.model_validate(given)
    except ValidationError as error:
        origin = SourceMap(Path(_OPTION), None, ())
        words = validation_messages(error, PassageSize.model_json_schema(), given, origin, ())
        raise UsageError("\n".join(words)) from error


def rechunked_records(dataset: Dataset, path: Path, size: PassageSize | None) -> Records:
    """The records of a finished run with its documents cut in another way.

    Raises `DatasetError` for what is no finished run, or one whose sources/ cannot be read, and
    `UsageError` for a family that cuts no documents.
    """
    if dataset.run is None:
        raise DatasetError(
            f"{path} is no run directory, so its source documents are not known: {_OPTION} cuts "
            f"the documents of a run. Give a run of the {_able()}"
        )
    try:
        manifest = orjson.loads((dataset.run / "manifest.json").read_bytes())
        owner, seed = family(manifest["family"]), seed_number(manifest["seed"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{dataset.run}: its manifest.json cannot be read, so the run is not finished or was "
            "changed: finish it with `gen run`, or make it again with --fresh"
        ) from error
    try:
        result = owner.rechunk(dataset.run / SOURCES, seed, size)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise DatasetError(
            f"{dataset.run / SOURCES} cannot be read ({error}). It holds the documents and "
            "the evidence of the queries: make the run again with --fresh"
        ) from error
    if result is None:
        raise UsageError(
            f"{_OPTION}: documents of the family {owner.name} are not cut, they are written as "
            f"they are. Give a run of the {_able()}"
        )
    return result


def _able() -> str:
    """The families whose documents can be cut in another way."""
    names = [name for name in families() if type(family(name)).rechunk is not Family.rechunk]
    return f"{'family' if len(names) == 1 else 'families'} {', '.join(names)}"


@contextmanager
def written_records(records: Records, dataset: Dataset, folder: Path) -> Iterator[Dataset]:
    """The records as a data set on disk, for a while; `dataset`: the one of the run they are of."""
    with tempfile.TemporaryDirectory(prefix=".rechunk-", dir=folder) as name:
        root = Path(name)
        tables = {"corpus": records.corpus, "queries": records.queries} | {
            "qrels" if split == "test" else f"qrels.{split}": rows
            for split, rows in records.qrels.items()
        }
        for stem, rows in tables.items():
            starts = range(0, rows.count, _BLOCK)
            blocks = (rows.jsonl(start, min(start + _BLOCK, rows.count)) for start in starts)
            write_lines(root / f"{stem}.jsonl", blocks)
        yield replace(open_dataset(root), run=dataset.run)


__all__ = ["ExportResult", "export", "write_export"]
