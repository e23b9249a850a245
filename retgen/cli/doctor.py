"""`gen doctor`."""

from __future__ import annotations

import typer

from retgen.cli.base import Json, app, print_json, report_errors


@app.command("doctor", epilog="Example:  gen doctor")
@report_errors
def doctor_command(json: Json = False) -> None:
    """List installed and missing packages, with the install command. Exit 1 if any is missing."""
    from retgen.doctor import doctor

    checks = doctor()
    if json:
        print_json([check._asdict() for check in checks])
    else:
        width = max(len(check.what) for check in checks)
        for check in checks:
            print(f"{check.state:8}{check.what:{width}}  {check.note}")
    if any(check.state == "missing" for check in checks):
        raise typer.Exit(1)
