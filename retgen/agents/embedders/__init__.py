"""Embedding backends, found by file: a module here, named as its provider, exports one
`EmbeddingBackend`.

A third party adds one by an entry point in the group `retgen.embedders`.
"""

from __future__ import annotations

from functools import cache

from retgen.agents.embedding import EmbeddingBackend
from retgen.plugins import load_all

__all__ = ["EmbeddingBackend", "embedding_backends"]


@cache
def embedding_backends() -> dict[str, EmbeddingBackend]:
    """All embedding backends by the names of their providers."""
    found: dict[str, type[EmbeddingBackend]] = load_all(
        __name__, __path__, EmbeddingBackend, "retgen.embedders"
    )
    return {name: one() for name, one in found.items()}
