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
    with running(Server(answer)) as found:
        yield found


class _Handler(Handler):
    server: Server

    def do_POST(self) -> None:
        found = self.server.answer(self.read())
        if not found.status:
            return self.drop()
        data = found.body if isinstance(found.body, bytes) else json.dumps(found.body).encode()
        return self.reply(found.status, data, found.headers)
