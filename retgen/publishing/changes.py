"""What stands at a destination, and how a tree differs from it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from retgen.write import FileInfo, file_info

Kind = Literal["added", "changed", "removed", "unchanged"]
LISTING = "published.json"  # of the files of a tree, in it


class Stored(NamedTuple):
    """A file at a destination. `digest`: "sha256 HEX", or "git HEX" of git's name for it."""

    digest: str
    bytes: int


@dataclass(frozen=True)
class Standing:
    """What stands at a destination. `ours`: the files that an earlier publish put there.

    `version`: what a destination knows it by, to see whether it has changed since.
    """

    files: Mapping[str, Stored] = field(default_factory=dict)
    ours: frozenset[str] = frozenset()
    version: str | None = None


class Change(NamedTuple):
    """A file and what publishing does to it. `bytes`: of what is there afterwards, 0 if nothing."""

    path: str
    kind: Kind
    bytes: int


def changes(folder: Path, files: Mapping[str, FileInfo], standing: Standing) -> list[Change]:
    """What publishing a tree would change, by path. Others' files are left out."""
    result = []
    for path in sorted({*files, *(standing.ours & set(standing.files))}):
        there = standing.files.get(path)
        if path not in files:
            result.append(Change(path, "removed", 0))
            continue
        kind: Kind = "added"
        if there is not None:
            same = there.bytes == files[path].bytes and there.digest == _digest(
                folder / path, files[path], there.digest
            )
            kind = "unchanged" if same else "changed"
        result.append(Change(path, kind, files[path].bytes))
    return result


def stored(path: Path) -> Stored:
    """What stands in a file of this machine."""
    info = file_info(path)
    return Stored(f"sha256 {info.sha256}", info.bytes)


def _digest(path: Path, info: FileInfo, like: str) -> str:
    if like.startswith("sha256 "):
        return f"sha256 {info.sha256}"
    data = path.read_bytes()  # what git keeps itself is small
    return f"git {hashlib.sha1(b'blob %d' % len(data) + bytes(1) + data).hexdigest()}"
