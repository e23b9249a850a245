"""S3, or a store that speaks it: a folder that never changes for each revision, and a pointer.

    PATH/revisions/REVISION/...    the tree; REVISION is the digest of its published.json
    PATH/current.json              which revision is the published one

S3 has no rename, but it writes an object only where it is (If-Match), or is not there
(If-None-Match), as it was seen. So the pointer is the commit: until it is written all is as before,
and of two publishers the second is refused.
"""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from typing import Any, NoReturn
from urllib.parse import urlsplit

import orjson

from retgen.errors import UsageError
from retgen.publishing.destinations import (
    LISTING,
    Destination,
    FileChange,
    Standing,
    StoredFile,
    Tree,
)
from retgen.write import dump_json

POINTER, REVISIONS = "current.json", "revisions/"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_PART = re.compile(r"(?!\.{1,2}$)[\w.=-]+", re.ASCII)
_SETTINGS = (
    "look at the name of the bucket, at AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, and at AWS_ENDPOINT_URL; the keys need s3:ListBucket, s3:GetObject and "
    "s3:PutObject, the store writes on a condition (If-Match)"
)


class S3(Destination):
    about = (
        "a folder for each revision in a bucket of S3 (or AWS_ENDPOINT_URL), and `current.json`, "
        "which says which one it is; `pip install 'retgen[publish]'`"
    )
    example = "s3://BUCKET/PATH"
    who = "S3"
    # the mark of an empty folder, and what a publish that was cut short has left
    given = frozenset({"", REVISIONS})

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._url = self.where = f"s3:{address}".rstrip("/")
        self._bucket, _, path = self._url.removeprefix("s3://").partition("/")
        if not (
            address.startswith("//")
            and _BUCKET.fullmatch(self._bucket)
            and all(map(_PART.fullmatch, path.split("/")))
        ):
            raise UsageError(
                f"s3:{address} is no place in a bucket: write s3://BUCKET/PATH, the bucket's name "
                "of 3 characters or more, the path of letters, digits, '-', '_', '.' and '=', its "
                "parts separated by '/'"
            )
        try:
            import s3fs  # noqa: F401
        except ImportError as error:
            raise UsageError(
                f"{self._url} needs the package {error.name}: pip install 'retgen[publish]'"
            ) from error
        self._path, self._listing = f"{path}/", b""

    @cached_property
    def _store(self) -> Any:
        """The bucket as fsspec's file system, with keys and endpoint of the environment."""
        import fsspec

        store = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
        store.retries = 1  # the client below tries again by itself: AWS_MAX_ATTEMPTS
        return store

    def stored(self, name: str, *, writing: bool) -> tuple[dict[str, StoredFile], str | None]:
        """The files of the current revision, as far as they are what was published."""
        with self._errors():
            # before the pointer is read: if it changes in between, this is too old to be replaced
            found = self._list(Prefix=self._path + POINTER, MaxKeys=1).get("Contents", [])
            tags = [str(one["ETag"]) for one in found if one["Key"] == self._path + POINTER]
            if not tags:
                page = self._list(Prefix=self._path, Delimiter="/", MaxKeys=10)
                keys = [one["Key"] for one in page.get("Contents", ())]
                keys += [one["Prefix"] for one in page.get("CommonPrefixes", ())]
                return {key.removeprefix(self._path): StoredFile("", 0) for key in keys}, None
            version = f"{self._revision(name)} {tags[0]}"
            try:
                url = f"{self._url}/{self._key(version, LISTING)}"
                self._listing = bytes(self._store.cat_file(url))
            except FileNotFoundError:
                return {}, version
            if not version.startswith(hashlib.sha256(self._listing).hexdigest()[:16]):
                return {}, version
            # what is no file of the listing that the revision is named after is not ours
            paths = sorted([*orjson.loads(self._listing)["files"], LISTING])
            files = {path: self._head(self._key(version, path)) for path in paths}
        return {path: one for path, one in files.items() if one is not None}, version

    def _list(self, **words: Any) -> Any:
        return self._store.call_s3("list_objects_v2", Bucket=self._bucket, **words)

    def _revision(self, name: str) -> str:
        try:
            pointer = orjson.loads(self._store.cat_file(f"{self._url}/{POINTER}"))
            published, revision = pointer["name"], pointer["revision"]
            if not re.fullmatch(r"[0-9a-f]{16}", revision):
                raise ValueError(revision)
        except (ValueError, KeyError, TypeError):
            self._taken(f"holds a {POINTER} that gen publish did not write")
        self._check_name(published, name)
        return str(revision)

    def _key(self, version: str | None, path: str) -> str:
        return f"{REVISIONS}{(version or '').partition(' ')[0]}/{path}"

    def read_listing(self, version: str | None) -> bytes:
        return self._listing  # as `stored` has met it

    def put(self, tree: Tree, standing: Standing, changes: list[FileChange], message: str) -> str:
        """Upload what is not there under the tree's own digest, then let the pointer name it."""
        revision = tree.files[LISTING].sha256[:16]
        pointer = dump_json({"name": tree.name, "revision": revision}).encode()
        kept = {one.path for one in changes if one.kind == "unchanged"}
        with self._errors():
            # the listing last: a revision that has one is whole
            for path in sorted(tree.files, key=lambda one: one == LISTING):
                key, info = self._key(revision, path), tree.files[path]
                if self._head(key) == StoredFile(f"sha256 {info.sha256}", info.bytes):
                    continue  # of a publish that was cut short
                marks = {"Metadata": {"sha256": info.sha256}}
                if path in kept:  # the store copies it by itself
                    there = f"{self._url}/{self._key(standing.version, path)}"
                    self._store.cp_file(there, f"{self._url}/{key}", **marks)
                else:
                    self._store.put_file(str(tree.folder / path), f"{self._url}/{key}", **marks)
            tag = (standing.version or "").partition(" ")[2]
            self._store.pipe_file(
                f"{self._url}/{POINTER}",
                pointer,
                ContentType="application/json",
                **({"IfMatch": tag} if tag else {"IfNoneMatch": "*"}),
            )
        return f"{self._url}/{REVISIONS}{revision}/"

    def _head(self, key: str) -> StoredFile | None:
        """An object, by the digest that was written with it: another tool's writing drops that."""
        try:
            found = self._store.call_s3("head_object", Bucket=self._bucket, Key=self._path + key)
        except FileNotFoundError:
            return None
        digest = found.get("Metadata", {}).get("sha256", "")
        return StoredFile(f"sha256 {digest}", int(found["ContentLength"]))

    def _say(self, error: BaseException) -> NoReturn:
        """What S3 and the network say, in words of our own: a server's could hold keys."""
        from aiohttp import ClientError as HttpError
        from botocore import exceptions as boto
        from botocore.parsers import ResponseParserError

        network = (OSError, HttpError, ResponseParserError)
        if not isinstance(error, (*network, boto.ClientError, boto.BotoCoreError, ValueError)):
            raise error
        answer = getattr(error, "response", None) or getattr(error.__cause__, "response", None)
        said = type(error).__name__
        if isinstance(answer, dict):
            status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            code = str(answer.get("Error", {}).get("Code", ""))
            said = f"{code} {status}" if re.fullmatch("[A-Za-z]{1,50}", code) else str(status)
            if status in (409, 412) or code == "NoSuchKey":  # the pointer is not as it was seen
                self._moved()
            passes = status >= 500 or status in (408, 429)
            if code != "NotImplemented" and (passes or code in ("SlowDown", "RequestTimeout")):
                self._failed(said)
            self._refused(f": S3 refuses it ({said}): {_SETTINGS}")
        if url := getattr(error, "kwargs", {}).get("endpoint_url"):
            parts = urlsplit(str(url))  # which may hold a password
            said += f" at {parts.scheme}://{parts.hostname}:{parts.port}"
        if isinstance(error, (*network, boto.ConnectionError, boto.HTTPClientError)):
            self._failed(said)
        self._refused(f": the settings of AWS cannot be used ({said}): {_SETTINGS}")
