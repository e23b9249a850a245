"""A finished run: its files have the hashes of the manifest, and its recipe makes them again.

What agents said is taken from `sources/`; where all of them are offline, they are asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import orjson

from retgen.agents.models import ModelOptions
from retgen.agents.report import CallReport, Rejections
from retgen.data import read_manifest
from retgen.errors import DatasetError, EndpointFailed, OutputError, RetgenError
from retgen.generate import BLOCK, generate_with_agents, write_dataset
from retgen.generators.records import Records
from retgen.manifest import FORMAT_VERSION, manifest_of, recipe_files, rejected_by_agents
from retgen.messages import differences
from retgen.progress import Progress
from retgen.recipe import SOURCES, Recipe
from retgen.validators.rule import Finding, Severity
from retgen.validators.validation import Validation
from retgen.version import __version__
from retgen.work import Engine
from retgen.write import dump_json, file_info

DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError)
UNFIT = "recipe.yaml, inputs/ and sources/ do not fit together, so one of them is not the run's"
_FOLDERS = ("dataset", "training", "tables", SOURCES, "inputs")
_IDS = ("_id", "query-id", "corpus-id", "id", "ladder")


def check_files(run: Path, recipe: Recipe) -> tuple[dict[str, Any] | None, list[Finding]]:
    """(the manifest, None where there is none, what was changed since it was written).

    Findings of other rules than `manifest` are of what the proof reads beside the tables.
    """
    try:
        manifest = read_manifest(run)
    except DatasetError as error:
        return None, [Finding("manifest", "error", ["manifest.json"], str(error))]
    if manifest is None:
        message = (
            f"{run} is unfinished: it has no manifest.json, which is written last. The run was "
            f"stopped, or did not pass its checks; `gen run {run}/recipe.yaml --out {run}` ends it"
        )
        return None, [Finding("manifest", "error", [], message)]
    try:
        lists = recipe.family.word_lists(recipe.job)
    except (RetgenError, *DAMAGED):  # its sources are gone or damaged, which their hashes tell
        lists = {}
    changed = [
        Finding(
            "word-lists",
            "error",
            [],
            f"the list of {name} has changed since this data set was made (with retgen "
            f"{manifest['versions']['retgen']}), so its proof cannot be repeated here: install "
            "that version",
        )
        for name in _changed_lists(manifest["word_lists"], lists)
    ]
    return manifest, [*_changed_files(run, manifest["files"]), *changed]


def check_finished(
    run: Path,
    recipe: Recipe,
    manifest: Mapping[str, Any],
    changed: Iterable[Finding],
    result: Validation,
    engine: Engine,
    scratch: Path,
    progress: Progress,
) -> list[Finding]:
    """Compare the files of a run, and the figures of its manifest, with what its recipe makes.

    `manifest`, `changed`: of `check_files`; `result`: what the tables gave.
    """
    rules = {finding.rule for finding in (*changed, *result.findings)}
    if "word-lists" in rules:
        return []
    if other := _of_another_version(manifest):
        return [other]
    again: list[Finding] = []
    made = scratch / "again"
    rejected = None if recipe.needs_sources else Rejections()
    if rejected is None and not recipe.live and recipe.family.repeatable(recipe.job):
        try:
            rejected = generate_with_agents(
                recipe, made, ModelOptions(), engine=engine, progress=progress
            ).rejected
        except (RetgenError, *DAMAGED) as error:
            # a model of the Hub may be out of reach here
            level: Severity = "warning" if isinstance(error, EndpointFailed) else "error"
            again.append(_not_again(f"its agents cannot be asked again: {error!r}", level))
    if "sources" in rules:
        return again
    try:
        records = recipe.records()
        if lists := _changed_lists(manifest["word_lists"], records.word_lists):
            why = f"the list of {' and '.join(lists)} has changed since"
            return [_not_again(f"{why}, and with it the rows it gives", "warning")]
        if rejected is None:  # what agents rejected, only their models know
            rejected = rejected_by_agents(run, records.rejected)
        rejected.extend(records.rejected)
        records = replace(records, rejected=rejected)
        files, _ = write_dataset(recipe, records, made, engine, progress)
    except OutputError:
        raise
    except (RetgenError, *DAMAGED) as error:
        return [*again, _not_again(f"{UNFIT}: {error!r}", "error")]
    again += chain.from_iterable(_compare(run, made, name) for name in files)
    cards = ["dataset/README.md", *(["training/README.md"] if records.training else [])]
    names = {*files, *cards, *recipe_files(recipe, run)}
    names.update(() if (made / SOURCES).is_dir() else _present(run, SOURCES))
    for name in sorted(manifest["files"].keys() ^ names):
        what = "is missing in the manifest: the recipe makes this file"
        if name not in names:
            what = "is in the manifest, but the recipe makes no such file"
        again.append(_of_file(name, what))
    if result.ok and not any(one.severity == "error" for one in again):
        again += _figures(manifest, recipe, result, records)
    return again


def _of_another_version(manifest: Mapping[str, Any]) -> Finding | None:
    """That this version of retgen did not make the run, if so."""
    stated, version = manifest.get("format_version"), manifest["versions"]["retgen"]
    if stated == FORMAT_VERSION:
        if version == __version__:
            return None
        return _not_again(f"it was made with retgen {version}, this is {__version__}", "warning")
    what = (
        f"manifest.json: the run is in format {stated}, this version of retgen writes format "
        f"{FORMAT_VERSION}: the tables are not made again"
    )
    if type(stated) is int and 0 < stated < FORMAT_VERSION:
        return Finding("manifest", "warning", ["manifest.json"], what)
    what += "; check it with the version that made it"
    return Finding("manifest", "error", ["manifest.json"], what)


def _changed_lists(stated: Mapping[str, str], lists: Mapping[str, str]) -> list[str]:
    """The names of the lists of words whose hash is not the one that is stated."""
    return [name for name, digest in lists.items() if stated.get(name, digest) != digest]


def _not_again(why: str, severity: Severity) -> Finding:
    return Finding("regenerated", severity, [], f"the tables are not made again: {why}")


# --- files --------------------------------------------------------------------------------------


def _present(run: Path, folder: str) -> list[str]:
    result = sorted(path for path in (run / folder).rglob("*") if path.is_file())
    return [path.relative_to(run).as_posix() for path in result]


def _changed_files(run: Path, stated: Mapping[str, Any]) -> Iterator[Finding]:
    """Files that are not in the manifest, not as it describes them, or not in the run directory."""
    for folder in _FOLDERS:
        for name in _present(run, folder):
            if name not in stated:
                yield _of_file(name, "is not in the manifest")
    for name, info in stated.items():
        lies = (run / name).resolve()
        if not lies.is_relative_to(run.resolve()):  # a copy of the run would lose it
            what = f"is a link out of the run directory, to {lies}: put the file itself here"
            yield _of_file(name, what, "warning")
        rule, what = "manifest", "is not the file that the manifest describes"
        if not (run / name).is_file():
            what = "is in the manifest but not there"
        elif file_info(run / name)._asdict() == info:
            continue
        if name.startswith(f"{SOURCES}/"):
            rule = "sources"
            what += "; without it the labels cannot be proven: put the file back"
        yield Finding(rule, "error", [name], f"{name} {what}")


def _of_file(name: str, what: str, severity: Severity = "error") -> Finding:
    return Finding("manifest", severity, [name], f"{name} {what}")


# --- rows ---------------------------------------------------------------------------------------


def _compare(run: Path, made: Path, name: str) -> Iterator[Finding]:
    """A finding of the first row of a run's file that is not the one made again, if any is not."""
    if not (run / name).is_file() or file_info(run / name) == file_info(made / name):
        return  # one that is missing is a finding of its own
    try:
        pairs = zip_longest(_rows(run / name), _rows(made / name))
        for number, (stated, right) in enumerate(pairs, start=1):
            if stated != right:
                what = f"is not what the recipe makes: row {number:,} {_difference(stated, right)}"
                rows = [_parsed(line) for line in (stated, right) if line is not None]
                yield _differs(name, what, (row for row in rows if isinstance(row, dict)))
                return
    except (OSError, ValueError) as error:  # Arrow's errors are both
        yield _differs(name, f"cannot be read: {error}")


