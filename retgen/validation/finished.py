"""A finished run: its files have the hashes of the manifest, and its recipe makes them again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from retgen.agents.report import CallReport, Rejection, Rejections, rejection_line
from retgen.data import Dataset
from retgen.errors import EndpointFailed, RetgenError
from retgen.generate import table_files
from retgen.generators.records import Records
from retgen.manifest import manifest_of, other_format, recipe_files
from retgen.progress import Progress
from retgen.recipe import SOURCES, Recipe
from retgen.validation.findings import links
from retgen.validation.regenerate import (
    REGENERATED,
    compare_file,
    compare_tables,
    differences,
    repeat_agents,
    unreadable_sources,
)
from retgen.validators.rule import Finding, Severity
from retgen.validators.validation import Validation
from retgen.version import __version__
from retgen.work import Engine
from retgen.write import FileInfo, dump_json, file_info

_FOLDERS = ("dataset", "training", "tables", SOURCES, "inputs")
DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError)
UNFIT = "recipe.yaml, inputs/ and sources/ do not fit together, so one of them is not the run's"


def damaged_sources(run: Path, recipe: Recipe) -> list[Finding]:
    """Files of `sources/` of a finished run that cannot be read as its recipe's family does."""
    manifest = _manifest(run)
    if not isinstance(manifest, dict):
        return []
    same = other_format(manifest) is None and _version(manifest) == __version__
    return [*unreadable_sources(run, recipe, same)]


def changed_lists(run: Path, recipe: Recipe) -> list[Finding]:
    """Word lists that the proof reads and that are not those of the manifest."""
    manifest = _manifest(run)
    if not isinstance(manifest, dict):
        return []
    made_with = manifest.get("word_lists")
    try:
        lists = recipe.family.word_lists(recipe.job)
    except (OSError, RetgenError):  # its sources are gone or damaged, which is found elsewhere
        lists = {}
    return [
        Finding(
            "word-lists",
            "error",
            [],
            f"the list of {name} has changed since this data set was made (with retgen "
            f"{_version(manifest)}), so its proof cannot be repeated here: install that version",
        )
        for name, digest in lists.items()
        if isinstance(made_with, dict) and made_with.get(name, digest) != digest
    ]


def check_finished(
    recipe: Recipe,
    dataset: Dataset,
    result: Validation,
    engine: Engine,
    scratch: Path,
    progress: Progress,
) -> list[Finding]:
    """Compare the files of a run with its manifest, and with what its recipe makes again.

    `result`: what its tables gave.
    """
    run = dataset.run
    assert run is not None
    manifest = _manifest(run)
    if not isinstance(manifest, dict):
        return [manifest]
    findings = [*_files(run, manifest)]
    if any(finding.rule == "word-lists" for finding in result.findings):
        return findings
    findings += links(run, manifest["files"])
    if other := other_format(manifest):
        severity, what = other
        findings.append(Finding("manifest", severity, ["manifest.json"], f"manifest.json: {what}"))
    same = other is None and _version(manifest) == __version__
    names: Collection[str] = _present(run, SOURCES)
    again: list[Finding] = []
    rejected = Rejections() if not recipe.needs_sources else None
    if other is None and not same:
        why = f"it was made with retgen {_version(manifest)}, this is {__version__}"
        again.append(_not_again(why, "warning"))
    elif same and rejected is None and not recipe.live and recipe.family.repeatable(recipe.job):
        try:
            again, rejected, names = repeat_agents(run, recipe, scratch / "again", engine, progress)
        except EndpointFailed as error:  # a model of the Hub that cannot be had here
            again.append(_not_again(f"its agents cannot be asked again: {error}", "warning"))
        except (RetgenError, *DAMAGED) as error:
            again.append(_not_again(f"its agents cannot be asked again: {error!r}", "error"))
    if any(finding.rule == "sources" for finding in result.findings):
        return [*findings, *again]
    try:
        records = recipe.records()
        if same:
            again += compare_tables(run, recipe, records, engine, progress)
    except (RetgenError, *DAMAGED) as error:
        level: Severity = "error" if same else "warning"
        return [*findings, *again, _not_again(f"{UNFIT}: {error!r}", level)]
    again = _list_changed(manifest, records, again)
    records, refused = _with_rejected(run, records, rejected if same else None)
    findings += [*again, *refused]
    expected = {one.name for tables in table_files(recipe, records) for one in tables}
    if other is None:
        findings += _missing_or_extra(
            manifest,
            {*expected, *names, "rejected.jsonl", *_cards(records), *recipe_files(recipe, run)},
        )
    if result.ok and not any(one.severity == "error" for one in again):
        right = manifest_of(recipe, result, records, {}, {}, CallReport().costs())
        findings += _figures(manifest, orjson.loads(dump_json(right)), same, other is not None)
    return findings


# --- files --------------------------------------------------------------------------------------


