"""Chat models of every provider that LangChain knows, through its one interface.

Costs several times the CPU of an SDK of its own, so providers that many use have one. Each provider
comes in a package that has exceptions and parameters of its own; these are told by what they look
like, so that none has to be installed, or is imported before the first request. An answer is kept
as JSON of what LangChain makes of it, since it hands on no bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from inspect import signature
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import SecretStr, ValidationError

from retgen.agents.backends.openai import read_completion
from retgen.agents.chat import (
    NO_CONNECTION,
    NOT_SENT,
    SILENCE,
    Backend,
    KeyMask,
    Response,
    error_of,
    one_line,
    parse_object,
    part,
    seconds,
    usage_of,
)
from retgen.agents.prompt import Request
from retgen.errors import UsageError
from retgen.messages import did_you_mean

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel, LanguageModelInput
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import Runnable


# other names of what is set, where a provider's class does not have the first
_NAMES = {
    "max_tokens": ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens"),
    "seed": ("seed", "random_seed"),
    "timeout": ("timeout", "request_timeout", "default_request_timeout"),
}
# fields of classes that pass on what they do not know
_REST = ("extra_body", "model_kwargs", "additional_model_request_fields")
# how providers say why an answer ended
_STOPS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
# exceptions that tell that there was no connection. httpx's own do not: over aiohttp they also
# stand for a server that hangs up
_NO_CONNECTION = frozenset(
    "builtins.ConnectionRefusedError socket.gaierror httpcore.ConnectError httpcore.ConnectTimeout "
    "httpcore.PoolTimeout aiohttp.ClientConnectorError aiohttp.ConnectionTimeoutError "
    "botocore.EndpointConnectionError botocore.ConnectTimeoutError urllib3.NewConnectionError "
    "urllib3.ConnectTimeoutError".split()
)
# what came over our own pool for the call under way: packages fail in their own ways on a page or
# an error in the place of an answer, and say nothing of what it was
_CAME: ContextVar[list[Any] | None] = ContextVar("_CAME", default=None)


class LangChainChat:
    """A chat model of a provider; base_url None: the provider's own. Keys appear in no message."""

    def __init__(
        self,
        *,
        provider: str,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 600.0,
        connections: int = 512,
    ) -> None:
        access = {"base_url": base_url, "api_key": api_key}
        self._access: dict[str, Any] = {name: value for name, value in access.items() if value}
        self._provider, self._timeout, self._connections = provider, timeout, connections
        self._secrets = KeyMask([api_key])
        self._kind: type[BaseChatModel] | None = None
        self._models: dict[bytes, BaseChatModel] = {}
        self._http: Any = None

    async def send(self, request: Request, room: int) -> Response:
        """See `ChatModel`."""
        try:
            model = self._model(request.model, {**request.sampling, "max_tokens": room})
            asked = model if request.schema is None else _with_schema(model, request.schema)
        except Exception as error:  # nothing is sent yet, so any failure is final
            return Response(b"", NOT_SENT, self._secrets.text(_words(error)))
        from langsmith import tracing_context

        came: list[Any] = []
        _CAME.set(came)
        try:
            # neither prompts nor answers go to LangSmith, whatever the environment says; the
            # provider's own time limit, where it has one, comes first
            with tracing_context(enabled=False):
                async with asyncio.timeout(self._timeout + 1.0):
                    message = await asked.ainvoke(list(request.messages))
        except Exception as error:
            return self._failure(error, came)
        return self.read(self._secrets.raw(_bytes_to_keep(message)))

    def read(self, raw: bytes) -> Response:
        """See `ChatModel`."""
        tree = parse_object(raw)
        if "body" in tree:  # what the package could not read
            return read_completion(str(tree["body"]).encode())._replace(raw=raw)
        content, call = tree.get("content"), tree.get("call")
        text = content if isinstance(content, str) else ""
        if call is not None:
            text = call if isinstance(call, str) else orjson.dumps(call).decode()
        ended = "refused" if tree.get("refusal") else str(tree.get("ended") or "").casefold()
        return Response(raw, 200, "", ended, text, usage_of(tree.get("usage")))

    def check(self, name: str, sampling: Mapping[str, Any]) -> str | None:
        """Why no request can be made: no package, no key, a parameter it does not know; or None."""
        try:
            self._model(name, {**sampling, "max_tokens": 1})
        except Exception as error:
            return one_line(self._secrets.text(_words(error)))
        return None

    async def close(self) -> None:
        """See `ChatModel`."""
        own = [getattr(model, "async_client", None) for model in self._models.values()]
        for client in (self._http, *own):
            if hasattr(client, "aclose"):
                await client.aclose()

    def _model(self, name: str, sampling: dict[str, Any]) -> BaseChatModel:
        key = orjson.dumps([name, sampling], option=orjson.OPT_SORT_KEYS)
        if key not in self._models:
            self._models[key] = self._new(name, sampling)
        return self._models[key]

    def _new(self, name: str, sampling: dict[str, Any]) -> BaseChatModel:
        """Classes differ in what they can be told, and many drop what they do not know."""
        from langchain.chat_models import init_chat_model

        if self._kind is None:
            self._kind = type(init_chat_model(name, model_provider=self._provider, **self._access))
        fields = self._kind.model_fields
        known = set(fields) | {str(field.alias) for field in fields.values()}
        rest = next((field for field in _REST if field in known), None)
        own: dict[str, Any] = {
            "timeout": self._timeout,
            # Google's SDK takes 0 for its default
            "max_retries": 1 if self._provider == "google_genai" else 0,
            "max_concurrent_requests": self._connections,
            "client_kwargs": {"timeout": self._timeout},  # Ollama's
        }
        options: dict[str, Any] = {**self._access}
        for wanted, value in (own | sampling).items():
            result = next((one for one in _NAMES.get(wanted, (wanted,)) if one in known), None)
            if result is not None:
                options[result] = value
            elif wanted in sampling and rest is not None:
                options.setdefault(rest, {})[wanted] = value
            elif wanted in sampling:
                raise ValueError(f"{self._kind.__name__} knows no {wanted}: leave it out")
        if "root_async_client" in known:  # of OpenAI's family: one pool for all, which we can close
            options["http_async_client"] = self._pool()
        model: BaseChatModel = init_chat_model(name, model_provider=self._provider, **options)
        values = (getattr(model, field, None) for field in fields)
        self._secrets.add(one.get_secret_value() for one in values if isinstance(one, SecretStr))
        return model

    def _pool(self) -> Any:
        if self._http is None:
            import httpx2
            from openai import DefaultAioHttpClient

            most = self._connections
            limits = httpx2.Limits(max_connections=most, max_keepalive_connections=most)
            self._http = DefaultAioHttpClient(
                limits=limits, timeout=self._timeout, event_hooks={"response": [_note]}
            )
        return self._http

    def _failure(self, error: Exception, came: list[Any]) -> Response:
        """What an exception of a provider's package stands for."""
        words, links = self._secrets.text(_words(error)), list(_links(error))
        status, headers, body = _answer_of(links)
        if status is None and came:
            status, headers, body = came[-1].status_code, came[-1].headers, came[-1].content
        if status is not None and status < 300:  # an answer that the package could not read
            kept = _dump({"body": self._secrets.raw(body).decode(errors="replace")})
            return self.read(kept)
        # what a class is called tells as much as its text: ContextOverflowError, ...
        names = " ".join(_error_name(kind) for link in links for kind in type(link).__mro__)
        if status is not None:
            raw = self._secrets.raw(body)
            stated = error_of(parse_object(raw)) or words.removeprefix(f"Error code: {status} - ")
            if "ContextOverflow" in names and "context" not in stated.casefold():
                stated = f"context_length_exceeded: {stated}"
            wait = seconds(headers.get("retry-after"))
            return Response(raw, status, one_line(stated), wait=wait)
        if any(one in names.split() for one in _NO_CONNECTION):
            where = self._access.get("base_url", self._provider)
            return Response(b"", NO_CONNECTION, f"no connection to {where}")
        if isinstance(error, TypeError | ImportError | NotImplementedError):
            # a parameter that the package's functions do not take, or no key at all; but it may
            # have been what came that the package could not read
            return Response(b"", NOT_SENT, one_line(words), begun=True)
        return Response(b"", SILENCE, one_line(words))


