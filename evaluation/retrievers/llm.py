"""Chat models over candidate sets: they are called through the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from retgen.agents.models import ModelSettings, settings_of
from retgen.errors import UsageError
from retgen.search.base import RetrieverType
from retgen.search.embedders.options import ModelCalls, Options

if TYPE_CHECKING:
    from retgen.evaluation.search.chat import ChatScorer


class Chat(RetrieverType):
    """Listwise: one request a query."""

    prefix = "llm"
    form = "llm:PROVIDER:NAME"
    about = "a chat model orders the documents of a candidate set"
    ranks = False

    def asked(self, name: str) -> list[ModelSettings]:
        if not _is_complete(name):
            return []
        settings = settings_of(name.partition(":")[2])
        return [settings] if settings is not None else []

    def check(self, name: str) -> None:
        if not _is_complete(name):
            raise UsageError(
                f"--model {name}: name a chat model after {self.prefix}:, for example "
                f"{self.prefix}:openai:gpt-5-mini"
            )

    def load(self, name: str, options: Options) -> ChatScorer:
        if options.calls is None:
            raise UsageError(f"--model {name}: is asked through the ledger, which `gen eval` opens")
        return self.scorer(name, options.calls, options.calls.folder)

    def scorer(self, name: str, calls: ModelCalls, folder: Path) -> ChatScorer:
        """What asks the model; requests that failed after repairs are kept in `folder`."""
        from retgen.evaluation.search.chat import ChatScorer

        (settings,) = self.asked(name)
        return ChatScorer(name, settings, calls, folder)


def _is_complete(name: str) -> bool:
    """Whether provider and model stand behind the prefix."""
    provider, _, model = name.partition(":")[2].partition(":")
    return bool(provider and model)
