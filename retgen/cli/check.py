"""`gen validate`, `report`, `diff` and `doctor`: what is right and what changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from retgen.cli.base import (
    DATASET,
    ENGINE,
    RUN,
    WORKERS,
    Json,
    Output,
    SplitOption,
    command,
)
from retgen.errors import UsageError
from retgen.results.numbers import count_text


@command(
    "validate",
    "gen validate outputs/limit_dense",
    'gen validate ~/beir/scifact --off duplicate-text="as published"',
    options=f"""
        {DATASET}
        --off RULE=REASON  Switch a rule off, with a reason. Repeatable. Rules: {{rules}}.
        --against PATH     A data set, such as a benchmark, that must share no documents or
                           queries with this one. Repeatable.
        {WORKERS}
        {ENGINE}
        """,
)
def validate_command(
    path: Path,
    output: Output,
    split: SplitOption = None,
    off: list[str] | None = None,
    against: list[Path] | None = None,
    workers: int | None = None,
    engine: str = "local",
) -> None:
    """Check a data set: all rules, and for a run the structural proof. Exit 1 on errors."""
    from retgen.validation.validate import validate

    with output.progress() as progress:
        result = validate(
            path,
            workers=workers,
            engine=engine,
            progress=progress,
            split=split,
            off=_reasons(off),
            against=against or (),
        )
    output.print(result, lambda: _findings(path, result))
    if not result.ok:
        raise typer.Exit(1)


def _reasons(given: list[str] | None) -> dict[str, str]:
    """RULE=REASON, as often as it was given."""
    result = {}
    for text in given or []:
        rule, _, reason = text.partition("=")
        if not (rule.strip() and reason.strip()):
            raise UsageError(
                f"--off {text}: write --off RULE=REASON, with the reason: --off "
                f'{rule.strip() or "RULE"}="kept as it is"'
            )
        result[rule.strip()] = reason.strip()
    return result


def _split_option(result: Any) -> str:
    """Which split that was, where it is not the only one, or not the one that is expected."""
    if not result.splits or result.splits == ["test"]:
        return ""
    first, *others = result.splits
    return f" of split {first}" + (f" (others: {', '.join(others)})" if others else "")


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
    if result.proven:
        lines.append(f"  proven: {result.proven:,} qrels, {result.proof}")
    if result.judged:
        lines.append(f"  judged: {result.judged:,} qrels")
    if result.human:
        lines.append(f"  human: {result.human:,} qrels, given by people")
    if result.origin and "origin" not in result.switched_off:
        from retgen.validators.rules.origin import in_words

        lines.append(f"  origin: {in_words(result.origin)}")
    verdict = "ok" if result.ok else "not ok"
    errors, warnings = count_text(result.errors, "error"), count_text(result.warnings, "warning")
    lines.append(f"{verdict}: {errors}, {warnings}")
    return "\n".join(lines)


@command("report", "gen report outputs/limit_dense", options=RUN)
def report_command(run: Path) -> None:
    """Write the HTML page of a run again."""
    from retgen.reporting.report import report

    print(report(run))


@command(
    "diff",
    "gen diff outputs/kb_v1 outputs/kb_v2",
    "gen diff outputs/kb ~/beir/kb --exit-code -q",
    options="""
        A                  A run directory, or any data set in MTEB, BEIR or Hub layout.
        B                  Another one.
        --metric NAME      Scores of gen eval to compare, such as nDCG@10; default all. Repeatable.
        --examples NUMBER  Records shown of each table.
        --exit-code        Exit 1 if records or recipes differ.
        """,
)
def diff_command(
    a: Path,
    b: Path,
    output: Output,
    metric: list[str] | None = None,
    examples: int = 10,
    exit_code: bool = False,
) -> None:
    """Compare two data sets: records, texts, labels, recipes, scores."""
    from retgen.changes import diff, terminal_text

    with output.progress() as progress:
        result = diff(a, b, metrics=metric or (), examples=examples, progress=progress)
    output.print(result, lambda: terminal_text(result))
    if exit_code and result.differ:
        raise typer.Exit(1)


@command("doctor", "gen doctor")
def doctor_command(json: Json = False) -> None:
    """List installed and missing packages, with the install command. Exit 1 if any is missing."""
    from retgen.doctor import doctor

    checks = doctor()
    width = max(len(check.what) for check in checks)
    lines = [f"{check.state:8}{check.what:{width}}  {check.note}" for check in checks]
    Output(json).print([check._asdict() for check in checks], lambda: "\n".join(lines))
    if any(check.state == "missing" for check in checks):
        raise typer.Exit(1)
