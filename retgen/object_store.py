"""Objects of a bucket of S3, or of a store that speaks it.

All that knows of fsspec, and of what S3 answers. A listing is advice: what is there is looked up
by its name.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NoReturn
from urllib.parse import urlsplit

from retgen.errors import EndpointFailed, UsageError
from retgen.write import FileInfo

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_PART = re.compile(r"(?!\.{1,2}$)[\w.=-]+", re.ASCII)
# what S3 says of keys that are not, or no longer, somebody's
_KEYS = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken")
_CONDITION = (409, 412)


class ConditionFailed(Exception):
    """An object is not as the condition of a write said: somebody else has written it."""


class ObjectStore:
    """The objects below a path of a bucket; names are relative to it.

    Keys, endpoint and patience are those of the environment, as AWS's own tools read it. Raises
    `UsageError` for an address that cannot be.
    """

    def __init__(self, address: str) -> None:
        self.where, self.url = address, address.rstrip("/")
        self.bucket, _, path = self.url.removeprefix("s3://").partition("/")
        parts = path.split("/")
        if not (
            address.startswith("s3://")
            and _BUCKET.fullmatch(self.bucket)
            and all(_PART.fullmatch(part) for part in parts)
        ):
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

    def head(self, name: str) -> FileInfo | None:
        """The size of an object and the SHA-256 stored with it; None where there is no object.

        The SHA-256 is empty where another tool has written the object.
        """
        with self.errors():
            try:
                answer = self.files.call_s3("head_object", Bucket=self.bucket, Key=self.path + name)
            except FileNotFoundError:
                return None
        stated = answer.get("Metadata", {}).get("sha256", "")
        return FileInfo(stated, int(answer["ContentLength"]))

    def list_page(self, **words: Any) -> Any:
        """A page of S3's listing of the bucket."""
        return self.files.call_s3("list_objects_v2", Bucket=self.bucket, **words)

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
            f"{self.where}: S3 did not answer as it should ({said}). What was uploaded is in no "
            "published revision; the same command goes on"
        ) from None

    def _refuse(self, message: str) -> NoReturn:
        raise UsageError(f"{self.where}{message}. Nothing was published") from None

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
                f"s3:GetObject and s3:PutObject below {self.url}"
            )
        self._refuse(f": S3 refuses it ({said})")


def _response(error: Exception) -> dict[str, Any] | None:
    found = getattr(error, "response", None) or getattr(error.__cause__, "response", None)
    return found if isinstance(found, dict) else None


def _code(response: dict[str, Any]) -> str:
    return str(response.get("Error", {}).get("Code", ""))
