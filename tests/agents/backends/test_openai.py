"""The OpenAI protocol against a server on loopback: what is sent, and what every failure means."""

from __future__ import annotations

from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.chat import Response, Usage
from retgen.agents.outcomes import classify
from retgen.agents.prompt import Message, Request
from tests.agents.loopback import KEY, send_all
from tests.agents.server import Reply, Server, answering

SCHEMA = {"title": "Things", "type": "object", "properties": {"a": {"type": "string"}}}


def request(model: str, schema: dict[str, object] | None = None) -> Request:
    messages = Message("system", "Be brief."), Message("user", 'Say {"hello"}.')
    return Request("loopback", model, messages, {"temperature": 0.5}, schema, max_tokens=9)


def ask(url: str, *requests: Request) -> list[Response]:
    return send_all(lambda: OpenAIChat(base_url=url, api_key=KEY, timeout=120.0), requests)


def test_what_comes_back(server: Server) -> None:
    """What is sent is in the tests of agents."""
    (result,) = ask(server.url, request("ok", SCHEMA))
    assert result == Response(result.raw, 200, "", "stop", "hello", Usage(5, 2))
    assert OpenAIChat(base_url=server.url, api_key=KEY).read(result.raw) == result
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["content-type"] == "application/json"


def test_what_came_is_kept_to_the_byte(server: Server) -> None:
    (result,) = ask(server.url, request("broken"))
    assert result.raw == b'{"choices": [{"mess'


def test_content_in_parts_is_one_text() -> None:
    raw = b'{"choices": [{"message": {"content": [{"type": "text", "text": "he"}, {"text": "llo"}, 7]}}]}'
    assert OpenAIChat().read(raw).text == "hello"


def test_a_server_that_knows_neither_name() -> None:
    message = "Unsupported parameter: 'max_completion_tokens'"
    with answering(lambda body: Reply(400, {"error": {"message": message}})) as server:
        (result,) = ask(server.url, request("m"))
        assert (result.status, result.error) == (400, message)
        assert classify(result).action == "refuse"
        assert len(server.requests) == 1
