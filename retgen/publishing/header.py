"""The YAML header of a published card: what the Hub, its viewer and `load_dataset` read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retgen.layouts import card_header
from retgen.reporting.card import content_id
from retgen.validators.languages import code_of
from retgen.write import file_info

_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B")
# the Hub's names, for what the parts of a run may be under
_LICENCES = frozenset(
    "apache-2.0 mit cc0-1.0 cc-by-2.0 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-4.0 "
    "cc-by-nc-sa-4.0 cc-by-nc-nd-4.0 cc-by-nd-4.0 odc-by odbl gpl-3.0 lgpl-3.0 mpl-2.0 "
    "bsd-3-clause".split()
)
# parts under this are under the licence of the documents
_AS_DOCUMENTS = re.compile(r"^of the documents\b")


def published_header(
    run: Path,
    folder: Path,
    manifest: Mapping[str, Any],
    own: str,
    tables: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The header. `own`: what of the data is somebody's own, as `Family.own` says.

    `folder`: with all tables, and the card that their layout has written; `tables`: further
    configurations.
    """
    of_run, header = card_header(run / "dataset"), card_header(folder)
    result: dict[str, Any] = {"pretty_name": manifest["name"]}
    if header.get("language"):
        result["language"] = [code_of(one) or one for one in header["language"]]
        several = len(result["language"]) > 1
        result["multilinguality"] = ["multilingual" if several else "monolingual"]
    result |= _licence(header["license"], manifest.get("licences") or {})
    # of the labels: people's are neither the crowd's nor known to be experts'
    people = bool((manifest.get("evidence") or {}).get("human"))
    result["annotations_creators"] = ["machine-generated", *(["other"] if people else [])]
    made = {"documents": ["found", "machine-generated"], "queries": ["found"],
            "sentences": ["found", "machine-generated"]}  # fmt: skip
    result["language_creators"] = made.get(own, ["machine-generated"])
    result["source_datasets"] = ["original" if own == "nothing" else "extended|other"]
    result["task_categories"] = ["text-retrieval"]
    result["task_ids"] = ["document-retrieval"]
    result["tags"] = of_run.get("tags", header["tags"])
    result["configs"] = [*header["configs"], *_named(of_run, header, folder), *tables]
    files = [*folder.rglob("*.parquet")]
    state = content_id({p.relative_to(folder).as_posix(): file_info(p).sha256 for p in files})
    result["dataset_info"] = [
        {"config_name": one["config_name"], "description": state} for one in result["configs"]
    ]
    return result


def with_size(header: dict[str, Any], documents: int) -> dict[str, Any]:
    """The header with the Hub's category of a number of documents, before what is long."""
    size = _SIZES[min(max(len(str(documents)) - 3, 0), len(_SIZES) - 1)]
    before = {name: value for name, value in header.items() if name != "configs"}
    info = before.pop("dataset_info")
    return {**before, "size_categories": [size], "configs": header["configs"], "dataset_info": info}


def _named(
    of_run: Mapping[str, Any], header: Mapping[str, Any], folder: Path
) -> list[dict[str, Any]]:
    """Configurations of the run's own card that the layout has under another name."""
    known = {one["config_name"] for one in header["configs"]}
    result = []
    for config in of_run.get("configs", ()):
        if config["config_name"] in known:
            continue
        entries = []
        for one in config["data_files"]:
            split = (one["path"].split(".")[1:-1] or ["test"])[0]  # qrels.no_positives.jsonl
            stems = ("qrels", "qrels_without_positives")
            found = (path for path in (f"{stem}/{split}.parquet" for stem in stems)
                     if (folder / path).is_file())  # fmt: skip
            entries += [{"split": one["split"], "path": path} for path in found]
        if entries:
            result.append({"config_name": config["config_name"], "data_files": entries[:1]})
    return result


def _licence(known: str, licences: Mapping[str, str]) -> dict[str, str]:
    """The Hub's name of the licence; of one that it has no name for, ours beside "other"."""
    if known != "other":
        return {"license": known}
    parts = {text.strip() for text in licences.values() if not _AS_DOCUMENTS.match(text)}
    slugs = {re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-") for part in parts}
    if len(slugs) != 1:
        return {"license": "other", "license_name": "one-for-each-part"}
    (slug,) = slugs
    if slug in _LICENCES:
        return {"license": slug}
    return {"license": "other", "license_name": slug[:60] or "not-stated"}
