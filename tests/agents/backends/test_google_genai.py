"""Gemini's protocol against a server on loopback: what is sent, and what every failure means."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retgen.agents.backends.google_genai import GoogleChat
from retgen.agents.chat import Response, Usage
from retgen.agents.prompt import Message, Request
from tests.agents.google_server import Server, serving
from tests.agents.loopback import send_all

KEY = "AIza-planted-0123456789"
SCHEMA = {"title": "Things", "type": "object", "properties": {"a": {"type": "string"}}}
MESSAGES = Message("system", "Be brief."), Message("user", 'Say {"hello"}.')


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as result:
        yield result


def request(model: str) -> Request:
    return Request("loopback", model, MESSAGES, room=9)


def ask(
    url: str, *requests: Request, timeout: float = 5.0, connections: int = 64
) -> list[Response]:
    return send_all(
        lambda: GoogleChat(base_url=url, api_key=KEY, timeout=timeout, connections=connections),
        requests,
    )


def test_what_is_sent_and_what_comes_back(server: Server) -> None:
    talk = (*MESSAGES, Message("assistant", "hi"), Message("user", "Again."))
    sampling = {"temperature": 0.5, "top_p": 0.9, "seed": 7,
                "thinkingConfig": {"thinkingBudget": 0}}  # fmt: skip
    (result,) = ask(server.url, Request("loopback", "ok", talk, sampling, SCHEMA, room=9))
    assert result == Response(result.raw, 200, "", "stop", "hello", Usage(5, 32, 30))
    assert GoogleChat(api_key=KEY).read(result.raw) == result
    assert result.raw.startswith(
        b'{"candidates": [{"content": {"role": "model", "parts": [{"text":'
    )
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
                "seed": 7,
                "thinkingConfig": {"thinkingBudget": 0},
                "maxOutputTokens": 9,
                "responseMimeType": "application/json",
                "responseJsonSchema": SCHEMA,
            },
        }
    ]
    assert server.headers[0]["x-goog-api-key"] == KEY


def test_what_is_left_out_is_not_sent_but_for_the_room(server: Server) -> None:
    ask(server.url, Request("loopback", "tunedModels/ok", MESSAGES[1:]))
    assert server.paths == ["/v1beta/tunedModels/ok:generateContent"]
    assert server.requests == [
        {
            "contents": [{"role": "user", "parts": [{"text": 'Say {"hello"}.'}]}],
            "generationConfig": {"maxOutputTokens": 1024},
        }
    ]


def test_no_more_connections_than_are_allowed(server: Server) -> None:
    assert len(ask(server.url, *[request("ok")] * 60, connections=3)) == 60
    assert server.connections == 3


def test_an_error_page_that_is_not_utf8(server: Server) -> None:
    (result,) = ask(server.url, request("page"))
    assert (result.status, result.error, result.wait) == (503, '{"candidates": [{"cont\ufffd', None)


@pytest.mark.parametrize(
    ("how", "usage", "finish"),
    [
        ("silent", (5, 32, 30), "stop"),
        ("cut", (5, 32, 30), "max_tokens"),
        ("filtered", (5, 32, 30), "safety"),
        ("blocked", (5, None, 0), "blocked"),
    ],
)
def test_what_an_answer_without_text_took(
    server: Server, how: str, usage: tuple[int, int | None, int], finish: str
) -> None:
    (result,) = ask(server.url, request(how))
    assert result.raw
    assert (result.usage, result.finish) == (Usage(*usage), finish)


def test_an_answer_that_is_not_utf8_is_kept_to_the_byte(server: Server) -> None:
    assert ask(server.url, request("broken"))[0].raw == b'{"candidates": [{"cont\xff'
