"""`gen review`: people judge pairs, and a report says what that shows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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

_STATIC = 100  # looks of an annotator that are written at a time


@command(
    "review",
    "gen review outputs/capretrieval --annotators anna,ben",
    "gen review outputs/capretrieval --goal 'wrong <= 2% at 95%'",
    "gen review outputs/capretrieval --report",
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
        str | None, typer.Option(metavar="NAME,...", help="Annotators; default me.")
    ] = None,
    goal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GOAL",
            help="Claim to certify; default 'wrong <= 2% at 95%' (positives that are not "
            "relevant) and 'missed <= 10% at 95%' (relevant pairs without a positive label). "
            "Repeatable.",
        ),
    ] = None,
    looks: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Looks of each annotator; default 200; 0: all."),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(help="grade (default): the label is hidden; check: accept or reject it."),
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Items that every annotator judges; default 1."),
    ] = None,
    plants: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Control items (with known answers); default 0.1."),
    ] = None,
    second: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Items shown a second time, unannounced; default 0."),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(
            metavar="M,M,...",
            help="Retrievers that find missed ones; default bm25; none: pairs with a label only.",
        ),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Documents per query and retriever; default 10.")
    ] = None,
    split: SplitOption = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the sample; default 0.")] = None,
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
        bool, typer.Option("--report", help="Agreement, error rates, certificates; write a page.")
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
    static: Annotated[
        Path | None,
        typer.Option(parser=given_path, metavar="DIR", help="Write pages to judge without retgen."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let people judge query-document pairs; certify error rates."""
    actions = {
        "--report": report,
        "--export": export,
        "--import": import_file,
        "--static": static,
    }
    given = [name for name, value in actions.items() if value not in (None, False)]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: do one after the other")
    if to is not None and export is None:
        raise UsageError("--to is about --export")
    from retgen.review import open_review
    from retgen.review.begin import check_begun

    if report:
        require_modules("statsmodels", "krippendorff")
        check_begun(path, out)
    elif not given:
        require_modules("fastapi", "uvicorn")
    with shown_progress(quiet, json) as progress:
        review = open_review(
            path,
            annotators=_names(annotators),
            goals=goal,
            mode=mode,
            overlap=overlap,
            second=second,
            depth=depth,
            split=split,
            seed=seed,
            out=out,
            progress=progress,
            **_given(plants=plants, pool=_names(pool), looks=looks),
        )
    if report:
        _report(review, json, quiet)
    elif export is not None:
        from retgen.review import exchange

        written = exchange.export(review, export, to)
        print_result({"written": str(written)}, lambda: f"wrote {written}", json, quiet)
    elif import_file is not None:
        _import(review, import_file, json, quiet)
    elif static is not None:
        _static(review, static, json, quiet)
    else:
        _serve(review, host, port, not no_open, quiet)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _report(review: Any, json: bool, quiet: bool) -> None:
    from retgen.review.report import report
    from retgen.review.report_page import report_text, write_page

    result = report(review)
    page = write_page(review.folder, review.path.resolve().name, result)
    print_result(result, lambda: report_text(result, page), json, quiet)


def _static(review: Any, folder: Path, json: bool, quiet: bool) -> None:
    """A page and a table for each annotator, of what they are to look at next."""
    from retgen.review.web.static_page import write

    paths: list[str] = []
    for name in review.settings.annotators:
        looks = review.ahead(name, _STATIC)
        paths += map(str, write(review, folder, name, [one.item for one in looks]))
    shown = "\n".join(f"wrote {path}" for path in paths)
    print_result({"written": paths}, lambda: shown, json, quiet)


def _import(review: Any, file: Path, json: bool, quiet: bool) -> None:
    """What was kept, and the rows that were not, each with its reason. Exit 1 if there are any."""
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


def _serve(review: Any, host: str, port: int, browser: bool, quiet: bool) -> None:
    from retgen.review.report import forecast
    from retgen.review.web import serve

    interruptible()
    if not quiet:
        print(f"{forecast(review)} --looks changes their number, at any time.", flush=True)
    serve(review, host, port, browser)
