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
from typing import ClassVar, Literal, NamedTuple, NoReturn

import orjson

from retgen.errors import EndpointFailed, RetgenError, UsageError
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


class StoredFile(NamedTuple):
    """A file at a destination. `digest`: "sha256 HEX", or "git HEX" of git's name for it."""

    digest: str
    bytes: int


@dataclass(frozen=True)
class Standing:
    """What stands at a destination. `ours`: the files that an earlier publish put there.

    `version`: what a destination knows it by, to see whether it has changed since.
    """

    files: Mapping[str, StoredFile] = field(default_factory=dict)
    ours: frozenset[str] = frozenset()
    version: str | None = None


class FileChange(NamedTuple):
    """A file and what publishing does to it. `bytes`: of what is there afterwards, 0 if nothing."""

    path: str
    kind: ChangeKind
    bytes: int


def tree_changes(tree: Tree, standing: Standing) -> list[FileChange]:
    """What publishing a tree would change, by path. Others' files are left out."""
    result = []
    for path in sorted({*tree.files, *(standing.ours & set(standing.files))}):
        there, info = standing.files.get(path), tree.files.get(path)
        if info is None:
            result.append(FileChange(path, "removed", 0))
            continue
        kind: ChangeKind = "added"
        if there is not None:
            same = there == StoredFile(_digest(tree.folder / path, info, there.digest), info.bytes)
            kind = "unchanged" if same else "changed"
        result.append(FileChange(path, kind, info.bytes))
    return result


def _digest(path: Path, info: FileInfo, like: str) -> str:
    if like.startswith("sha256 "):
        return f"sha256 {info.sha256}"
    data = path.read_bytes()  # what git keeps itself is small
    return f"git {hashlib.sha1(b'blob %d' % len(data) + bytes(1) + data).hexdigest()}"


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

    def standing(self, name: str, *, writing: bool) -> Standing:
        """What is there of a data set called `name`; nothing where nobody published yet.

        `writing`: whether something is to be put there next. Raises `UsageError` where something
        else is there, or nothing can be put there.
        """
        files, version = self.stored(name, writing=writing)
        if LISTING not in files:
            if others := sorted(set(files) - self.given):
                self._taken(f"holds {', '.join(others[:3])}, which gen publish did not put there")
            return Standing(files, version=version)
        try:
            listing = orjson.loads(self.read_listing(version))
            published, ours = str(listing["name"]), frozenset(listing["files"]) | {LISTING}
        except (ValueError, KeyError, TypeError):
            self._taken(f"holds a {LISTING} that gen publish did not write")
        self._check_name(published, name)
        return Standing(files, ours, version)

    @abstractmethod
    def stored(self, name: str, *, writing: bool) -> tuple[dict[str, StoredFile], str | None]:
        """The files that are there by their paths, and what the place knows their state by."""

    @abstractmethod
    def read_listing(self, version: str | None) -> bytes:
        """The listing that stands among these files."""

    @abstractmethod
    def put(self, tree: Tree, standing: Standing, changes: list[FileChange], message: str) -> str:
        """Put a tree there, and say where it can be looked at: all of it or nothing, but of a
        folder of this machine, which the next publish completes.

        Raises `EndpointFailed` where somebody else has put something there since `standing`, or
        the network fails: the same again completes it.
        """

    def is_there(self, tree: Tree) -> bool:
        """Whether all of a tree stands there: an answer may be lost, or others publish the same."""
        with contextlib.suppress(RetgenError):
            changes = tree_changes(tree, self.standing(tree.name, writing=True))
            return all(one.kind == "unchanged" for one in changes)
        return False

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """What a place and the network say, in words; no cause, which could echo keys."""
        try:
            yield
        except RetgenError:
            raise
        except Exception as error:
            self._say(error)

    def _say(self, error: Exception) -> NoReturn:
        """Raise what an error of a library stands for."""
        raise error

    def _check_name(self, published: str, name: str) -> None:
        if published != name:
            self._taken(f"holds the {self.holds} {published!r}, not {name!r}")

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
