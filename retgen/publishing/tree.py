"""The folder that is published: all tables as Parquet, card, manifest, recipe, review.

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

REVIEW = "review.json"
_PRIVATE = ("base_url", "api_key_env")  # of models, in a recipe; `endpoint` in a manifest


def write_tree(run: PublishedRun, loaded_as: str, folder: Path) -> Tree:
    """Write what is published of a run. `loaded_as`: what `load_dataset` is given.

    Raises `DatasetError` for tables that cannot be read.
    """
    manifest = run.manifest
    exported = write_export(run.path, "parquet", folder, checked=False)  # --force may publish it
    tables = _write_tables(run, folder)
    write_file(folder / "manifest.json", dump_json(_public(manifest)))
    write_file(folder / "recipe.yaml", _recipe(run))
    if run.review is not None:
        write_file(folder / REVIEW, dump_json(run.review))
    facts = facts_from_manifest(manifest, manifest["name"])
    write_mteb(folder, "mteb", facts, run.path, loaded_as=loaded_as)
    scored = evaluation_page(run)
    if scored is not None:
        write_file(folder / SCORES, scored)
    text = card(run, loaded_as, folder, tables, exported.notes, scored is not None)
    write_file(folder / "README.md", text)
    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    return listed_tree(run.name, folder, {path: file_info(folder / path) for path in paths})


def _recipe(run: PublishedRun) -> str:
    """The run's recipe without what only says where things stood on the machine that made it."""
    made = read_yaml(run.path / "recipe.yaml")
    left_out = "# Without addresses and keys of models, and folders above those of sources.\n"
    head = f"# gen run recipe.yaml\n{left_out if _public(made) != made else ''}"
    return head + to_yaml(_public(made, licence=run.manifest.get(LICENCE, NOT_STATED)))


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


def _write_tables(published: PublishedRun, folder: Path) -> list[dict[str, Any]]:
    """Write what a run has beside its data set as Parquet; entries for `configs` of a card."""
    run = published.path
    named = (run / "dataset" / "README.md").read_text("utf-8")
    columns = {
        one["config_name"]: one.get("columns")
        for one in card_header(run / "training").get("configs", ())
    }
    result = []
    for name in sorted(published.manifest["files"]):
        kind, _, file = name.partition("/")
        stem = file.rpartition(".")[0]
        target = f"{kind}/{stem}.parquet"
        if not (run / name).is_file():
            continue  # a run that is published in spite of that
        wanted = {
            "training": name.endswith(".parquet"),
            "tables": name.endswith(".jsonl"),
            "sources": name.endswith(".jsonl") and f"`{name}`" in named,
        }
        if wanted.get(kind):
            table_to_parquet(run / name, folder / target)
        if not (folder / target).is_file():
            continue
        shown = columns.get(stem) if kind == "training" else None
        result.append(
            {
                "config_name": f"{kind}_{stem}",
                "data_files": [{"split": "train" if kind == "training" else kind, "path": target}],
                **({"columns": list(shown)} if shown else {}),
            }
        )
    return result
