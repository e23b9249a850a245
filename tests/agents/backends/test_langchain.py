"""LangChain's OpenAI against a server on loopback: what is sent, and what every failure means."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import orjson
import pytest

from retgen.agents.backends.langchain import LangChainChat
from retgen.agents.chat import NOT_SENT, SILENCE, Response, Usage
from retgen.agents.prompt import Message, Request
from tests.agents.loopback import KEY, send_all
from tests.agents.server import FAULTS, Server, serving

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


def request(model: str, schema: dict[str, object] | None = None, **sampling: object) -> Request:
    messages = Message("system", "Be brief."), Message("user", 'Say {"hello"}.')
    named = {"temperature": 0.5, **sampling}
    return Request("langchain:loopback", model, messages, named, schema, max_tokens=9)


def ask(url: str | None, *requests: Request, provider: str = "openai") -> list[Response]:
    options = {"base_url": url, "api_key": KEY, "timeout": 120.0}
    return send_all(lambda: LangChainChat(provider=provider, **options), requests)


def read(answer: object) -> Response:
    return LangChainChat(provider="openai").read(orjson.dumps(answer))


def test_what_is_sent_and_what_comes_back(server: Server) -> None:
    (reply,) = ask(server.url, request("ok", SCHEMA))
    assert reply == Response(reply.raw, 200, "", "stop", "hello", Usage(5, 2))
    tree = orjson.loads(reply.raw)
    assert (tree["content"], tree["ended"], tree["refusal"]) == ("hello", "stop", None)
    assert tree["usage"]["total_tokens"] == 7
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


def test_what_langchain_has_no_name_for_is_refused_before_it_is_sent(server: Server) -> None:
    (refused,) = ask(server.url, request("ok", min_p=0.1))
    assert refused == Response(b"", NOT_SENT, "ChatOpenAI knows no min_p: leave it out")
    assert server.requests == []
    ask(server.url, request("ok", seed=3, top_p=0.9, extra_body={"min_p": 0.1}))
    (body,) = server.requests
    assert (body["seed"], body["top_p"], body["min_p"]) == (3, 0.9, 0.1)


def test_a_model_without_json_schema_is_asked_for_a_call(server: Server) -> None:
    (reply,) = ask(server.url, request("gpt-4", SCHEMA))
    assert reply.text == "hello"
    (body,) = server.requests
    assert "response_format" not in body
    assert body["tool_choice"] == {"type": "function", "function": {"name": "Things"}}
    assert body["tools"][0]["function"]["parameters"] == STRICT


@pytest.mark.slow
@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_why_an_answer_ended(server: Server, schema: dict[str, object] | None) -> None:
    """With a schema the package raises an exception, which holds the usage too."""
    for how, finish in (("cut", "length"), ("filtered", "content_filter")):
        (result,) = ask(server.url, request(how, schema))
        assert (result.usage, result.finish) == (Usage(5, 2), finish)
        assert LangChainChat().read(result.raw) == result


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("chunked body cut", "Connection error."),  # which is no refusal
        ("not UTF-8", "'utf-8' codec can't decode byte 0xff in position 40: invalid start byte"),
    ],
)
def test_an_answer_that_the_package_cannot_read_is_none(fault: str, why: str) -> None:
    with serving(fault=FAULTS[fault]) as server:
        (result,) = ask(server.url, request("m"))
    assert result == Response(b"", SILENCE, why)


@pytest.mark.parametrize(
    ("answer", "text", "finish"),
    [
        ({"content": '{"a":"b"}', "ended": "tool_use"}, '{"a":"b"}', "tool_use"),
        ({"content": "hel", "ended": "MAX_TOKENS"}, "hel", "max_tokens"),
        ({"content": "", "ended": "stop", "refusal": "No."}, "", "refused"),
        ({"content": ["hello"]}, "", ""),
    ],
)
def test_what_answers_hold(answer: object, text: str, finish: str) -> None:
    content = read(answer)
    assert (content.status, content.text, content.finish) == (200, text, finish)


def test_a_provider_that_is_not_there() -> None:
    (result,) = ask(None, request("ok"), provider="nobody")
    assert result.status == NOT_SENT
    assert result.error.startswith(
        "Unsupported provider='nobody'. Supported model providers are: anthropic, "
    )
    assert KEY not in result.error


PROGRAM = """
import asyncio, sys
from retgen.agents.backends.langchain import LangChainChat
from retgen.agents.prompt import Request

assert not {"langchain", "langchain_core", "openai"} & set(sys.modules), "imported too early"

async def main():
    chat = LangChainChat(provider="openai", base_url=sys.argv[1])
    print(repr(chat), (await chat.send(Request("", "ok", (("user", "Hello"),)), 9)).text)
    print(await chat.send(Request("", "status-401", (("user", "Hello"),)), 9), file=sys.stderr)
    await chat.close()

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_key_of_the_environment_stays_there_and_nothing_goes_to_langsmith(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as langsmith:
        environment = {
            "OPENAI_API_KEY": KEY,
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_API_KEY": "lsv2-planted",
            "LANGSMITH_ENDPOINT": f"http://127.0.0.1:{langsmith.getsockname()[1]}",
        }
        result = subprocess.run(
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
    assert "hello" in result.stdout
    assert "status=401, error='not with [key]'" in result.stderr
    assert KEY not in result.stdout + result.stderr
