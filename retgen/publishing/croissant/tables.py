"""The tables of a published folder in Croissant's words: files, record sets, fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from retgen.export.files import WITHOUT
from retgen.write import FileInfo

_FORMAT = "application/x-parquet"
_IDS = {"query-id": "queries/_id", "corpus-id": "corpus/_id"}  # columns to what they refer to
_ABOUT = {
    "_id": "Identifies the record.",
    "title": "Title of the document, which may be empty.",
    "query-id": "The query that was judged.",
    "corpus-id": "The document that was judged for it.",
    "score": "Relevance: above 0 relevant, 0 not relevant.",
    "metadata": "Facts beside the text.",
}
_GRADES = {"score": "Grade of the pair; what counts as relevant stands in the qrels."}


class Table(NamedTuple):
    """A split of a configuration. `name`: its record set; `files`: below the folder, in order."""

    name: str
    config: str
    split: str
    files: tuple[str, ...]


def tables(folder: Path, configs: list[Mapping[str, Any]]) -> list[Table]:
    """The tables that the card of a folder names, corpus and queries first."""
    result = []
    for config in configs:
        for one in config["data_files"]:
            paths = sorted(p.relative_to(folder).as_posix() for p in folder.glob(one["path"]))
            stem, _, file = one["path"].partition("/")
            name = stem if not stem.startswith("qrels") else f"{stem}/{Path(file).stem}"
            result.append(Table(name, config["config_name"], one["split"], tuple(paths)))
    return sorted(result, key=lambda table: ("corpus", "queries").index(table.name)
                  if table.name in ("corpus", "queries") else 2)  # fmt: skip


def distribution(listed: list[Table], files: Mapping[str, FileInfo]) -> list[dict[str, Any]]:
    """The files, each with its hash, and of a table in several files the set of these."""
    result: list[dict[str, Any]] = []
    for table in listed:
        for path in table.files:
            result.append({
                "@type": "cr:FileObject", "@id": path, "name": path, "contentUrl": path,
                "contentSize": f"{files[path].bytes} B", "encodingFormat": _FORMAT,
                "sha256": files[path].sha256,
            })  # fmt: skip
        if len(table.files) > 1:
            result.append({
                "@type": "cr:FileSet", "@id": _source(table)["fileSet"]["@id"],
                "name": f"files of {table.name}", "encodingFormat": _FORMAT,
                "includes": list(table.files),
            })  # fmt: skip
    return result


def record_sets(folder: Path, listed: list[Table]) -> list[dict[str, Any]]:
    """The tables as record sets, with the types of their columns and what these refer to."""
    import pyarrow.parquet as pq

    names = {table.name for table in listed}
    result = []
    for table in listed:
        schema = pq.read_schema(folder / table.files[0])
        key = ["query-id", "corpus-id"] if "query-id" in schema.names else ["_id"]
        fields = []
        for number, column in enumerate(schema):
            extract = {**_source(table), "extract": {"column": column.name}}
            for field in _field(table.name, number, column.name, column.type, extract, ()):
                known = _ABOUT | (_GRADES if table.config == "graded" else {})
                if column.name in known:
                    field["description"] = known[column.name]
                if target := _target(table, column.name, names):
                    field["references"] = {"field": {"@id": target}}
                fields.append(field)
        result.append({
            "@type": "cr:RecordSet", "@id": table.name, "name": table.name,
            "description": _about(table),
            "key": [{"@id": f"{table.name}/{one}"} for one in key],
            "field": fields,
        })  # fmt: skip
    return result


def _about(table: Table) -> str:
    apart = WITHOUT in table.name
    if table.name.startswith("queries"):
        what = "Queries without a positive in any split" if apart else "Queries with a positive"
    elif table.name.startswith("qrels"):
        what = "Relevance judgements" if table.config != "graded" else "Grades of judged pairs"
        what += f", split {table.split}"
        what += ", of queries without a positive in it" if apart else ""
    else:
        what = "Documents"
    return f"{what}. In load_dataset: configuration {table.config}, split {table.split}."


def _source(table: Table) -> dict[str, Any]:
    if len(table.files) > 1:
        return {"fileSet": {"@id": f"{table.name}-files"}}
    return {"fileObject": {"@id": table.files[0]}}


def _target(table: Table, column: str, names: set[str]) -> str | None:
    """The field that a column refers to, None where its ids stand in two tables."""
    split_up = f"queries_{WITHOUT}" in names and table.config != "default"
    if not table.name.startswith("qrels") or (column == "query-id" and split_up):
        return None
    target = _IDS.get(column)
    return target if target and target.partition("/")[0] in names else None


def _field(
    parent: str, number: int, name: str, kind: Any, source: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """A column, or a member of one: `path` leads to it from the column.

    None for lists of lists of structs, which no path of Croissant reaches.
    """
    import pyarrow as pa

    plain = re.fullmatch(r"[\w-]+", name, re.ASCII)
    # an id is part of an IRI: what may not stand in one is called by its number
    field: dict[str, Any] = {
        "@type": "cr:Field", "@id": f"{parent}/{name if plain else f'~{number}'}", "name": name,
    }  # fmt: skip
    depth = 0
    while pa.types.is_list(kind):
        kind, depth = kind.value_type, depth + 1
    if depth:
        field |= {"isArray": True, "arrayShape": ",".join(["-1"] * depth)}
    if not pa.types.is_struct(kind):
        yield field | {"dataType": _data_type(kind), "source": _at(source, path)}
    elif depth < 2:
        members = [kind.field(i) for i in range(kind.num_fields)]
        yield field | {
            "subField": [
                one
                for i, member in enumerate(members)
                for one in _field(
                    field["@id"], i, member.name, member.type, source, (*path, member.name)
                )
            ]
        }


def _at(source: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """A step for each level: a step into a list is one into each of its members."""
    names = [re.sub(r"(['\\])", r"\\\1", name) for name in path]
    steps = [{"jsonPath": f"$['{name}']"} for name in names]
    if not steps:
        return dict(source)
    return {**source, "transform": steps if len(steps) > 1 else steps[0]}


def _data_type(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"
