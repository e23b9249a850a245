"""The folder that is published: Parquet, card, manifest, recipe, what people said of it.

The same bytes for the same run; `published.json` lists them, as every destination keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retgen.export import write_export
from retgen.publishing.card import card
from retgen.publishing.changes import LISTING
from retgen.publishing.croissant import CROISSANT, croissant
from retgen.write import FileInfo, dump_json, file_info, write_file

REVIEW = "review.json"


@dataclass(frozen=True)
class Tree:
    """`files` by their paths below `folder`, the listing included. `name`: of the data set."""

    name: str
    folder: Path
    files: Mapping[str, FileInfo]


def write_tree(
    run: Path,
    manifest: Mapping[str, Any],
    review: Mapping[str, Any] | None,
    refused: Sequence[str],
    loaded_as: str,
    folder: Path,
    *,
    with_croissant: bool = True,
) -> Tree:
    """Write what is published of a run. `refused`: what it is published in spite of.

    `loaded_as`: what `load_dataset` is given. `with_croissant`: False for a destination that
    makes its own. Raises `DatasetError` for tables that cannot be read.
    """
    exported = write_export(run, "parquet", folder)
    write_file(folder / "manifest.json", (run / "manifest.json").read_bytes())
    write_file(folder / "recipe.yaml", _recipe(run))
    if review is not None:
        write_file(folder / REVIEW, dump_json(review))
    text = card(run, manifest, review, refused, loaded_as, folder, exported.notes)
    write_file(folder / "README.md", text)
    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    files = {path: file_info(folder / path) for path in paths}
    if with_croissant:
        made = croissant(run, manifest, review, refused, folder, files)
        files[CROISSANT] = write_file(folder / CROISSANT, made)
        files = dict(sorted(files.items()))
    listing = {"name": manifest["name"], "files": {p: one._asdict() for p, one in files.items()}}
    files[LISTING] = write_file(folder / LISTING, dump_json(listing))
    return Tree(manifest["name"], folder, files)


def _recipe(run: Path) -> str:
    """The run's recipe without its first lines, which say where on this machine it stands."""
    lines = (run / "recipe.yaml").read_text("utf-8").splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
    return "".join(["# gen run recipe.yaml\n", *lines[start:]])