def _manifest(run: Path) -> dict[str, Any] | Finding:
    path = run / "manifest.json"
    try:
        manifest = orjson.loads(path.read_bytes())
        for info in manifest["files"].values():
            FileInfo(**info)
    except FileNotFoundError:
        message = (
            f"{run} is unfinished: it has no manifest.json, which is written last. The run was "
            f"stopped, or did not pass its checks; `gen run {run}/recipe.yaml --out {run}` ends it"
        )
        return Finding("manifest", "error", [], message)
    except DAMAGED:
        return Finding("manifest", "error", ["manifest.json"], f"{path} is not a manifest")
    assert isinstance(manifest, dict)  # it has files
    return manifest


def _version(manifest: Mapping[str, Any]) -> str:
    versions = manifest.get("versions")
    return str(versions.get("retgen", "unknown")) if isinstance(versions, dict) else "unknown"


def _present(run: Path, folder: str) -> list[str]:
    result = sorted(path for path in (run / folder).rglob("*") if path.is_file())
    return [path.relative_to(run).as_posix() for path in result]


def _files(run: Path, manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """Files that are not in the manifest, or not as it describes them."""
    stated = manifest["files"]
    for folder in _FOLDERS:
        for name in _present(run, folder):
            if name not in stated:
                yield _of_file(name, f"{name} is not in the manifest")
    for name, info in stated.items():
        file = run / name
        if not file.is_file():
            yield _of_file(name, f"{name} is in the manifest but not there")
        elif file_info(file)._asdict() != info:
            yield _of_file(name, f"{name} is not the file that the manifest describes")


def _missing_or_extra(manifest: Mapping[str, Any], names: Iterable[str]) -> Iterator[Finding]:
    """Files that the manifest has beside those of a run, or lacks."""
    wanted, stated = set(names), manifest["files"]
    for name in sorted(stated.keys() - wanted):
        yield _of_file(name, f"{name} is in the manifest, but the recipe makes no such file")
    for name in sorted(wanted - stated.keys()):
        yield _of_file(name, f"{name} is missing in the manifest: the recipe makes this file")


def _of_file(name: str, message: str) -> Finding:
    return Finding("manifest", "error", [name], message)


# --- the tables, made again ---------------------------------------------------------------------


def _not_again(why: str, severity: Severity) -> Finding:
    return Finding(REGENERATED, severity, [], f"the tables are not made again: {why}")


def _list_changed(
    manifest: Mapping[str, Any], records: Records, again: list[Finding]
) -> list[Finding]:
    """Where a list of words is another one by now, other rows are no wonder."""
    stated = manifest.get("word_lists")
    names = [
        name
        for name, digest in records.word_lists.items()
        if isinstance(stated, dict) and stated.get(name, digest) != digest
    ]
    if not names or not any(one.severity == "error" for one in again):
        return again
    why = f"the list of {' and '.join(names)} has changed since, and with it the rows it gives"
    return [_not_again(why, "warning")]


def _with_rejected(
    run: Path, records: Records, of_agents: Rejections | None
) -> tuple[Records, list[Finding]]:
    """The records with all that were rejected, and what is wrong with rejected.jsonl.

    `of_agents`: what agents rejected, None where only their models know.
    """
    name = "rejected.jsonl"
    try:
        rows = [orjson.loads(line) for line in (run / name).read_bytes().splitlines()]
        stated = [Rejection(**row) for row in rows]
    except DAMAGED as error:
        message = f"{name} cannot be read: {error}"
        return records, [Finding(REGENERATED, "error", [name], message)]
    if of_agents is None:
        own = len(stated) - len(records.rejected)
        right = Rejections(stated[: max(0, own)])
    else:
        right = Rejections(of_agents)
    right.extend(records.rejected)
    records = replace(records, rejected=right)
    wrong = compare_file(run / name, name, b"".join(map(rejection_line, right)))
    return records, [wrong] if wrong else []


def _cards(records: Records) -> list[str]:
    names = ["dataset/README.md", "training/README.md"]
    return names if records.training else names[:1]


# what any version of retgen gives for the same tables
_SETTLED = frozenset({"name", "family", "seed", "counts", "complete", "evidence"})
# what neither recipe nor tables tell: the files, the circumstances of the run, and its costs
_OF_RUN = frozenset(
    {
        "files",
        "format_version",
        "created",
        "versions",
        "timings",
        "models",
        "answers",
        *CallReport().costs(),
    }
)


def _figures(
    manifest: Mapping[str, Any], right: Mapping[str, Any], same: bool, earlier: bool
) -> Iterator[Finding]:
    """Figures of the manifest that recipe and tables do not give.

    `same`: this version of retgen wrote it; else only what any version gives is compared.
    `earlier`: it is in an earlier format, which has fewer figures.
    """
    stated, expected = (
        {key: one[key] for key in one if key not in _OF_RUN and (same or key in _SETTLED)}
        for one in (manifest, right)
    )
    for one in differences(stated, expected):
        if not (earlier and one.what.startswith("is missing")):
            ids, message = [f"manifest.json:{one.key}"], f"manifest.json: {one.key} {one.what}"
            yield Finding("manifest", "error", ids, message)
