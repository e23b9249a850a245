"""`gen report`: the page of a run, made again."""

from __future__ import annotations

from retgen.cli.base import (
    RunArgument,
    Verbose,
    app,
    expected,
)


@app.command("report", epilog="Example:  gen report outputs/limit_dense")
@expected
def report_command(run: RunArgument, verbose: Verbose = False) -> None:
    """Write the HTML page of a run again."""
    from retgen.reporting.report import report

    print(report(run))
