"""Destinations by name, found by file: a module here that exports one subclass of `Destination`.

`hub.py` is `hub:owner/name`. A third party adds one by an entry point in the group
`retgen.destinations`.
"""

from __future__ import annotations

from retgen.errors import UsageError
from retgen.messages import did_you_mean
from retgen.plugins import load_all
from retgen.publishing.destination import Destination

__all__ = ["destination", "destinations"]


def destinations() -> dict[str, type[Destination]]:
    """All destinations, by what stands before the colon."""
    return load_all(__name__, __path__, Destination, "retgen.destinations")


def destination(text: str) -> Destination:
    """The destination of `hub:me/kb`. Raises `UsageError` for one that cannot be."""
    kind, colon, address = text.partition(":")
    known = destinations()
    if not colon or kind not in known:
        examples = ", ".join(one.example for one in known.values())
        near = did_you_mean(kind, known) if colon else ""
        *others, last = (f"{name}:" for name in known)
        needs = f"needs {', '.join(others)} or {last} in front{near or '.'}"
        raise UsageError(f"{text!r} {needs} Examples: {examples}")
    if not address.strip():
        raise UsageError(f"{text!r} names nothing: write {known[kind].example}")
    return known[kind](address)
