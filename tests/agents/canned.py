"""A server on loopback that says what a test tells it to, byte for byte, and keeps what it was asked."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.agents.loopback import running


class Canned(NamedTuple):
    """An answer: JSON, or bytes as they are. `status` 0: the connection is dropped."""

    status: int
    body: Any
    headers: Mapping[str, str] = {}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, answer: Callable[[dict[str, Any]], Canned]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(answer: Callable[[dict[str, Any]], Canned]) -> Iterator[Server]:
    with running(Server(answer)) as result:
        yield result


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        result = self.server.answer(body)
        if not result.status:
            self.close_connection = True
            self.connection.shutdown(2)
            return
        data = result.body if isinstance(result.body, bytes) else json.dumps(result.body).encode()
        self.send_response(result.status)
        for name, value in {"content-type": "application/json", **result.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle()

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""
