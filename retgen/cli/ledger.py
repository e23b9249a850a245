"""`gen ledger`: what was asked of models and what it cost; answers in a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retgen.cli.base import Json, LedgerOption, Verbose, app, expected, given_path, print_json
from retgen.errors import UsageError

if TYPE_CHECKING:
    from retgen.agents.ledger import Ledger

RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="One run: its directory, or its name in the ledger."),
]

commands = typer.Typer(
    help="Calls, tokens and dollars by run, model and agent; keep the ledger sound and small.",
    epilog="Examples:  gen ledger  |  gen ledger --run outputs/limit_semantic  |  "
    "gen ledger export answers.jsonl --run outputs/limit_semantic  |  gen ledger check",
    invoke_without_command=True,
)
app.add_typer(commands, name="ledger")


@commands.callback()
@expected
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
    result, name = opened(ledger, run)
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
@expected
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
    result, name = opened(ledger, run)
    try:
        count = export_replay(result, file, name)
    finally:
        result.close()
    print(f"wrote {plural(count, 'answer')} to {file}")


def opened(ledger: Path | None, run: str | None) -> tuple[Ledger, str | None]:
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
