"""The folder that is published of a run: all tables as Parquet, card, manifest, recipe, review.

The same run gives the same bytes; `published.json` lists them, as every destination keeps it. What
a run has beside its data set becomes configurations of their own:

    training/pairs.parquet -> training_pairs: what a trainer reads, without ids
    tables/verdicts.jsonl  -> tables_verdicts: in a layout of the family's own
    sources/groups.jsonl   -> sources_groups: only where the card names it

Other sources, rejected records and the questions of a review are not published.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from retgen.dataset_files import card_header
from retgen.export import write_export
from retgen.export.facts import facts_from_manifest
from retgen.export.files import table_to_parquet
from retgen.export.mteb import write_mteb
from retgen.plan import NOT_STATED
from retgen.publishing.card import SCORES, card, evaluation_page
from retgen.publishing.destinations import Tree, listed_tree
from retgen.publishing.published_run import LICENCE, PublishedRun
from retgen.write import dump_json, file_info, write_file
from retgen.yaml_text import read_yaml, to_yaml

_PRIVATE = ("base_url", "api_key_env")  # of models, in a recipe; `endpoint` in a manifest


def write_run(run: PublishedRun, folder: Path, loaded_as: str) -> Tree:
    """Write what is published. `loaded_as`: what `load_dataset` is given.

    Raises `DatasetError` for tables that cannot be read.
    """
    manifest = run.manifest
    exported = write_export(run.path, "parquet", folder, checked=False)  # --force may do it
    tables = _write_tables(run, folder)
    write_file(folder / "manifest.json", dump_json(_public(manifest)))
    made = read_yaml(run.path / "recipe.yaml")
    left_out = "# Without addresses and keys of models, and folders above those of sources.\n"
    head = f"# gen run recipe.yaml\n{left_out if _public(made) != made else ''}"
    public = _public(made, licence=manifest.get(LICENCE, NOT_STATED))
    write_file(folder / "recipe.yaml", head + to_yaml(public))
    if run.review is not None:
        write_file(folder / "review.json", dump_json(run.review))
    facts = facts_from_manifest(manifest, run.name)
    write_mteb(folder, "mteb", facts, run.path, loaded_as=loaded_as)
    scored = evaluation_page(run.path, manifest)
    if scored is not None:
        write_file(folder / SCORES, scored)
    text = card(run, loaded_as, folder, tables, exported.notes, scored is not None)
    write_file(folder / "README.md", text)
    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    return listed_tree(run.name, folder, {path: file_info(folder / path) for path in paths})


def _write_tables(run: PublishedRun, folder: Path) -> list[dict[str, Any]]:
    """Write what a run has beside its data set as Parquet; entries for `configs`."""
    named = (run.path / "dataset" / "README.md").read_text("utf-8")
    configs = card_header(run.path / "training").get("configs", ())
    columns = {one["config_name"]: one.get("columns") for one in configs}
    result = []
    for path in sorted(map(Path, run.manifest["files"])):
        kind, name = path.parts[0], path.as_posix()
        wanted = {
            "training": path.suffix == ".parquet",
            "tables": path.suffix == ".jsonl",
            "sources": path.suffix == ".jsonl" and f"`{name}`" in named,
        }
        if not wanted.get(kind) or not (run.path / path).is_file():
            continue  # --force publishes a run without it
        target = path.with_suffix(".parquet")
        table_to_parquet(run.path / path, folder / target)
        if not (folder / target).is_file():
            continue  # it has no row
        split = "train" if kind == "training" else kind
        config: dict[str, Any] = {
            "config_name": f"{kind}_{path.stem}",
            "data_files": [{"split": split, "path": target.as_posix()}],
        }
        if kind == "training" and columns.get(path.stem):
            config["columns"] = list(columns[path.stem])
        result.append(config)
    return result


def _public(value: Any, key: str = "", licence: str = NOT_STATED) -> Any:
    """Parts of a recipe or manifest without addresses of servers, names of keys, and folders.

    `licence`: stands where none is stated.
    """
    if isinstance(value, Mapping):
        return {
            name: _public(one, name, licence)
            for name, one in value.items()
            if name not in _PRIVATE and not (name == "endpoint" and "://" in str(one))
        }
    if isinstance(value, list):
        return [_public(one, key, licence) for one in value]
    if key == "licence" and value == NOT_STATED:
        return licence
    if key == "path" and isinstance(value, str) and Path(value).is_absolute():
        return Path(value).name
    return value
