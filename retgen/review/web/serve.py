"""Serve the review page: on this machine only, unless --host names another address."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING

import uvicorn

from retgen.errors import UsageError
from retgen.review.web.app import create_app
from retgen.review.web.security import is_loopback

if TYPE_CHECKING:
    from retgen.review.review import Review

PORT = 8765
_PATIENCE = 5  # seconds for answers that are under way at Ctrl-C


def serve(
    review: Review, host: str = "127.0.0.1", port: int = PORT, open_browser: bool = True
) -> None:
    """Serve a review until Ctrl-C. Prints the address; other hosts than loopback get a token.

    `port` 0: any free one. Raises `UsageError` where the address cannot be had, and
    `RunDirectoryError` where another server holds the review.
    """
    # locked before it listens, so that a second server names the first one instead of a busy port
    with review.serving() as note_address, _listen(host, port) as listening:
        port = listening.getsockname()[1]
        token = None if is_loopback(host) else secrets.token_urlsafe(24)
        note_address(_address(host, port, None))
        config = uvicorn.Config(
            create_app(review, host=host, port=port, token=token),
            log_level="error",
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="off",
            timeout_graceful_shutdown=_PATIENCE,
        )
        with contextlib.suppress(KeyboardInterrupt):  # raised again after a clean end
            _Announced(config, _address(host, port, token), open_browser).run(sockets=[listening])
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


def _listen(host: str, port: int) -> socket.socket:
    """Bind a socket. Raises `UsageError` where the address cannot be had."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, OverflowError, UnicodeError) as error:
        raise UsageError(f"--host {host} --port {port} is no address: {error}") from error
    result = socket.socket(family, kind, protocol)
    result.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        result.bind(where)
        result.listen(128)
    except OSError as error:
        result.close()
        raise UsageError(
            f"cannot listen at {host}, port {port}: {error.strerror or error}. Choose another one "
            "with --port (0: any that is free)"
        ) from error
    return result


def _address(host: str, port: int, token: str | None) -> str:
    """URL to open; the wildcard addresses are replaced by the machine's name."""
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")
