"""`gen ledger`: what was asked of models and what it cost; answers in a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retgen.cli.base import Json, LedgerOption, Verbose, app, given_path, print_json, report_errors
from retgen.errors import UsageError

if TYPE_CHECKING:
    from retgen.agents.ledger import Ledger
from retgen.errors import OutputError

if TYPE_CHECKING:
    from retgen.agents.ledger.care import Checked, Forgotten


RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="One run: its directory, or its name in the ledger."),
]

commands = typer.Typer(
    help="Calls, tokens and dollars by run, model and agent; check, copy and shrink the ledger.",
    epilog="Examples:  gen ledger  |  gen ledger --run outputs/limit_semantic  |  "
    "gen ledger export answers.jsonl --run outputs/limit_semantic  |  gen ledger check",
    invoke_without_command=True,
)
app.add_typer(commands, name="ledger")


@commands.callback()
@report_errors
def ledger_command(
    ctx: typer.Context,
    ledger: LedgerOption = None,
    run: RunOption = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Calls, tokens and dollars by run, agent and model; what is open is charged at its most."""
    if ctx.invoked_subcommand is not None:
        return
    result, name = open_ledger(ledger, run)
    spent = [one for one in result.runs() if name in (None, one.run)]
    parts = [one for one in result.parts() if name in (None, one.run)]
    result.close()
    unpriced = {part.run for part in parts if not part.priced}
    if json:
        print_json(
            {
                "ledger": str(result.path),
                "runs": [dollars(one._asdict(), one.run not in unpriced) for one in spent],
                "parts": [dollars(one._asdict(), one.priced) for one in parts],
            }
        )
        return
    head = ("run", "agent", "model", "calls", "cached", "failed", "open", "tokens in",
            "tokens out", "usd")  # fmt: skip
    rows: list[tuple[str, ...]] = [head]
    for one in spent:
        price = usd(one.nano_usd, one.run not in unpriced)
        rows.append(
            (one.run, "", "", f"{one.calls:,}", f"{one.cache_hits:,}", "", "",
             f"{one.tokens_in:,}", f"{one.tokens_out:,}", price)
        )  # fmt: skip
        for part in parts:
            if part.run == one.run:
                numbers = part.calls, None, part.failed, part.open, part.tokens_in, part.tokens_out
                shown = ("" if number is None else f"{number:,}" for number in numbers)
                price = usd(part.nano_usd, part.priced)
                rows.append(("", part.agent, part.model, *shown, price))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        cells = [cell.ljust(w) if i < 3 else cell.rjust(w)
                 for i, (cell, w) in enumerate(zip(row, widths, strict=True))]  # fmt: skip
        print("  ".join(cells).rstrip())
    if not spent:
        print("nothing has been asked yet")


@commands.command(
    "export", epilog="Example:  gen ledger export answers.jsonl --run outputs/limit_semantic"
)
@report_errors
def export_command(
    file: Annotated[
        Path, typer.Argument(parser=given_path, help="The file to write.", show_default=False)
    ],
    ledger: LedgerOption = None,
    run: RunOption = None,
    verbose: Verbose = False,
) -> None:
    """Write the answers to a file for gen run --replay, which needs neither key nor network."""
    from retgen.agents.replay import export_replay

    check_target(file)
    result, name = open_ledger(ledger, run)
    try:
        count = export_replay(result, file, name)
    finally:
        result.close()
    print(f"wrote {plural(count, 'answer')} to {file}")


def open_ledger(ledger: Path | None, run: str | None) -> tuple[Ledger, str | None]:
    """The ledger that is meant, and the run's name in it."""
    from retgen.agents.calls import run_name
    from retgen.agents.ledger import Ledger

    folder = _folder(run)
    path = ledger_path(ledger, run)
    result, name = Ledger(path, create=False), run if folder is None else run_name(folder, path)
    if name is not None and all(one.run != name for one in result.runs()):
        error = _unknown(result, name)
        result.close()
        raise error
    return result, name


def check_target(file: Path) -> None:
    """Raises `UsageError` where no file can be written: at a folder, or in none."""
    if file.is_dir():
        raise UsageError(f"{str(file)!r} is a folder: name a file to write")
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent}: create it, or name another file")


def ledger_path(ledger: Path | None, run: str | None, *, lost: bool = False) -> Path:
    """Where the ledger is that is meant. `lost`: or where only its state file is left."""
    from retgen.agents.calls import ModelOptions, ledger_of
    from retgen.agents.ledger.sidecar import state_path

    path = ledger_of(_folder(run) or Path("outputs") / "any", ModelOptions(ledger=ledger))
    if not path.is_file() and not (lost and state_path(path).is_file()):
        raise UsageError(
            f"there is no ledger at {os.path.relpath(path)}: no run has asked a model there. Name "
            "another with --ledger"
        )
    return path


def _folder(run: str | None) -> Path | None:
    return Path(run) if run is not None and Path(run).is_dir() else None


def _unknown(ledger: Ledger, name: str) -> UsageError:
    known = ", ".join(one.run for one in ledger.runs()) or "none"
    return UsageError(f"{ledger.path} has no run {name!r}. It has: {known}")


def dollars(row: dict[str, Any], priced: bool) -> dict[str, Any]:
    """Dollars in place of nano-dollars; null where a price was not known."""
    nano = row.pop("nano_usd")
    return {**row, "usd": nano / 1e9 if priced else None}


