"""`gen diff`: what changed between two data sets."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from retgen.cli.base import (
    Json,
    Quiet,
    Verbose,
    app,
    given_path,
    print_json,
    report_errors,
    shown_progress,
)


@app.command(
    "diff",
    epilog="Examples:  gen diff outputs/kb_v1 outputs/kb_v2  |  "
    "gen diff outputs/kb ~/beir/kb --exit-code -q  |  gen diff A B --page diff.html",
)
@report_errors
def diff_command(
    a: Annotated[
        Path,
        typer.Argument(
            parser=given_path, metavar="A", show_default=False,
            help="A run directory, or any data set in MTEB, BEIR or Hub layout.",
        ),
    ],
    b: Annotated[
        Path,
        typer.Argument(parser=given_path, metavar="B", show_default=False, help="Another one."),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M",
            help="Scores of gen eval to compare, such as nDCG@10; default all. Repeatable.",
        ),
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Records shown of each kind.")] = 3,
    page: Annotated[
        Path | None,
        typer.Option(parser=given_path, metavar="FILE", help="Write an HTML page as well."),
    ] = None,
    exit_code: Annotated[
        bool,
        typer.Option("--exit-code", help="Exit 1 if records, recipes or evidence differ."),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """Compare two data sets: records, texts, labels, recipes, scores."""
    from retgen.changes import diff
    from retgen.changes.report import terminal_text

    with shown_progress(quiet, json) as progress:
        result = diff(
            a, b, metrics=metric or (), examples=examples, page=page,
            command=shlex.join(["gen", *sys.argv[1:]]), progress=progress,
        )  # fmt: skip
    if json:
        print_json(result.to_json())
    elif not quiet:
        print(terminal_text(result))
        if page is not None:
            print(f"page: {page}")
    if exit_code and result.differ:
        raise typer.Exit(1)