def _rows(path: Path) -> Iterator[bytes]:
    """The lines of a file, or the rows of Parquet as `_columns` writes them."""
    if path.suffix != ".parquet":
        with open(path, "rb") as lines:
            yield from lines
        return
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BLOCK):
            yield from map(_columns, batch.to_pylist())


def _columns(row: dict[str, Any]) -> bytes:
    """A row as JSON without the order of its keys, which Parquet has once for all rows."""
    return orjson.dumps(row, default=str, option=orjson.OPT_SORT_KEYS)


def _difference(stated: bytes | None, right: bytes | None) -> str:
    if right is None:
        return "must not be there"
    if stated is None:
        return "is missing"
    result = [f"{key} {what}" for key, what in differences(_parsed(stated), _parsed(right))]
    return ", ".join(result[:2]) or "has the right values, but is written in another way"


def _parsed(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except ValueError:
        return line.decode(errors="replace").rstrip("\n")


def _differs(name: str, what: str, rows: Iterable[Mapping[str, Any]] = ()) -> Finding:
    ids = [row[key] for row in rows for key in _IDS if type(row.get(key)) is str]
    return Finding("regenerated", "error", list(dict.fromkeys([name, *ids])), f"{name} {what}")


# --- figures ------------------------------------------------------------------------------------

# what neither recipe nor tables tell: the files, the circumstances of the run, and its costs
_OF_RUN = {"files", "format_version", "created", "versions", "timings", "models", "answers"}


def _figures(
    manifest: Mapping[str, Any],
    recipe: Recipe,
    result: Validation,
    records: Records,
) -> Iterator[Finding]:
    """Figures of the manifest that recipe and tables do not give."""
    costs = CallReport().costs()
    right = orjson.loads(dump_json(manifest_of(recipe, result, records, {}, {}, costs)))
    of_run = {*_OF_RUN, *costs}
    stated, right = ({k: one[k] for k in one if k not in of_run} for one in (manifest, right))
    for key, what in differences(stated, right):
        yield Finding("manifest", "error", [f"manifest.json:{key}"], f"manifest.json: {key} {what}")
