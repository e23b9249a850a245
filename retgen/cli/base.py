"""What the commands share: the application, options, progress, errors with their exit codes."""

from __future__ import annotations

import contextlib
import errno
import functools
import inspect
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, NoReturn, ParamSpec, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from retgen.cli import leave_terminal
from retgen.cli.options import expanded
from retgen.errors import BudgetReached, DatasetMissing, OutputError, RetgenError, UsageError
from retgen.progress import Progress, ProgressLines, no_progress
from retgen.version import __version__

# as `gen --help` lists them
_PANELS = {
    "Make": ("recipes", "new", "draft", "plan", "preview", "run", "world", "schema"),
    "Check": ("validate", "report", "diff"),
    "Score and train": ("diagnose", "eval", "train", "capacity"),
    "People": ("review",),
    "Share": ("export", "publish", "sealed"),
    "Keep": ("ledger", "doctor"),
}


class _ByUse(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        """The commands by what people do with them, each in its panel; then those of none."""
        panel_of = {name: panel for panel, names in _PANELS.items() for name in names}
        for name, one in self.commands.items():
            one.rich_help_panel = panel_of.get(name, "Other")  # type: ignore[attr-defined]
        return sorted(self.commands, key=[*panel_of, *self.commands].index)


class _Command(TyperCommand):
    """Its help names the parts of a kind that are there: retrievers, rules, ..."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help; a register is looked up only where it is shown."""
        for param in self.params:
            text = getattr(param, "help", None) or ""
            for mark in _PARTS:
                if mark in text:
                    param.help = text.replace(mark, _known_parts(mark))  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def _known_parts(mark: str) -> str:
    """What stands in a help text for one of `_PARTS`."""
    if mark == "{retrievers}":
        from retgen.evaluation.retrievers import known

        return known()
    if mark == "{rules}":
        from retgen.validation.findings import generic_rules

        return ", ".join(generic_rules())
    if mark == "{layouts}":
        from retgen.export.layouts import layouts

        *names, last = layouts()
        return f"{', '.join(names)} or {last}"
    if mark == "{abilities}":
        from retgen.diagnosis.abilities import ABILITIES

        return ", ".join(one.name for one in ABILITIES)
    from retgen.evaluation.tasks import tasks

    if mark == "{items}":
        return " or ".join(f"{task.item}s" for task in tasks()).capitalize()
    return " or ".join(f"{task.paper}'s instruction" for task in tasks() if task.instruction)


_PARTS = ("{layouts}", "{retrievers}", "{rules}", "{items}", "{instructions}", "{abilities}")

app = typer.Typer(
    name="gen",
    cls=_ByUse,
    help="Make synthetic retrieval data sets from recipes, and prove their labels.",
    epilog="Begin with: [bold]gen run limit_dense[/bold]   Exit codes: 0 done, 1 checks failed, "
    "2 input error, 3 budget reached, 4 model failed, 130 interrupted (3, 4, 130: resumable).",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

P = ParamSpec("P")
R = TypeVar("R")


Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Show tracebacks of errors.")]
SplitOption = Annotated[str | None, typer.Option(help="Which qrels; default test, else the first.")]
# rows of tables of options that several commands have
RECIPE = "RECIPE  A recipe file, or the name of a bundled recipe."
SETTING = "--set KEY=VALUE  Override a key, e.g. params.k=3. Repeatable."
WORKERS = "--workers N  Processes; default all cores. The output is the same."
MODEL = "--model MODEL  Model that writes and judges, e.g. openai:gpt-5-mini or offline."
RUN = "RUN  A run directory."
DATASET = "PATH  A run directory, or any data set in MTEB, BEIR or Hub layout."
ENGINE = (
    "--engine ENGINE  Who does the work: local; HOST:PORT, a node of a Ray cluster; ray, the "
    "cluster that RAY_ADDRESS names, else one started here; auto, the one that runs here; "
    "ray://HOST:PORT, Ray's client. The output is the same."
)


def command(
    name: str,
    *examples: str,
    options: str = "",
    apart: Mapping[str, tuple[str, str]] | None = None,
    group: typer.Typer = app,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function a command of `gen`, with examples in its help and the option -v.

    `options`: a table of its options (`options.py`). `apart`: what does not go together: for an
    option, which others, and why.
    """
    head = "Examples" if len(examples) > 1 else "Example"
    epilog = f"{head}:  {'  |  '.join(examples)}"

    def add(function: Callable[P, R]) -> Callable[P, R]:
        reported = report_errors(function, options, apart or {})
        group.command(name, cls=_Command, epilog=epilog)(reported)
        return function

    return add


def report_errors(
    function: Callable[P, R],
    options: str = "",
    apart: Mapping[str, tuple[str, str]] | None = None,
) -> Callable[..., R]:
    """Expected failures become one message and their exit code; Ctrl-C says how to resume.

    What comes back has one more parameter, `verbose`: whether tracebacks are shown.
    """
    parameters, collected = expanded(function, options)
    defaults = {one.name.rstrip("_"): one.default for one in parameters}

    @functools.wraps(function)
    def reported(verbose: bool = False, **values: Any) -> R:
        try:
            try:
                given = {
                    name
                    for name, value in values.items()
                    if value != defaults.get(name.rstrip("_")) and value is not None
                }
                _refuse_apart({f"--{name.rstrip('_').replace('_', '-')}" for name in given}, apart)
                return function(**collected(values))  # type: ignore[call-arg]
            except RetgenError as error:
                message = str(error) + _hint(error)
                if error.exit_code in (3, 4):
                    message += (
                        f"\nResume with:\n  {resume_command(more=isinstance(error, BudgetReached))}"
                    )
                fail(message, error.exit_code, verbose=verbose)
            except ModuleNotFoundError as error:
                if error.name is None or error.name.partition(".")[0] == "retgen":
                    raise
                fail(f"this needs the package {error.name}: {install_command(error.name)}", 2)
            except KeyboardInterrupt:
                fail(
                    f"interrupted; what is finished is kept. Resume with:\n  {resume_command()}",
                    130,
                )
            except BrokenPipeError:
                # the reader of our output went away (| head); nothing is wrong
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(0) from None
            except PermissionError as error:
                if error.filename is None:
                    raise
                fail(f"{error.filename}: may not be read or written by this user", 2)
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    fail(_disk_full(error), OutputError.exit_code, verbose=verbose)
                # what was shown, before the signal that the terminal is gone was heard
                if error.errno != errno.EIO or error.filename or not leave_terminal():
                    raise
                raise typer.Exit(130) from None
        except KeyboardInterrupt:  # a signal that came while something else was told
            raise typer.Exit(130) from None

    own = inspect.Parameter(
        "verbose", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Verbose
    )
    reported.__signature__ = inspect.Signature([*parameters, own])  # type: ignore[attr-defined]
    reported.__annotations__ = {one.name: one.annotation for one in (*parameters, own)}
    del reported.__wrapped__
    return reported


def _refuse_apart(given: set[str], apart: Mapping[str, tuple[str, str]] | None) -> None:
    for option, (others, why) in (apart or {}).items():
        clash = [one for one in others.split() if one in given]
        if option in given and clash:
            raise UsageError(f"{option} {why}: leave out {', '.join(clash)}")


def _disk_full(error: OSError) -> str:
    """What is said of a library that finds no room, most likely for a file of its own."""
    import tempfile

    where = error.filename or tempfile.gettempdir()
    return (
        f"cannot write {where}: the disk is full. What was finished before is kept: free some "
        "space, or name another folder for temporary files with TMPDIR, and run the same command "
        "again."
    )


# by extra: modules that are not named as their packages are, or come with one of them
_MODULES_OF_EXTRAS = {
    "documents": frozenset({"pypandoc"}),
    "eval": frozenset({"transformers", "tokenizers", "safetensors"}),
    "review": frozenset({"starlette"}),
    "publish": frozenset({"botocore"}),
    "cluster": frozenset(),
}


def install_command(module: str) -> str:
    """The command that brings a missing module: of an extra, or of the core."""
    from importlib.metadata import PackageNotFoundError, requires

    top = module.partition(".")[0]
    try:
        required = requires("retgen") or []
    except PackageNotFoundError:
        required = []
    for extra, others in _MODULES_OF_EXTRAS.items():
        mine = [one for one in required if one.endswith(f'extra == "{extra}"')]
        names = {re.split(r"[^\w.-]", one)[0].replace("-", "_").lower() for one in mine}
        if top in names | others:
            return f"pip install 'retgen[{extra}]'"
    return "pip install --upgrade retgen"


def resume_command(more: bool = False) -> str:
    """The command that resumes. `more`: it stopped at its cap, so another one is to be named."""
    words = [word for word in sys.argv[1:] if word != "--fresh"]
    for i, word in enumerate(words if more else ()):
        if words[i - 1] == "--max-usd":
            words[i] = "MORE"
        elif word.startswith("--max-usd="):
            words[i] = "--max-usd=MORE"
    return shlex.join(["gen", *words])


def _hint(error: Exception) -> str:
    """What to do where a name that was given for a data set is that of a recipe."""
    if not isinstance(error, DatasetMissing):
        return ""
    from retgen.messages import did_you_mean
    from retgen.recipes import bundled

    if error.name in bundled():
        return f" {error.name} is a recipe: `gen run {error.name}` makes outputs/{error.name}."
    near = did_you_mean(error.name.removeprefix("outputs/"), bundled())
    return f" `gen recipes` lists what `gen run` makes{near}" if near else ""


def fail(message: str, code: int, *, verbose: bool = False) -> NoReturn:
    if verbose:
        traceback.print_exc()
    print(f"gen: {message}", file=sys.stderr)
    raise typer.Exit(code)


_WIDE = 130  # columns that a progress bar with its note needs


def overrides_of(settings: list[str] | None, model: str | None = None) -> dict[str, Any]:
    from retgen.recipe_file import parse_override

    result = dict(parse_override(text) for text in settings or [])
    return result if model is None else {"model": model, "models": {}, **result}


def print_json(value: Any) -> None:
    from retgen.write import dump_json

    sys.stdout.write(dump_json(value))


@dataclass(frozen=True)
class Output:
    """What a command shows: how far it is, then its result as a text or as JSON."""

    json: bool = False
    quiet: bool = False

    PANEL: ClassVar[str | None] = None
    OPTIONS: ClassVar[str] = """
        --json      Print the result as JSON.
        -q,--quiet  No progress, no summary.
        """

    @contextlib.contextmanager
    def progress(self) -> Iterator[Progress]:
        """A bar a stage on stderr, if that is a terminal; else a line now and then.

        With --json at most a line twice a minute: it says no more than that the work goes on.
        """
        if self.quiet:
            yield no_progress
            return
        if self.json or not sys.stderr.isatty():
            yield ProgressLines(notes=not self.json)
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        columns = TextColumn("{task.description:10}"), BarColumn(), MofNCompleteColumn()
        notes = TextColumn("{task.fields[note]}")
        with Bars(*columns, TimeRemainingColumn(), notes, console=console, transient=True) as bars:
            tasks: dict[str, Any] = {}

            def show(stage: str, done: int, total: int, note: str = "", /) -> None:
                if console.width < _WIDE:  # what matters stands first
                    note = ", ".join(note.split(", ")[:2])
                if stage not in tasks:
                    tasks[stage] = bars.add_task(stage, total=total, note=note)
                bars.update(tasks[stage], completed=done, total=total, note=note)

            yield show

    def print(self, value: Any, text: Callable[[], str]) -> None:
        """Print a result as JSON (`value`, or its `to_json`) or as text."""
        if self.json:
            print_json(value.to_json() if hasattr(value, "to_json") else value)
        elif not self.quiet:
            print(text())


def fail_of_systems(failures: Mapping[str, str], code: int) -> None:
    """End with what failed, where anything did, and how to resume if that is possible."""
    if failures:
        resume = f"\nResume with:\n  {resume_command(more=code == 3)}" if code in (3, 4) else ""
        fail("\n".join(failures.values()) + resume, code)


def given_command() -> str:
    """The command as it was typed."""
    return shlex.join(["gen", *sys.argv[1:]])


def _version(wanted: bool) -> None:
    if wanted:
        print(f"gen {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def check_datasets(*paths: str | Path | None) -> None:
    """Raise `DatasetError` for what is no data set before what scores one is imported."""
    from retgen.data import open_dataset

    for path in paths:
        later = path is None or str(path).startswith("mteb:")  # fetched then
        if path is not None and not later:
            open_dataset(path)


def parse_numbers(option: str, text: str | None) -> list[int]:
    """Numbers and ranges, both ends included: 4,8,16 or 4-12."""
    try:
        result: list[int] = []
        for part in text.split(",") if text else ():
            low, dash, high = part.strip().partition("-")
            if dash and low:
                if int(high) - int(low) > 100_000:
                    raise UsageError(f"{option} {text}: the range is too long")
                result += range(int(low), int(high) + 1)
            else:
                result.append(int(part))
    except ValueError:
        raise UsageError(f"{option} {text}: write numbers, for example 32,64,128") from None
    if text and not result:
        raise UsageError(f"{option} {text}: holds no number")
    return result
