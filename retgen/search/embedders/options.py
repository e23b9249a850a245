"""How retrievers load their models and run them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retgen.agents.models import ModelOptions
from retgen.work import Engine


@dataclass(frozen=True)
class ModelCalls:
    """How models behind an API are asked in one call: through the ledger, under its cap.

    `folder` names it in the ledger: a cap is its own. `limit`: items of a domain whose candidate
    sets a chat model orders.
    """

    model_options: ModelOptions
    folder: Path
    limit: int | None = None


@dataclass(frozen=True)
class Options:
    """How models run. None: the model's own, or whatever the machine has.

    `dims`: dimensions to cut embeddings to. `max_length`: tokens. `batch_size`: texts at a time.
    `query_prompt`, `document_prompt`: put before the text. `cache`: folder of embeddings. `rerank`:
    documents a query that a re-ranker sees. `trust_remote_code`: run code that a model brings
    along. `calls`: how models behind an API are asked. `engine`: whose workers run
    sentence-transformers' embedders.
    """

    dims: tuple[int, ...] = ()
    device: str | None = None
    dtype: str | None = None
    batch_size: int | None = None
    max_length: int | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    cache: Path | None = None
    rerank: int = 100
    trust_remote_code: bool = False
    calls: ModelCalls | None = None
    engine: Engine | None = None

    def loading(self) -> dict[str, Any]:
        """What models are loaded with."""
        names = "device", "dtype", "trust_remote_code"
        return {name: getattr(self, name) for name in names}

    def prompts(self, own: Mapping[str, str]) -> dict[str, str]:
        """What is put before texts by "query" and "document": as given, else the model's own."""
        given = {"query": self.query_prompt, "document": self.document_prompt}
        return {k: own.get(k, "") if text is None else text for k, text in given.items()}

    def settings(self) -> dict[str, Any]:
        """What changes a model's scores, by name; None where it was left to the model."""
        names = "dtype", "max_length", "query_prompt", "document_prompt"
        return {name: getattr(self, name) for name in names}
