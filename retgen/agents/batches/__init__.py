"""Batch APIs, found by file: a module here, named as its provider, exports one `BatchApi`.

A third party adds one by an entry point in the group `retgen.batches`.
"""

from __future__ import annotations

from functools import cache

from retgen.agents.batch_api import BatchApi
from retgen.plugins import load_all

__all__ = ["BatchApi", "batch_apis"]


@cache
def batch_apis() -> dict[str, type[BatchApi]]:
    """All batch APIs, by the names of their providers."""
    return load_all(__name__, __path__, BatchApi, "retgen.batches")
