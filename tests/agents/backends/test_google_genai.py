"""Gemini's protocol against a server on loopback: what is sent, and what every failure means."""

from __future__ import annotations

from retgen.agents.backends.google_genai import GoogleChat
from retgen.agents.chat import Response, Usage
from retgen.agents.prompt import Message, Request
from tests.agents.loopback import KEY, send_all
from tests.agents.server import FAULTS, Server, answering, generated, serving

SCHEMA = {"title": "Things", "type": "object", "properties": {"a": {"type": "string"}}}
MESSAGES = Message("system", "Be brief."), Message("user", 'Say {"hello"}.')


def request(model: str) -> Request:
    return Request("loopback", model, MESSAGES, max_tokens=9)


def ask(url: str, *requests: Request) -> list[Response]:
    return send_all(lambda: GoogleChat(base_url=url, api_key=KEY, timeout=120.0), requests)


def test_what_is_sent_and_what_comes_back(server: Server) -> None:
    talk = (*MESSAGES, Message("assistant", "hi"), Message("user", "Again."))
    sampling = {"temperature": 0.5, "topP": 0.9, "thinkingConfig": {"thinkingBudget": 0}}
    (result,) = ask(server.url, Request("loopback", "ok", talk, sampling, SCHEMA, max_tokens=9))
    assert result == Response(result.raw, 200, "", "stop", "hello", Usage(5, 2))
    assert GoogleChat(api_key=KEY).read(result.raw) == result
    assert result.raw.startswith(
        b'{"candidates": [{"content": {"role": "model", "parts": [{"text":'
    )
    assert server.paths == ["/v1/v1beta/models/ok:generateContent"]
    assert server.requests == [
        {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": 'Say {"hello"}.'}]},
                {"role": "model", "parts": [{"text": "hi"}]},
                {"role": "user", "parts": [{"text": "Again."}]},
            ],
            "generationConfig": {
                **sampling,
                "maxOutputTokens": 9,
                "responseMimeType": "application/json",
                "responseJsonSchema": SCHEMA,
            },
        }
    ]
    assert server.headers[0]["x-goog-api-key"] == KEY
    assert server.headers[0]["content-type"] == "application/json"


def test_what_is_left_out_is_not_sent_but_for_the_room(server: Server) -> None:
    ask(server.url, Request("loopback", "tunedModels/ok", MESSAGES[1:]))
    assert server.paths == ["/v1/v1beta/tunedModels/ok:generateContent"]
    assert server.requests == [
        {
            "contents": [{"role": "user", "parts": [{"text": 'Say {"hello"}.'}]}],
            "generationConfig": {"maxOutputTokens": 1024},
        }
    ]


def test_a_text_in_parts_beside_a_thought() -> None:
    parts = [{"text": "I greet.", "thought": True}, {"text": "hel"}, {"text": "lo"}]
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 30}
    reply = generated(None, usage=usage, content={"role": "model", "parts": parts})
    with answering(lambda asked: reply) as server:
        (result,) = ask(server.url, request("m"))
    assert result == Response(result.raw, 200, "", "stop", "hello", Usage(5, 32))


def test_an_answer_that_is_not_utf8_is_kept_to_the_byte() -> None:
    with serving(fault=FAULTS["not UTF-8"]) as server:
        assert ask(server.url, request("m"))[0].raw.endswith(b"\xff\xfe")
