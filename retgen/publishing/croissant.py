"""croissant.json of a published data set: Croissant 1.1 with the responsible-AI fields 1.0.

https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html and croissant-rai-spec.html there.
Files and tables are described as a reader loads them: files, record sets, fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from retgen.dataset_files import card_header
from retgen.export.files import WITHOUT
from retgen.manifest import fault_of_time
from retgen.publishing.card import bibtex
from retgen.publishing.responsible_ai import responsible_ai_fields
from retgen.recipe import load_recipe
from retgen.reporting import evidence
from retgen.reporting.card import content_id
from retgen.write import FileInfo, dump_json

CROISSANT = "croissant.json"
_CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
_SPDX = {
    name.casefold(): name
    for name in (
        "Apache-2.0 MIT CC0-1.0 CC-BY-2.0 CC-BY-3.0 CC-BY-4.0 CC-BY-SA-3.0 CC-BY-SA-4.0 "
        "CC-BY-NC-4.0 CC-BY-NC-SA-3.0 CC-BY-NC-SA-4.0 CC-BY-NC-ND-4.0 CC-BY-ND-4.0 ODC-By-1.0 "
        "ODbL-1.0 PDDL-1.0 AFL-3.0 BSD-3-Clause MPL-2.0"
    ).split()
}
# of Croissant: the terms that are no terms of schema.org
_TERMS = (
    "annotation arrayShape citeAs column containedIn equivalentProperty excludes extract field "
    "fileProperty fileObject fileSet format includes isArray isLiveDataset jsonPath key md5 "
    "parentField path readLines recordSet references regex repeated replace samplingRate "
    "sdVersion separator source subField transform unArchive value"
).split()
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}
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
_OTHERS = {
    "training": "Rows for a trainer", "tables": "A table in the layout of the data set's family",
    "sources": "What the data set was made from",
}  # fmt: skip
_GRADES = {"score": "Grade of the pair; what counts as relevant stands in the qrels."}


def croissant(
    run: Path,
    manifest: Mapping[str, Any],
    review: Mapping[str, Any] | None,
    refused: Sequence[str],
    folder: Path,
    files: Mapping[str, FileInfo],
) -> str:
    """The text of croissant.json. `folder`: with tables and card; `files`: what is in it.

    The same for the same run. `refused`: what it is published in spite of.
    """
    recipe = load_recipe(run / "recipe.yaml", finished=True)
    family, header = recipe.family, card_header(folder)
    listed = croissant_tables(folder, header["configs"])
    splits = [table.split for table in listed if table.config == "default"]
    return dump_json({
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": manifest["name"],
        "description": f"{evidence.what_it_is(family.from_user(recipe.job))}: "
                       f"{family.about(recipe.job)}. README.md says more; files that are "
                       "named, and are not beside it, are those of the run.",
        "conformsTo": _CONFORMS_TO,
        "url": "README.md",
        "license": _licences(manifest, header),
        **_times(manifest),
        "version": _version(manifest, files),
        "creator": {
            "@type": "sc:Organization", "name": "not stated",
            "description": "No person or organisation is named: the run does not say who made it.",
        },
        "citeAs": bibtex(manifest),
        "keywords": [*header["tags"], *header["task_categories"]],
        **({"inLanguage": header["language"]} if header.get("language") else {}),
        **responsible_ai_fields(run, recipe, manifest, review, refused, splits),
        "distribution": distribution(listed, files),
        "recordSet": record_sets(folder, listed),
    })  # fmt: skip


def _licences(manifest: Mapping[str, Any], header: Mapping[str, Any]) -> list[Any]:
    """One that holds for all of it, or one for each part."""
    if whole := _SPDX.get(str(header.get("license")).casefold()):
        return [_url(whole)]
    result = []
    for part, text in (manifest.get("licences") or {"data set": ""}).items():
        known = _SPDX.get(re.sub(r" \(.*\)$", "", text.strip()).replace(" ", "-").casefold())
        result.append({
            "@type": "sc:CreativeWork", "name": " ".join(text.split()) or "not stated",
            "description": f"Licence of: {part}", **({"url": _url(known)} if known else {}),
        })  # fmt: skip
    return result


def _url(spdx: str) -> str:
    return f"https://spdx.org/licenses/{spdx}.html"


def _times(manifest: Mapping[str, Any]) -> dict[str, str]:
    """When it was made, which is when it could first be published: no clock is asked."""
    created = manifest.get("created")
    if not isinstance(created, str) or fault_of_time(created):
        return {}
    return {"dateCreated": created, "datePublished": created}


def _version(manifest: Mapping[str, Any], files: Mapping[str, FileInfo]) -> str:
    """One more for each review that changed it; behind it the digest of the tables."""
    tables = {path: info.sha256 for path, info in files.items() if path.endswith(".parquet")}
    digest = content_id(tables).rpartition(" ")[2][:12]
    return f"{1 + len(manifest.get('lineage') or ())}.0.0+{digest}"


class CroissantTable(NamedTuple):
    """A split of a configuration. `name`: its record set; `files`: below the folder, in order."""

    name: str
    config: str
    split: str
    files: tuple[str, ...]


def croissant_tables(folder: Path, configs: list[Mapping[str, Any]]) -> list[CroissantTable]:
    """The tables that the card of a folder names, corpus and queries first.

    Of configurations that show columns of the same files the first.
    """
    result: list[CroissantTable] = []
    for config in configs:
        for one in config["data_files"]:
            paths = sorted(p.relative_to(folder).as_posix() for p in folder.glob(one["path"]))
            if any(table.files == tuple(paths) for table in result):
                continue
            stem, _, file = one["path"].partition("/")
            whole = stem.startswith(("corpus", "queries"))
            name = stem if whole else f"{stem}/{Path(file).stem}"
            result.append(CroissantTable(name, config["config_name"], one["split"], tuple(paths)))
    return sorted(result, key=lambda table: ("corpus", "queries").index(table.name)
                  if table.name in ("corpus", "queries") else 2)  # fmt: skip


def distribution(
    listed: list[CroissantTable], files: Mapping[str, FileInfo]
) -> list[dict[str, Any]]:
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


def record_sets(folder: Path, listed: list[CroissantTable]) -> list[dict[str, Any]]:
    """The tables as record sets, with the types of their columns and what these refer to."""
    import pyarrow.parquet as pq

    names = {table.name for table in listed}
    result = []
    for table in listed:
        schema = pq.read_schema(folder / table.files[0])
        pair = {"query-id", "corpus-id"} <= set(schema.names)
        key = ["query-id", "corpus-id"] if pair else ["_id"] if "_id" in schema.names else []
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
            **({"key": [{"@id": f"{table.name}/{one}"} for one in key]} if key else {}),
            "field": fields,
        })  # fmt: skip
    return result


def _about(table: CroissantTable) -> str:
    apart = WITHOUT in table.name
    if table.name.startswith("queries"):
        what = "Queries without a positive in any split" if apart else "Queries with a positive"
    elif table.name.startswith("qrels"):
        what = "Relevance judgements" if table.config != "graded" else "Grades of judged pairs"
        what += f", split {table.split}"
        what += ", of queries without a positive in it" if apart else ""
    else:
        what = _OTHERS.get(table.name.partition("/")[0], "Documents")
    return f"{what}. In load_dataset: configuration {table.config}, split {table.split}."


def _source(table: CroissantTable) -> dict[str, Any]:
    if len(table.files) > 1:
        return {"fileSet": {"@id": f"{table.name}-files"}}
    return {"fileObject": {"@id": table.files[0]}}


def _target(table: CroissantTable, column: str, names: set[str]) -> str | None:
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
