"""A server on loopback that says what a test tells it to, byte for byte, and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.agents.loopback import Handler, Loopback, running


class Canned(NamedTuple):
    """An answer: JSON, or bytes as they are. `status` 0: the connection is dropped."""

    status: int
    body: Any
    headers: Mapping[str, str] = {}


class Server(Loopback):
    def __init__(self, answer: Callable[[dict[str, Any]], Canned]) -> None:
        super().__init__(_Handler)
        self.answer = answer


@contextmanager
def serving(answer: Callable[[dict[str, Any]], Canned]) -> Iterator[Server]:
    with running(Server(answer)) as result:
        yield result


class _Handler(Handler):
    server: Server

    def do_POST(self) -> None:
        result = self.server.answer(self.read())
        if not result.status:
            return self.drop()
        data = result.body if isinstance(result.body, bytes) else json.dumps(result.body).encode()
        return self.reply(result.status, data, result.headers)
