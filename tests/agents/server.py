"""A server on loopback that speaks OpenAI's chat completions, and can fail in every way.

The model that is asked for says how: `ok`, `status-429`, `hang`, `drop`, `broken`, `cut`,
`filtered`, `flaky`. Every request is kept.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512  # connections that wait to be accepted

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
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
        message: dict[str, Any] = {"role": "assistant", "content": "hello"}
        reason = {"cut": "length", "filtered": "content_filter"}.get(how, "stop")
        answer: Any = {
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2},
        }
        seen = sum(one == body for one in self.server.requests)
        if how == "flaky" and seen <= 2:  # the first two of every request
            how = "status-503"
        status = int(how.partition("-")[2]) if how.startswith("status-") else 200
        if status != 200:
            key = self.headers["authorization"].removeprefix("Bearer ")
            answer = {"error": {"message": f"not with {key}", "code": "no"}}
        data = b'{"choices": [{"mess' if how == "broken" else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if status == 429:
            self.send_header("retry-after", "3")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""
