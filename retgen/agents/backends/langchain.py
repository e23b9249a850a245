"""Chat models of every provider that LangChain knows, through its one interface.

A call costs several times the CPU of a provider's own SDK, so the common providers have a backend
of their own. Each provider's package has its own exceptions and parameters; these are recognised by
name, so that no package has to be installed or imported before the first request. An exception that
is not recognised counts as no answer: it is charged at its most and tried again. LangChain hands on
no bytes, so the ledger keeps its message as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Mapping
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from retgen.agents.chat import (
    NO_CONNECTION,
    NOT_SENT,
    SILENCE,
    ChatModel,
    Response,
    failed,
    parse_object,
    part,
    text_of,
    usage_of,
)
from retgen.agents.prompt import Request

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

# a parameter's names in the providers' classes
_NAMES = {
    "max_tokens": ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens"),
    "seed": ("seed", "random_seed"),
    "timeout": ("timeout", "request_timeout", "default_request_timeout"),
}
# ways to bind a schema, with what a model's profile says of them, and how a class refuses one
_METHODS = {"json_schema": "structured_output", "function_calling": "tool_calling"}
_NO_SCHEMA = (AttributeError, LookupError, NotImplementedError, TypeError, ValueError)
_STOPS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
# exceptions that say that nothing was sent; ConnectTimeout also stands for a server that hangs up
_NO_CONNECTION = frozenset(
    "ConnectionRefusedError gaierror ConnectError ClientConnectorError ConnectionTimeoutError "
    "NewConnectionError EndpointConnectionError".split()
)
# exceptions of openai's package in place of an answer that ended so
_ENDED = {"LengthFinishReasonError": "length", "ContentFilterFinishReasonError": "content_filter"}
# words of a TypeError that say the same: a parameter that a package does not take, no key
_NOTHING_SENT = "unexpected keyword argument|resolve authentication method"


class LangChainChat(ChatModel):
    """A chat model of a provider, with keys masked everywhere."""

    async def send(self, request: Request, max_tokens: int) -> Response:
        """See `ChatModel`."""
        from langsmith import tracing_context

        try:
            model = self._model(request.model, {**request.sampling, "max_tokens": max_tokens})
            bound = model if request.schema is None else _with_schema(model, request.schema)
        except Exception as error:  # nothing is sent yet, so any failure is final
            return Response(b"", NOT_SENT, self._words(error))
        try:
            # LangSmith gets neither prompts nor answers, whatever the environment says; a time
            # limit of the provider's package comes first
            with tracing_context(enabled=False):
                async with asyncio.timeout(self.timeout + 1.0):
                    message = await bound.ainvoke(list(request.messages))
        except Exception as error:
            return self._failure(error)
        return self.read(self.mask(_bytes_to_keep(message)))

    def read(self, raw: bytes) -> Response:
        """See `ChatModel`."""
        tree = parse_object(raw)
        ended = "refused" if tree.get("refusal") else str(tree.get("ended") or "").casefold()
        text, usage = text_of(tree.get("content")), usage_of(tree.get("usage"))
        return Response(raw, 200, "", ended, text, usage)

    def check(self, name: str, sampling: Mapping[str, Any]) -> str:
        """Name a missing package or key, an unknown provider or parameter."""
        try:
            self._model(name, {**sampling, "max_tokens": 1})
        except Exception as error:
            return self._words(error)
        return ""

    @cached_property
    def _models(self) -> dict[str, BaseChatModel]:
        return {}

    def _model(self, name: str, sampling: dict[str, Any]) -> BaseChatModel:
        key = json.dumps([name, sampling], sort_keys=True)
        if key not in self._models:
            self._models[key] = self._new(name, sampling)
        return self._models[key]

    def _new(self, name: str, sampling: dict[str, Any]) -> BaseChatModel:
        """Open a model with each parameter under the name that its class has for it."""
        from langchain.chat_models import init_chat_model

        access = {"base_url": self.base_url, "api_key": self.api_key}
        options: dict[str, Any] = {name: value for name, value in access.items() if value}
        kind = type(init_chat_model(name, model_provider=self.provider, **options))
        known = {*kind.model_fields, *(str(one.alias) for one in kind.model_fields.values())}
        # 0 means the default for Google's packages, which then send again unknown to the ledger
        own = {"timeout": self.timeout, "max_retries": int("google" in self.provider)}
        for wanted, value in (own | sampling).items():
            field = next((one for one in _NAMES.get(wanted, (wanted,)) if one in known), None)
            if field is not None:
                options[field] = value
            elif wanted in sampling:  # many classes drop what they do not know
                raise ValueError(f"{kind.__name__} knows no {wanted}: leave it out")
        if "root_async_client" in known:  # OpenAI's family, whose own pool outlives an event loop
            options["http_async_client"] = self.http
        model: BaseChatModel = init_chat_model(name, model_provider=self.provider, **options)
        for field in kind.model_fields:
            value = getattr(model, field, None)
            if isinstance(value, SecretStr):
                self.secrets.add(value.get_secret_value().encode())
        return model

    def _failure(self, error: Exception) -> Response:
        """Describe an exception of a provider's package, by the causes that it was raised from."""
        words, name = self._words(error), type(error).__name__
        if name in _ENDED:
            usage = getattr(getattr(error, "completion", None), "usage", None)
            stated = usage.model_dump() if usage is not None else None
            return self.read(_dump({"ended": _ENDED[name], "usage": stated}))
        cause: BaseException | None = error
        while cause is not None:
            response = getattr(cause, "response", cause)
            stated = [getattr(cause, name, None) for name in ("status_code", "code")]
            if type(cause).__module__.startswith("aiohttp."):
                stated = []  # its code is 400 for every body that breaks off
            for status in (*stated, getattr(response, "status_code", None)):
                if isinstance(status, int) and 300 <= status < 600:
                    body = getattr(response, "content", b"")  # some packages have a stream there
                    raw = self.mask(body if isinstance(body, bytes) else b"")
                    headers = getattr(response, "headers", None) or {}
                    return failed(raw, status, headers.get("retry-after"), words)
            if not _NO_CONNECTION.isdisjoint(kind.__name__ for kind in type(cause).__mro__):
                where = self.base_url or self.provider
                return Response(b"", NO_CONNECTION, f"no connection to {where}")
            cause = cause.__cause__ or cause.__context__
        if isinstance(error, ImportError) or re.search(_NOTHING_SENT, words):
            return Response(b"", NOT_SENT, words, begun=True)
        return Response(b"", SILENCE, words)

    def _words(self, error: BaseException) -> str:
        return self.mask_text(str(error)) or type(error).__name__


