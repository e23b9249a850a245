"""Chat backends, found by file: a module here, named as its provider, exports one `ChatModel`.

A third party adds one by an entry point in the group `retgen.backends`. LangChain serves every
provider without one.
"""

from __future__ import annotations

from functools import cache

from retgen.agents.chat import ChatModel
from retgen.plugins import load_all

LANGCHAIN = "langchain"


@cache
def backends() -> dict[str, type[ChatModel]]:
    """All backends by the names of their providers; LangChain's among them."""
    return load_all(__name__, __path__, ChatModel, "retgen.backends")
