"""Layouts by name, found by file: a module here that exports one subclass of `Layout`.

`sentence_transformers.py` is `--to sentence-transformers`. A third party adds one by an entry
point in the group `retgen.layouts`.
"""

from __future__ import annotations

from retgen.errors import UsageError
from retgen.export.layout import Layout
from retgen.messages import did_you_mean
from retgen.plugins import load_all

__all__ = ["layout", "layouts"]


def layouts() -> dict[str, Layout]:
    """All layouts, by the names that `--to` takes."""
    found: dict[str, type[Layout]] = load_all(__name__, __path__, Layout, "retgen.layouts")
    return {name.replace("_", "-"): one() for name, one in found.items()}


def layout(name: str) -> Layout:
    """The layout of a name. Raises `UsageError` for one that is not there."""
    known = layouts()
    if name not in known:
        raise UsageError(
            f"--to {name}: there is no such layout{did_you_mean(name, known) or '.'} "
            f"Possible: {', '.join(known)}"
        )
    return known[name]
