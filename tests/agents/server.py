"""A server on loopback that speaks OpenAI's chat completions, and can fail in every way.

The model that is asked for says how: `ok`, `status-429`, `hang`, `drop`, `broken`, `cut`,
`filtered`, `flaky`, `too-long`, `no-usage`. Every request is kept. What `ok` says is up to `say`.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.agents.loopback import running


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512  # connections that wait to be accepted

    def __init__(self, say: Callable[[dict[str, Any]], str], delay: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.say, self.delay = say, delay
        self.usage: tuple[int, int] | None = (
            5,
            2,
        )  # tokens of every prompt and answer; None: counted
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # with it a body waits 40 ms behind its head
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        self.server.headers.append(dict(self.headers))
        how = body["model"]
        if how == "drop":
            self.close_connection = True
            self.connection.shutdown(2)
            return
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
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if status == 429:
            self.send_header("retry-after", "3")
        self.end_headers()
        self.wfile.write(data)

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # the other side was killed
            super().handle()

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""
