"""What the servers on loopback, and the tests of the backends that ask them, have in common."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import TypeVar

from retgen.agents.chat import ChatModel, Response
from retgen.agents.request import Request

S = TypeVar("S", bound=ThreadingHTTPServer)


@contextmanager
def running(server: S) -> Iterator[S]:
    """Serve in a thread until the end."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def send_all(make: Callable[[], ChatModel], requests: Sequence[Request]) -> list[Response]:
    """All at once, each with the room it needs, by a backend that is closed then."""

    async def all_of_them() -> list[Response]:
        chat = make()
        try:
            return await asyncio.gather(*(chat.send(one, one.room) for one in requests))
        finally:
            await chat.close()

    return asyncio.run(all_of_them())
