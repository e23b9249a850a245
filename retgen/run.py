"""`gen run`: plan, generate, prove, report. The manifest comes last; its existence means complete.

A run directory belongs to one resolved recipe. Running again continues where the last run stopped:
table files appear only when they are complete, so whatever is there is kept.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from retgen.agents.agent import Rejection
from retgen.agents.chat import OFFLINE_COSTS
from retgen.agents.rejections import Rejections, write_rejections
from retgen.bucket_run import BucketRun, RunFolder, is_address
from retgen.engines import Engine, Local, engine_named
from retgen.engines.files import ResultFiles
from retgen.engines.local import keep_freed_memory, return_freed_memory
from retgen.engines.ranks import MergeEngine, Rank
from retgen.errors import ChecksFailed, SourceRefused, UsageError
from retgen.generate import (
    TABLES,
    check_models,
    generate_with_agents,
    pieces_of,
    table_files,
    write_dataset,
)
from retgen.generators.family import Plan
from retgen.manifest import (
    LOCK,
    REJECTED,
    check_space,
    clear_run,
    facts_now,
    manifest_of,
    open_or_resume,
    recipe_files,
    run_lock,
)  # fmt: skip
from retgen.plan import plan, plan_from
from retgen.progress import Progress, no_progress, usable_cores
from retgen.ranks import RankParts, check_ranks, do_share, join_ranks, shares_of
from retgen.recipe import SOURCES, Recipe, choose_judge, load_recipe
from retgen.reporting.card import dataset_card, training_card
from retgen.reporting.report import collect_report, write_report
from retgen.validation.findings import check_rule_names
from retgen.validation.states import forget
from retgen.validation.validate import prove
from retgen.validators.validation import Validation
from retgen.version import __version__
from retgen.write import dump_json, make_folder, write_file

if TYPE_CHECKING:  # most runs ask no model
    from retgen.agents.calls import ModelOptions


@dataclass(frozen=True)
class RunResult:
    """A finished run. `repeated`: it had been finished before, and nothing was done.

    `aside`: where --fresh has put reviewers' verdicts on the replaced data. `address`: of a run in
    a bucket, which was made in `path`.
    """

    path: Path
    manifest: dict[str, Any] = field(repr=False)  # hundreds of lines
    repeated: bool = False
    aside: Path | None = None
    address: str | None = None


class RankResult(NamedTuple):
    """The share of a rank: so many pieces of the corpus, in a folder or a bucket.

    `merged`: the ranks were merged before, and nothing was done.
    """

    path: str
    rank: Rank
    pieces: int
    merged: bool = False


def run(
    source: str | Path,
    *,
    out: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    workers: int | None = None,
    engine: str = "local",
    limit: int | None = None,
    fresh: bool = False,
    model_options: ModelOptions | None = None,
    work: str | Path | None = None,
    progress: Progress = no_progress,
) -> RunResult:
    """Make the data set of a recipe in a run directory, or finish the one that is there.

    `out` defaults to outputs/NAME; "s3://bucket/path" is made below the folder `work`, by default
    the user's cache folder, and put there file by file. `fresh` throws away what is there, but for
    the answers of models, which the ledger keeps. `model_options`: how models are called. Raises
    `ChecksFailed` where the finished data does not pass its checks: no manifest is written then;
    `BudgetReached` and `EndpointFailed` where models stop the work, which a second call resumes.
    """
    recipe, home = _load_for_run(source, out, overrides, limit, work)
    folder = home.folder
    if home.address and recipe.live:
        model_options = _with_local_ledger(model_options)
    expected = _plan_or_refuse(recipe, folder)
    _check_models(recipe, model_options)
    aside = None
    with run_lock(folder), home.hold(progress) as progress:
        if fresh:
            aside = clear_run(folder, recipe)
        there = home.open(fresh, lambda: clear_run(folder, recipe))
        finished = open_or_resume(folder, recipe, home.address)
        if finished is not None:
            _finish(folder, home)  # it may have been stopped in this
        if finished := there or finished:
            repeated = home.address is None or there is not None
            return RunResult(folder, finished, repeated=repeated, address=home.address)
        home.keep()
        check_space(folder, expected.bytes)
        shares = shares_of(folder, home.results, home.where)
        by = engine_named(engine, workers or usable_cores())
        if engine != "local":
            folder = folder.resolve()  # workers may stand elsewhere
        if shares is not None:
            by = MergeEngine(shares, by)
        try:
            result = _make(recipe.at(folder), folder, by, model_options, progress, shares=shares)
        except ChecksFailed:
            home.forget()
            raise
        _finish(folder, home)
        return replace(result, aside=aside, address=home.address)


def _with_local_ledger(model_options: ModelOptions | None) -> ModelOptions:
    """With a ledger that is not in a working folder, which may be removed; it says so."""
    from retgen.agents.calls import ModelOptions, ledger_of

    model_options = model_options or ModelOptions()
    path = ledger_of(Path("outputs") / "run", model_options)
    if isinstance(path, Path):
        print(
            f"gen: models' answers are kept on this machine, in {path}: another one that goes on "
            "with this run asks again. --ledger postgresql://... is one ledger for all",
            file=sys.stderr,
        )
    return replace(model_options, ledger=path)


def run_rank(
    source: str | Path,
    rank: Rank,
    *,
    out: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    workers: int | None = None,
    limit: int | None = None,
    patience: float = 600.0,
    work: str | Path | None = None,
    progress: Progress = no_progress,
) -> RankResult:
    """Make and prove the share of one of several ranks; `run` merges them once all have ended.

    `patience`: seconds to wait for the other ranks where all need what all find first, as own
    documents do. Raises `RanksMissing` when that is over.
    """
    recipe, home = _load_for_run(source, out, overrides, limit, work)
    folder = home.folder
    check_ranks(recipe)
    expected = _plan_or_refuse(recipe, folder)
    # other ranks begin at the same moment
    with run_lock(folder, patience), home.hold(progress, patience):
        there = home.open(False, lambda: clear_run(folder, recipe))
        if there or open_or_resume(folder, recipe, home.address) is not None:
            return RankResult(home.where, rank, 0, merged=True)
        check_space(folder, expected.bytes * 2)  # the shares, and the whole
        join_ranks(folder, rank, where=home.where)
        home.keep()
    pieces = do_share(
        recipe, folder, rank, workers or usable_cores(), patience, progress, home.results
    )
    return RankResult(home.where, rank, pieces)


def run_upon(
    parent: Path,
    recipe: Recipe,
    folder: Path,
    *,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> RunResult:
    """Make another data set from the answers of a finished run's agents, without model calls.

    `recipe`: the run's, changed in what agents never see. Raises as `run` does.
    """
    check_rule_names(recipe)
    with run_lock(folder):
        finished = open_or_resume(folder, recipe)
        if finished is not None:
            return RunResult(folder, finished, repeated=True)
        before = orjson.loads((parent / "manifest.json").read_bytes())
        check_space(folder, sum(int(info["bytes"]) for info in before["files"].values()))
        for path in sorted((parent / SOURCES).glob("*")):
            make_folder(folder / SOURCES)
            write_file(folder / SOURCES / path.name, path.read_bytes())
        rows = [orjson.loads(line) for line in (parent / REJECTED).read_bytes().splitlines()]
        own = load_recipe(parent / "recipe.yaml", finished=True).at(parent).records().rejected
        refused = Rejections(Rejection(**row) for row in rows[: len(rows) - len(own)])
        local = Local(workers or usable_cores())
        result = _make(recipe.at(folder), folder, local, None, progress, refused=refused)
        _finish(folder, RunFolder(folder))
        return result


def pilot(
    source: str | Path,
    records: int,
    *,
    out: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    model_options: ModelOptions | None = None,
    progress: Progress = no_progress,
) -> Plan:
    """Make so many records of each stage, and extrapolate the plan from what they took.

    The answers stay in the ledger, so the run itself does not ask for them again.
    """
    from retgen.agents.calls import ModelOptions

    if is_address(out):
        raise UsageError("--pilot: asks models only, and writes no run: leave --out out")
    recipe, home = _load_for_run(source, out, overrides, None)
    folder = home.folder
    _plan_or_refuse(recipe, folder)  # what is impossible is refused before anything is asked
    _check_models(recipe, model_options)
    if not recipe.live:
        raise UsageError("--pilot: this recipe asks no model, so there is nothing to try out")
    with run_lock(folder):
        if open_or_resume(folder, recipe) is not None:
            raise UsageError(f"--pilot: {folder} is a finished run")
        call_report = generate_with_agents(
            recipe,
            folder,
            model_options or ModelOptions(),
            pilot=records,
            engine=Local(1),
            progress=progress,
        )
    return plan_from(recipe, call_report, model_options or ModelOptions())


def _plan_or_refuse(recipe: Recipe, folder: Path) -> Plan:
    """The plan; where a source has too few documents, rejected.jsonl says what was refused."""
    try:
        return plan(recipe)
    except SourceRefused as error:
        if not error.refused:
            raise
        with run_lock(folder):
            others = {path.name for path in folder.iterdir()} - {LOCK, REJECTED}
            if others:  # that of another run stays as it is
                raise
            write_rejections(folder / REJECTED, [
                Rejection(one["rule"], f"{one['where']}: {one['reason']}", {"record": one})
                for one in error.refused
            ])  # fmt: skip
        message = f"{error} All are listed in {folder / REJECTED}."
        raise SourceRefused(message, error.refused) from error


def _check_models(recipe: Recipe, model_options: ModelOptions | None) -> None:
    """Keys, providers and prices that are missing, before anything is written."""
    if recipe.live:
        from retgen.agents.calls import ModelOptions

        check_models(recipe, model_options or ModelOptions())
    elif model_options is not None and model_options.replay is not None:
        raise UsageError(
            "--replay: this recipe asks no model; name the one that the answers came from with "
            "--model"
        )


def _load_for_run(
    source: str | Path,
    out: str | Path | None,
    overrides: Mapping[str, Any] | None,
    limit: int | None,
    work: str | Path | None = None,
) -> tuple[Recipe, RunFolder]:
    """The recipe of a run, checked as far as it can be without making anything; its directory."""
    if work is not None and not is_address(out):
        raise UsageError("--work: is where a run in a bucket is made, which --out does not name")
    changes = dict(overrides or {}) | ({} if limit is None else {"limit": limit})
    recipe = choose_judge(load_recipe(source, changes))
    if recipe.limit is not None and recipe.family.fixed_records:
        raise UsageError(f"--limit: {recipe.family.why_no_limit}")
    check_rule_names(recipe)
    if is_address(out):
        return recipe, BucketRun(str(out), work)
    return recipe, RunFolder(Path(out) if out is not None else Path("outputs") / recipe.name)


def _make(
    recipe: Recipe,
    folder: Path,
    engine: Engine,
    model_options: ModelOptions | None,
    progress: Progress,
    refused: Rejections | None = None,
    shares: ResultFiles | None = None,
) -> RunResult:
    """`refused`: what agents that have been asked refused; None: ask them. `shares`: of ranks."""
    keep_freed_memory()
    clock = _Clock(folder / "run.log")
    clock.note(f"gen run, retgen {__version__}, recipe {recipe.name}, {engine}")
    call_report = None
    try:
        if refused is None and recipe.needs_sources:
            from retgen.agents.calls import ModelOptions

            call_report = generate_with_agents(
                recipe, folder, model_options or ModelOptions(), engine=engine, progress=progress
            )
            refused = call_report.rejected
    except BaseException as error:
        clock.note(f"stopped: {error or type(error).__name__}")
        raise
    if recipe.needs_sources:
        clock.lap("agents")
    return_freed_memory()
    records = recipe.records()
    refused = refused or Rejections()
    refused += records.rejected
    records = replace(records, rejected=refused)
    clock.lap("latent")
    tables = write_dataset(recipe, records, folder, engine, progress)
    if tables.kept:
        clock.note(f"kept {tables.kept} corpus files of an earlier run")
    clock.lap("generate and write")
    kept = None
    if shares is not None:
        kept = RankParts(shares, pieces_of(table_files(recipe, records)[0]))
    records = records.counted()  # what the rows are made from would stand beside the whole proof
    return_freed_memory()
    result = prove(folder, recipe, tables.files, engine, progress, kept)
    if result.taken_up:
        clock.note(f"kept the proof of {result.taken_up} parts of an earlier run")
    clock.lap("prove and measure")
    files = dict(tables.files)
    if result.ok:
        card = dataset_card(recipe, records, result, files)
        files["dataset/README.md"] = write_file(folder / "dataset" / "README.md", card)
        if records.training:
            card = training_card(recipe, records, files)
            files["training/README.md"] = write_file(folder / "training" / "README.md", card)
    files |= recipe_files(recipe, folder)
    facts = facts_now(clock.laps, call_report.costs() if call_report else OFFLINE_COSTS)
    manifest = manifest_of(recipe, result, records, files, facts)
    write_report(folder, collect_report(folder, recipe, manifest, result))
    clock.lap("report")
    if not result.ok:
        forget(folder)
        clock.note(f"stopped: {result.errors} errors")
        raise ChecksFailed(_verdict(folder, result))
    manifest["timings"] = clock.laps
    write_file(folder / "manifest.json", dump_json(manifest))
    clock.note("finished")
    return RunResult(folder, manifest)


def _finish(folder: Path, home: RunFolder) -> None:
    """Put a run where it belongs, and remove what only an unfinished one needs."""
    home.finish()
    (folder / TABLES).unlink(missing_ok=True)  # the manifest says it now
    forget(folder)
    home.forget()


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
    """Seconds by stage, noted in run.log as they pass."""

    def __init__(self, path: Path) -> None:
        self.laps: dict[str, float] = {}
        self._path = path
        self._last = time.perf_counter()

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
