"""What a finished run says beside its tables is derived again from these, and compared.

Recipe and sources make the tables again (`regenerate`). Recipe and tables give every figure of the
manifest, the card and the report; times, versions and what models have cost are only looked at.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

import orjson

from retgen.agents.agent import Rejection
from retgen.agents.chat import OFFLINE_COSTS
from retgen.agents.models import FLOW
from retgen.agents.rejections import Rejections
from retgen.data import Dataset
from retgen.engines import Engine
from retgen.errors import EndpointFailed, RetgenError
from retgen.generate import table_files
from retgen.generators.records import Records
from retgen.manifest import COSTS, RunFacts, fault_of_time, manifest_of, other_format, recipe_files
from retgen.progress import Progress
from retgen.recipe import SOURCES, Recipe
from retgen.reporting.card import dataset_card, training_card
from retgen.reporting.report import collect_report, report_page
from retgen.validation.findings import links
from retgen.validation.regenerate import (
    REGENERATED,
    FieldDifference,
    compare_file,
    compare_tables,
    differences,
    offline,
    quote,
    repeat_agents,
    unreadable_sources,
)
from retgen.validators.rule import Finding, Severity
from retgen.validators.validation import Validation
from retgen.version import __version__
from retgen.write import FileInfo, dump_json, file_info

CARD, TRAINING_CARD = "dataset/README.md", "training/README.md"
_FOLDERS = ("dataset", "training", "tables", SOURCES, "inputs")
# what another version of retgen derives in the same way
_SETTLED = frozenset({"name", "family", "seed", "counts", "complete", "evidence", "files"})
_OF_TABLES = (
    "counts", "evidence", "judges", "checks.errors", "checks.warnings", "judged", "floors",
    "certificate",
)  # fmt: skip
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


def check_written(
    recipe: Recipe,
    dataset: Dataset,
    result: Validation,
    engine: Engine,
    scratch: Path,
    progress: Progress,
) -> list[Finding]:
    """Findings on what a run wrote beside its tables. `result`: what its tables gave."""
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
    elif same and rejected is None and offline(recipe) and recipe.family.repeatable(recipe.job):
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
    sound = result.ok and not any(one.severity == "error" for one in again)
    findings += _figures(run, recipe, records, result, manifest, same, sound)
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
        return records, [_wrong(name, f"it is damaged: {error}")]
    if of_agents is None:
        own = len(stated) - len(records.rejected)
        right = Rejections(stated[: max(0, own)])
    else:
        right = Rejections(of_agents)
    right += records.rejected
    records = replace(records, rejected=right)
    wrong = compare_file(run / name, name, b"".join(right.blocks()))
    return records, [wrong] if wrong else []


def _wrong(name: str, what: str, severity: Severity = "error") -> Finding:
    return Finding("derived", severity, [name], f"{name}: {what}")


# --- figures ------------------------------------------------------------------------------------


def _figures(
    run: Path,
    recipe: Recipe,
    records: Records,
    result: Validation,
    manifest: dict[str, Any],
    same: bool,
    sound: bool,
) -> Iterator[Finding]:
    """Manifest, card, report.json and its page.

    `same`: this version of retgen wrote them; `sound`: the tables are right, so that what they give
    is right, too.
    """
    severity: Severity = "error" if same else "warning"
    files = {name: FileInfo(**info) for name, info in manifest["files"].items()}
    right = manifest_of(recipe, result, records, files, _stated_facts(manifest, recipe))
    _keep_endpoints(manifest, right, recipe)
    unequal = [*_impossible_facts(manifest, recipe), *differences(manifest, _plain(right))]
    if other := other_format(manifest):
        settled = (one for one in unequal if _top(one) in _SETTLED)
        unequal = [one for one in settled if not one.what.startswith("is missing")]
    if not sound:
        unequal = [one for one in unequal if not one.key.startswith(_OF_TABLES)]
        why = "the tables have errors: their figures in manifest, card and report are not compared"
        yield Finding("derived", "info", [], why)
    yield from _fold_by_key("manifest", "manifest.json", unequal, severity)
    if other or not sound:
        return
    beside = {"recipe.yaml", *_cards(records)} | {
        name for name in files if name.startswith("inputs/")
    }
    listed = {name: info for name, info in files.items() if name not in beside}
    card = dataset_card(recipe, records, result, listed)
    yield from _card(run, CARD, card, severity)
    if TRAINING_CARD in _cards(records) and all(
        f"training/{name}.parquet" in files for name in records.training
    ):
        card = training_card(recipe, records, files)
        yield from _card(run, TRAINING_CARD, card, severity)
    try:
        report = orjson.loads((run / "report.json").read_bytes())
    except (OSError, ValueError) as error:
        yield _wrong("report.json", f"it cannot be read: {error}")
        return
    expected = _plain(collect_report(run, recipe, right, result))
    if not isinstance(report, dict):
        yield _wrong("report.json", f"it is {quote(report)}, not an object")
        return
    unequal = list(differences(*_without_times(report, expected)))
    yield from _fold_by_key("derived", "report.json", unequal, severity)
    if same and not unequal:
        yield from _page(run, report)


def _plain(value: Any) -> Any:
    """As it comes back from a file of JSON."""
    return orjson.loads(dump_json(value))


def _fold_by_key(
    rule: str, name: str, unequal: Iterable[FieldDifference], severity: Severity
) -> Iterator[Finding]:
    """A finding for each key of the top that differs, naming the first differences below it."""
    for top, group in groupby(unequal, key=_top):
        below = list(group)
        text = "; ".join(f"{one.key} {one.what}" for one in below[:2])
        more = f"; and {len(below) - 2} more below {top}" if len(below) > 2 else ""
        level: Severity = "error" if top in _SETTLED else severity
        ids = [f"{name}:{one.key}" for one in below]
        yield Finding(rule, level, ids, f"{name}: {text}{more}")


def _top(one: FieldDifference) -> str:
    return one.key.partition(".")[0].partition("[")[0]


def _stated_facts(manifest: Mapping[str, Any], recipe: Recipe) -> RunFacts:
    """What the manifest says of times and costs, of which nothing else knows.

    Where no model was asked, it cost nothing.
    """
    costs = OFFLINE_COSTS
    if not offline(recipe):
        costs = {key: manifest.get(key) for key in COSTS}
    versions, timings = manifest.get("versions"), manifest.get("timings")
    return RunFacts(
        manifest.get("created", ""),
        versions if isinstance(versions, dict) else {},
        timings if isinstance(timings, dict) else {},
        costs,
    )


def _keep_endpoints(manifest: Mapping[str, Any], right: dict[str, Any], recipe: Recipe) -> None:
    """Where the recipe names no server, the environment of the run did."""
    settings, stated = recipe.models, manifest.get("models")
    for agent, one in right["models"].items():
        if agent in settings and settings[agent].base_url is None and isinstance(stated, dict):
            named = (stated.get(agent) or {}).get("endpoint")
            one["endpoint"] = named if isinstance(named, str) else one["endpoint"]


def _impossible_facts(manifest: Mapping[str, Any], recipe: Recipe) -> Iterator[FieldDifference]:
    """Times, versions and costs that no run writes."""
    created = manifest.get("created")
    if fault := fault_of_time(created):
        yield FieldDifference("created", f"is {quote(created)}, {fault}")
    versions = manifest.get("versions")
    names = ("retgen", "python", "numpy")
    if not isinstance(versions, dict) or list(versions) != list(names):
        yield FieldDifference("versions", f"is {quote(versions)}, must name {', '.join(names)}")
    else:
        for name, value in versions.items():
            if not isinstance(value, str) or not value[:1].isdigit():
                yield FieldDifference(f"versions.{name}", f"is {quote(value)}, which is no version")
    stages = ["latent", "generate and write", "prove and measure", "report"]
    if recipe.needs_sources:
        stages.insert(0, "agents")
    timings = manifest.get("timings")
    if not isinstance(timings, dict) or list(timings) != stages:
        yield FieldDifference("timings", f"is {quote(timings)}, must name {', '.join(stages)}")
    else:
        for name, value in timings.items():
            if not _number(value, (int, float)):
                yield FieldDifference(f"timings.{name}", f"is {quote(value)}, which is no time")
    if offline(recipe):
        return
    tokens, answers = manifest.get("tokens"), manifest.get("answers", {})
    counts = answers.values() if isinstance(answers, dict) else [None]
    if not all(
        isinstance(one, dict) and all(_number(n, (int,)) for n in one.values()) for one in counts
    ):
        yield FieldDifference("answers", f"is {quote(answers)}, which are no counts of answers")
    for name, value in {
        **{key: manifest.get(key) for key in COSTS[:3]},
        "tokens.in": tokens.get("in") if isinstance(tokens, dict) else None,
        "tokens.out": tokens.get("out") if isinstance(tokens, dict) else None,
    }.items():
        if not _number(value, (int,)):
            yield FieldDifference(name, f"is {quote(value)}, which is no count")
    usd = manifest.get("usd")
    if usd is not None and not _number(usd, (int, float)):
        yield FieldDifference("usd", f"is {quote(usd)}, which is no price")


def _number(value: Any, kinds: tuple[type, ...]) -> bool:
    return type(value) in kinds and math.isfinite(value) and value >= 0


def _cards(records: Records) -> list[str]:
    return [CARD, TRAINING_CARD] if records.training else [CARD]


def _card(run: Path, name: str, right: str, severity: Severity) -> Iterator[Finding]:
    try:
        stated = (run / name).read_text("utf-8")
    except (OSError, ValueError):
        return  # which is a finding of its own
    both = zip_longest(stated.split("\n"), right.split("\n"))
    for number, (line, other) in enumerate(both, start=1):
        if line != other:
            what = f"is {quote(line, other)}, must be {quote(other, line)}"
            if line is None or other is None:
                what = "must not be there" if line is not None else f"is missing: {quote(other)}"
            yield _wrong(name, f"line {number} {what}", severity)
            return


def _without_times(
    report: dict[str, Any], right: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both without seconds; the name of the folder, which may be another by now; the pace of
    models, which a later `gen run` may have changed."""
    report, right = dict(report), dict(right)  # the page shows the pace, too
    timings = right["manifest"].get("timings", {})
    right["manifest"]["timings"] = {k: v for k, v in timings.items() if k != "report"}
    seconds = report.get("seconds")
    if isinstance(seconds, dict):
        right["seconds"] = {
            name: seconds[name] if _number(seconds.get(name), (int, float)) else None
            for name in right["seconds"]
        }
    if isinstance(report.get("folder"), str):
        right["folder"] = report["folder"]
    for key in ("model", "models"):
        for both in (report, right):
            tree = both.get("recipe")
            if isinstance(tree, dict) and key in tree:
                both["recipe"] = tree | {key: _without_pace(tree[key])}
    return report, right


def _without_pace(model: Any) -> Any:
    if not isinstance(model, dict):
        return model
    return {name: _without_pace(value) for name, value in model.items() if name not in FLOW}


def _page(run: Path, report: Mapping[str, Any]) -> Iterator[Finding]:
    name = "report.html"
    try:
        stated = (run / name).read_text("utf-8")
    except (OSError, ValueError) as error:
        yield _wrong(name, f"it cannot be read: {error}")
        return
    if stated != report_page(report):
        yield _wrong(name, "it is not the page of report.json; `gen report` makes it again")