async def _note(response: Any) -> None:
    """Remember what came for the call under way."""
    await response.aread()
    came = _CAME.get()
    if came is not None:
        came.append(response)


def providers() -> tuple[str, ...]:
    """The names of the providers; each comes in a package of its own."""
    from langchain.chat_models import init_chat_model

    try:  # no function lists them, but this message does
        init_chat_model("none", model_provider="none")
    except ValueError as error:
        return tuple(sorted(str(error).rpartition(": ")[2].split(", ")))
    return ()


def _with_schema(
    model: BaseChatModel, schema: Mapping[str, Any]
) -> Runnable[LanguageModelInput, AIMessage]:
    """The model, told the schema in the best way it has; as it is where it has none.

    What LangChain returns is the model and then a parser. The model alone is taken.
    """
    ways = (("json_schema", "structured_output"), ("function_calling", "tool_calling"))
    profile = getattr(model, "profile", None) or {}
    strict = "strict" in signature(model.with_structured_output).parameters
    for method, ability in ways:
        if profile.get(ability) is False:
            continue
        options: dict[str, Any] = {"method": method} | ({"strict": True} if strict else {})
        try:
            result: Any = model.with_structured_output({"title": "answer", **schema}, **options)
        except (LookupError, NotImplementedError, TypeError, ValueError):
            continue
        if hasattr(result, "first"):
            first: Runnable[LanguageModelInput, AIMessage] = result.first
            return first
    return model


