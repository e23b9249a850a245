"""S3, or a store that speaks it: a folder that never changes for each revision, and a pointer.

    PATH/revisions/REVISION/...    the tree; REVISION is the digest of its published.json
    PATH/current.json              which revision is the published one

S3 has no rename, but it writes an object only where it is (If-Match), or is not there
(If-None-Match), as it was seen. So the pointer is the commit: until it is written all is as before,
and of two publishers the second is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from typing import Any

import orjson

from retgen.errors import EndpointFailed, RetgenError
from retgen.object_store import ConditionFailed, ObjectStore
from retgen.publishing.destinations import (
    LISTING,
    Destination,
    FileChange,
    Standing,
    StoredFile,
    Tree,
    read_listing,
)
from retgen.write import dump_json

POINTER, REVISIONS = "current.json", "revisions/"


class S3(Destination):
    about = (
        "a folder for each revision in a bucket of S3 (or AWS_ENDPOINT_URL), and `current.json`, "
        "which says which one it is; `pip install 'retgen[publish]'`"
    )
    example = "s3://BUCKET/PATH"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._objects = ObjectStore(f"s3:{address}")
        self._url = self.where = self._objects.url
        self._path = self._objects.path

    @property
    def _store(self) -> Any:
        return self._objects.files

    @property
    def loaded_as(self) -> str:
        """A folder that was downloaded: the same tree as of `file:`."""
        return "PATH_OF_THIS_FOLDER"

    def standing(self, name: str, *, writing: bool) -> Standing:
        """The files of the current revision, as far as they are what was published."""
        with self._errors():
            # before the pointer is read: if it changes in between, this is too old to be replaced
            version = self._version()
            if version is None:
                self._refuse_others()
                return Standing()
            revision = self._revision(name)
            # what is no file of the listing that the revision is named after is not ours
            listing = self._listing(revision)
            files = {
                path: stored
                for path in sorted(listing)
                if (stored := self._stored(f"{REVISIONS}{revision}/{path}")) is not None
            }
        return Standing(files, listing, f"{revision} {version}")

    def _version(self) -> str | None:
        """What S3 knows the pointer by; None where there is none."""
        page = self._objects.list_page(Prefix=self._path + POINTER, MaxKeys=1)
        found = page.get("Contents", [])
        ours = [one["ETag"] for one in found if one["Key"] == self._path + POINTER]
        return str(ours[0]) if ours else None

    def _refuse_others(self) -> None:
        page = self._objects.list_page(Prefix=self._path, Delimiter="/", MaxKeys=10)
        found = [one["Key"] for one in page.get("Contents", ())]
        found += [one["Prefix"] for one in page.get("CommonPrefixes", ())]
        names = {key.removeprefix(self._path) for key in found}
        # the mark of an empty folder, and what a publish that was cut short has left
        others = sorted(names - {"", REVISIONS})
        if others:
            self._taken(f"holds {', '.join(others[:3])}, which gen publish did not put there")

    def _revision(self, name: str) -> str:
        try:
            pointer = orjson.loads(self._store.cat_file(f"{self._url}/{POINTER}"))
            published, revision = pointer["name"], pointer["revision"]
            if not re.fullmatch(r"[0-9a-f]{16}", revision):
                raise ValueError(revision)
        except (ValueError, KeyError, TypeError):
            self._taken(f"holds a {POINTER} that gen publish did not write")
        if published != name:
            self._taken(f"holds the {self.holds} {published!r}, not {name!r}")
        return str(revision)

    def _listing(self, revision: str) -> frozenset[str]:
        """The paths of a revision; none where its listing is gone, or is not the one it had."""
        try:
            data = self._store.cat_file(f"{self._url}/{REVISIONS}{revision}/{LISTING}")
        except FileNotFoundError:
            return frozenset()
        if _named(hashlib.sha256(data).hexdigest()) != revision:
            return frozenset()
        return read_listing(data)[1]

    def put(self, tree: Tree, standing: Standing, changes: list[FileChange], message: str) -> str:
        """Upload what is not there under the tree's own digest, then let the pointer name it."""
        revision = _named(tree.files[LISTING].sha256)
        pointer = dump_json({"name": tree.name, "revision": revision}).encode()
        before, _, version = (standing.version or "").partition(" ")
        kept = {one.path for one in changes if one.kind == "unchanged"}
        # the listing last: a revision that has one is whole
        paths = [*(path for path in tree.files if path != LISTING), LISTING]
        with self._errors():
            for path in paths:
                key, info = f"{REVISIONS}{revision}/{path}", tree.files[path]
                if self._stored(key) == StoredFile(f"sha256 {info.sha256}", info.bytes):
                    continue  # of a publish that was cut short
                marks = {"Metadata": {"sha256": info.sha256}}
                if path in kept:  # the store copies it by itself
                    there = f"{self._url}/{REVISIONS}{before}/{path}"
                    self._store.cp_file(there, f"{self._url}/{key}", **marks)
                else:
                    self._store.put_file(str(tree.folder / path), f"{self._url}/{key}", **marks)
        try:
            with self._errors():
                self._store.pipe_file(
                    f"{self._url}/{POINTER}",
                    pointer,
                    ContentType="application/json",
                    **({"IfMatch": version} if version else {"IfNoneMatch": "*"}),
                )
        except EndpointFailed:
            if not self._is_there(pointer):  # its answer was lost, or somebody published the same
                raise
        return f"{self._url}/{REVISIONS}{revision}/"

    def _is_there(self, pointer: bytes) -> bool:
        try:
            with self._errors():
                return bool(self._store.cat_file(f"{self._url}/{POINTER}") == pointer)
        except RetgenError:
            return False

    def _stored(self, key: str) -> StoredFile | None:
        """An object, by the digest that was written with it: another tool's writing drops that."""
        found = self._objects.head(key)
        return found and StoredFile(f"sha256 {found.sha256}", found.bytes)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with self._objects.errors(on_condition=True):
                yield
        except ConditionFailed:
            self._moved()


def _named(digest: str) -> str:
    """What a revision is called, by the SHA-256 of its listing."""
    return digest[:16]
