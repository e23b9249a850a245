"""`gen export` and `gen publish`: a data set in another layout, and a run as others load it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from retgen.cli.base import (
    Json,
    Quiet,
    RunArgument,
    command,
    given_path,
    interruptible,
    plural,
    print_result,
)


@command(
    "export",
    "gen export outputs/limit_dense --to beir",
    "gen export outputs/limit_dense --to mteb --out ~/limit",
    "gen export outputs/kb --to sentence-transformers",
)
def export_command(
    run: RunArgument,
    to: Annotated[str, typer.Option(help="{layouts}.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            parser=given_path, help="Folder; default RUN/exports/TO, else outputs/export_NAME_TO."
        ),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Qrels of this split only; repeatable. Default: all."),
    ] = None,
    json: Json = False,
) -> None:
    """Write a data set in another layout."""
    from retgen.export import write_export

    folder, notes = write_export(run, to, out, split or ())
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    shown = {"path": str(folder), "to": to, "files": files, "notes": notes}
    print_result(shown, lambda: str(folder), json)
    for note in () if json else notes:
        print(f"{note}.", file=sys.stderr)


@command(
    "publish",
    "gen publish outputs/kb hub:me/kb --dry-run",
    "gen publish outputs/kb hub:me/kb",
    "gen publish outputs/kb s3://bucket/kb",
    "gen publish outputs/train_kb_minilm hub:me/kb-minilm",
)
def publish_command(
    run: Annotated[
        Path,
        typer.Argument(
            parser=given_path,
            metavar="RUN",
            show_default=False,
            help="A run directory, or a folder of gen train: its model.",
        ),
    ],
    to: Annotated[
        str,
        typer.Argument(
            metavar="DEST",
            show_default=False,
            help="hub:OWNER/NAME, file:PATH or s3://BUCKET/PATH.",
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change there; change nothing.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Publish what is refused (proof, certificate, licence, collapse); its card says "
            "so.",
        ),
    ] = False,
    licence: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Licence of the documents, or training data, that state none, for example "
            "CC-BY-4.0.",
        ),
    ] = None,
    private: Annotated[
        bool,
        typer.Option(
            "--private", help="hub: make a new repository private; refuse one that is public."
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish a run (Parquet, card, manifest, MTEB's task) or a trained model."""
    from retgen.publishing import publish, sensitive_findings

    interruptible()
    if not quiet:
        for one in sensitive_findings(Path(run)):
            print(f"gen: warning: {one}; whoever publishes it answers for that", file=sys.stderr)
    result = publish(run, to, dry_run=dry_run, force=force, private=private, licence=licence)
    print_result(result, lambda: _text(result, dry_run), json, quiet)
    if dry_run and result.refused and not force:
        raise typer.Exit(1)


def _text(result: Any, dry_run: bool) -> str:
    from retgen.write import size_text

    lines = []
    for one in result.changes:
        if one.kind != "unchanged":
            size = "" if one.kind == "removed" else f"  {size_text(one.bytes)}"
            lines.append(f"{one.kind:8} {one.path}{size}")
    same = sum(one.kind == "unchanged" for one in result.changes)
    if same:
        lines.append(f"unchanged: {plural(same, 'file')}")
    if dry_run:
        there = [one.bytes for one in result.changes if one.kind != "removed"]
        lines.append(f"in all: {len(there)} files, {size_text(sum(there))}")
    for one in result.refused:
        lines.append(f"{'refused' if dry_run else 'in spite of this'}: {one}")
    if result.where:
        lines.append(f"published: {result.where}")
    elif result.is_unchanged:
        lines.append(f"{result.destination} holds all of it already: nothing to do")
    return "\n".join(lines)
