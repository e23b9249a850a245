"""Answers that are not the provider's: each becomes a response with words, never a traceback."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from retgen.agents.backends import backends
from retgen.agents.backends.langchain import LangChainChat
from retgen.agents.chat import ChatModel, Response
from retgen.agents.embedders import embedding_backends
from retgen.agents.http_model import HttpModel
from retgen.agents.outcomes import classify
from retgen.agents.prompt import Message, Request
from tests.agents.server import Reply, answering

KEY = "sk-planted-0123456789"
NO_JSON = [
    b"",
    b"<html>Bad gateway</html>",
    b'{"choices": [{"mess',
    b'{"embeddings": [{"values": [0.1, 0.',
    b"\xff\xfe",
    b"[" * 5_000,
    b'{"error": "\\ud800"}',
    b'{"usage": 1e999}',
]
WHERE = ("choices", "candidates", "data", "embeddings")
TREES: list[Any] = [
    None,
    "text",
    [1, [2]],
    {},
    {"error": 7},
    {"error": [{"message": "no"}]},
    {"error": {"code": "9" * 5_000}},
    {"error": {"code": [4], "message": {"a": 1}, "details": [5], "metadata": "x"}},
    {"error": {"code": 1.5, "details": {"error_code": 5}, "metadata": {"raw": [1]}}},
    {"error": {"details": [{"retryDelay": {}, "reason": 7, "violations": [{"quotaId": [1]}]}]}},
    *(dict.fromkeys(WHERE, one) for one in (None, "text", {}, [None], ["text"], [[1]])),
    {"choices": [{"message": "text", "finish_reason": 5}]},
    {"choices": [{"message": {"content": [5, None, {"text": 5}]}, "error": 7}]},
    {"candidates": [{"content": "text", "finishReason": {"a": 1}, "finishMessage": [1]}]},
    {"candidates": [{"content": {"parts": [5, {"text": {"a": 1}}]}}], "promptFeedback": "text"},
    {"data": [{"index": "1", "embedding": [1]}, {"index": 1, "embedding": [1]}]},
    {"usage": "much", "usageMetadata": [1], "meta": 5},
]
BODIES = [*NO_JSON, *(json.dumps(tree).encode() for tree in TREES)]
OPTIONS: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "api_key": KEY, "timeout": 60.0}
MODELS: dict[str, ChatModel] = {
    **{f"chat {name}": one("openai", **OPTIONS) for name, one in backends().items()},
    **{f"embed {name}": one(name, **OPTIONS) for name, one in embedding_backends().items()},
}


def check(result: Response) -> None:
    assert classify(result).action != "answer", result
    assert len(result.error) <= 300
    assert "\n" not in result.error


@pytest.mark.parametrize("name", MODELS)
def test_an_answer_or_an_error_that_is_not_theirs(name: str) -> None:
    model = MODELS[name]
    for raw in BODIES:
        result = model.read(raw)
        assert result.raw == raw
        check(result)
        if isinstance(model, HttpModel):
            result = model.failure(raw, 500)
            assert (result.raw, result.status, bool(result.error)) == (raw, 500, True)
            check(result)


@pytest.mark.parametrize(
    "usage",
    [
        [5],
        {"prompt_tokens": "5", "completion_tokens": None, "total_tokens": [7]},
        {"prompt_tokens": {"a": 5}, "completion_tokens_details": "x"},
        {"promptTokenCount": "5", "candidatesTokenCount": -5},
    ],
)
def test_usage_that_is_not_theirs(usage: Any) -> None:
    """The answer is there, and its tokens are not known."""
    tree = {
        "choices": [{"message": {"content": "hello"}}],
        "candidates": [{"content": {"parts": [{"text": "hello"}]}}],
        "content": "hello",
        "data": [{"embedding": [0.5]}],
        "embeddings": [{"values": [0.5]}],
    }
    for name, model in MODELS.items():
        raw = json.dumps({**tree, "usage": usage, "usageMetadata": usage}).encode()
        result = model.read(raw)
        assert classify(result).action == "answer"
        assert result.text == (raw.decode() if "embed" in name else "hello")
        assert result.usage[:2] == (None, 0 if "embed" in name else None)


@pytest.mark.slow
def test_what_a_package_of_langchain_makes_of_them() -> None:
    """It fails in its own ways, and the response is kept as it came."""
    replies = [*((200, raw) for raw in BODIES), *((500, raw) for raw in BODIES)]
    waiting = iter(replies)

    async def all_of_them(url: str) -> list[Response]:
        chat = LangChainChat(**{**OPTIONS, "base_url": f"{url}/v1"}, provider="openai")
        try:
            request = Request("x", "m", (Message("user", "Hello?"),))
            return [await chat.send(request, 9) for _ in replies]
        finally:
            await chat.close()

    with answering(lambda body: Reply(*next(waiting))) as server:
        results = asyncio.run(all_of_them(server.url))
    for (status, _), result in zip(replies, results, strict=True):
        check(result)
        assert status == 200 or result.status == 500, result
        assert classify(result).action == "retry"