def plural(count: int, noun: str) -> str:
    """A number with its noun: 1 request, 2 requests."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def usd(nano: int, priced: bool) -> str:
    return f"${nano / 1e9:.4f}" if priced else "not known"


Yes = Annotated[bool, typer.Option("--yes", help="Do it; without this, only show it.")]


@commands.command(
    "check",
    epilog="Examples:  gen ledger check  |  gen ledger check --ledger runs/ledger.sqlite --json  |"
    "  gen ledger check --accept",
)
@report_errors
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
    verbose: Verbose = False,
) -> None:
    """Check that the file is sound and complete, and that sums agree. Exit 1 if not."""
    from retgen.agents.ledger import Ledger, LostAnswers
    from retgen.agents.ledger.care import Checked, check, recount

    path = ledger_path(ledger, None, lost=True)
    try:
        result = Ledger(path, accept=accept, create=False)
    except (LostAnswers, OutputError) as error:
        _print_check(path, Checked([str(error)]), json)
        raise typer.Exit(1) from None
    try:
        if accept:
            with result.transaction() as db:
                recount(db)
        checked = check(result)
    except OutputError as error:
        checked = Checked([str(error)])
    finally:
        result.close()
    _print_check(path, checked, json)
    if checked.findings:
        raise typer.Exit(1)


@commands.command(
    "forget",
    epilog="Examples:  gen ledger forget --run outputs/mine  |  gen ledger forget --agent "
    "identify_attribute --state answered --yes  |  gen ledger forget --model openai:gpt-5-mini "
    "--state refused --state answered",
)
@report_errors
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
    verbose: Verbose = False,
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
    result, name = open_ledger(ledger, run)
    try:
        parts = result.parts()
        agent = _check_known("agent", agent, {part.agent for part in parts})
        if model is not None and all(part.model != model for part in parts):
            model = model.partition(":")[2] or model  # as recipes write it: PROVIDER:NAME
        model = _check_known("model", model, {part.model for part in parts})
        rows = forget(result, run=name, agent=agent, model=model, states=states, dry=not yes)
    finally:
        result.close()
    if json:
        shown = [dollars(row._asdict(), True) for row in rows]
        print_json({"ledger": str(result.path), "forgotten": yes, "requests": shown})
        return
    for row in rows:
        print(_forgotten_line(row))
    count, nano = sum(row.requests for row in rows), sum(row.nano_usd for row in rows)
    if not rows:
        print(f"nothing here is {' or '.join(states)}")
    elif yes:
        print(f"forgot {plural(count, 'request')}; the {usd(nano, True)} of cost stay charged")
        print(
            "A run that has finished asks again only with gen run ... --fresh; a replay of it is "
            "no longer complete"
        )
    else:
        print(
            f"would forget {plural(count, 'request')} that had cost {usd(nano, True)}, to be paid "
            "for again when needed: add --yes"
        )


@commands.command(
    "prune", epilog="Examples:  gen ledger prune  |  gen ledger prune --run outputs/old --yes"
)
@report_errors
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
    verbose: Verbose = False,
) -> None:
    """Shrink the file: drop the texts of failed, cut, void, spare and forgotten requests.

    Sums and charges stay. No run may have the ledger open.
    """
    from retgen.agents.ledger.care import prune

    names = []
    for one in run or [None]:  # type: ignore[list-item]
        result, name = open_ledger(ledger, one)
        names += [name] if name is not None else []
        result.close()
    result, _ = open_ledger(ledger, None)
    try:
        pruned = prune(result, names, dry=not yes)
    finally:
        result.close()
    if json:
        print_json({"ledger": str(result.path), "pruned": yes, **pruned._asdict()})
        return
    did, about = ("dropped", "") if yes else ("would drop", "about ")
    print(
        f"{did} the texts of {plural(pruned.emptied, 'request')} and "
        f"{plural(pruned.removed, 'request')} of runs: "
        f"{_size(pruned.before)} -> {about}{_size(pruned.after)}"
    )
    if not yes:
        print("add --yes to do it")


@commands.command("copy", epilog="Example:  gen ledger copy /backup/ledger.sqlite")
@report_errors
def copy_command(
    file: Annotated[
        Path, typer.Argument(parser=given_path, help="The file to write.", show_default=False)
    ],
    ledger: LedgerOption = None,
    verbose: Verbose = False,
) -> None:
    """Copy the ledger into one file, also during a run."""
    from retgen.agents.ledger.care import copy

    check_target(file)
    result, _ = open_ledger(ledger, None)
    try:
        copy(result, file)
    finally:
        result.close()
    print(f"copied {_size(file.stat().st_size)} to {file}")


def _print_check(path: Path, checked: Checked, json: bool) -> None:
    if json:
        shown: dict[str, Any] = {"ledger": str(path), "ok": not checked.findings}
        print_json({**shown, **vars(checked)})
        return
    if checked.states:
        states = ", ".join(f"{number:,} {state}" for state, number in checked.states.items())
        print(f"{path}: {_size(checked.bytes)}, {states}")
    elif not checked.findings:
        print(f"{path}: {_size(checked.bytes)}, it holds no request")
    for one in checked.notes:
        print(f"note: {one}")
    for one in checked.findings:
        print(f"wrong: {one}")
    for one in checked.advice:
        print(f"to do: {one}")
    if not checked.findings:
        print("sound: nothing is missing, and the sums are those of the requests")


def _check_known(what: str, name: str | None, known: set[str]) -> str | None:
    if name is not None and name not in known:
        there = ", ".join(sorted(known)) or "none"
        raise UsageError(f"there is no {what} {name!r} here; it has: {there}")
    return name


def _forgotten_line(row: Forgotten) -> str:
    others = f"; other runs have used {row.others:,} of them" if row.others else ""
    reason = f" ({row.reason})" if row.reason else ""
    return (
        f"{row.run}, {row.agent}, {row.model}: {row.requests:,} {row.state}, "
        f"{usd(row.nano_usd, True)}{others}{reason}"
    )


def _size(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1e6:,.2f} MB"
