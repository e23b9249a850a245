"""Which chat model, where it is, and how it is asked: what a recipe says of it.

`model: openai:gpt-5-mini` names one of the provider's own; a mapping with `base_url` any server
that speaks OpenAI's protocol. A key comes from the environment, or from a .env file in the working
folder, and never from a recipe.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from retgen.agents.backends import LANGCHAIN, backend, backends, judges
from retgen.agents.chat import NO_KEY, Backend, ChatModel
from retgen.agents.embedders import EmbeddingBackend, embedding_backends
from retgen.errors import UsageError

OFFLINE = "offline"

# what changes how fast a model is asked, and no answer: not part of a run's identity
FLOW = frozenset({"requests_per_minute", "tokens_per_minute", "concurrency", "timeout"})

# what decides the price, the form of an answer, or what is asked
_OURS = frozenset(
    ("model", "messages", "response_format", "stream", "tools", "n", "best_of", "candidateCount",
     "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
)  # fmt: skip


def _base_url(value: str) -> str:
    parts = urlsplit(value)
    try:
        there = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none
        there = False
    if not there:
        raise ValueError("an address is http://HOST:PORT/PATH or https://...")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(
            "an address is kept with the data set, so it holds no key: put that into the "
            "environment, and name the variable as api_key_env"
        )
    return value.rstrip("/")


def _extra(value: dict[str, Any]) -> dict[str, Any]:
    if ours := sorted(_OURS & {*value}):
        raise ValueError(f"{', '.join(ours)} cannot stand here: retgen sets it")
    if secret := sorted(name for name in _names(value) if _SECRET.search(name)):
        raise ValueError(f"{', '.join(secret)}: a key does not belong in a recipe")
    try:
        orjson.dumps(value)
    except TypeError as error:
        raise ValueError(f"it cannot be sent as JSON: {error}") from error
    return value


_SECRET = re.compile(r"(?i)key|auth|secret|password|credential|^token$|[_-]token$")


def _names(value: Any) -> set[str]:
    """All keys in a tree."""
    if isinstance(value, dict):
        return {str(name) for name in value}.union(*map(_names, value.values()))
    return set().union(*map(_names, value)) if isinstance(value, list) else set()


def _variable(value: str) -> str:
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", value):  # not shown: it may be the key itself
        raise ValueError("is the name of an environment variable, in capital letters")
    return value


class ModelSettings(BaseModel):
    """A chat model, and how it is asked. What is left out is not sent, except max_tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: str = Field(description="openai, google_genai, or any that LangChain knows")
    name: str = Field(min_length=1, description="the model's name at its provider")
    base_url: Annotated[str, AfterValidator(_base_url)] | None = Field(
        None, description="address of a server, e.g. http://localhost:8000/v1"
    )
    via: Literal["langchain"] | None = Field(None, description="ask through LangChain")
    structured: Literal["schema", "prompt"] = Field(
        "schema", description="prompt: the server knows no JSON schema, so the prompt says it"
    )
    temperature: float | None = Field(None, ge=0, allow_inf_nan=False)
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int | None = Field(None, ge=0, lt=2**63, description="the model's own, if it has one")
    max_tokens: int | None = Field(
        None,
        ge=1,
        le=10_000_000,
        description="room for an answer, from which more is learned where one is cut off; "
        "default: what each agent needs",
    )
    extra: Annotated[dict[str, Any], AfterValidator(_extra)] = Field(
        default_factory=dict, description="more of the request, e.g. {reasoning_effort: low}"
    )
    api_key_env: Annotated[str, AfterValidator(_variable)] | None = Field(
        None, description="the environment variable with the key"
    )
    requests_per_minute: float | None = Field(None, gt=0)
    tokens_per_minute: float | None = Field(None, gt=0)
    concurrency: int = Field(64, ge=1, le=4096, description="requests in flight, at most")
    timeout: float = Field(600.0, gt=0, description="seconds for one request")

    @property
    def full_name(self) -> str:
        """As a user names it."""
        return f"{self.provider}:{self.name}"

    @property
    def backend(self) -> Backend:
        """Who asks it."""
        return backend(self.provider, via=self.via)

    @property
    def access(self) -> Backend:
        """Whose keys and address count, whoever asks it."""
        return backend(self.provider)

    def endpoint(self) -> str:
        """Whom requests go to, for their keys: answers of one are no answers of another."""
        where = self.address() or self.provider
        return f"{LANGCHAIN}:{where}" if self.backend is backends()[LANGCHAIN] else where

    def address(self, environment: Mapping[str, str] = os.environ) -> str | None:
        """The server that the recipe or, where the backend knows a variable, that one names."""
        variable = self.access.address
        named = environment.get(variable) if variable else None
        if self.base_url is not None or not named:
            return self.base_url
        try:
            return _base_url(named)
        except ValueError as error:
            raise UsageError(f"{variable}: {error}") from None

    def sampling(self) -> dict[str, Any]:
        """What is sent beside the messages and the room for the answer."""
        named = {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed}
        return {**self.extra, **{name: one for name, one in named.items() if one is not None}}


