"""Objects of a bucket of S3, or of a store that speaks it: written whole, read by name.

All that knows of fsspec, and of what S3 answers. A listing is advice: what is there is looked up
by its name.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

from retgen.errors import DatasetError, EndpointFailed, UsageError
from retgen.write import AtomicFile, FileInfo, make_folder

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_PART = re.compile(r"(?!\.{1,2}$)[\w.=-]+", re.ASCII)
# what S3 says of keys that are not, or no longer, somebody's
_KEYS = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken")
_CONDITION = (409, 412)
_TRIES = 5  # of reading a body: the client tries again only until it begins
_PIECE = 1 << 20


class ConditionFailed(Exception):
    """An object is not as the condition of a write said: somebody else has written it."""


class ObjectInfo(NamedTuple):
    """An object: what S3 knows it by, what `ObjectStore` has put there, its age in seconds.

    `sha256`: as it was written with the object; another tool's writing drops it. `age`: by the
    store's own clock, None where it does not tell.
    """

    etag: str
    file: FileInfo
    age: float | None = None


class ObjectStore:
    """The objects below a path of a bucket; names are relative to it.

    Keys, endpoint and patience are those of the environment, as AWS's own tools read it. `kept`
    says what an interrupted command leaves, `refused` ends the message of a refusal, `rights` are
    those that are needed. Raises `UsageError` for an address that cannot be.
    """

    def __init__(
        self,
        address: str,
        *,
        kept: str = "What is finished is kept; the same command goes on",
        refused: str = "",
        rights: str = "s3:GetObject and s3:PutObject",
    ) -> None:
        self.where, self.url = address, address.rstrip("/")
        self._kept, self._refused, self._rights = kept, refused, rights
        self.bucket, _, path = self.url.removeprefix("s3://").partition("/")
        parts = path.split("/")
        if not (
            address.startswith("s3://") and _BUCKET.fullmatch(self.bucket)
            and all(_PART.fullmatch(part) for part in parts)
        ):  # fmt: skip
            raise UsageError(
                f"{address} is no place in a bucket: write s3://BUCKET/PATH, the bucket's name of "
                "3 characters or more, the path of letters, digits, '-', '_', '.' and '=', its "
                "parts separated by '/'"
            )
        try:
            import s3fs  # noqa: F401
        except ImportError as error:
            raise UsageError(
                f"{self.url} needs the package {error.name}: pip install 'retgen[publish]'"
            ) from error
        self.path = f"{path}/"

    @cached_property
    def files(self) -> Any:
        """The bucket as fsspec's file system."""
        import fsspec

        store = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
        store.retries = 1  # the client below tries again by itself: AWS_MAX_ATTEMPTS
        return store

    def get(self, name: str) -> tuple[bytes, ObjectInfo] | None:
        """An object and what is known of it; None where there is none."""
        pieces: list[bytes] = []
        info = self._read(name, pieces.append)
        return None if info is None else (b"".join(pieces), info)

    def fetch(self, name: str, path: Path, expected: FileInfo | None) -> None:
        """Write an object to a file, whole or not at all.

        `expected`: None for what was written with it. Raises `DatasetError` for an object that is
        gone, or is another one.
        """
        make_folder(path.parent)
        with AtomicFile(path) as file:
            info = self._read(name, file.write)
            if info is None:
                raise DatasetError(
                    f"{self.url}/{name} is gone; make the run again with `gen run --fresh`"
                )
            wanted = expected or info.file
            # what another tool has put there says nothing of itself
            if file.info != wanted and (expected or wanted.sha256):
                raise DatasetError(
                    f"{self.url}/{name} was changed or damaged: its SHA-256 is not the one that "
                    "was written; make the run again with `gen run --fresh`"
                )

    def head(self, name: str) -> ObjectInfo | None:
        """What is known of an object; None where there is none."""
        with self.errors():
            try:
                return _info(self._call("head_object", name))
            except FileNotFoundError:
                return None

    def put(self, name: str, data: bytes, *, if_match: str = "", if_absent: str = "") -> str:
        """Write an object; what S3 knows it by. Raises `ConditionFailed`.

        `if_match`: only if S3 knows it by that; `if_absent`: "*", only if there is none.
        """
        words = {"IfMatch": if_match, "IfNoneMatch": if_absent}
        words = {name: word for name, word in words.items() if word}
        marks = {"sha256": hashlib.sha256(data).hexdigest()}
        with self.errors(on_condition=bool(words)):
            return str(self._call("put_object", name, Body=data, Metadata=marks, **words)["ETag"])

    def put_file(self, name: str, path: Path, info: FileInfo) -> None:
        """Write a file as an object, a large one in parts; it appears when all of it is there."""
        with self.errors():
            marks = {"sha256": info.sha256}
            self.files.put_file(str(path), f"{self.url}/{name}", Metadata=marks)

    def delete(self, name: str) -> None:
        """Remove an object, if there is one."""
        with self.errors():
            self._call("delete_object", name)

    def listed_names(self, start: str = "", after: str = "") -> list[str]:
        """The next names of objects that begin with `start`, as far as S3 tells."""
        with self.errors():
            page = self.list_page(Prefix=self.path + start, StartAfter=self.path + after)
            return [one["Key"].removeprefix(self.path) for one in page.get("Contents", ())]

    def list_page(self, **words: Any) -> Any:
        """A page of S3's listing of the bucket."""
        return self.files.call_s3("list_objects_v2", Bucket=self.bucket, **words)

    def _call(self, method: str, name: str, **words: Any) -> Any:
        return self.files.call_s3(method, Bucket=self.bucket, Key=self.path + name, **words)

    def _read(self, name: str, write: Any) -> ObjectInfo | None:
        """Hand a whole object on, in pieces; one that is cut off goes on where it was cut."""
        from aiohttp import ClientError
        from fsspec.asyn import sync

        done, known = 0, None

        async def read() -> ObjectInfo:
            nonlocal done, known
            words: dict[str, str] = {}
            if known and done:
                words = {"Range": f"bytes={done}-", "IfMatch": known.etag}
            answer = await self.files._call_s3(
                "get_object", Bucket=self.bucket, Key=self.path + name, **words
            )
            known = known or _info(answer)
            async with answer["Body"] as body:
                while piece := await body.read(_PIECE):
                    write(piece)
                    done += len(piece)
            return known

        with self.errors():
            for left in reversed(range(_TRIES)):
                try:
                    info: ObjectInfo = sync(self.files.loop, read)
                except FileNotFoundError as error:
                    if _code(_response(error) or {}) == "NoSuchBucket":
                        raise
                    return None
                except (ClientError, ConnectionError, TimeoutError):
                    if not left:
                        raise
                else:
                    if done == info.file.bytes:
                        return info
            raise ConnectionError("cut off again and again")

    @contextlib.contextmanager
    def errors(self, *, on_condition: bool = False) -> Iterator[None]:
        """What S3 and the network say, in words of our own: a server's could hold keys.

        Raises `ConditionFailed` only for what is written on a condition.
        """
        from aiohttp import ClientError as HttpError
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        said = (OSError, ClientError, BotoCoreError, ResponseParserError, HttpError, ValueError)
        try:
            yield
        except said as error:
            # no cause: a traceback of it could show what a server echoes
            self._say(error, on_condition=on_condition)

    def _fail(self, said: str) -> NoReturn:
        raise EndpointFailed(
            f"{self.where}: S3 did not answer as it should ({said}). {self._kept}"
        ) from None

    def _refuse(self, message: str) -> NoReturn:
        raise UsageError(f"{self.where}{message}{self._refused}") from None

    def _say(self, error: Exception, *, on_condition: bool) -> NoReturn:
        from aiohttp import ClientError as HttpError
        from botocore import exceptions as boto
        from botocore.parsers import ResponseParserError

        response = _response(error)
        if response is None:
            if isinstance(error, boto.NoCredentialsError | boto.PartialCredentialsError):
                self._refuse(
                    " needs keys: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                )
            said = type(error).__name__
            if url := getattr(error, "kwargs", {}).get("endpoint_url"):
                parts = urlsplit(str(url))  # which may hold a password
                said += f" at {parts.scheme}://{parts.hostname}:{parts.port}"
            network = (OSError, HttpError, ResponseParserError)
            if isinstance(error, (*network, boto.ConnectionError, boto.HTTPClientError)):
                self._fail(said)
            self._refuse(
                ": the settings of AWS in the environment or in ~/.aws cannot be used "
                f"({said}): AWS_PROFILE, AWS_ENDPOINT_URL and AWS_REGION are among them"
            )
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = _code(response)
        said = f"{code} {status}" if re.fullmatch("[A-Za-z]{1,50}", code) else str(status)
        if status in _CONDITION or code == "NoSuchKey":
            if on_condition:
                raise ConditionFailed(said) from None
            self._fail(said)
        if code == "NotImplemented":
            self._refuse(": the store cannot write an object on a condition, which this needs")
        if status >= 500 or status in (408, 429) or code in ("SlowDown", "RequestTimeout"):
            self._fail(said)
        if code == "NoSuchBucket":
            self._refuse(
                f": there is no bucket {self.bucket}: look at its name, or make it first "
                f"(`aws s3 mb s3://{self.bucket}`)"
            )
        if code in _KEYS:
            self._refuse(
                f": S3 does not take the keys ({said}): look at AWS_PROFILE, or "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        if status in (401, 403):
            self._refuse(
                f": the keys may not do that ({said}). They need s3:ListBucket of the bucket, and "
                f"{self._rights} below {self.url}"
            )
        self._refuse(f": S3 refuses it ({said})")


def _response(error: Exception) -> dict[str, Any] | None:
    found = getattr(error, "response", None) or getattr(error.__cause__, "response", None)
    return found if isinstance(found, dict) else None


def _code(response: dict[str, Any]) -> str:
    return str(response.get("Error", {}).get("Code", ""))


def _info(answer: dict[str, Any]) -> ObjectInfo:
    stated = answer.get("Metadata", {}).get("sha256", "")
    date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    now = parsedate_to_datetime(date) if date else None
    age = (now - answer["LastModified"]).total_seconds() if now else None
    return ObjectInfo(str(answer["ETag"]), FileInfo(stated, int(answer["ContentLength"])), age)
