"""Destinations by name, found by file: a module here that exports one subclass of `Destination`.

`hub.py` is `hub:owner/name`. A third party adds one by an entry point in the group
`retgen.destinations`. Here is what a destination is, the tree it is given, and how that differs
from what stands there.
"""

from __future__ import annotations

import contextlib
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn

import orjson

from retgen.errors import EndpointFailed, UsageError
from retgen.messages import did_you_mean
from retgen.plugins import load_all
from retgen.write import FileInfo, dump_json, write_file

ChangeKind = Literal["added", "changed", "removed", "unchanged"]
LISTING = "published.json"  # of the files of a tree, in it


@dataclass(frozen=True)
class Tree:
    """`files` by their paths below `folder`, the listing included. `name`: of the data set."""

    name: str
    folder: Path
    files: Mapping[str, FileInfo]


@dataclass(frozen=True)
class Standing:
    """What stands at a destination: the digests of its files by their paths.

    A digest is "sha256 HEX", or "git HEX" of git's name for the file; "" where it was not looked
    at. `listing`: what an earlier publish has listed there, None where nobody published yet.
    `version`: what a destination knows the state by, to see whether it has changed since.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    listing: Mapping[str, Any] | None = None
    version: str | None = None

    @property
    def ours(self) -> frozenset[str]:
        """The files that an earlier publish put there."""
        return frozenset(self.listing["files"]) | {LISTING} if self.listing else frozenset()


class FileChange(NamedTuple):
    """A file and what publishing does to it. `bytes`: of what is there afterwards, 0 if nothing."""

    path: str
    kind: ChangeKind
    bytes: int


def tree_changes(tree: Tree, standing: Standing) -> list[FileChange]:
    """What publishing a tree would change, by path. Others' files are left out."""
    result = []
    for path in sorted({*tree.files, *(standing.ours & set(standing.files))}):
        digest, info = standing.files.get(path), tree.files.get(path)
        if info is None:
            result.append(FileChange(path, "removed", 0))
            continue
        kind: ChangeKind = "added"
        if digest is not None:
            own = f"sha256 {info.sha256}"
            if digest.startswith("git "):  # what git keeps itself is small
                data = (tree.folder / path).read_bytes()
                own = f"git {hashlib.sha1(b'blob %d' % len(data) + bytes(1) + data).hexdigest()}"
            kind = "unchanged" if own == digest else "changed"
        result.append(FileChange(path, kind, info.bytes))
    return result


def listed_tree(name: str, folder: Path, files: Mapping[str, FileInfo]) -> Tree:
    """Write the listing of the files of a folder beside them; all of them as a tree."""
    listed = dict(sorted(files.items()))
    listing = {"name": name, "files": {path: one._asdict() for path, one in listed.items()}}
    info = write_file(folder / LISTING, dump_json(listing))
    return Tree(name, folder, listed | {LISTING: info})


class Destination(ABC):
    """Where a tree can be put, in a module of its own under `destinations`, which names it.

    `address`: what stands behind the colon of `hub:me/kb`. The initialiser raises `UsageError`
    for one that cannot be; it asks nobody. `about`: for the docs. `who`: answers there. `given`:
    files that the place itself puts there. `loaded_as`: what `load_dataset` is given, by default
    a copy of the folder, which may be moved.
    """

    about: ClassVar[str] = ""
    example: ClassVar[str] = ""
    who: ClassVar[str] = ""
    given: ClassVar[frozenset[str]] = frozenset()
    loaded_as = "PATH_OF_THIS_FOLDER"

    def __init__(self, address: str) -> None:
        self.address = address
        self.where = f"{self.example.partition(':')[0]}:{address}"
        self.holds = "data set"

    def make_private(self) -> None:
        """Let nobody else see what is made there. Raises `UsageError` where that means nothing."""
        kind = self.example.partition(":")[0]
        raise UsageError(
            f"--private is for hub:, where a repository is made; who may read {kind}: is for its "
            "own settings to say"
        )

    @abstractmethod
    def stored(self, *, writing: bool) -> Standing:
        """What is there. `writing`: whether something is to be put there next."""

    @abstractmethod
    def put(self, tree: Tree, standing: Standing, changes: list[FileChange], message: str) -> str:
        """Put a tree there, and say where it can be looked at: all of it or nothing, but of a
        folder of this machine, which the next publish completes.

        Raises `EndpointFailed` where somebody else has put something there since `standing`, or
        the network fails: the same again completes it.
        """

    def standing(self, name: str, *, writing: bool) -> Standing:
        """What is there of a data set called `name`; nothing where nobody published yet.

        Raises `UsageError` where something else is there, or nothing can be put there.
        """
        found = self.stored(writing=writing)
        if found.listing is not None:
            published = found.listing["name"]
            if published != name:
                self._taken(f"holds the {self.holds} {published!r}, not {name!r}")
        elif others := sorted(set(found.files) - self.given):
            self._taken(f"holds {', '.join(others[:3])}, which gen publish did not put there")
        return found

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """What a place and the network say, in words; no cause, which could echo keys."""
        try:
            yield
        except Exception as error:
            self.explain(error)

    def explain(self, error: BaseException) -> NoReturn:
        """Raise what an error of a library stands for; others as they are."""
        raise error

    def _listing(self, data: bytes, file: str = LISTING, key: str = "files") -> dict[str, Any]:
        """What an earlier publish has written there: a name, and something under `key`."""
        try:
            found: dict[str, Any] = orjson.loads(data)
            iter(found["name"] and found[key])
        except (ValueError, KeyError, TypeError):
            self._taken(f"holds a {file} that gen publish did not write")
        return found

    def _taken(self, why: str) -> NoReturn:
        raise UsageError(
            f"{self.where} is taken: it {why}. Name another one; nothing was published"
        )

    def _moved(self) -> NoReturn:
        raise EndpointFailed(
            f"{self.where}: somebody else published there meanwhile, and nothing of this run was. "
            "--dry-run shows what would change now"
        ) from None

    def _failed(self, said: str) -> NoReturn:
        raise EndpointFailed(
            f"{self.where}: {self.who} did not answer as it should ({said}). Nothing that was "
            "uploaded is shown to anybody; the same command goes on"
        ) from None

    def _refused(self, message: str) -> NoReturn:
        raise UsageError(f"{self.where}{message}. Nothing was published") from None


def destinations() -> dict[str, type[Destination]]:
    """All destinations, by what stands before the colon."""
    return load_all(__name__, __path__, Destination, "retgen.destinations")


def destination(text: str) -> Destination:
    """The destination of `hub:me/kb`. Raises `UsageError` for one that cannot be."""
    kind, colon, address = text.partition(":")
    known = destinations()
    if not colon or kind not in known:
        examples = ", ".join(one.example for one in known.values())
        near = did_you_mean(kind, known) if colon else ""
        *others, last = (f"{name}:" for name in known)
        needs = f"needs {', '.join(others)} or {last} in front{near or '.'}"
        raise UsageError(f"{text!r} {needs} Examples: {examples}")
    if not address.strip():
        raise UsageError(f"{text!r} names nothing: write {known[kind].example}")
    return known[kind](address)
