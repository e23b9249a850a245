"""What all backends do alike, against servers on loopback: failures, keys, many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest

from retgen.agents.backends.google_genai import GoogleChat
from retgen.agents.backends.langchain import LangChainChat
from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.chat import NO_CONNECTION, SILENCE, ChatModel, Response
from retgen.agents.prompt import Message, Request
from tests.agents.loopback import send_all
from tests.agents.server import Server, serving

KEY = "sk-planted-0123456789"
SCHEMA = {"title": "Things", "type": "object", "properties": {"a": {"type": "string"}}}
MESSAGES = Message("system", "Be brief."), Message("user", "What is it?")
OPEN: dict[str, Callable[..., ChatModel]] = {
    "openai": OpenAIChat,
    "google": GoogleChat,
    "langchain": partial(LangChainChat, provider="openai"),
}


class Backend(NamedTuple):
    """A backend, and a server that speaks its protocol."""

    name: str
    server: Server

    def ask(
        self, *models: str, schema: dict[str, object] | None = None, **options: Any
    ) -> list[Response]:
        options = {"base_url": self.server.url, "timeout": 120.0, **options}
        requests = [Request("x", model, MESSAGES, {}, schema, max_tokens=9) for model in models]
        return send_all(lambda: OPEN[self.name](api_key=KEY, **options), requests)


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """By name; the model repeats the key in its answer."""

    def echo(body: dict[str, Any]) -> str:
        return f"your key is {KEY}"

    with serving(echo) as server:
        yield Backend(request.param, server)


every = pytest.mark.parametrize("backend", OPEN, indirect=True)


@pytest.mark.slow
@every
def test_an_answer_that_repeats_the_key(backend: Backend) -> None:
    schema = {"title": "Said", "type": "object", "properties": {}}
    (reply,) = backend.ask("ok", schema=schema if backend.name == "google" else None)
    assert KEY.encode() not in reply.raw
    assert reply.text == "your key is [key]"


@pytest.mark.slow
@every
def test_many_at_a_time(backend: Backend) -> None:
    assert len(backend.ask(*["ok"] * 60)) == 60
    assert len(backend.server.requests) == 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "how", "status", "wait"),
    [
        *(
            (name, f"status-{status}", status, wait)
            for name in OPEN
            for status, wait in ((429, 3.0), (500, None), (401, None), (400, None))
        ),
        ("google", "status-307", 307, None),
    ],
    indirect=["backend"],
)
def test_an_error_is_told_without_the_key(
    backend: Backend, how: str, status: int, wait: float | None
) -> None:
    for schema in (None, SCHEMA):
        (result,) = backend.ask(how, schema=schema)
        assert (result.status, result.error, result.wait) == (status, "not with [key]", wait)
        assert KEY.encode() not in result.raw
    # none retries by itself, or follows a redirect
    assert len(backend.server.requests) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "how", "message"),
    [
        ("openai", "hang", "no answer in time"),
        ("openai", "drop", "the connection was lost before the answer came"),
        ("langchain", "hang", "Request timed out."),
        ("langchain", "drop", "Request timed out."),
        ("google", "hang", "no answer in time"),
        ("google", "drop", "the connection was lost before the answer came"),
    ],
    indirect=["backend"],
)
def test_what_is_never_answered(backend: Backend, how: str, message: str) -> None:
    assert backend.ask(how, timeout=2.0) == [Response(b"", SILENCE, message)]
    assert len(backend.server.requests) == 1


@pytest.mark.parametrize(
    ("backend", "address", "shown"),
    [
        ("langchain", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"),
        ("google", "http://127.0.0.1:9", "127.0.0.1"),
    ],
    indirect=["backend"],
)
def test_nobody_there(backend: Backend, address: str, shown: str) -> None:
    (result,) = backend.ask("ok", base_url=address)
    assert result == Response(b"", NO_CONNECTION, f"no connection to {shown}")
