"""`gen export`: a data set in another layout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from retgen.cli.base import (
    Json,
    NamingParts,
    RunArgument,
    Verbose,
    app,
    given_path,
    print_json,
    report_errors,
)


@app.command(
    "export",
    cls=NamingParts,
    epilog="Examples:  gen export outputs/limit_dense --to beir  |  "
    "gen export outputs/limit_dense --to mteb --out ~/limit  |  "
    "gen export outputs/kb --to sentence-transformers  |  "
    "gen export outputs/kb --to beir --passages tokens=128,overlap=16",
)
@report_errors
def export_command(
    run: RunArgument,
    to: Annotated[str, typer.Option(help="{layouts}.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            parser=given_path, help="Folder; default RUN/exports/TO, else outputs/export_NAME_TO."
        ),
    ] = None,
    passages: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Re-chunk the source documents, with their qrels: tokens=256,overlap=32 or none "
            "(whole documents).",
        ),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Qrels of this split only; repeatable. Default: all."),
    ] = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Write a data set in another layout."""
    from retgen.export import write_export

    folder, notes = write_export(run, to, out, passages, split or ())
    if json:
        files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
        print_json({"path": str(folder), "to": to, "files": files, "notes": notes})
    else:
        print(folder)
        for note in notes:
            print(f"{note}.", file=sys.stderr)
