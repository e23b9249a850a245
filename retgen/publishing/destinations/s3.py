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

from retgen.errors import RetgenError, UsageError
from retgen.publishing.destinations import LISTING, Destination, FileChange, Standing, Tree
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
        self._path = f"{path}/"

    @cached_property
    def _store(self) -> Any:
        """The bucket as fsspec's file system, with keys and endpoint of the environment."""
        import fsspec

        store = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
        store.retries = 1  # the client below tries again by itself: AWS_MAX_ATTEMPTS
        return store

    def stored(self, *, writing: bool) -> Standing:
        """The files of the current revision, as far as they are as its listing says."""
        # the tag before the pointer: if it changes in between, the tag is too old to be replaced
        page = self._store.call_s3(
            "list_objects_v2", Bucket=self._bucket, Prefix=self._path, Delimiter="/"
        )
        tags = {one["Key"]: one["ETag"] for one in page.get("Contents", ())}
        tag = tags.get(self._path + POINTER)
        if tag is None:
            others = [*tags, *(one["Prefix"] for one in page.get("CommonPrefixes", ()))]
            return Standing({key.removeprefix(self._path): "" for key in others})
        data = self._store.cat_file(f"{self._url}/{POINTER}")
        pointer = self._listing(data, POINTER, "revision")
        revision = pointer["revision"]
        if not re.fullmatch(r"[0-9a-f]{16}", str(revision)):
            self._taken(f"holds a {POINTER} that gen publish did not write")
        version = f"{revision} {tag}"
        damaged = Standing({}, {"name": pointer["name"], "files": {}}, version)
        try:
            data = bytes(self._store.cat_file(f"{self._url}/{REVISIONS}{revision}/{LISTING}"))
        except FileNotFoundError:
            return damaged
        digest = hashlib.sha256(data).hexdigest()
        if not digest.startswith(revision):  # it is named after its listing
            return damaged
        listing, sizes = self._listing(data), self._sizes(revision)
        files = {
            path: f"sha256 {one['sha256']}"
            for path, one in listing["files"].items()
            if sizes.get(path) == one["bytes"]
        }
        return Standing({**files, LISTING: f"sha256 {digest}"}, listing, version)

    def _sizes(self, revision: str) -> dict[str, int]:
        """The sizes of what stands in the folder of a revision. S3 holds no file in part."""
        start = f"{self._bucket}/{self._path}{REVISIONS}{revision}/"
        found = self._store.find(start, detail=True)
        return {name.removeprefix(start): one["size"] for name, one in found.items()}

    def put(self, tree: Tree, standing: Standing, changes: list[FileChange], message: str) -> str:
        """Upload what is not there under the tree's own digest, then let the pointer name it."""
        revision = tree.files[LISTING].sha256[:16]
        folder = f"{self._url}/{REVISIONS}{revision}"
        current, _, tag = (standing.version or "").partition(" ")
        unchanged = {one.path for one in changes if one.kind == "unchanged"}
        sizes = self._sizes(revision)
        # the listing last: a revision that has one is whole
        for path in sorted(tree.files, key=lambda one: one == LISTING):
            uploaded = path != LISTING and sizes.get(path) == tree.files[path].bytes
            if uploaded or (current == revision and path in unchanged):
                continue  # of this revision, or of a publish that was cut short
            if path in unchanged:  # the store copies it by itself
                self._store.cp_file(f"{self._url}/{REVISIONS}{current}/{path}", f"{folder}/{path}")
            else:
                self._store.put_file(str(tree.folder / path), f"{folder}/{path}")
        pointer = dump_json({"name": tree.name, "revision": revision}).encode()
        condition = {"IfMatch": tag} if tag else {"IfNoneMatch": "*"}
        self._store.pipe_file(
            f"{self._url}/{POINTER}", pointer, ContentType="application/json", **condition
        )
        return f"{folder}/"

    def explain(self, error: BaseException) -> NoReturn:
        """What S3 and the network say, in words of our own: a server's could hold keys."""
        from aiohttp import ClientError as HttpError
        from botocore import exceptions as boto
        from botocore.parsers import ResponseParserError

        if isinstance(error, RetgenError):
            raise error
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
