"""LangChain's OpenAI against a server on loopback: what is sent, and what every failure means."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from retgen.agents.chat import Refused, Reply, Unanswered, Unusable
from retgen.agents.langchain_chat import LangChainChat, providers
from retgen.agents.prompt import Message
from retgen.agents.request import Request
from tests.agents.loopback import send_all
from tests.agents.server import Server, serving

KEY = "sk-planted-0123456789"
SCHEMA: dict[str, object] = {
    "title": "Things",
    "type": "object",
    "properties": {"a": {"type": "string"}},
}
# as OpenAI's strict mode wants it
STRICT = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def request(model: str, schema: dict[str, object] | None = None, **sampling: object) -> Request:
    messages = Message("system", "Be brief."), Message("user", 'Say {"hello"}.')
    named = {"max_tokens": 9, "temperature": 0.5, **sampling}
    return Request("langchain:loopback", model, messages, named, schema)


def ask(
    url: str | None,
    *requests: Request,
    provider: str = "openai",
    key: str = KEY,
    timeout: float = 5.0,
) -> list[Reply]:
    return send_all(
        lambda: LangChainChat(provider=provider, base_url=url, api_key=key, timeout=timeout),
        requests,
    )


def text(raw: bytes) -> str:
    return LangChainChat(provider="openai").text(raw)


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error)


def test_what_is_sent_and_what_comes_back(server: Server) -> None:
    (reply,) = ask(server.url, request("ok", SCHEMA))
    assert (reply.tokens_in, reply.tokens_out) == (5, 2)
    assert text(reply.raw) == "hello"
    assert orjson.loads(reply.raw) == {
        "call": None,
        "content": "hello",
        "ended": "stop",
        "refusal": None,
        "usage": {
            "input_tokens": 5,
            "output_tokens": 2,
            "total_tokens": 7,
            "input_token_details": {},
            "output_token_details": {},
        },
    }
    assert server.requests == [
        {
            "model": "ok",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": 'Say {"hello"}.'},
            ],
            "max_completion_tokens": 9,
            "temperature": 0.5,
            "stream": False,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "Things", "schema": STRICT, "strict": True},
            },
        }
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_the_same_answer_is_the_same_bytes(server: Server) -> None:
    (first,), (second,) = ask(server.url, request("ok")), ask(server.url, request("ok"))
    assert first == second


def test_what_langchain_has_no_name_for_is_sent_too(server: Server) -> None:
    ask(server.url, request("ok", seed=3, top_p=0.9, min_p=0.1))
    (body,) = server.requests
    assert (body["seed"], body["top_p"], body["min_p"]) == (3, 0.9, 0.1)


def test_a_model_without_json_schema_is_asked_for_a_call(server: Server) -> None:
    (reply,) = ask(server.url, request("gpt-4", SCHEMA))
    assert text(reply.raw) == "hello"
    (body,) = server.requests
    assert "response_format" not in body
    assert body["tool_choice"] == {"type": "function", "function": {"name": "Things"}}
    assert body["tools"][0]["function"]["parameters"] == STRICT


def test_many_at_a_time(server: Server) -> None:
    assert len(ask(server.url, *[request("ok")] * 60)) == 60
    assert len(server.requests) == 60


@pytest.mark.parametrize("schema", [None, SCHEMA])
@pytest.mark.parametrize(
    ("status", "retry", "wait"),
    [(429, True, 3.0), (500, True, None), (503, True, None), (401, False, None),
     (400, False, None), (404, False, None)],
)  # fmt: skip
def test_what_is_refused(
    server: Server, status: int, retry: bool, wait: float | None, schema: dict[str, object] | None
) -> None:
    with pytest.raises(Refused) as error:
        ask(server.url, request(f"status-{status}", schema))
    assert (error.value.retry, error.value.wait) == (retry, wait)
    assert str(error.value) == f"{status}: not with [key]"
    assert KEY not in shown(error.value)
    assert len(server.requests) == 1  # it does not retry by itself


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("the maximum context length is 9", "too_long"),
        ("context_length_exceeded", "too_long"),
        ("content_filter", "filtered"),
    ],
)
def test_what_a_request_is_turned_down_for(server: Server, said: str, why: str) -> None:
    (reply,) = ask(server.url, request("status-400"), key=said)  # the server says the key back
    assert reply == Reply(
        orjson.dumps({"message": "Error code: 400 - not with [key]", "wrong": why}),
        0,
        0,
    )
    with pytest.raises(Unusable) as error:
        text(reply.raw)
    assert error.value.why == why


@pytest.mark.parametrize("how", ["hang", "drop"])
def test_what_is_never_answered(server: Server, how: str) -> None:
    with pytest.raises(Unanswered, match=r"^Request timed out\.$"):
        ask(server.url, request(how), timeout=0.5)
    assert len(server.requests) == 1


def test_nobody_there() -> None:
    with pytest.raises(Refused) as error:
        ask("http://127.0.0.1:9/v1", request("ok"))
    assert str(error.value) == "no connection to http://127.0.0.1:9/v1"
    assert error.value.retry


@pytest.mark.parametrize("schema", [None, SCHEMA])
@pytest.mark.parametrize(
    ("how", "tokens", "why", "message"),
    [
        ("broken", (None, None), "no_text", "the answer holds no text"),
        ("cut", (5, 2), "cut_off", "the answer was cut off at max_tokens"),
        ("filtered", (5, 2), "filtered", "the model refused, or its answer was filtered"),
    ],
)
def test_answers_without_text_are_paid_for(
    server: Server,
    how: str,
    tokens: tuple[int | None, int | None],
    why: str,
    message: str,
    schema: dict[str, object] | None,
) -> None:
    (reply,) = ask(server.url, request(how, schema))
    assert (reply.tokens_in, reply.tokens_out) == tokens
    with pytest.raises(Unusable) as error:
        text(reply.raw)
    assert (str(error.value), error.value.why) == (message, why)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({"call": {"a": "b"}, "content": "", "ended": "tool_use"}, '{"a":"b"}'),
        ({"call": "{a", "content": ""}, "{a"),
        ({"content": "hello", "ended": None}, "hello"),
    ],
)
def test_what_answers_hold(answer: dict[str, Any], found: str) -> None:
    assert text(orjson.dumps(answer)) == found


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"content": "hel", "ended": "MAX_TOKENS"}, "cut_off"),
        ({"content": "hel", "ended": "model_length"}, "cut_off"),
        ({"call": "{a", "ended": "length"}, "cut_off"),
        ({"content": "", "ended": "SAFETY"}, "filtered"),
        ({"content": "No.", "ended": "refusal"}, "filtered"),
        ({"content": "", "ended": "stop", "refusal": "No."}, "filtered"),
        ({"wrong": "too_long"}, "too_long"),
        ({"wrong": "filtered"}, "filtered"),
        ({"content": ""}, "no_text"),
        ([], "no_text"),
    ],
)
def test_what_answers_lack(answer: object, why: str) -> None:
    with pytest.raises(Unusable) as error:
        text(orjson.dumps(answer))
    assert error.value.why == why


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ("nobody", "Unsupported provider='nobody'. Supported model providers are: anthropic, "),
        ("upstage", "Initializing ChatUpstage requires the langchain-upstage package. Please install it with `pip install langchain-upstage`"),
    ],
)  # fmt: skip
def test_a_provider_that_is_not_there(provider: str, message: str) -> None:
    with pytest.raises(Refused) as error:
        ask(None, request("ok"), provider=provider)
    assert str(error.value).startswith(message)
    assert not error.value.retry
    assert KEY not in shown(error.value)


def test_what_a_provider_cannot_be_told(server: Server) -> None:
    with pytest.raises(Refused) as error:
        ask(server.url, request("ok", temperature="warm"))
    assert not error.value.retry
    assert str(error.value).startswith("temperature Input should be a valid number")
    assert KEY not in shown(error.value)
    assert server.requests == []


def test_providers() -> None:
    assert {"anthropic", "google_genai", "mistralai", "ollama", "openai"} <= set(providers())


PROGRAM = """
import asyncio, sys, traceback
from retgen.agents.langchain_chat import LangChainChat
from retgen.agents.request import Request

assert not {"langchain", "langchain_core", "openai"} & set(sys.modules), "imported too early"

async def main():
    chat = LangChainChat(provider="openai", base_url=sys.argv[1])
    print(repr(chat), chat.text((await chat.send(Request("", "ok", (("user", "Hello"),)))).raw))
    try:
        await chat.send(Request("", "status-401", (("user", "Hello"),)))
    except Exception:
        traceback.print_exc()
    await chat.close()

asyncio.run(main())
"""


def test_a_key_of_the_environment_stays_there_and_nothing_goes_to_langsmith(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as langsmith:
        environment = {
            "OPENAI_API_KEY": KEY,
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_API_KEY": "lsv2-planted",
            "LANGSMITH_ENDPOINT": f"http://127.0.0.1:{langsmith.getsockname()[1]}",
        }
        found = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROGRAM, server.url],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        langsmith.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody has called
            langsmith.accept()
    assert "hello" in found.stdout
    assert found.stderr.endswith("Refused: 401: not with [key]\n")
    assert KEY not in found.stdout + found.stderr
