"""Settings of a model in a recipe (provider, name, server and sampling), and how a command asks it.

`model: openai:gpt-5-mini` names a model of the provider; a mapping with `base_url` names any server
that speaks OpenAI's protocol. A key comes from the environment, or from a .env file in the working
folder, and never from a recipe.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag

from retgen.agents.backends import LANGCHAIN, backends
from retgen.agents.chat import NO_KEY, ChatModel
from retgen.agents.embedders import embedding_backends
from retgen.errors import UsageError

OFFLINE = "offline"

# what changes how fast a model is asked, and no answer: not part of a run's identity
FLOW = frozenset({"concurrency", "timeout", "outage_seconds", "outage_attempts"})

# parameters that decide the price, the form of an answer, or the request itself
_OURS = frozenset(
    "model messages response_format stream tools n best_of candidateCount max_tokens "
    "max_completion_tokens max_output_tokens maxOutputTokens".split()
)
# keys of JSON that name a secret
_SECRET = re.compile(
    r'"((?i:[^"]*(?:key|auth|secret|password|credential)[^"]*|(?:[^"]*[_-])?token))":'
)


def _base_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError("an address is http://HOST:PORT/PATH or https://...")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(
            "an address is kept with the data set, so it holds no key: put that into the "
            "environment, and name the variable as api_key_env"
        )
    return value.rstrip("/")


def _extra(value: dict[str, Any]) -> dict[str, Any]:
    if ours := sorted(_OURS & value.keys()):
        raise ValueError(f"{', '.join(ours)} cannot stand here: retgen sets it")
    if secret := sorted(set(_SECRET.findall(orjson.dumps(value).decode()))):
        raise ValueError(f"{', '.join(secret)}: a key does not belong in a recipe")
    return value


def _variable(value: str) -> str:
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", value):  # not shown: it may be the key itself
        raise ValueError("is the name of an environment variable, in capital letters")
    return value


class ModelSettings(BaseModel):
    """A chat model and its request options; what is left out is not sent, except max_tokens."""

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
    seed: int | None = Field(None, ge=0, lt=2**63, description="the model's own, if it has one")
    max_tokens: int | None = Field(
        None, ge=1, le=10_000_000, description="of an answer; default: what each agent needs"
    )
    extra: Annotated[dict[str, JsonValue], AfterValidator(_extra)] = Field(
        default_factory=dict, description="more of the request, e.g. {reasoning_effort: low}"
    )
    api_key_env: Annotated[str, AfterValidator(_variable)] | None = Field(
        None, description="the environment variable with the key"
    )
    concurrency: int = Field(64, ge=1, le=4096, description="requests in flight, at most")
    timeout: float = Field(600.0, gt=0, description="seconds for one request")
    outage_seconds: float = Field(
        600.0, ge=0, description="a server that answers nothing for so long, and"
    )
    outage_attempts: int = Field(20, ge=1, description="so many attempts, ends the run (exit 4)")

    @classmethod
    def named(cls, name: str) -> Self:
        """Settings of the model PROVIDER:NAME. Raises `ValueError` for a text that names none."""
        provider, _, model = name.partition(":")
        if not provider or not model:
            raise ValueError(
                f"{name!r} is neither 'offline' nor 'provider:name', as in openai:gpt-5-mini"
            )
        return cls(provider=provider, name=model)

    @property
    def full_name(self) -> str:
        """PROVIDER:NAME."""
        return f"{self.provider}:{self.name}"

    @property
    def own_backend(self) -> type[ChatModel]:
        """Backend of the provider, whose variables name key and address."""
        return backends().get(self.provider) or backends()[LANGCHAIN]

    @property
    def backend(self) -> type[ChatModel]:
        """Backend that sends the requests."""
        return backends()[LANGCHAIN] if self.via else self.own_backend

    def endpoint(self) -> str:
        """Part of the ledger's key: an answer of one server is not the answer of another."""
        where = self.address() or self.provider
        return f"{LANGCHAIN}:{where}" if self.backend is backends()[LANGCHAIN] else where

    def address(self, environment: Mapping[str, str] = os.environ) -> str | None:
        """Address of the server in the recipe, or else in the backend's variable."""
        variable = self.own_backend.variable
        named = environment.get(variable) if variable else None
        if self.base_url is not None or not named:
            return self.base_url
        try:
            return _base_url(named)
        except ValueError as error:
            raise UsageError(f"{variable}: {error}") from None

    def sampling(self) -> dict[str, Any]:
        """Parameters beside the messages and max_tokens."""
        named = {"temperature": self.temperature, "seed": self.seed}
        return {**self.extra, **{name: one for name, one in named.items() if one is not None}}


