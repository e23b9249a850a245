"""What a system is called: by the user, in tables and files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

EMBEDDERS = {
    "minilm": "all-MiniLM-L6-v2 from a PyPI package, no network",
    "static:minilm": "its word embeddings alone, averaged",
}


def label(model: str, dim: int | None, details: Mapping[str, Any]) -> str:
    """A system's name in tables: the dimension only where it was cut."""
    cut = dim is not None and not details.get("full_dimension", True)
    return f"{model}, first {dim}" if cut else model


def slug(model: str, dim: int | None = None) -> str:
    """A file name for a system."""
    name = re.sub(r"[^0-9A-Za-z._-]+", "--", model).strip("-.") or "model"
    return f"{name}-{dim}" if dim is not None else name


def names_embedder(name: str) -> bool:
    """Whether a name may be an embedder's: one of `EMBEDDERS`, a folder, a Hub id."""
    id_of_the_hub = "/" in name and ":" not in name
    return name in EMBEDDERS or id_of_the_hub or Path(name).exists()
