"""What is known of a data set beside its tables: licence, languages, who made it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retgen.data import Dataset, read_manifest
from retgen.dataset_files import card_header
from retgen.errors import DatasetError
from retgen.licences import HUB_LICENCES
from retgen.plan import NOT_STATED
from retgen.reporting.card import hub_languages, is_free_licence

NO_LANGUAGE = "und-Zyyy"  # ISO 639 and 15924 for what is not known
# those that MTEB's tasks may name
MTEB_LICENCES = HUB_LICENCES - {"cc-by-nd-4.0", "odbl"}
# parts under this are under the licence of the documents
_AS_DOCUMENTS = re.compile(r"^of the documents\b")


@dataclass(frozen=True)
class DatasetFacts:
    """`languages`: ISO 639-3 and script; `licences`: of each part, as the manifest names them.

    Of a data set that retgen did not write, both are what its card states: `hub_languages` and
    `hub_licence` are the Hub's own words then. `complete`: a pair without a qrel is known to be
    not relevant, None where that is not known.
    """

    name: str
    ours: bool
    languages: tuple[str, ...]
    hub_languages: tuple[str, ...]
    licences: Mapping[str, str]
    hub_licence: str
    complete: bool | None

    @property
    def mteb_licence(self) -> str:
        """The licence as MTEB names it."""
        if self.hub_licence in MTEB_LICENCES:
            return self.hub_licence
        return "multiple" if len(set(self.licences.values())) > 1 else "not specified"


def facts_of(dataset: Dataset, name: str) -> DatasetFacts:
    """The facts of a data set. Raises `DatasetError` for a run whose manifest cannot be read."""
    if dataset.run is None:
        return _facts_from_card(card_header(dataset.root), name)
    manifest = read_manifest(dataset.run)
    if manifest is None:
        raise DatasetError(
            f"{dataset.run} is unfinished: it has no manifest.json, which is written last. "
            f"`gen run {dataset.run}/recipe.yaml --out {dataset.run}` ends it"
        )
    return facts_from_manifest(manifest, name)


def facts_from_manifest(manifest: Mapping[str, Any], name: str) -> DatasetFacts:
    """The facts of a run, as its manifest states them."""
    licences = dict(manifest.get("licences") or {})
    languages = tuple(map(str, manifest.get("languages") or [NO_LANGUAGE]))
    known = () if languages == (NO_LANGUAGE,) else tuple(hub_languages(languages))
    licence, complete = licence_header(licences)["license"], bool(manifest.get("complete"))
    return DatasetFacts(name, True, languages, known, licences, licence, complete)


def _facts_from_card(header: Mapping[str, Any], name: str) -> DatasetFacts:
    licence, stated = header.get("license"), header.get("language")
    licences = {"data set": licence} if isinstance(licence, str) and licence else {}
    listed = stated if isinstance(stated, list) else [stated]
    languages = tuple(one for one in listed if isinstance(one, str) and one)
    hub_licence = licences.get("data set", "unknown")
    return DatasetFacts(name, False, (NO_LANGUAGE,), languages, licences, hub_licence, None)


def licence_header(licences: Mapping[str, str]) -> dict[str, str]:
    """The Hub's name of what all parts are under; of one that it has no name for, ours beside
    "other".
    """
    if is_free_licence(licences):
        return {"license": "apache-2.0"}
    parts = {text.strip() for text in licences.values() if not _AS_DOCUMENTS.match(text)}
    words = (part.lower().removeprefix("other:") for part in parts)
    slugs = {re.sub(r"[^a-z0-9.]+", "-", part).strip("-") for part in words}
    if len(slugs) != 1:
        return {"license": "other", "license_name": "one-for-each-part"}
    (slug,) = slugs
    if slug in HUB_LICENCES:
        return {"license": slug}
    return {"license": "other", "license_name": slug[:60] or NOT_STATED.replace(" ", "-")}