class EmbedderSettings(ModelSettings):
    """An embedder and its request options. Its provider is one of `embedding_backends`."""

    @property
    def own_backend(self) -> type[ChatModel]:
        """Backend of the provider, whose variables name key and address."""
        return embedding_backends()[self.provider]


def _text(value: str) -> str:
    settings_of(value)
    return value


# a model in a recipe
Model = Annotated[
    Annotated[str, AfterValidator(_text), Tag("text")] | Annotated[ModelSettings, Tag("settings")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "settings"),
]


@dataclass(frozen=True)
class ModelOptions:
    """How models are asked: what a command line says beside the recipe.

    `ledger`: its file; default `ledger.sqlite` beside the run directory. `max_usd`: the most that
    the run may cost, in dollars. `prices`: as `--price` has them. `replay`: a file of answers to
    use in place of the models. `batch`: ask through batch APIs; None refuses to ask again what is
    in batches, False does not. `retry_refused`: ask again what models or servers have refused.
    """

    ledger: Path | None = None
    max_usd: float | None = None
    prices: Sequence[str] = ()
    replay: Path | None = None
    batch: bool | None = None
    retry_refused: bool = False

    @property
    def cap(self) -> int | None:
        """The cap in nano-dollars. Beyond a billion dollars there is none to speak of."""
        return None if self.max_usd is None else math.floor(min(self.max_usd, 1e9) * 1e9)


DEFAULT_OPTIONS = ModelOptions()


def settings_of(model: str | ModelSettings) -> ModelSettings | None:
    """Settings of a recipe's model; None for `offline`."""
    if isinstance(model, ModelSettings):
        return model
    return None if model == OFFLINE else ModelSettings.named(model)


def chat_model_of(option: str, name: str, work: str) -> ModelSettings:
    """Chat model that an option names, and whose `work` a `UsageError` states for another name."""
    try:
        return ModelSettings.named(name)
    except ValueError as error:
        why = f"a chat model {work}; name one, as openai:gpt-5-mini"
        raise UsageError(f"{option} {name}: {why}") from error


def find_key(settings: ModelSettings, environment: Mapping[str, str] = os.environ) -> str | None:
    """Find the key of a model. Raises `UsageError` if it needs one and there is none."""
    named = settings.api_key_env
    names = (named,) if named else settings.own_backend.keys
    for name in names:
        if key := environment.get(name, "").strip():
            if not key.isascii() or not key.isprintable():
                raise UsageError(f"{name} holds no key: a key is one line of plain letters")
            return key
    if not names:
        return None  # the provider's package finds it
    if settings.address(environment) and not named:
        return NO_KEY  # one's own server seldom asks for a key
    raise UsageError(
        f"{settings.full_name} needs a key: set {' or '.join(names)} in the environment or in a "
        ".env file in this folder"
    )


def open_chat(settings: ModelSettings, key: str | None = None) -> ChatModel:
    """Open a model with the key that `find_key` found."""
    return settings.backend(
        settings.provider, settings.address(), key, settings.timeout, settings.concurrency
    )


def model_description(settings: ModelSettings | None) -> dict[str, Any]:
    """Describe a model for the manifest."""
    if settings is None:
        return {"model": "offline"}
    sampling = settings.sampling() | {"max_tokens": settings.max_tokens}
    return {"model": settings.full_name, "endpoint": settings.endpoint(), "sampling": sampling}
