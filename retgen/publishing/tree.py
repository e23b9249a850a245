"""The folder that is published: all tables as Parquet, card, manifest, recipe, what people said.

The same bytes for the same run; `published.json` lists them, as every destination keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retgen.data import open_dataset
from retgen.export import write_export
from retgen.export.facts import facts_of
from retgen.export.mteb.folder import write_mteb
from retgen.export.mteb.gates import Gate
from retgen.progress import Progress, silent
from retgen.publishing.card import card
from retgen.publishing.changes import LISTING
from retgen.publishing.croissant import CROISSANT, croissant
from retgen.publishing.scores import SCORES, scores
from retgen.publishing.tables import write_tables
from retgen.write import FileInfo, dump_json, file_info, write_file
from retgen.yaml_text import read_yaml, to_yaml

REVIEW = "review.json"
_PRIVATE = ("base_url", "api_key_env")  # of models, in a recipe; `endpoint` in a manifest


@dataclass(frozen=True)
class Tree:
    """`files` by their paths below `folder`, the listing included. `name`: of the data set.

    `gates`: what MTEB's checks say.
    """

    name: str
    folder: Path
    files: Mapping[str, FileInfo]
    gates: Sequence[Gate] = ()


def write_tree(
    run: Path,
    manifest: Mapping[str, Any],
    review: Mapping[str, Any] | None,
    refused: Sequence[str],
    loaded_as: str,
    folder: Path,
    score_up_to: int | None = None,
    progress: Progress = silent,
    *,
    with_croissant: bool = True,
) -> Tree:
    """Write what is published of a run. `refused`: what it is published in spite of.

    `loaded_as`: what `load_dataset` is given. `score_up_to`: documents up to which MTEB scores it
    where that was not done yet, None: it does not.
    `with_croissant`: False for a destination that makes its own.
    Raises `DatasetError` for tables that cannot be read.
    """
    exported = write_export(run, "parquet", folder)
    tables = write_tables(run, manifest, folder)
    write_file(folder / "manifest.json", dump_json(_public(manifest)))
    write_file(folder / "recipe.yaml", _recipe(run))
    if review is not None:
        write_file(folder / REVIEW, dump_json(review))
    gates = write_mteb(
        folder, "mteb", facts_of(open_dataset(run), manifest["name"]), run, loaded_as=loaded_as,
        up_to=score_up_to, progress=progress,
    )  # fmt: skip
    scored = scores(run, manifest)
    if scored is not None:
        write_file(folder / SCORES, f"# Scores\n\n{scored}")
    text = card(
        run, manifest, review, refused, loaded_as, folder, tables, exported.notes, scored, gates
    )
    write_file(folder / "README.md", text)
    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    files = {path: file_info(folder / path) for path in paths}
    if with_croissant:
        made = croissant(run, manifest, review, refused, folder, files)
        files[CROISSANT] = write_file(folder / CROISSANT, made)
        files = dict(sorted(files.items()))
    listing = {"name": manifest["name"], "files": {p: one._asdict() for p, one in files.items()}}
    files[LISTING] = write_file(folder / LISTING, dump_json(listing))
    return Tree(manifest["name"], folder, files, gates)


def _recipe(run: Path) -> str:
    """The run's recipe without what only says where things stood on the machine that made it."""
    made = read_yaml(run / "recipe.yaml")
    tree = _public(made)
    left_out = "# Without addresses and keys of models, and folders above those of sources.\n"
    return f"# gen run recipe.yaml\n{left_out if tree != made else ''}{to_yaml(tree)}"


def _public(value: Any, key: str = "") -> Any:
    """Parts of a recipe or manifest without addresses of servers, names of keys, and folders."""
    if isinstance(value, Mapping):
        return {
            name: _public(one, name)
            for name, one in value.items()
            if name not in _PRIVATE and not (name == "endpoint" and "://" in str(one))
        }
    if isinstance(value, list):
        return [_public(one, key) for one in value]
    if key == "path" and isinstance(value, str) and Path(value).is_absolute():
        return Path(value).name
    return value
