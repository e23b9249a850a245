"""The data set under review and the review's own files, which one server holds at a time."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from retgen.data import Dataset
from retgen.write import lock_file, os_errors

FILE = "verdicts.sqlite"


def folder_of(path: Path, dataset: Dataset, out: Path | None) -> Path:
    """Where a review's files lie: with a run, else in outputs/ and never in foreign data."""
    if out is not None:
        return out
    return dataset.run or Path("outputs") / f"review_{path.resolve().name}"


def files_of(dataset: Dataset, split: str) -> list[Path]:
    """The files that a review's items are drawn from."""
    tables = [dataset.corpus, dataset.queries]
    tables += [named[split] for named in (dataset.qrels, dataset.graded) if split in named]
    return [path for table in tables for path in table.files]


def stamp(files: list[Path]) -> list[list[Any]]:
    """Name, size and times of files: as long as these stand, nothing was changed.

    The time of the last change of anything is the system's, and nobody sets it.
    """
    result = []
    for path in files:
        there = path.stat()
        result.append([path.name, there.st_size, there.st_mtime_ns, there.st_ctime_ns])
    return result


def digest(files: list[Path]) -> str:
    """SHA-256 of all files, in order."""
    result = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            result.update(hashlib.file_digest(file, "sha256").digest())
    return result.hexdigest()


def labels_proven(manifest: dict[str, Any]) -> bool | None:
    """Whether all labels are proven; None if their evidence is unknown."""
    evidence = manifest.get("evidence")
    if not isinstance(evidence, dict):
        return None
    return bool(evidence.get("structural")) and not (
        evidence.get("judged") or evidence.get("human")
    )


LOCK, OWNER = ".review.lock", ".review.server"


@contextlib.contextmanager
def hold_review(folder: Path) -> Iterator[Callable[[str], None]]:
    """Hold a review while it is served; gives what notes the address, for another server to name.

    Raises `RunDirectoryError` naming the process that holds it. A killed process lets go.
    """
    owner = folder / OWNER

    def note_address(where: str) -> None:
        with os_errors(owner):
            owner.write_text(f"{where}, process {os.getpid()} on {socket.gethostname()}\n")

    def message() -> str:
        return (
            f"{folder} is being reviewed by another server{_named(owner)}: open that page, "
            "which any number of annotators may use at once, or end it"
        )

    with lock_file(folder / LOCK, message):
        try:
            yield note_address
        finally:
            owner.unlink(missing_ok=True)


def _named(owner: Path) -> str:
    try:
        return f" ({owner.read_text().strip()})"
    except OSError:
        return ""