def _with_schema(model: BaseChatModel, schema: Mapping[str, Any]) -> Any:
    """Bind the schema in the best way that the model has; without one, return it as it is.

    LangChain returns the model with a parser behind it, which is left out.
    """
    strict = "strict" in signature(model.with_structured_output).parameters
    options: dict[str, Any] = {"strict": True} if strict else {}
    for method, ability in _METHODS.items():
        if (model.profile or {}).get(ability) is not False:
            with contextlib.suppress(*_NO_SCHEMA):
                titled = {"title": "answer", **schema}
                result: Any = model.with_structured_output(titled, method=method, **options)
                return result.first
    return model


def _bytes_to_keep(message: AIMessage) -> bytes:
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    answer = calls[0]["args"] if calls else str(message.text)
    stated = message.response_metadata
    ended = [stated.get(name) for name in _STOPS]
    ended += [part(stated, "incomplete_details").get("reason")]  # of OpenAI's Responses
    ended += [part(stated, "prompt_feedback").get("block_reason")]  # of Google
    return _dump(
        {
            "content": answer if isinstance(answer, str) else _dump(answer).decode(),
            "ended": next(filter(None, ended), None),
            "refusal": message.additional_kwargs.get("refusal"),
            "usage": message.usage_metadata,
        }
    )


def _dump(tree: object) -> bytes:
    text = json.dumps(tree, default=str, sort_keys=True, ensure_ascii=False)
    return text.encode("utf-8", "replace")  # there may be lone surrogates
