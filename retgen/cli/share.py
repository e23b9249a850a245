"""`gen export` and `gen publish`: a data set in another layout, and a run as others load it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from retgen.cli.base import RUN, Json, Output, command
from retgen.results.numbers import count_text


@command(
    "export",
    "gen export outputs/limit_dense --to beir",
    "gen export outputs/limit_dense --to mteb --out ~/limit",
    "gen export outputs/kb --to sentence-transformers",
    options=f"""
        {RUN}
        --to NAME     {{layouts}}.
        --out DIR     Folder; default RUN/exports/TO, else outputs/export_NAME_TO.
        --split NAME  Qrels of this split only; repeatable. Default: all.
        """,
)
def export_command(
    run: Path,
    to: str,
    out: Path | None = None,
    split: list[str] | None = None,
    json: Json = False,
) -> None:
    """Write a data set in another layout."""
    from retgen.export import write_export

    folder, notes = write_export(run, to, out, split or ())
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    shown = {"path": str(folder), "to": to, "files": files, "notes": notes}
    Output(json).print(shown, lambda: str(folder))
    for note in () if json else notes:
        print(f"{note}.", file=sys.stderr)


@command(
    "publish",
    "gen publish outputs/kb hub:me/kb --dry-run",
    "gen publish outputs/kb hub:me/kb",
    "gen publish outputs/kb s3://bucket/kb",
    "gen publish outputs/train_kb_minilm hub:me/kb-minilm",
    options="""
        RUN             A run directory, or a folder of gen train: its model.
        DEST            hub:OWNER/NAME, file:PATH or s3://BUCKET/PATH.
        --dry-run       Show what would change there; change nothing.
        --force         Publish what is refused (proof, personal data, secrets, licence, collapse);
                        its card says so.
        --licence NAME  Licence of the documents, or training data, that state none, for example
                        CC-BY-4.0.
        --private       hub: make a new repository private; refuse one that is public.
        """,
)
def publish_command(
    run: Path,
    dest: str,
    output: Output,
    dry_run: bool = False,
    force: bool = False,
    licence: str | None = None,
    private: bool = False,
) -> None:
    """Publish a run (Parquet, card, manifest, MTEB's task) or a trained model."""
    from retgen.publishing import publish

    result = publish(run, dest, dry_run=dry_run, force=force, private=private, licence=licence)
    output.print(result, lambda: _text(result, dry_run))
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
        lines.append(f"unchanged: {count_text(same, 'file')}")
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
