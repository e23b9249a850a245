"""`gen run`: plan, generate, prove, report. The manifest comes last; its existence means complete.

A run directory belongs to one resolved recipe. Running again continues where the last run stopped:
the ledger has the answers of models, and the shards of a large corpus that are there are complete.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from retgen.agents.models import DEFAULT_OPTIONS, ModelOptions
from retgen.agents.report import CallReport, Rejection, Rejections, write_rejections
from retgen.data import read_manifest
from retgen.errors import ChecksFailed, SourceRefused, UsageError
from retgen.generate import generate_with_agents, write_dataset
from retgen.generators.family import Plan
from retgen.manifest import (
    LOCK,
    REJECTED,
    check_space,
    clear_run,
    manifest_of,
    open_or_resume,
    recipe_files,
    rejected_by_agents,
    run_lock,
)
from retgen.plan import plan, plan_from
from retgen.progress import Progress, no_progress, usable_cores
from retgen.recipe import SOURCES, Recipe, load_recipe
from retgen.reporting.card import dataset_card, training_card
from retgen.reporting.report import collect_report, write_report
from retgen.validation.findings import check_rule_names
from retgen.validation.validate import prove
from retgen.validators.validation import Validation
from retgen.version import __version__
from retgen.work import Engine, Local, engine_named
from retgen.work.local import keep_freed_memory, return_freed_memory
from retgen.write import dump_json, make_folder, write_file


@dataclass(frozen=True)
class RunResult:
    """A finished run. `repeated`: it had been finished before, and nothing was done."""

    path: Path
    manifest: dict[str, Any] = field(repr=False)  # hundreds of lines
    repeated: bool = False


def run(
    source: str | Path,
    *,
    out: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    workers: int | None = None,
    engine: str = "local",
    limit: int | None = None,
    fresh: bool = False,
    model_options: ModelOptions = DEFAULT_OPTIONS,
    progress: Progress = no_progress,
) -> RunResult:
    """Make the data set of a recipe in a run directory, or finish the one that is there.

    `out` defaults to outputs/NAME. `fresh` removes an earlier run first; the ledger keeps the
    answers of models. `model_options`: how models are called. Raises `ChecksFailed` if the data
    does not pass its checks; no manifest is written then. Raises `BudgetReached` or
    `EndpointFailed` if models stop the work; a second call resumes it.
    """
    changes = dict(overrides or {}) | ({} if limit is None else {"limit": limit})
    recipe, folder, expected = _prepare(source, out, changes, model_options)
    with run_lock(folder):
        if fresh:
            clear_run(folder, recipe)
        finished = open_or_resume(folder, recipe)
        if finished is not None:
            if model_options.retry_refused:
                raise UsageError(
                    f"{folder} is finished: add --fresh to make it again from the ledger's "
                    "answers, with what was refused asked again"
                )
            return RunResult(folder, finished, repeated=True)
        check_space(folder, expected.bytes)
        by = engine_named(engine, workers or usable_cores())
        return _make(recipe.at(folder), folder, by, model_options, progress)


def run_upon(
    parent: Path,
    recipe: Recipe,
    folder: Path,
    *,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> RunResult:
    """Make another data set from the agents' answers of a finished run, without model calls.

    `recipe`: the run's recipe, changed only in what agents never see. Raises as `run` does.
    """
    check_rule_names(recipe)
    with run_lock(folder):
        finished = open_or_resume(folder, recipe)
        if finished is not None:
            return RunResult(folder, finished, repeated=True)
        before = read_manifest(parent) or {"files": {}}
        check_space(folder, sum(info["bytes"] for info in before["files"].values()))
        for path in sorted((parent / SOURCES).glob("*")):
            make_folder(folder / SOURCES)
            write_file(folder / SOURCES / path.name, path.read_bytes())
        own = load_recipe(parent / "recipe.yaml", finished=True).at(parent).records().rejected
        refused = rejected_by_agents(parent, own)
        local = Local(workers or usable_cores())
        return _make(recipe.at(folder), folder, local, DEFAULT_OPTIONS, progress, refused=refused)


def pilot(
    source: str | Path,
    records: int,
    *,
    out: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    model_options: ModelOptions = DEFAULT_OPTIONS,
    progress: Progress = no_progress,
) -> Plan:
    """Make a few `records` of each stage, and extrapolate the plan from what they took.

    The answers stay in the ledger, so the run itself does not pay for them again.
    """
    recipe, folder, _ = _prepare(source, out, overrides, model_options)
    if not recipe.live:
        raise UsageError("--pilot: this recipe asks no model, so there is nothing to try out")
    with run_lock(folder):
        if open_or_resume(folder, recipe) is not None:
            raise UsageError(f"--pilot: {folder} is a finished run")
        call_report = generate_with_agents(
            recipe, folder, model_options, pilot=records, engine=Local(1), progress=progress
        )
    return plan_from(recipe, call_report, model_options)


def _prepare(
    source: str | Path,
    out: str | Path | None,
    overrides: Mapping[str, Any] | None,
    model_options: ModelOptions,
) -> tuple[Recipe, Path, Plan]:
    """Check everything that can be checked before any work. Returns (recipe, run directory, plan).

    If a source has too few usable documents, rejected.jsonl in a new run directory lists the
    refused ones.
    """
    recipe = load_recipe(source, overrides)
    if recipe.file.limit is not None and recipe.family.fixed_records:
        raise UsageError(f"--limit: {recipe.family.why_no_limit}")
    check_rule_names(recipe)
    folder = Path(out) if out is not None else Path("outputs") / recipe.name
    try:
        expected = plan(recipe)
    except SourceRefused as error:
        if not error.refused:
            raise
        with run_lock(folder):
            if {path.name for path in folder.iterdir()} - {LOCK, REJECTED}:
                raise  # that of another run stays as it is
            refused = (
                Rejection(one["rule"], f"{one['where']}: {one['reason']}", {"record": one})
                for one in error.refused
            )
            write_rejections(folder / REJECTED, [*refused])
        message = f"{error} All are listed in {folder / REJECTED}."
        raise SourceRefused(message, error.refused) from error
    if model_options.replay is not None and not recipe.live:
        raise UsageError(
            "--replay: this recipe asks no model; name the one that the answers came from with "
            "--model"
        )
    for one in recipe.live.values() if model_options.replay is None else ():
        from retgen.agents.session import check_model  # most runs ask no model

        check_model(one, model_options)
    return recipe, folder, expected


def _make(
    recipe: Recipe,
    folder: Path,
    engine: Engine,
    model_options: ModelOptions,
    progress: Progress,
    refused: Rejections | None = None,
) -> RunResult:
    """Generate with agents, write the tables, prove them, report, and write the manifest last.

    `refused`: records that agents rejected in an earlier run; None asks the agents now.
    """
    keep_freed_memory()
    call_report = CallReport()
    with _Clock(folder / "run.log") as clock:
        clock.note(f"gen run, retgen {__version__}, recipe {recipe.name}, {engine}")
        if refused is None:
            call_report = generate_with_agents(
                recipe, folder, model_options, engine=engine, progress=progress
            )
            refused = call_report.rejected
        if recipe.needs_sources:
            clock.lap("agents")
        return_freed_memory()
        records = recipe.records()
        refused.extend(records.rejected)
        records = replace(records, rejected=refused)
        clock.lap("latent")
        files, kept = write_dataset(recipe, records, folder, engine, progress)
        if kept:
            clock.note(f"kept {kept} corpus files of an earlier run")
        clock.lap("generate and write")
        # drop what rows are made from, so that it does not take memory during the proof
        records = records.counted()
        return_freed_memory()
        result = prove(folder, recipe, engine, progress)
        clock.lap("prove and measure")
        if result.ok:
            card = dataset_card(recipe, records, result, files)
            files["dataset/README.md"] = write_file(folder / "dataset" / "README.md", card)
            if records.training:
                card = training_card(recipe, records, files)
                files["training/README.md"] = write_file(folder / "training" / "README.md", card)
        files |= recipe_files(recipe, folder)
        manifest = manifest_of(recipe, result, records, files, clock.laps, call_report.costs())
        write_report(folder, collect_report(folder, recipe, manifest, result))
        clock.lap("report")
        if not result.ok:
            raise ChecksFailed(_verdict(folder, result))
        manifest["timings"] = clock.laps
        write_file(folder / "manifest.json", dump_json(manifest))
    return RunResult(folder, manifest)


def _verdict(folder: Path, result: Validation) -> str:
    first = [finding for finding in result.findings if finding.severity == "error"][:5]
    lines = "\n".join(f"  {finding.rule}: {finding.message}" for finding in first)
    more = f"\n  ... and {result.errors - 5} more" if result.errors > 5 else ""
    return (
        f"{folder}: the data did not pass its checks ({result.errors} errors), so no manifest was "
        f"written:\n{lines}{more}\n"
        f"All findings are in {folder / 'report.html'}. If the recipe asks for this, change it; if "
        "files were changed by hand, run again with --fresh."
    )


class _Clock:
    """Seconds by stage, noted in run.log as they pass, and how the run ended."""

    def __init__(self, path: Path) -> None:
        self.laps: dict[str, float] = {}
        self._path = path
        self._last = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, _: object) -> None:
        words = str(error).partition("\n")[0] or getattr(kind, "__name__", "")
        self.note("finished" if kind is None else f"stopped: {words}")

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.laps[stage] = round(now - self._last, 3)
        self._last = now
        self.note(f"{stage}: {self.laps[stage]} s")

    def note(self, text: str) -> None:
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            with open(self._path, "a", encoding="utf-8") as log:
                log.write(f"{stamp} {text}\n")
        except OSError as error:
            print(f"run.log: {error.strerror}", file=sys.stderr)