def _bytes_to_keep(message: AIMessage) -> bytes:
    text, extra = message.response_metadata, message.additional_kwargs
    # of OpenAI's Responses, and of a prompt that Google blocks
    other = part(text, "incomplete_details").get("reason")
    blocked = part(text, "prompt_feedback").get("block_reason") and "safety"
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    return _dump(
        {
            "content": str(message.text),
            "call": calls[0]["args"] if calls else None,
            "ended": next((text[name] for name in _STOPS if text.get(name)), other or blocked),
            "refusal": extra.get("refusal"),
            "usage": message.usage_metadata,
        }
    )


def _links(error: BaseException) -> Iterator[BaseException]:
    result: BaseException | None = error
    while result is not None:
        yield result
        result = result.__cause__ or result.__context__


def _answer_of(links: list[BaseException]) -> tuple[int | None, Mapping[str, str], bytes]:
    """Status code, headers and body of the answer behind an exception, as far as it has them."""
    for link in links:
        response = getattr(link, "response", None)
        aws = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
        headers = aws.get("HTTPHeaders") or getattr(response or link, "headers", None) or {}
        for code in (
            getattr(link, "status_code", None),
            getattr(link, "code", None),
            getattr(response, "status_code", None),
            aws.get("HTTPStatusCode"),
        ):
            if isinstance(code, int) and 100 <= code < 600:
                body = getattr(response, "content", b"")
                return int(code), headers, body if isinstance(body, bytes) else b""  # or a stream
    return None, {}, b""


def _error_name(kind: type) -> str:
    return f"{kind.__module__.partition('.')[0].rstrip('0123456789')}.{kind.__name__}"


def _words(error: BaseException) -> str:
    if isinstance(error, ValidationError):  # its own text quotes what was put in, keys too
        details = error.errors(include_url=False, include_context=False, include_input=False)
        return "; ".join(" ".join(map(str, [*one["loc"], one["msg"]])) for one in details)
    return " ".join(str(error).split()) or type(error).__name__


def _dump(tree: object) -> bytes:
    try:
        return orjson.dumps(tree, default=str, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a lone surrogate, an integer of more than 64 bits
        return orjson.dumps(_representable(tree), default=str, option=orjson.OPT_SORT_KEYS)


def _representable(tree: object) -> object:
    """What JSON holds of a tree: "?" for lone surrogates, floats for integers over 64 bits."""
    if isinstance(tree, str):
        return tree.encode("utf-8", "replace").decode()
    if isinstance(tree, int) and not -(2**63) <= tree < 2**64:
        return float(min(abs(tree), 10**300)) * (1 if tree > 0 else -1)
    if isinstance(tree, dict):
        return {str(_representable(key)): _representable(one) for key, one in tree.items()}
    return [*map(_representable, tree)] if isinstance(tree, list | tuple) else tree


class LangChain(Backend):
    def open(self, provider: str, **options: Any) -> LangChainChat:
        return LangChainChat(provider=provider, **options)

    def check(
        self, provider: str, name: str, sampling: Mapping[str, Any], **options: Any
    ) -> str | None:
        from retgen.agents.backends import LANGCHAIN, backends

        known = sorted({*backends(), *providers()} - {LANGCHAIN})
        if provider not in known:
            hint = did_you_mean(provider, known)
            raise UsageError(
                f"there is no provider {provider!r}{hint or '.'} Known: {', '.join(known)}"
            )
        return self.open(provider, **options).check(name, sampling)
