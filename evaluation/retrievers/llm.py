"""A chat model over candidate sets: it is called through the ledger, so a task does that."""

from __future__ import annotations

from retgen.agents.models import ModelSettings, settings_of
from retgen.errors import UsageError
from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import RetrieverType


class Chat(RetrieverType):
    prefix = "llm"
    form = "llm:PROVIDER:NAME"
    about = "a chat model orders the documents of a candidate set"
    ranks = False

    def asked(self, name: str) -> list[ModelSettings]:
        settings = settings_of(name.partition(":")[2])
        return [settings] if settings is not None else []

    def check(self, name: str) -> None:
        provider, more, model = name.partition(":")[2].partition(":")
        if not (provider and more and model):
            raise UsageError(
                f"--model {name}: name a chat model after llm:, for example llm:openai:gpt-5-mini"
            )

    def load(self, name: str, options: Options) -> None:
        return None
