"""`gen ledger`: what was asked of models and what it cost; answers in a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retgen.cli.base import (
    Json,
    LedgerOption,
    app,
    command,
    given_ledger,
    given_path,
    plural,
    print_json,
    report_errors,
)
from retgen.errors import OutputError, UsageError

if TYPE_CHECKING:
    from retgen.agents.ledger import Ledger
    from retgen.agents.ledger.address import ServerAddress
    from retgen.agents.ledger.care import LedgerCheck

RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="One run: its directory, or its name in the ledger."),
]
TargetArgument = Annotated[
    Path, typer.Argument(parser=given_path, help="The file to write.", show_default=False)
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it; without this, only show it.")]

commands = typer.Typer(
    help="Calls, tokens and dollars by run, model and agent; check, copy and shrink the ledger.",
    epilog="Examples:  gen ledger  |  gen ledger --run outputs/limit_semantic  |  "
    "gen ledger export answers.jsonl --run outputs/limit_semantic  |  gen ledger check  |  "
    "gen ledger --ledger postgresql://me@host/database",
    invoke_without_command=True,
)
app.add_typer(commands, name="ledger")


@commands.callback()
@report_errors
def ledger_command(
    ctx: typer.Context, ledger: LedgerOption = None, run: RunOption = None, json: Json = False
) -> None:
    """Calls, tokens and dollars by run, agent and model; what is open is charged at its most."""
    if ctx.invoked_subcommand is not None:
        return
    with _opened(ledger, run) as (result, name):
        spent = [one for one in result.runs() if name in (None, one.run)]
        parts = [one for one in result.parts() if name in (None, one.run)]
    unpriced = {part.run for part in parts if not part.priced}
    if json:
        print_json({
            "ledger": str(result.where),
            "runs": [_in_dollars(one, one.run not in unpriced) for one in spent],
            "parts": [_in_dollars(one, one.priced) for one in parts],
        })  # fmt: skip
        return
    from retgen.results.tables import TableView

    rows: list[list[str]] = []
    for one in spent:
        rows.append([
            one.run, "", "", f"{one.calls:,}", f"{one.cache_hits:,}", "", "", f"{one.tokens_in:,}",
            f"{one.tokens_out:,}", _usd(one.nano_usd, one.run not in unpriced),
        ])  # fmt: skip
        rows += [
            ["", part.agent, part.model, f"{part.calls:,}", "", f"{part.failed:,}",
             f"{part.open:,}", f"{part.tokens_in:,}", f"{part.tokens_out:,}",
             _usd(part.nano_usd, part.priced)]
            for part in parts if part.run == one.run
        ]  # fmt: skip
    head = ["run", "agent", "model", "calls", "cached", "failed", "open", "tokens in",
            "tokens out", "usd"]  # fmt: skip
    print(TableView(head, rows, names=3).text())
    if not spent:
        print("nothing has been asked yet")


@command("export", "gen ledger export answers.jsonl --run outputs/limit_semantic", group=commands)
def export_command(
    file: TargetArgument, ledger: LedgerOption = None, run: RunOption = None
) -> None:
    """Write the answers to a file for gen run --replay, which needs neither key nor network."""
    from retgen.agents.replay import export_replay

    _check_target(file)
    with _opened(ledger, run) as (result, name):
        count = export_replay(result, file, name)
    print(f"wrote {plural(count, 'answer')} to {file}")


@command(
    "check",
    "gen ledger check",
    "gen ledger check --ledger runs/ledger.sqlite --json",
    "gen ledger check --accept",
    group=commands,
)
def check_command(
    ledger: LedgerOption = None,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept",
            help="Accept the file as it is: missing answers are paid for again, sums recounted.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Check that the file is sound and complete, and that sums agree. Exit 1 if not."""
    from retgen.agents.ledger import Ledger, LostAnswers
    from retgen.agents.ledger.care import LedgerCheck, check, recount

    where = _ledger_place(ledger, None, lost=True)
    try:
        with closing(Ledger(where, accept=accept, create=False)) as result:
            if accept:
                with result.transaction() as db:
                    recount(db)
            checked = check(result)
    except (LostAnswers, OutputError) as error:
        checked = LedgerCheck([str(error)])
    if json:
        shown: dict[str, Any] = {"ledger": str(where), "ok": not checked.findings}
        print_json({**shown, **vars(checked)})
    else:
        print("\n".join(_check_lines(where, checked)))
    if checked.findings:
        raise typer.Exit(1)


