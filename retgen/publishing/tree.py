"""The folder that is published: all tables as Parquet, card, manifest, recipe, review.

The same run gives the same bytes; `published.json` lists them, as every destination keeps it. What
a run has beside its data set becomes configurations of their own:

    training/pairs.parquet -> training_pairs: what a trainer reads, without ids
    tables/verdicts.jsonl  -> tables_verdicts: in a layout of the family's own
    sources/groups.jsonl   -> sources_groups: only where the card names it

Other sources, rejected records and the questions of a review are not published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from retgen.dataset_files import card_header
from retgen.errors import DatasetError
from retgen.export import write_export
from retgen.export.facts import facts_from_manifest
from retgen.export.files import column_types, parquet_writer
from retgen.export.mteb import write_mteb
from retgen.plan import NOT_STATED
from retgen.progress import Progress, no_progress
from retgen.publishing.card import SCORES, card, evaluation_page
from retgen.publishing.croissant import CROISSANT, croissant
from retgen.publishing.destination import LISTING, Tree
from retgen.publishing.refusals import LICENCE
from retgen.review import open_review
from retgen.review.report import report
from retgen.review.review import FILE
from retgen.write import dump_json, file_info, write_file
from retgen.yaml_text import read_yaml, to_yaml

REVIEW = "review.json"
# of a review's report
_KEPT = ("split", "mode", "pool", "populations", "left_out", "changed", "agreement")
_PRIVATE = ("base_url", "api_key_env")  # of models, in a recipe; `endpoint` in a manifest


def write_tree(
    run: Path,
    manifest: Mapping[str, Any],
    review: Mapping[str, Any] | None,
    refused: Sequence[str],
    loaded_as: str,
    folder: Path,
    score_up_to: int = 0,
    progress: Progress = no_progress,
    *,
    with_croissant: bool = True,
) -> Tree:
    """Write what is published of a run. `refused`: what it is published in spite of.

    `loaded_as`: what `load_dataset` is given. `score_up_to`: documents up to which MTEB scores it
    where that was not done yet.
    `with_croissant`: False for a destination that makes its own.
    Raises `DatasetError` for tables that cannot be read.
    """
    exported = write_export(run, "parquet", folder)
    tables = write_tables(run, manifest, folder)
    write_file(folder / "manifest.json", dump_json(_public(manifest)))
    write_file(folder / "recipe.yaml", _recipe(run, manifest))
    if review is not None:
        write_file(folder / REVIEW, dump_json(review))
    gates = write_mteb(
        folder, "mteb", facts_from_manifest(manifest, manifest["name"]), run, loaded_as=loaded_as,
        up_to=score_up_to, progress=progress,
    )  # fmt: skip
    scored = evaluation_page(run, manifest)
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


def _recipe(run: Path, manifest: Mapping[str, Any]) -> str:
    """The run's recipe without what only says where things stood on the machine that made it."""
    made = read_yaml(run / "recipe.yaml")
    tree = _public(made)
    left_out = "# Without addresses and keys of models, and folders above those of sources.\n"
    head = f"# gen run recipe.yaml\n{left_out if tree != made else ''}"
    return head + to_yaml(_public(made, licence=manifest.get(LICENCE, NOT_STATED)))


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


def review_summary(run: Path) -> dict[str, Any] | None:
    """The review's report of a run: populations, agreement, certificates; None without verdicts.

    Annotators are counted and numbered: whoever judged did not ask to be named to the world.
    """
    if not (run / FILE).is_file():
        return None
    review = open_review(run)
    found = report(review)
    if not any(one["looked_at"] for one in found["populations"].values()):
        return None
    names = {name: f"annotator {i}" for i, name in enumerate(review.settings.annotators, 1)}
    certificates = [
        {**one, "by": {names.get(name, name): count for name, count in one["by"].items()}}
        for one in found["certificates"]
    ]
    return {
        **{key: found[key] for key in _KEPT},
        "annotators": len(names), "certificates": certificates,
    }  # fmt: skip


def write_tables(run: Path, manifest: Mapping[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Write them as Parquet; their entries for `configs` of a card. No row, no entry."""
    named = (run / "dataset" / "README.md").read_text("utf-8")
    columns = {
        one["config_name"]: one.get("columns")
        for one in card_header(run / "training").get("configs", ())
    }
    result = []
    for name in sorted(manifest["files"]):
        kind, _, file = name.partition("/")
        stem = file.rpartition(".")[0]
        target = f"{kind}/{stem}.parquet"
        if not (run / name).is_file():
            continue  # a run that is published in spite of that
        if kind == "training" and name.endswith(".parquet"):
            _copy(run / name, folder / target)
        elif name.endswith(".jsonl") and (
            (kind == "tables" and not stem.startswith("review_"))
            or (kind == "sources" and f"`{name}`" in named)
        ):
            _convert(run / name, folder / target)
        if not (folder / target).is_file():
            continue
        shown = columns.get(stem) if kind == "training" else None
        result.append({
            "config_name": f"{kind}_{stem}",
            "data_files": [{"split": "train" if kind == "training" else kind, "path": target}],
            **({"columns": list(shown)} if shown else {}),
        })  # fmt: skip
    return result


def _copy(source: Path, target: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(source) as table, parquet_writer(target, table.schema_arrow) as add:
        for batch in table.iter_batches(1_000):
            for row in batch.to_pylist():
                add(row)


def _convert(source: Path, target: Path) -> None:
    import pyarrow as pa

    found = column_types(_rows(source))
    columns = {name: one for name, one in found.items() if one.type is not None}
    schema = pa.schema([(name, one.type) for name, one in columns.items()])
    with parquet_writer(target, schema) as add:
        for row in _rows(source):
            add({name: one.encode_value(row.get(name)) for name, one in columns.items()})


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                row = orjson.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise DatasetError(f"{path}, line {number}: is not a JSON object")
            yield row