class EmbedderSettings(ModelSettings):
    """An embedder, and how it is asked. Its provider is one of `embedding_backends`."""

    @property
    def backend(self) -> EmbeddingBackend:
        """Who asks it."""
        return embedding_backends()[self.provider]

    @property
    def access(self) -> EmbeddingBackend:
        """Whose keys and address count."""
        return self.backend


def _text(value: str) -> str:
    provider, colon, name = value.partition(":")
    if value != OFFLINE and not (provider and colon and name):
        raise ValueError(
            f"{value!r} is neither 'offline' nor 'provider:name', as in openai:gpt-5-mini"
        )
    return value


# a model as recipes write it
Model = Annotated[
    Annotated[str, AfterValidator(_text), Tag("text")] | Annotated[ModelSettings, Tag("settings")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "settings"),
]


def settings_of(model: str | ModelSettings) -> ModelSettings | None:
    """What a recipe's model says; None for `offline`."""
    if isinstance(model, ModelSettings):
        return model
    if model == OFFLINE:
        return None
    provider, _, name = model.partition(":")
    return ModelSettings(provider=provider, name=name)


def chat_model_of(option: str, name: str, work: str) -> ModelSettings:
    """A chat model that an option names. Raises `UsageError` for another name; `work`: it does."""
    try:
        settings = settings_of(name) if ":" in name else None
    except ValueError as error:
        raise UsageError(f"{option} {name}: name a chat model as PROVIDER:NAME") from error
    if settings is None:
        raise UsageError(f"{option} {name}: a chat model {work}; name one, as openai:gpt-5-mini")
    return settings


def find_key(settings: ModelSettings, environment: Mapping[str, str] = os.environ) -> str | None:
    """The key of a model. Raises `UsageError` where there is none and one is needed."""
    if settings.api_key_env:
        names: tuple[str, ...] = (settings.api_key_env,)
    elif not (names := settings.access.keys):
        return None  # its package looks for it where the provider's documentation says
    for name in names:
        if environment.get(name):
            key = environment[name].strip()
            if not key.isascii() or not key.isprintable():
                raise UsageError(f"{name} holds no key: a key is one line of plain letters")
            return key
    if settings.address(environment) and not settings.api_key_env:
        return NO_KEY  # a server of one's own seldom asks for one
    raise UsageError(
        f"{settings.full_name} needs a key: set {' or '.join(names)} in the environment or in a "
        ".env file in this folder"
    )


def judge_of_another_provider(
    settings: ModelSettings, environment: Mapping[str, str] = os.environ
) -> str | None:
    """A model of another provider whose key is there; None where there is none.

    Where the writer is a server of one's own, nothing is sent elsewhere unasked.
    """
    others = [one for provider, one in judges() if provider != settings.provider]
    judge = settings_of(others[0].judge) if others else None
    if judge is None or settings.address(environment) or judge.address(environment):
        return None
    return judge.full_name if any(environment.get(name) for name in others[0].keys) else None


def embedder_settings(name: str) -> EmbedderSettings:
    """An embedder that is named as PROVIDER:NAME."""
    provider, _, model = name.partition(":")
    return EmbedderSettings(provider=provider, name=model)


def check_provider(settings: ModelSettings, key: str | None) -> None:
    """Raises `UsageError` for a provider that nobody knows, or whose package does not do."""
    options = _options(settings, key)
    backend = settings.backend
    if result := backend.check(settings.provider, settings.name, settings.sampling(), **options):
        raise UsageError(f"{settings.full_name} cannot be asked: {result}")


def open_chat(settings: ModelSettings, key: str | None) -> ChatModel:
    """The model, with the key that `find_key` found."""
    return settings.backend.open(settings.provider, **_options(settings, key))


def _options(settings: ModelSettings, key: str | None) -> dict[str, Any]:
    return {
        "base_url": settings.address(),
        "api_key": key,
        "timeout": settings.timeout,
        "connections": settings.concurrency,
    }


def model_description(settings: ModelSettings | None) -> dict[str, Any]:
    """A model as the manifest names it."""
    if settings is None:
        return {"model": "offline"}
    return {
        "model": settings.full_name,
        "endpoint": settings.endpoint(),
        "sampling": settings.sampling() | {"max_tokens": settings.max_tokens},
    }
