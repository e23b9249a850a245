"""Gemini's protocol against a server on loopback: what is sent, and what every failure means."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

import pytest

from retgen.agents.chat import Refused, Reply, Unanswered, Unusable
from retgen.agents.google_chat import GoogleChat
from retgen.agents.prompt import Message
from retgen.agents.request import Request
from tests.agents.google_server import Server, serving
from tests.agents.loopback import send_all

KEY = "AIza-planted-0123456789"
SCHEMA = {"title": "Things", "type": "object", "properties": {"a": {"type": "string"}}}
MESSAGES = Message("system", "Be brief."), Message("user", 'Say {"hello"}.')


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def request(model: str) -> Request:
    return Request("loopback", model, MESSAGES, {"max_tokens": 9})


def ask(url: str, *requests: Request, timeout: float = 5.0, connections: int = 64) -> list[Reply]:
    return send_all(
        lambda: GoogleChat(base_url=url, api_key=KEY, timeout=timeout, connections=connections),
        requests,
    )


def text(raw: bytes) -> str:
    return GoogleChat(api_key=KEY).text(raw)


def told(error: BaseException) -> str:
    return f"{error!r} {''.join(traceback.format_exception(error))}"


def test_what_is_sent_and_what_comes_back(server: Server) -> None:
    talk = (*MESSAGES, Message("assistant", "hi"), Message("user", "Again."))
    sampling = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 9, "seed": 7,
                "thinkingConfig": {"thinkingBudget": 0}}  # fmt: skip
    (reply,) = ask(server.url, Request("loopback", "ok", talk, sampling, SCHEMA))
    assert (reply.tokens_in, reply.tokens_out) == (5, 32)
    assert text(reply.raw) == "hello"
    assert reply.raw.startswith(b'{"candidates": [{"content": {"role": "model", "parts": [{"text":')
    assert server.paths == ["/v1beta/models/ok:generateContent"]
    assert server.requests == [
        {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": 'Say {"hello"}.'}]},
                {"role": "model", "parts": [{"text": "hi"}]},
                {"role": "user", "parts": [{"text": "Again."}]},
            ],
            "generationConfig": {
                "temperature": 0.5,
                "topP": 0.9,
                "maxOutputTokens": 9,
                "seed": 7,
                "thinkingConfig": {"thinkingBudget": 0},
                "responseMimeType": "application/json",
                "responseJsonSchema": SCHEMA,
            },
        }
    ]
    assert server.headers[0]["x-goog-api-key"] == KEY


def test_what_is_left_out_is_not_sent(server: Server) -> None:
    ask(server.url, Request("loopback", "tunedModels/ok", MESSAGES[1:]))
    assert server.paths == ["/v1beta/tunedModels/ok:generateContent"]
    assert server.requests == [
        {
            "contents": [{"role": "user", "parts": [{"text": 'Say {"hello"}.'}]}],
            "generationConfig": {},
        }
    ]


def test_many_at_a_time(server: Server) -> None:
    assert len(ask(server.url, *[request("ok")] * 60)) == 60
    assert len(server.requests) == 60


def test_no_more_connections_than_are_allowed(server: Server) -> None:
    assert len(ask(server.url, *[request("ok")] * 60, connections=3)) == 60
    assert server.connections == 3


@pytest.mark.parametrize(
    ("how", "retry", "wait", "message"),
    [
        ("status-429", True, 4.0, "429: not with [key]"),
        ("busy", True, 3.0, "429: not with [key]"),
        ("status-500", True, None, "500: not with [key]"),
        ("status-503", True, None, "503: not with [key]"),
        ("page", True, None, '503: {"candidates": [{"cont\ufffd'),
        ("status-307", False, None, "307: not with [key]"),
        ("status-400", False, None, "400: not with [key]"),
        ("status-403", False, None, "403: not with [key]"),
        ("status-404", False, None, "404: not with [key]"),
    ],
)
def test_what_is_refused(
    server: Server, how: str, retry: bool, wait: float | None, message: str
) -> None:
    with pytest.raises(Refused) as error:
        ask(server.url, request(how))
    assert (str(error.value), error.value.retry, error.value.wait) == (message, retry, wait)
    assert KEY not in told(error.value)
    assert len(server.requests) == 1  # it neither retries by itself nor follows a redirect


@pytest.mark.parametrize(
    ("how", "message"),
    [("hang", "no answer within 0.5 seconds"), ("drop", "Server disconnected")],
)
def test_what_is_never_answered(server: Server, how: str, message: str) -> None:
    with pytest.raises(Unanswered) as error:
        ask(server.url, request(how), timeout=0.5)
    assert str(error.value) == message
    assert KEY not in told(error.value)
    assert len(server.requests) == 1


def test_nobody_there() -> None:
    with pytest.raises(Refused) as error:
        ask("http://127.0.0.1:9", request("ok"))
    assert (str(error.value), error.value.retry) == ("no connection to 127.0.0.1", True)
    assert KEY not in told(error.value)


@pytest.mark.parametrize(
    ("how", "tokens", "message", "why"),
    [
        ("broken", (None, None), "the answer is no generated content", "no_text"),
        ("silent", (5, 32), "the answer holds no text", "no_text"),
        ("cut", (5, 32), "the answer was cut off at max_tokens", "cut_off"),
        ("filtered", (5, 32), "the answer was filtered", "filtered"),
        ("blocked", (5, 0), "the request was filtered", "filtered"),
        ("too-long", (0, 0), "the request is too long for the model", "too_long"),
    ],
)
def test_answers_without_text_are_kept_as_they_came(
    server: Server, how: str, tokens: tuple[int | None, int | None], message: str, why: str
) -> None:
    (reply,) = ask(server.url, request(how))
    assert reply.raw  # paid for, so it goes to the ledger whatever it holds
    assert (reply.tokens_in, reply.tokens_out) == tokens
    with pytest.raises(Unusable) as error:
        text(reply.raw)
    assert (str(error.value), error.value.why) == (message, why)


def test_an_answer_that_is_not_utf8_is_kept_to_the_byte(server: Server) -> None:
    assert ask(server.url, request("broken"))[0].raw == b'{"candidates": [{"cont\xff'
