"""`gen ledger`: what was asked of models and what it cost; answers in a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from retgen.cli.base import Json, app, command, print_json, report_errors
from retgen.errors import UsageError
from retgen.results.numbers import count_text

if TYPE_CHECKING:
    from retgen.agents.ledger import LedgerReader
    from retgen.agents.report import Sums

_OPTIONS = """
    --ledger LEDGER  Ledger of all calls; default ledger.sqlite beside the run. One process at a
                     time.
    --run RUN        One run: its directory, or its name in the ledger.
    """
commands = typer.Typer(
    help="Calls, tokens and dollars by run, model and agent; answers in a file.",
    epilog="Examples:  gen ledger  |  gen ledger --run outputs/limit_semantic  |  "
    "gen ledger export answers.jsonl --run outputs/limit_semantic",
    invoke_without_command=True,
)
app.add_typer(commands, name="ledger")


def ledger_command(
    ctx: typer.Context, ledger: Path | None = None, run: str | None = None, json: Json = False
) -> None:
    """Calls, tokens and dollars by run, agent and model; what is open is charged at its most."""
    if ctx.invoked_subcommand is not None:
        return
    with _opened(ledger, run) as (result, name):
        runs, parts = result.sums(name, by_agent=False), result.sums(name)
    if json:
        rows = [[_in_dollars(one) for one in some] for some in (runs, parts)]
        print_json({"ledger": str(result.path), "runs": rows[0], "parts": rows[1]})
        return
    from retgen.results.tables import TableView

    lines: list[list[str]] = []
    for one in runs:
        lines.append(_line(one))
        lines += [["", *_line(part)[1:]] for part in parts if part.run == one.run]
    head = "run,agent,model,calls,cached,failed,open,tokens in,tokens out,usd".split(",")
    print(TableView(head, lines, names=3).text())
    if not runs:
        print("nothing has been asked yet")


commands.callback()(report_errors(ledger_command, _OPTIONS))


@command(
    "export",
    "gen ledger export answers.jsonl --run outputs/limit_semantic",
    options=f"""
    FILE             The file to write.
    {_OPTIONS.strip()}
    """,
    group=commands,
)
def export_command(file: Path, ledger: Path | None = None, run: str | None = None) -> None:
    """Write the answers to a file for gen run --replay, which needs neither key nor network."""
    from retgen.agents.replay import export_replay

    if file.is_dir():
        raise UsageError(f"{str(file)!r} is a folder: name a file to write")
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent}: create it, or name another file")
    with _opened(ledger, run) as (result, name):
        count = export_replay(result, file, name)
    print(f"wrote {count_text(count, 'answer')} to {file}")


@contextmanager
def _opened(ledger: Path | None, run: str | None) -> Iterator[tuple[LedgerReader, str | None]]:
    """The ledger that is meant, and the run's name in it."""
    from retgen.agents.ledger import LedgerReader
    from retgen.agents.models import ModelOptions
    from retgen.agents.session import ledger_of, run_name

    folder = Path(run) if run is not None and Path(run).is_dir() else None
    path = ledger_of(folder or Path("outputs") / "any", ModelOptions(ledger=ledger))
    with closing(LedgerReader(path)) as result:
        name = run if folder is None else run_name(folder, path)
        known = [one.run for one in result.sums(by_agent=False)]
        if name is not None and name not in known:
            raise UsageError(f"{path} has no run {name!r}. It has: {', '.join(known) or 'none'}")
        yield result, name


def _in_dollars(row: Sums) -> dict[str, Any]:
    """A row with dollars in place of nano-dollars; null where a price was not known."""
    values = {name: value for name, value in row._asdict().items() if value != ""}
    nano, priced = values.pop("nano_usd"), values.pop("priced")
    return {**values, "usd": nano / 1e9 if priced else None}


def _line(row: Sums) -> list[str]:
    *names, nano, priced = row
    usd = f"${nano / 1e9:.4f}" if priced else "not known"
    return [*(f"{one:,}" if isinstance(one, int) else str(one) for one in names), usd]
