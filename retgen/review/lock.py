"""One server at a time on a review, and who that is."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from retgen.write import lock_file, os_errors

LOCK, OWNER = ".review.lock", ".review.server"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[Callable[[str], None]]:
    """Hold a review while it is served; gives what notes where, for another one to be told.

    Raises `RunDirectoryError` naming the process that holds it. A killed process lets go.
    """
    owner = folder / OWNER

    def told(where: str) -> None:
        with os_errors(owner):
            owner.write_text(f"{where}, process {os.getpid()} on {socket.gethostname()}\n")

    def taken() -> str:
        return (
            f"{folder} is being reviewed by another server{_named(owner)}: open that page, "
            "which any number of annotators may use at once, or end it"
        )

    with lock_file(folder / LOCK, taken):
        try:
            yield told
        finally:
            owner.unlink(missing_ok=True)


def _named(owner: Path) -> str:
    try:
        return f" ({owner.read_text().strip()})"
    except OSError:
        return ""
