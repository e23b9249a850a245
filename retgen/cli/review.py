"""`gen review`: people judge pairs, and a report says what that shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retgen.cli.base import (
    Json,
    Quiet,
    SplitOption,
    command,
    given_path,
    interruptible,
    print_result,
    shown_progress,
)
from retgen.errors import UsageError
from retgen.plugins import require_modules

if TYPE_CHECKING:
    from retgen.review import Review


@command(
    "review",
    "gen review outputs/capretrieval --annotators anna,ben",
    "gen review outputs/capretrieval --report",
    "gen review outputs/capretrieval --export csv --to judge.csv",
    "gen review ~/beir/scifact --pool bm25,minilm",
)
def review_command(
    path: Annotated[
        Path,
        typer.Argument(
            parser=given_path,
            metavar="PATH",
            show_default=False,
            help="A run directory, or any data set in MTEB, BEIR or Hub layout.",
        ),
    ],
    annotators: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="Annotators; each judges all pairs; default me."),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Labels to judge, a random sample; default 200."),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(
            metavar="M,M,...",
            help="Retrievers that look for missing labels; default bm25; none: labels only.",
        ),
    ] = None,
    split: SplitOption = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=given_path, help="Folder; default RUN, else outputs/review_NAME."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address of the page; beyond this machine a token is required.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the page; 0: any free one.")
    ] = 8765,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Error rates and agreement; write a page.")
    ] = False,
    export: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="csv, label-studio or qrels."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option(parser=given_path, metavar="FILE", help="Output of --export.")
    ] = None,
    import_file: Annotated[
        Path | None,
        typer.Option("--import", parser=given_path, metavar="FILE", help="Read verdicts."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let people judge labels; state the error rate with its bound."""
    actions = {"--report": report, "--export": export, "--import": import_file}
    given = [name for name, value in actions.items() if value not in (None, False)]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: do one after the other")
    if to is not None and export is None:
        raise UsageError("--to is about --export")
    from retgen.review import open_review

    if report:
        require_modules("statsmodels", "krippendorff")
    elif not given:
        require_modules("fastapi", "uvicorn")
    with shown_progress(quiet, json) as progress:
        review = open_review(
            path,
            annotators=_names(annotators),
            size=size,
            pool=_names(pool),
            split=split,
            out=out,
            begun=report,
            progress=progress,
        )
    if report:
        _report(review, json, quiet)
    elif export is not None:
        from retgen.review import exchange

        written = exchange.export(review, export, to)
        print_result({"written": str(written)}, lambda: f"wrote {written}", json, quiet)
    elif import_file is not None:
        _import(review, import_file, json, quiet)
    else:
        _serve(review, host, port, not no_open, quiet)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _report(review: Review, json: bool, quiet: bool) -> None:
    from retgen.review.report import PAGE, report, report_page, report_text
    from retgen.write import write_file

    result = report(review)
    page, path = report_page(review.path.resolve().name, result), review.folder / PAGE
    write_file(path, page.html())
    print_result(result, lambda: report_text(page, path), json, quiet)


def _import(review: Review, file: Path, json: bool, quiet: bool) -> None:
    """Print how many verdicts were kept, and each refused row. Exit 1 if any was refused."""
    from retgen.review.exchange import import_

    result = import_(review, file)
    lines = [f"{file}, row {row}: {reason}" for row, reason in result.refused]
    if result.kept or result.refused:
        lines.append(f"kept {result.kept:,} verdicts, refused {len(result.refused):,}")
    else:
        lines.append(f"{file}: no verdict in it that is not kept already")
    refused = [{"row": row, "reason": reason} for row, reason in result.refused]
    shown = {"kept": result.kept, "refused": refused}
    print_result(shown, lambda: "\n".join(lines), json, quiet)
    if result.refused:
        raise typer.Exit(1)


def _serve(review: Review, host: str, port: int, browser: bool, quiet: bool) -> None:
    from retgen.review.report import forecast
    from retgen.review.web.serve import serve

    interruptible()
    if not quiet:
        print(forecast(review), flush=True)
    serve(review, host, port, browser)
