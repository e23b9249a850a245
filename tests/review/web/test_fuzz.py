"""No request makes the server fail: every route and field, over a socket, with what no page sends."""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
import uvicorn
from fastapi.routing import APIRoute

from retgen.review.web.app import create_app
from tests.review.web.conftest import Made, hidden

# as they stand between "=" and "&", or between two slashes
NASTY = (
    "",
    "-1",
    "1.5",
    "1e999",
    "nan",
    "007",
    "9" * 20,
    "9" * 5_000,
    "%00",
    "a%00b",
    "%FF%FE",
    "%ED%A0%80",
    "%",
    "%zz",
    "%0D%0Aset-cookie:+a=b",
    "..%2f..%2fetc%2fpasswd",
    "../../etc/passwd",
    "%2e%2e",
    "true",
    "null",
    "[]",
    "%7B%7B7*7%7D%7D",
    quote_plus("½"),
    quote_plus("٣"),
    quote_plus("\u202e"),
    quote_plus("<script>"),
    "'%3B+DROP+TABLE+verdicts",
    "%F0%9F%92%A9" * 999,
)
FEW = ("9" * 5_000, "%00", "%ED%A0%80")
FORM = "application/x-www-form-urlencoded"


@contextlib.contextmanager
def served(app: Any) -> Iterator[int]:
    """The port of a server that is up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(
            uvicorn.Config(app, log_config=None, log_level="error", lifespan="off")
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


class Client:
    """Requests as bytes, so that nothing is put right on the way."""

    def __init__(self, port: int) -> None:
        self.port, self.host = port, f"127.0.0.1:{port}"

    def ask(
        self, method: str, path: str, body: bytes = b"", kind: str = FORM, more: str = ""
    ) -> str:
        """The whole answer; "" where the server hangs up."""
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: {self.host}\r\norigin: http://{self.host}\r\n"
            f"content-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n"
            f"{more}\r\n"
        ).encode("latin-1")
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as there:
            with contextlib.suppress(ConnectionError):  # it may answer before it has read all
                there.sendall(head + body)
            with contextlib.suppress(ConnectionError):
                return b"".join(iter(lambda: there.recv(1 << 16), b"")).decode("utf-8", "replace")
        return ""


def status(answer: str) -> int:
    return int(answer.split(" ", 2)[1]) if answer else 0


def fields_of(*pages: str) -> list[str]:
    """The names of all fields and buttons of pages."""
    return sorted({name for page in pages for name in re.findall(r'\sname="(\w+)"', page)})


@pytest.mark.slow
@pytest.mark.parametrize("values", [FEW, pytest.param(NASTY, marks=pytest.mark.slow)])
def test_no_request_makes_the_server_fail(
    values: tuple[str, ...], made: Made, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    review = made()
    app = create_app(review)
    routes = [route for route in app.app.routes if isinstance(route, APIRoute)]
    assert len(routes) == len(app.app.routes) >= 8  # nothing is served that is not tried here
    item = review.items[0].item_id
    right = {"annotator": "anna", "item_id": item, "name": "page.css"}
    statuses: dict[str, set[int]] = {}
    with served(app) as port:
        client = Client(port)

        def tried(name: str, *request: Any, **options: Any) -> None:
            answer = client.ask(*request, **options)
            assert 200 <= status(answer) < 500 or not answer, (name, request, answer[:300])
            statuses.setdefault(name, set()).add(status(answer))

        judged = client.ask("GET", "/judge/anna")
        sent = hidden(judged) | {"decision": "1"}
        fields = fields_of(judged)
        assert {"shown", "decision", "reason", "comment", "since"} <= set(fields)
        for route in routes:
            (method,) = route.methods
            url = route.path.format(**{key: quote(value) for key, value in right.items()})
            for parameter, nasty in itertools.product(route.dependant.path_params, values):
                path = route.path.format(**right | {parameter.name: nasty})
                if nasty and " " not in path:
                    tried(route.path, method, path, form(sent))
            for parameter, nasty in itertools.product(
                [*(one.name for one in route.dependant.query_params), "token"], values
            ):
                tried(route.path, method, f"{url}?{parameter}={nasty}&{parameter}=1", form(sent))
            for header in ("origin", "referer", "cookie", "accept", "x-forwarded-host"):
                for value in ("\xff\xfe", "a" * 50_000, "http://[::1", "[]", '="\\', "\x01"):
                    tried(route.path, method, url, form(sent), more=f"{header}: {value}\r\n")
            if method != "POST":
                tried(route.path, "POST", url, form(sent))
                continue
            for field, nasty in itertools.product([*fields, "other"], values):
                body = form({key: value for key, value in sent.items() if key != field})
                tried(route.path, method, url, body + f"&{field}={nasty}".encode())
                if values is NASTY:  # there twice
                    tried(route.path, method, url, form(sent) + f"&{field}={nasty}".encode())
            for field in sent:
                tried(route.path, method, url, form({k: v for k, v in sent.items() if k != field}))
            for kind in (
                "",
                FORM,
                f"{FORM}; charset=utf-16",
                "application/json",
                "text/plain",
                "multipart/form-data",
                "multipart/form-data; boundary=x",
                "\xff",
            ):
                for body in (
                    b"",
                    b"\x00",
                    b"\xff\xfe",
                    b'{"decision": "1"}',
                    b"[" * 5_000,
                    b"--x\r\ncontent-disposition: form-data; name",
                    b"=&=&&==",
                    b"a&" * 99,
                    b"comment=" + b"x" * (5 << 20),
                ):
                    tried(route.path, method, url, body, kind=kind)
    assert [one.getMessage() for one in caplog.records] == []
    assert all(
        seen <= {0, 200, 303, 400, 403, 404, 405, 409, 413, 415, 421} for seen in statuses.values()
    ), statuses


def form(fields: dict[str, str]) -> bytes:
    """A form as browsers send it."""
    return "&".join(f"{key}={quote_plus(value)}" for key, value in fields.items()).encode()


def test_a_body_that_breaks_off_or_is_no_chunk(
    made: Made, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    with served(create_app(made())) as port:
        for host in (f"127.0.0.1:{port}", "elsewhere"):
            for more in (
                "transfer-encoding: chunked\r\n\r\nzz\r\n",
                "content-length: 9\r\n\r\nabc",
            ):
                with socket.create_connection(("127.0.0.1", port), timeout=120) as there:
                    there.sendall(f"POST /judge/anna HTTP/1.1\r\nhost: {host}\r\n{more}".encode())
                    assert 400 <= status(there.recv(1 << 16).decode()) < 500
        # from a page of ours, and nobody waits for what is said of it
        head = f"host: 127.0.0.1:{port}\r\norigin: http://127.0.0.1:{port}\r\ncontent-type: {FORM}"
        with socket.create_connection(("127.0.0.1", port), timeout=120) as there:
            there.sendall(
                f"POST /judge/anna HTTP/1.1\r\n{head}\r\ncontent-length: 50\r\n\r\nabc".encode()
            )
            time.sleep(0.2)
        assert "200" in Client(port).ask("GET", "/").split("\r\n")[0]
    said = {record.getMessage() for record in caplog.records}
    assert said <= {"ASGI callable returned without completing response."}  # and no traceback