def _check_lines(where: Path | ServerAddress, checked: LedgerCheck) -> Iterator[str]:
    if checked.states:
        states = ", ".join(f"{number:,} {state}" for state, number in checked.states.items())
        yield f"{where}: {_size(checked.bytes)}, {states}"
    elif not checked.findings:
        yield f"{where}: {_size(checked.bytes)}, it holds no request"
    yield from (f"note: {one}" for one in checked.notes)
    yield from (f"wrong: {one}" for one in checked.findings)
    yield from (f"to do: {one}" for one in checked.advice)
    if not checked.findings:
        yield "sound: nothing is missing, and the sums are those of the requests"


@command(
    "forget",
    "gen ledger forget --run outputs/mine",
    "gen ledger forget --agent identify_attribute --state answered --yes",
    "gen ledger forget --model openai:gpt-5-mini --state refused --state answered",
    group=commands,
)
def forget_command(
    ledger: LedgerOption = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Sent by this run: its directory, or its name."),
    ] = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Of this agent.")] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="To this model, with its provider or without."),
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATE",
            help="refused (the default), answered, or open: sent and never answered, by a process "
            "on another machine. Repeatable. What failed, was cut off or void is asked again "
            "anyway.",
        ),
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Send (and pay for) requests again. Their earlier cost stays charged.

    With --yes no run may have the ledger open.
    """
    from retgen.agents.ledger.care import STATES, forget

    if run is None and agent is None and model is None and not state:
        raise UsageError("say what to forget: at least one of --run, --agent, --model, --state")
    states = state or ["refused"]
    for one in states:
        if one not in STATES:
            raise UsageError(f"--state {one}: choose from {', '.join(STATES)}")
    with _opened(ledger, run) as (result, name):
        parts = result.parts()
        _check_known("agent", agent, {part.agent for part in parts})
        if model is not None and all(part.model != model for part in parts):
            model = model.partition(":")[2] or model  # as recipes write it: PROVIDER:NAME
        _check_known("model", model, {part.model for part in parts})
        rows = forget(result, run=name, agent=agent, model=model, states=states, dry=not yes)
    if json:
        shown = [_in_dollars(row, True) for row in rows]
        print_json({"ledger": str(result.where), "forgotten": yes, "requests": shown})
        return
    for row in rows:
        others = f"; other runs have used {row.others:,} of them" if row.others else ""
        reason = f" ({row.reason})" if row.reason else ""
        cost = _usd(row.nano_usd, True)
        what = f"{row.run}, {row.agent}, {row.model}: {row.requests:,} {row.state}"
        print(f"{what}, {cost}{others}{reason}")
    count = plural(sum(row.requests for row in rows), "request")
    cost = _usd(sum(row.nano_usd for row in rows), True)
    if not rows:
        print(f"nothing here is {' or '.join(states)}")
    elif yes:
        print(
            f"forgot {count}; the {cost} of cost stay charged\nA run that has finished asks again "
            "only with gen run ... --fresh; a replay of it is no longer complete"
        )
    else:
        print(f"would forget {count} that had cost {cost}, to be paid for again when needed: "
              "add --yes")  # fmt: skip


@command("prune", "gen ledger prune", "gen ledger prune --run outputs/old --yes", group=commands)
def prune_command(
    ledger: LedgerOption = None,
    run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="Also drop this run (its directory or name), except answers that other runs used. "
            "Repeating it costs again. Repeatable.",
        ),
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Shrink the file: drop the texts of failed, cut, void, spare and forgotten requests.

    Sums and charges stay. No run may have the ledger open.
    """
    from retgen.agents.ledger.care import prune

    names = []
    for one in run or ():
        with _opened(ledger, one) as (_, name):
            names += [name] if name is not None else []
    with _opened(ledger) as (result, _):
        pruned = prune(result, names, dry=not yes)
    if json:
        print_json({"ledger": str(result.where), "pruned": yes, **pruned._asdict()})
        return
    did, about = ("dropped", "") if yes else ("would drop", "about ")
    print(
        f"{did} the texts of {plural(pruned.emptied, 'request')} and "
        f"{plural(pruned.removed, 'request')} of runs: "
        f"{_size(pruned.before)} -> {about}{_size(pruned.after)}"
    )
    if not yes:
        print("add --yes to do it")


