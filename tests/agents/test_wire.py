"""What every backend does alike: statuses, waits, and keys that must not be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from retgen.agents.backends.google_genai import GoogleChat
from retgen.agents.backends.langchain import LangChainChat
from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.chat import ChatModel
from retgen.agents.prompt import Message, Request
from retgen.agents.wire import NO_KEY, KeyMask, parse_object, part, parts, seconds, status_of
from tests.agents import google_server, server
from tests.agents.loopback import send_all

KEY = "sk-planted-0123456789"


@pytest.mark.parametrize(
    ("stated", "wait"),
    [("3", 3.0), ("3s", 3.0), ("0", 0.0), ("1e308", 600.0), ("inf", None), ("nan", None),
     ("-1", None), ("Sat, 21 Nov 2026 19:00:00 GMT", None), (None, None)],
)  # fmt: skip
def test_how_long_to_wait(stated: str | None, wait: float | None) -> None:
    assert seconds(stated) == wait


def test_json_that_is_none() -> None:
    assert parse_object(b'{"a": {"b": 1}}') == {"a": {"b": 1}}
    assert [parse_object(raw) for raw in (b"", b"[1]", b'{"a', b"\xff")] == [{}] * 4
    assert part({"a": {"b": 1}, "c": 2}, "a") == {"b": 1}
    assert part({"c": 2}, "c") == {}
    assert parts({"a": [{"b": 1}, 2, None]}, "a") == [{"b": 1}]
    assert parts({"a": {}}, "a") == parts({}, "a") == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [({"error": {"code": 502}}, 502), ({"error": {"code": "429"}}, 429),
     ({"error": {"code": "bad"}}, 200), ({"error": {"code": 7}}, 200), ({}, 200),
     ({"error": "no"}, 200)],
)  # fmt: skip
def test_the_status_that_counts(body: dict[str, Any], expected: int) -> None:
    assert status_of(body) == expected


def test_an_error_that_stands_in_a_list() -> None:
    assert parse_object(b'[{"error": {"code": 503}}, {}]') == {"error": {"code": 503}}
    assert (
        parse_object(b'[{"candidates": []}]') == parse_object(b"[]") == parse_object(b"[1]") == {}
    )


def test_keys_are_taken_out_and_stand_ins_are_not() -> None:
    hidden = KeyMask([KEY, None, "", NO_KEY, "EMPTY"])
    assert hidden.text(f"with {KEY}, none is EMPTY") == "with [key], none is EMPTY"
    assert hidden.raw(b"\xff" + KEY.encode()) == b"\xff[key]"


@pytest.fixture
def urls() -> Iterator[dict[str, str]]:
    """Servers whose model repeats the key in its answer."""

    def echo(body: dict[str, Any]) -> str:
        return f"your key is {KEY}"

    with ExitStack() as stack:
        openai = stack.enter_context(server.serving(echo))
        google = stack.enter_context(google_server.serving(echo))
        yield {"openai": openai.url, "langchain": openai.url, "google": google.url}


MAKE: dict[str, Callable[[str], ChatModel]] = {
    "openai": lambda url: OpenAIChat(base_url=url, api_key=KEY),
    "google": lambda url: GoogleChat(base_url=url, api_key=KEY),
    "langchain": lambda url: LangChainChat(provider="openai", base_url=url, api_key=KEY),
}


@pytest.mark.parametrize("backend", list(MAKE))
def test_an_answer_that_repeats_the_key(urls: dict[str, str], backend: str) -> None:
    schema = {"title": "Said", "type": "object", "properties": {}} if backend == "google" else None
    asked = Request("x", "ok", (Message("user", "What is it?"),), {}, schema)
    (reply,) = send_all(lambda: MAKE[backend](urls[backend]), [asked])
    assert KEY.encode() not in reply.raw
    assert reply.text == "your key is [key]"
