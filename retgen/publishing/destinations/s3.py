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
from functools import cached_property
from typing import Any, NoReturn
from urllib.parse import urlsplit

import orjson

from retgen.errors import EndpointFailed, RetgenError, UsageError
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
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_PART = re.compile(r"(?!\.{1,2}$)[\w.=-]+", re.ASCII)
# what S3 says of keys that are not, or no longer, somebody's
_KEYS = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken")


class S3(Destination):
    about = (
        "a folder for each revision in a bucket of S3 (or AWS_ENDPOINT_URL), and `current.json`, "
        "which says which one it is; `pip install 'retgen[publish]'`"
    )
    example = "s3://BUCKET/PATH"

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
        self._path = f"{path}/"

    @cached_property
    def _store(self) -> Any:
        """The bucket as fsspec's file system.

        Keys, endpoint and patience are those of the environment, as AWS's own tools read it.
        """
        import fsspec

        store = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
        store.retries = 1  # the client below tries again by itself: AWS_MAX_ATTEMPTS
        return store

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
        found = self._list_page(Prefix=self._path + POINTER, MaxKeys=1).get("Contents", [])
        ours = [one["ETag"] for one in found if one["Key"] == self._path + POINTER]
        return str(ours[0]) if ours else None

    def _list_page(self, **words: Any) -> Any:
        return self._store.call_s3("list_objects_v2", Bucket=self._bucket, **words)

    def _refuse_others(self) -> None:
        page = self._list_page(Prefix=self._path, Delimiter="/", MaxKeys=10)
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
        try:
            found = self._store.call_s3("head_object", Bucket=self._bucket, Key=self._path + key)
        except FileNotFoundError:
            return None
        digest = found.get("Metadata", {}).get("sha256", "")
        return StoredFile(f"sha256 {digest}", int(found["ContentLength"]))

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """What S3 and the network say, in words of our own: a server's could hold keys."""
        from aiohttp import ClientError as HttpError
        from botocore import exceptions as boto
        from botocore.parsers import ResponseParserError

        network = (OSError, HttpError, ResponseParserError)
        try:
            yield
        except (boto.NoCredentialsError, boto.PartialCredentialsError):
            self._refused(
                " needs keys: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        except (*network, boto.ClientError, boto.BotoCoreError, ValueError) as error:
            response = getattr(error, "response", None)
            response = response or getattr(error.__cause__, "response", None)
            if isinstance(response, dict):
                self._refuse_answer(response)
            said = type(error).__name__
            if url := getattr(error, "kwargs", {}).get("endpoint_url"):
                parts = urlsplit(str(url))  # which may hold a password
                said += f" at {parts.scheme}://{parts.hostname}:{parts.port}"
            if isinstance(error, (*network, boto.ConnectionError, boto.HTTPClientError)):
                self._failed("S3", said, "published revision")
            self._refused(
                ": the settings of AWS in the environment or in ~/.aws cannot be used "
                f"({said}): AWS_PROFILE, AWS_ENDPOINT_URL and AWS_REGION are among them"
            )

    def _refuse_answer(self, response: dict[str, Any]) -> NoReturn:
        """Raise what an answer means that is an error."""
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = str(response.get("Error", {}).get("Code", ""))
        said = f"{code} {status}" if re.fullmatch("[A-Za-z]{1,50}", code) else str(status)
        if status in (409, 412) or code == "NoSuchKey":  # the pointer is not as it was seen
            self._moved()
        if code == "NotImplemented":
            self._refused(": the store cannot write an object on a condition, which this needs")
        if status >= 500 or status in (408, 429) or code in ("SlowDown", "RequestTimeout"):
            self._failed("S3", said, "published revision")
        if code == "NoSuchBucket":
            self._refused(
                f": there is no bucket {self._bucket}: look at its name, or make it first "
                f"(`aws s3 mb s3://{self._bucket}`)"
            )
        if code in _KEYS:
            self._refused(
                f": S3 does not take the keys ({said}): look at AWS_PROFILE, or "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        if status in (401, 403):
            self._refused(
                f": the keys may not do that ({said}). They need s3:ListBucket of the bucket, and "
                f"s3:GetObject and s3:PutObject below {self._url}"
            )
        self._refused(f": S3 refuses it ({said})")


def _named(digest: str) -> str:
    """What a revision is called, by the SHA-256 of its listing."""
    return digest[:16]
