"""The OpenAI protocol against a server on loopback: what is sent, and what every failure means."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

import pytest

from retgen.agents.chat import Refused, Reply, Unanswered, Unusable
from retgen.agents.openai_chat import OpenAIChat
from retgen.agents.prompt import Message
from retgen.agents.request import Request
from tests.agents.loopback import send_all
from tests.agents.server import Server, serving

KEY = "sk-planted-0123456789"
SCHEMA = {"title": "Things", "type": "object", "properties": {"a": {"type": "string"}}}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def request(model: str, schema: dict[str, object] | None = None) -> Request:
    messages = Message("system", "Be brief."), Message("user", 'Say {"hello"}.')
    return Request("loopback", model, messages, {"max_tokens": 9, "temperature": 0.5}, schema)


def ask(url: str, *requests: Request, timeout: float = 5.0) -> list[Reply]:
    return send_all(
        lambda: OpenAIChat(base_url=url, api_key=KEY, timeout=timeout),
        requests,
    )


def text(raw: bytes) -> str:
    return OpenAIChat(base_url="http://127.0.0.1:9", api_key=KEY).text(raw)


def test_what_is_sent_and_what_comes_back(server: Server) -> None:
    (reply,) = ask(server.url, request("ok", SCHEMA))
    assert (reply.tokens_in, reply.tokens_out) == (5, 2)
    assert text(reply.raw) == "hello"
    assert server.requests == [
        {
            "model": "ok",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": 'Say {"hello"}.'},
            ],
            "max_tokens": 9,
            "temperature": 0.5,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "Things", "schema": SCHEMA, "strict": True},
            },
        }
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_many_at_a_time(server: Server) -> None:
    assert len(ask(server.url, *[request("ok")] * 60)) == 60
    assert len(server.requests) == 60


@pytest.mark.parametrize(
    ("status", "retry", "wait"),
    [(429, True, 3.0), (500, True, None), (503, True, None), (401, False, None),
     (400, False, None), (404, False, None)],
)  # fmt: skip
def test_what_is_refused(server: Server, status: int, retry: bool, wait: float | None) -> None:
    with pytest.raises(Refused) as error:
        ask(server.url, request(f"status-{status}"))
    assert (error.value.retry, error.value.wait) == (retry, wait)
    assert str(error.value) == f"{status}: not with [key]"
    assert KEY not in "".join(traceback.format_exception(error.value))
    assert len(server.requests) == 1  # it does not retry by itself


@pytest.mark.parametrize("how", ["hang", "drop"])
def test_what_is_never_answered(server: Server, how: str) -> None:
    with pytest.raises(Unanswered):
        ask(server.url, request(how), timeout=0.5)
    assert len(server.requests) == 1


def test_nobody_there() -> None:
    with pytest.raises(Refused) as error:
        ask("http://127.0.0.1:9/v1", request("ok"))
    assert (str(error.value), error.value.retry) == ("no connection to 127.0.0.1", True)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("broken", "the answer is no chat completion"),
        ("cut", "the answer was cut off at max_tokens"),
        ("filtered", "the model refused, or its answer was filtered"),
    ],
)
def test_answers_without_text_are_kept_as_they_came(server: Server, how: str, message: str) -> None:
    (reply,) = ask(server.url, request(how))
    assert reply.raw  # paid for, so it goes to the ledger whatever it holds
    with pytest.raises(Unusable) as error:
        text(reply.raw)
    assert str(error.value) == message
