"""croissant.json: what a data set is, its files, its tables, how it was made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retgen.layouts import card_header
from retgen.manifest import fault_of_time
from retgen.publishing.card import bibtex
from retgen.publishing.croissant.responsible import responsible
from retgen.publishing.croissant.tables import distribution, record_sets, tables
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
_CONTEXT = {
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
    listed = tables(folder, header["configs"])
    splits = [table.split for table in listed if table.config == "default"]
    return dump_json({
        "@context": _CONTEXT,
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
        **responsible(run, recipe, manifest, review, refused, splits),
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
