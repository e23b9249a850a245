"""`gen validate`: all rules over a run or a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from retgen.cli.base import (
    Json,
    NamingParts,
    Quiet,
    RunArgument,
    Verbose,
    Workers,
    app,
    given_path,
    print_json,
    report_errors,
    shown_progress,
)
from retgen.errors import UsageError


@app.command(
    "validate",
    cls=NamingParts,
    epilog="Examples:  gen validate outputs/limit_dense  |  "
    'gen validate ~/beir/scifact --off duplicate-text="as published" --severity empty-text=warning',
)
@report_errors
def validate_command(
    path: Annotated[
        Path,
        typer.Argument(
            parser=given_path, metavar="PATH", show_default=False,
            help="A run directory, or any data set in MTEB, BEIR or Hub layout.",
        ),
    ],
    split: Annotated[str | None, typer.Option(help="Which qrels; default test.")] = None,
    off: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE=REASON",
            help="Switch a rule off, with a reason. Repeatable. Rules: {rules}.",
        ),
    ] = None,
    severity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE=LEVEL", help="Make a rule an error, a warning or an info. Repeatable."
        ),
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            parser=given_path, metavar="PATH",
            help="A data set, such as a benchmark, that must share no documents or queries with "
            "this one. Repeatable.",
        ),
    ] = None,
    workers: Workers = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """Check a data set: all rules, and for a run the structural proof. Exit 1 on errors."""
    from retgen.validation.validate import validate

    with shown_progress(quiet, json) as progress:
        result = validate(
            path,
            workers=workers,
            progress=progress,
            split=split,
            off=_pairs(off, "--off", "REASON"),
            severity=_pairs(severity, "--severity", "error|warning|info"),
            against=against or (),
        )
    if json:
        print_json(result.to_json())
    elif not quiet:
        print(_findings(path, result))
    if not result.ok:
        raise typer.Exit(1)


def _pairs(given: list[str] | None, option: str, value: str) -> dict[str, str]:
    """RULE=VALUE, as often as it was given."""
    result = {}
    for text in given or []:
        rule, equals, stated = text.partition("=")
        if not (rule.strip() and equals and stated.strip()):
            why = f', with the reason: {option} {rule.strip() or "RULE"}="kept as it is"'
            raise UsageError(
                f"{option} {text}: write {option} RULE={value}{why if value == 'REASON' else ''}"
            )
        result[rule.strip()] = stated.strip()
    return result


def _split_option(result: Any) -> str:
    """Which split that was, where it is not the only one, or not the one that is expected."""
    if not result.splits or result.splits == ["test"]:
        return ""
    first, *others = result.splits
    return f" of split {first}" + (f" (others: {', '.join(others)})" if others else "")


def _count_text(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _findings(path: Path, result: Any) -> str:
    counts = result.statistics
    lines = [
        f"{path}: {counts['documents']:,} documents, {counts['queries']:,} queries, "
        f"{counts['qrels']:,} qrels{_split_option(result)}"
    ]
    for finding in result.findings[:50]:
        lines.append(f"  {finding.severity:8}{finding.rule}: {finding.message}")
    if len(result.findings) > 50:
        lines.append(f"  ... and {len(result.findings) - 50} more; --json prints all")
    for rule, reason in result.switched_off.items():
        lines.append(f"  off     {rule}: {reason}")
    for rule, level in result.severities.items():
        lines.append(f"  level   {rule}: {level}, as asked for")
    if result.proven:
        lines.append(f"  proven: {result.proven:,} qrels, {result.proof}")
    if result.human:
        lines.append(f"  human: {result.human:,} qrels, settled by people in a review")
    if result.edited:
        lines.append(f"  edited: {result.edited:,} qrels of texts that people changed")
    if result.origin and "origin" not in result.switched_off:
        from retgen.validators.origin import in_words

        lines.append(f"  origin: {in_words(result.origin)}")
    verdict = "ok" if result.ok else "not ok"
    errors, warnings = _count_text(result.errors, "error"), _count_text(result.warnings, "warning")
    lines.append(f"{verdict}: {errors}, {warnings}")
    return "\n".join(lines)


@app.command("report", epilog="Example:  gen report outputs/limit_dense")
@report_errors
def report_command(run: RunArgument, verbose: Verbose = False) -> None:
    """Write the HTML page of a run again."""
    from retgen.reporting.report import report

    print(report(run))
