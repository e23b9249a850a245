"""What a data set says of itself in its manifest or on its card."""

from __future__ import annotations

from typing import Any

import orjson

from retgen.data import Dataset
from retgen.dataset_files import card_header


def stated_languages(dataset: Dataset) -> list[str]:
    """The languages in the manifest, else on the card, as they are written there; [] if nowhere."""
    if dataset.run is not None:
        try:
            manifest = orjson.loads((dataset.run / "manifest.json").read_bytes())
        except (OSError, ValueError):
            manifest = None
        if isinstance(manifest, dict):
            return _strings(manifest.get("languages"))
    return _strings(card_header(dataset.root).get("language"))


def _strings(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, str)]
