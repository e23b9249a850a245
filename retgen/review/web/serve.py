"""Serve the review page, on this machine only: others reach it through a tunnel."""

from __future__ import annotations

import contextlib
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING

import uvicorn

from retgen.errors import UsageError
from retgen.review.web.app import create_app

if TYPE_CHECKING:
    from retgen.review.review import Review

_HOST, PORT = "127.0.0.1", 8765
_PATIENCE = 5  # seconds for answers that are under way at Ctrl-C


def serve(review: Review, port: int = PORT, open_browser: bool = True) -> None:
    """Serve a review until Ctrl-C, and print its address.

    `port` 0: any free one. Raises `UsageError` for one that is taken, and `RunDirectoryError` where
    another server holds the review.
    """
    # locked before it listens, so that a second server names the first one instead of a busy port
    with review.serving() as note_address, _listen(port) as listening:
        port = listening.getsockname()[1]
        address = f"http://{_HOST}:{port}/"
        note_address(address)
        config = uvicorn.Config(
            create_app(review),
            log_level="error",
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="off",
            timeout_graceful_shutdown=_PATIENCE,
        )
        with contextlib.suppress(KeyboardInterrupt):  # raised again after a clean end
            _Announced(config, address, open_browser).run(sockets=[listening])
    print(f"Stopped. Every verdict that was confirmed is in {review.store.path}.", flush=True)


class _Announced(uvicorn.Server):
    """A server that prints its address once it answers."""

    def __init__(self, config: uvicorn.Config, address: str, open_browser: bool) -> None:
        super().__init__(config)
        self._address, self._open_browser = address, open_browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then print the address and open the browser."""
        await super().startup(sockets)
        if self.started:
            print(f"review: {self._address}\nCtrl-C ends it; nothing is lost.", flush=True)
            if self._open_browser:
                # some browsers keep the process that opens them
                threading.Thread(target=webbrowser.open, args=[self._address], daemon=True).start()


def _listen(port: int) -> socket.socket:
    """Bind a socket. Raises `UsageError` where the port cannot be had."""
    result = socket.socket()
    result.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        result.bind((_HOST, port))
        result.listen(128)
    except OSError as error:
        result.close()
        raise UsageError(
            f"cannot listen at port {port}: {error.strerror or error}. Choose another one with "
            "--port (0: any that is free)"
        ) from error
    return result
