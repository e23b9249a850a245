"""moto as a real S3 server on loopback, with faults in the way of single requests."""

from __future__ import annotations

import io
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

BUCKET = "bucket"
KEY, SECRET, SESSION = (
    "AKIAROOT0123456789AB",
    "root/secret+0123456789abcdefghijklmnopqr",
    "session/tok+en==",
)
Fault = Literal["drop", "drop after", "cut", "late", 500, 501, 503, "echo"]


@dataclass
class State:
    """`fault(number, request)`: what becomes of a request, None: it is answered."""

    url: str = ""
    clients: dict[str, Any] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    fault: Callable[[int, str], Fault | None] = lambda number, request: None
    before: Callable[[str], None] = lambda request: None

    def client(self, service: str = "s3") -> Any:
        """A client that is not counted, and that no fault meets."""
        if service not in self.clients:
            self.clients[service] = self._client(service)
        return self.clients[service]

    def _client(self, service: str) -> Any:
        import boto3
        from botocore.config import Config

        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            config=Config(user_agent_extra="aside"),
        )

    def keys(self, prefix: str = "") -> list[str]:
        listed = self.client().list_objects_v2(Bucket=BUCKET, Prefix=prefix)
        return [one["Key"] for one in listed.get("Contents", [])]

    def objects(self, prefix: str = "") -> dict[str, bytes]:
        s3 = self.client()
        return {
            key: s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in self.keys(prefix)
        }

    def write(self, key: str, data: bytes, **words: str) -> None:
        self.client().put_object(Bucket=BUCKET, Key=key, Body=data, **words)

    def empty(self) -> None:
        for key in self.keys():
            self.client().delete_object(Bucket=BUCKET, Key=key)

    def writes(self) -> list[str]:
        return [one for one in self.requests if not one.startswith(("GET", "HEAD"))]


def calm(s3: State) -> None:
    s3.fault, s3.before = lambda number, request: None, lambda request: None


def settings(url: str, folder: Path) -> dict[str, str]:
    """The environment of a client of a server, and of nothing else that a machine may have."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(folder / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "none"),
    }


def _words(environ: dict[str, Any]) -> str:
    """A request in a line; "copy" for a PUT that says where the store has it already."""
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    if "HTTP_X_AMZ_COPY_SOURCE" in environ:
        method = "COPY"
    if "list-type" in environ["QUERY_STRING"]:
        method = "GET list"
    elif "upload" in environ["QUERY_STRING"]:
        method += " part"
    request = f"{method} {path.removeprefix(f'/{BUCKET}').lstrip('/')}".strip()
    return re.sub("[0-9a-f]{16}", "REV", request)


def _cut(first: bytes, environ: dict[str, Any]) -> Iterator[bytes]:
    """The first bytes of an answer, and then nothing more."""
    if first:
        yield first
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)


@contextmanager
def serving() -> Iterator[State]:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    state = State()
    moto, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        size = -1 if "wsgi.input_terminated" in environ else int(environ.get("CONTENT_LENGTH") or 0)
        # all of it first: a client that stops halfway would hold the lock against everybody
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(size))
        with lock:  # S3 looks at a condition and writes in one; moto in two
            return list(moto(environ, start))

    class Handler(WSGIRequestHandler):
        def log(self, *_: object) -> None:
            pass

        def log_request(self, *_: object) -> None:
            pass

    def app(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        if "aside" in environ.get("HTTP_USER_AGENT", ""):
            return answer(environ, start)
        request = _words(environ)
        state.requests.append(request)
        number = len(state.requests)
        fault = state.fault(number, request)
        state.before(request)
        if fault is None:
            return answer(environ, start)
        said: list[Any] = ["200 OK", []]

        def hear(*words: Any) -> None:
            said[:] = words[:2]

        if fault in (500, 501, 503, "echo"):
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        else:
            body = b"" if fault == "drop" else b"".join(answer(environ, hear))
        if fault in ("drop", "drop after", "cut"):
            start(*said)
            return _cut(body[: len(body) // 2] if fault == "cut" else b"", environ)
        heard = " ".join([*(v for k, v in environ.items() if k.startswith("HTTP_")), SECRET])
        status = 400 if fault == "echo" else fault if isinstance(fault, int) else 500
        code = {400: heard, 501: "NotImplemented", 503: "SlowDown"}.get(status, "InternalError")
        start(f"{status} No", [])
        text = f"<Error><Code>{code}</Code><Message>{heard}</Message></Error>"
        return [text.encode()] if environ["REQUEST_METHOD"] != "HEAD" else []

    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
