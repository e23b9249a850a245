"""What the servers on loopback, and the tests of the backends that ask them, have in common."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from retgen.agents.backends.google_genai import GoogleChat
from retgen.agents.backends.langchain import LangChainChat
from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.chat import ChatModel, Response
from retgen.agents.prompt import Request

S = TypeVar("S", bound="Loopback")
KEY = "sk-planted-0123456789"
OPEN: dict[str, Callable[..., ChatModel]] = {
    "openai": OpenAIChat,
    "google": GoogleChat,
    "langchain": partial(LangChainChat, provider="openai"),
}


class Loopback(ThreadingHTTPServer):
    """Keeps every request, with its path and headers."""

    daemon_threads = True
    request_queue_size = 512  # the usual 5 turns away many connections that come at once

    def __init__(self, handler: type[Handler], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.connections = 0
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Reads a request of JSON, and answers it in one piece or hangs up."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # with it a body waits 40 ms behind its head
    server: Loopback

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def read(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        self.server.paths.append(self.path)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        return body

    def hang(self) -> None:
        """Answer nothing before the server ends."""
        self.server.ended.wait(300)

    def drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(2)

    def reply(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # the other side was killed, or went away
            super().handle()

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@contextmanager
def running(server: S) -> Iterator[S]:
    """Serve in a thread until the end."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


def send_all(make: Callable[[], ChatModel], requests: Sequence[Request]) -> list[Response]:
    """All at once, each with the tokens that it needs, by a backend that is closed then."""

    async def all_of_them() -> list[Response]:
        chat = make()
        try:
            return await asyncio.gather(*(chat.send(one, one.max_tokens) for one in requests))
        finally:
            await chat.close()

    return asyncio.run(all_of_them())
