"""A finished run: its files have the hashes of the manifest, and its recipe makes them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from retgen.agents.report import CallReport, Rejection, Rejections, rejection_line
from retgen.errors import EndpointFailed, RetgenError
from retgen.generate import table_files
from retgen.manifest import manifest_of, other_format, recipe_files
from retgen.progress import Progress
from retgen.recipe import SOURCES, Recipe
from retgen.validation.findings import links
from retgen.validation.regenerate import (
    REGENERATED,
    compare_lines,
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


def _manifest(run: Path) -> dict[str, Any] | Finding:
    """The manifest of a run, or what is wrong with it."""
    path = run / "manifest.json"
    try:
        manifest: dict[str, Any] = orjson.loads(path.read_bytes())
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
    return manifest


def unprovable(run: Path, recipe: Recipe) -> list[Finding]:
    """What the proof would read beside the tables, and is damaged or not what it was then."""
    manifest = _manifest(run)
    if isinstance(manifest, Finding):
        return []
    try:
        lists = recipe.family.word_lists(recipe.job)
    except (OSError, RetgenError):  # its sources are gone or damaged, which is found here too
        lists = {}
    changed = [
        Finding(
            "word-lists",
            "error",
            [],
            f"the list of {name} has changed since this data set was made (with retgen "
            f"{_version(manifest)}), so its proof cannot be repeated here: install that version",
        )
        for name in _changed(manifest, lists)
    ]
    return [*unreadable_sources(run, recipe, _is_same(manifest)), *changed]


def check_finished(
    run: Path,
    recipe: Recipe,
    result: Validation,
    engine: Engine,
    scratch: Path,
    progress: Progress,
) -> list[Finding]:
    """Compare the files of a run with its manifest, and with what its recipe makes again.

    `result`: what its tables gave.
    """
    manifest = _manifest(run)
    if isinstance(manifest, Finding):
        return [manifest]
    findings = [*_files(run, manifest)]
    rules = {finding.rule for finding in result.findings}
    if "word-lists" in rules:
        return findings
    findings += links(run, manifest["files"])
    other, same = other_format(manifest), _is_same(manifest)
    sources = _present(run, SOURCES)
    again: list[Finding] = []
    rejected = None if recipe.needs_sources else Rejections()
    if other:
        severity, what = other
        findings.append(Finding("manifest", severity, ["manifest.json"], f"manifest.json: {what}"))
    elif not same:
        why = f"it was made with retgen {_version(manifest)}, this is {__version__}"
        again.append(_not_again(why, "warning"))
    elif rejected is None and not recipe.live and recipe.family.repeatable(recipe.job):
        try:
            again, rejected, sources = repeat_agents(
                run, recipe, scratch / "again", engine, progress
            )
        except EndpointFailed as error:  # a model of the Hub that cannot be had here
            again.append(_not_again(f"its agents cannot be asked again: {error}", "warning"))
        except (RetgenError, *DAMAGED) as error:
            again.append(_not_again(f"its agents cannot be asked again: {error!r}", "error"))
    if "sources" in rules:
        return [*findings, *again]
    try:
        records = recipe.records()
        if same and (lists := _changed(manifest, records.word_lists)):
            why = f"the list of {' and '.join(lists)} has changed since"
            again = [_not_again(f"{why}, and with it the rows it gives", "warning")]
        elif same:
            again += compare_tables(run, recipe, records, engine, progress)
    except (RetgenError, *DAMAGED) as error:
        level: Severity = "error" if same else "warning"
        return [*findings, *again, _not_again(f"{UNFIT}: {error!r}", level)]
    try:
        if rejected is None or not same:  # what agents rejected, only their models know
            lines = (run / "rejected.jsonl").read_bytes().splitlines()
            of_agents = lines[: max(0, len(lines) - len(records.rejected))]
            rejected = Rejections(Rejection(**orjson.loads(line)) for line in of_agents)
        rejected.extend(records.rejected)
        again += compare_lines(run, "rejected.jsonl", map(rejection_line, rejected))
        records = replace(records, rejected=rejected)
    except DAMAGED as error:
        message = f"rejected.jsonl cannot be read: {error}"
        again.append(Finding(REGENERATED, "error", ["rejected.jsonl"], message))
    findings += again
    if other is None:
        tables = (one.name for some in table_files(recipe, records) for one in some)
        cards = ["dataset/README.md", "training/README.md"][: 2 if records.training else 1]
        names = [*tables, *sources, *cards, "rejected.jsonl", *recipe_files(recipe, run)]
        findings += _missing_or_extra(manifest, names)
    if result.ok and not any(one.severity == "error" for one in again):
        right = manifest_of(recipe, result, records, {}, {}, CallReport().costs())
        findings += _figures(manifest, orjson.loads(dump_json(right)), same, other is not None)
    return findings


def _version(manifest: Mapping[str, Any]) -> str:
    versions = manifest.get("versions")
    return str(versions.get("retgen", "unknown")) if isinstance(versions, dict) else "unknown"


def _is_same(manifest: Mapping[str, Any]) -> bool:
    """Whether this version of retgen made the run."""
    return other_format(manifest) is None and _version(manifest) == __version__


def _changed(manifest: Mapping[str, Any], lists: Mapping[str, str]) -> list[str]:
    """The names of the lists of words whose hash is not that of the manifest."""
    stated = manifest.get("word_lists")
    if not isinstance(stated, dict):
        return []
    return [name for name, digest in lists.items() if stated.get(name, digest) != digest]


def _not_again(why: str, severity: Severity) -> Finding:
    return Finding(REGENERATED, severity, [], f"the tables are not made again: {why}")


# --- files --------------------------------------------------------------------------------------


def _present(run: Path, folder: str) -> list[str]:
    result = sorted(path for path in (run / folder).rglob("*") if path.is_file())
    return [path.relative_to(run).as_posix() for path in result]


def _files(run: Path, manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """Files that are not in the manifest, or not as it describes them."""
    stated = manifest["files"]
    for folder in _FOLDERS:
        for name in _present(run, folder):
            if name not in stated:
                yield _of_file(name, "is not in the manifest")
    for name, info in stated.items():
        file = run / name
        if not file.is_file():
            yield _of_file(name, "is in the manifest but not there")
        elif file_info(file)._asdict() != info:
            yield _of_file(name, "is not the file that the manifest describes")


def _missing_or_extra(manifest: Mapping[str, Any], names: Iterable[str]) -> Iterator[Finding]:
    """Files that the manifest has beside those of a run, or lacks."""
    wanted, stated = set(names), manifest["files"]
    for name in sorted(stated.keys() - wanted):
        yield _of_file(name, "is in the manifest, but the recipe makes no such file")
    for name in sorted(wanted - stated.keys()):
        yield _of_file(name, "is missing in the manifest: the recipe makes this file")


def _of_file(name: str, what: str) -> Finding:
    return Finding("manifest", "error", [name], f"{name} {what}")


# --- figures ------------------------------------------------------------------------------------

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
    for key, what in differences(stated, expected):
        if not (earlier and what.startswith("is missing")):
            ids = [f"manifest.json:{key}"]
            yield Finding("manifest", "error", ids, f"manifest.json: {key} {what}")
