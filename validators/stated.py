"""What a data set says of itself in its manifest or on its card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from retgen.data import Dataset


def stated_languages(dataset: Dataset) -> list[str]:
    """The languages in the manifest, else on the card, as they are written there; [] if nowhere."""
    if dataset.run is not None:
        try:
            manifest = orjson.loads((dataset.run / "manifest.json").read_bytes())
        except (OSError, ValueError):
            manifest = None
        if isinstance(manifest, dict):
            return _strings(manifest.get("languages"))
    return _strings(_card(dataset).get("language"))


def _strings(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, str)]


def _card(dataset: Dataset) -> Mapping[str, Any]:
    """The header of README.md, empty where there is none."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        text = (dataset.root / "README.md").read_text(encoding="utf-8", errors="replace")
        if not text.startswith("---\n") or "\n---" not in text[4:]:
            return {}
        header = YAML(typ="safe").load(text[4 : text.index("\n---", 4)])
    except (OSError, YAMLError):
        return {}
    return header if isinstance(header, dict) else {}
