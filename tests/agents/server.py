"""A server on loopback that speaks OpenAI's chat completions, and can fail in every way.

The model that is asked for says how: `ok`, `status-429`, `hang`, `drop`, `broken`, `cut`,
`filtered`, `flaky`, `too-long`, `no-usage`. Every request is kept. What `ok` says is up to `say`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.agents.loopback import Handler, Loopback, running


class Server(Loopback):
    def __init__(self, say: Callable[[dict[str, Any]], str], delay: float) -> None:
        super().__init__(_Handler)
        self.say, self.delay = say, delay
        # tokens of every prompt and answer; None: counted
        self.usage: tuple[int, int] | None = (5, 2)

    @property
    def url(self) -> str:
        return f"{super().url}/v1"


@contextmanager
def serving(
    say: Callable[[dict[str, Any]], str] = lambda body: "hello", delay: float = 0.0
) -> Iterator[Server]:
    with running(Server(say, delay)) as result:
        yield result


def counted(body: dict[str, Any], answer: str) -> tuple[int, int]:
    """Tokens of a prompt, with the schema that it asks for, and of an answer: four bytes each."""
    parts = [message["content"] for message in body["messages"]]
    if "response_format" in body:
        parts.append(json.dumps(body["response_format"]["json_schema"]["schema"]))
    return sum(len(part.encode()) for part in parts) // 4, len(answer.encode()) // 4


class _Handler(Handler):
    server: Server

    def do_POST(self) -> None:
        body = self.read()
        how = body["model"]
        if how == "drop":
            return self.drop()
        if how == "hang":
            time.sleep(2)
        if self.server.delay:
            time.sleep(self.server.delay)
        message: dict[str, Any] = {"role": "assistant", "content": self.server.say(body)}
        reason = {"cut": "length", "filtered": "content_filter"}.get(how, "stop")
        answer: Any = {
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": dict(
                zip(
                    ("prompt_tokens", "completion_tokens"),
                    self.server.usage or counted(body, message["content"]),
                    strict=True,
                )
            ),
        }
        if how == "flaky" and self.server.requests.count(body) <= 2:  # the first two of each
            how = "status-503"
        status = int(how.partition("-")[2]) if how.startswith("status-") else 200
        if status != 200:
            key = self.headers["authorization"].removeprefix("Bearer ")
            answer = {"error": {"message": f"not with {key}", "code": "no"}}
        if how == "too-long":
            status, code = 400, "context_length_exceeded"
            answer = {"error": {"message": "maximum context length is 9 tokens", "code": code}}
        if how == "no-usage":
            del answer["usage"]
        data = b'{"choices": [{"mess' if how == "broken" else json.dumps(answer).encode()
        return self.reply(status, data, {"retry-after": "3"} if status == 429 else {})
