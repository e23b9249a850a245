"""`gen review`: people judge pairs, and a report says what that shows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from retgen.cli.base import (
    DATASET,
    Output,
    SplitOption,
    command,
)
from retgen.cli.options import Spending, refuse_given
from retgen.errors import UsageError
from retgen.plugins import require_modules

if TYPE_CHECKING:
    from retgen.agents.models import ModelOptions
    from retgen.review import Review


@command(
    "review",
    "gen review outputs/capretrieval --annotators anna,ben",
    "gen review outputs/capretrieval --report",
    "gen review outputs/capretrieval --export csv --to judge.csv",
    "gen review ~/beir/scifact --pool bm25,minilm",
    "gen review outputs/asked --model openai:gpt-5-mini --max-usd 2",
    options=f"""
        {DATASET}
        --annotators NAME,...  Annotators; each judges all pairs; default me.
        --size N               Labels to judge, a random sample; default 200.
        --pool M,M,...         Retrievers that look for missing labels, none: labels only; default
                               bm25; of people's questions bm25,minilm,late:minilm, whose
                               candidates are all judged.
        --model PROVIDER:NAME  A chat model that judges every pair, beside people.
        --retry-refused        With --model: ask again what it or its server has refused before.
        --out DIR              Folder; default RUN, else outputs/review_NAME.
        --port PORT            Port of the page; 0: any free one.
        --no-open              Open no browser.
        --report               Error rates and agreement; write a page.
        --export FORMAT        csv, label-studio or qrels.
        --to FILE              Output of --export.
        --import FILE          Read verdicts.
        """,
    apart={
        "--report": ("--export --import", "is an action of its own"),
        "--export": ("--import", "is an action of its own"),
        "--model": ("--report --export --import", "is an action of its own"),
    },
)
def review_command(
    path: Path,
    spending: Spending,
    output: Output,
    model: str | None = None,
    retry_refused: bool = False,
    annotators: str | None = None,
    size: int | None = None,
    pool: str | None = None,
    split: SplitOption = None,
    out: Path | None = None,
    port: int = 8765,
    no_open: bool = False,
    report: bool = False,
    export: str | None = None,
    to: Path | None = None,
    import_: Path | None = None,
) -> None:
    """Let people judge labels; state the error rate with its bound."""
    if to is not None and export is None:
        raise UsageError("--to is about --export")
    from retgen.review import open_review

    if model is None:
        given: dict[str, Any] = {"--max-usd": spending.max_usd, "--price": spending.price}
        given["--retry-refused"] = retry_refused
        refuse_given(given, "about a model that judges: name one, as --model openai:gpt-5-mini")
    if report:
        require_modules("statsmodels", "krippendorff")
    elif export is None and import_ is None and model is None:
        require_modules("fastapi", "uvicorn")
    with output.progress() as progress:
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
    changed = None if report or export == "qrels" else review.change_message()  # these say it
    if changed is not None:
        print(f"warning: {changed}.", file=sys.stderr)
    if model is not None:
        _judge(review, model, spending.options(retry_refused=retry_refused), output)
    elif report:
        _report(review, output)
    elif export is not None:
        from retgen.review import exchange

        written = exchange.export(review, export, to)
        output.print({"written": str(written)}, lambda: f"wrote {written}")
    elif import_ is not None:
        _import(review, import_, output)
    else:
        _serve(review, port, not no_open, output.quiet)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _judge(review: Review, model: str, options: ModelOptions, output: Output) -> None:
    """Print what the model took, and how far it agrees with people."""
    from retgen.agents.models import chat_model_of
    from retgen.review.judge import REJECTED, judge
    from retgen.review.report import model_words, models

    settings = chat_model_of("--model", model, "judges pairs")
    with output.progress() as progress:
        calls = judge(review, settings, options, progress)
    name = settings.full_name
    result = models(review.items, review.by_item(), review.settings)[name]
    lines = [f"{name}: {model_words(result)}."]
    if calls.rejected:
        lines.append(f"{len(calls.rejected):,} pages failed: {review.folder / REJECTED}")
    if (usd := calls.usd()) is not None:
        lines.append(f"charged for this run so far: ${usd:.4f}")
    output.print({name: result._asdict(), **calls.costs()}, lambda: "\n".join(lines))


def _report(review: Review, output: Output) -> None:
    from retgen.review.report import PAGE, report, report_page, report_text
    from retgen.write import write_file

    result = report(review)
    page, path = report_page(review.path.resolve().name, result), review.folder / PAGE
    write_file(path, page.html())
    output.print(result, lambda: report_text(page, path))


def _import(review: Review, file: Path, output: Output) -> None:
    """Print how many verdicts were kept, and each refused row. Exit 1 if any was refused."""
    from retgen.review.exchange import import_

    result = import_(review, file)
    lines = [f"{file}, row {row}: {reason}" for row, reason in result.refused]
    if result.kept or result.refused:
        lines.append(f"kept {result.kept:,} verdicts, refused {len(result.refused):,}")
    else:
        lines.append(f"{file}: no verdict in it that is not kept already")
    refused = [{"row": row, "reason": reason} for row, reason in result.refused]
    if result.assumed:
        lines.append(f"{file} names nobody who judged: its verdicts count as {result.assumed}'s")
    shown = {"kept": result.kept, "refused": refused, "assumed": result.assumed}
    output.print(shown, lambda: "\n".join(lines))
    if result.refused:
        raise typer.Exit(1)


def _serve(review: Review, port: int, browser: bool, quiet: bool) -> None:
    from retgen.review.report import forecast
    from retgen.review.web.serve import serve

    if not quiet:
        print(forecast(review), flush=True)
    serve(review, port, browser)