@command(
    "copy",
    "gen ledger copy /backup/ledger.sqlite",
    "gen ledger copy outputs/ledger.sqlite postgresql://me@host/database",
    "gen ledger copy postgresql://me@host/database ledger.sqlite",
    group=commands,
)
def copy_command(
    places: Annotated[
        list[Any],
        typer.Argument(
            parser=given_ledger,
            metavar="[FROM] TO",
            help="A file or URL to copy from (default: --ledger), and a new one to copy to.",
            show_default=False,
        ),
    ],
    ledger: LedgerOption = None,
) -> None:
    """Copy the ledger into a file or a PostgreSQL database, also during a run."""
    from retgen.agents.ledger.care import copy

    *source, target = places
    if len(source) > 1:
        raise UsageError("gen ledger copy takes one place to copy from and one to copy to")
    if isinstance(target, Path):
        _check_target(target)
    with _opened(source[0] if source else ledger) as (result, _):
        copy(result, target)
        size = target.stat().st_size if isinstance(target, Path) else result.database.size()
    print(f"copied {_size(size)} to {target}")


@contextmanager
def _opened(
    ledger: Path | ServerAddress | None, run: str | None = None
) -> Iterator[tuple[Ledger, str | None]]:
    """The ledger that is meant, and the run's name in it."""
    from retgen.agents.calls import run_name
    from retgen.agents.ledger import Ledger

    where, folder = _ledger_place(ledger, run), _folder(run)
    with closing(Ledger(where, create=False)) as result:
        name = run if folder is None else run_name(folder, where)
        known = [one.run for one in result.runs()]
        if name is not None and name not in known:
            raise UsageError(
                f"{result.where} has no run {name!r}. It has: {', '.join(known) or 'none'}"
            )
        yield result, name


def _ledger_place(
    ledger: Path | ServerAddress | None, run: str | None, *, lost: bool = False
) -> Path | ServerAddress:
    """Where the ledger is that is meant. `lost`: or where only its state file is left."""
    from retgen.agents.calls import ModelOptions, ledger_of
    from retgen.agents.ledger.sidecar import state_path

    where = ledger_of(_folder(run) or Path("outputs") / "any", ModelOptions(ledger=ledger))
    if (
        isinstance(where, Path)
        and not where.is_file()
        and not (lost and state_path(where).is_file())
    ):
        raise UsageError(
            f"there is no ledger at {os.path.relpath(where)}: no run has asked a model there. Name "
            "another with --ledger"
        )
    return where


def _folder(run: str | None) -> Path | None:
    return Path(run) if run is not None and Path(run).is_dir() else None


def _check_target(file: Path) -> None:
    """Raises `UsageError` where no file can be written: at a folder, or in none."""
    if file.is_dir():
        raise UsageError(f"{str(file)!r} is a folder: name a file to write")
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent}: create it, or name another file")


def _check_known(what: str, name: str | None, known: set[str]) -> None:
    if name is not None and name not in known:
        there = ", ".join(sorted(known)) or "none"
        raise UsageError(f"there is no {what} {name!r} here; it has: {there}")


def _in_dollars(row: Any, priced: bool) -> dict[str, Any]:
    """A row with dollars in place of nano-dollars; null where a price was not known."""
    values = row._asdict()
    nano = values.pop("nano_usd")
    return {**values, "usd": nano / 1e9 if priced else None}


def _usd(nano: int, priced: bool) -> str:
    return f"${nano / 1e9:.4f}" if priced else "not known"


def _size(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1e6:,.2f} MB"
