"""Chat backends, found by file: a module here, named as its provider, exports one `Backend`.

A third party adds one by an entry point in the group `retgen.backends`. Providers without one of
their own are asked through LangChain.
"""

from __future__ import annotations

from functools import cache

from retgen.agents.chat import Backend
from retgen.plugins import load_all

__all__ = ["LANGCHAIN", "Backend", "backend", "backends", "judges"]

LANGCHAIN = "langchain"


@cache
def backends() -> dict[str, Backend]:
    """All backends by the names of their providers; LangChain's among them."""
    result: dict[str, type[Backend]] = load_all(__name__, __path__, Backend, "retgen.backends")
    return {name: one() for name, one in result.items()}


def backend(provider: str, *, via: str | None = None) -> Backend:
    """Who asks a provider's models."""
    known = backends()
    return known[LANGCHAIN] if via or provider not in known else known[provider]


def judges() -> list[tuple[str, Backend]]:
    """Backends that name a model to judge with, by provider, the preferred first."""
    named = [(name, one) for name, one in backends().items() if one.judge]
    return sorted(named, key=lambda pair: (-pair[1].preference, pair[0]))
