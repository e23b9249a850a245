"""Check requests to the review page, and set the headers of its answers.

- A foreign page posts a form here: Origin (or Referer) must be ours, and there has to be one.
- A foreign name points at this machine (DNS rebinding): the Host header must be loopback.
- Texts of records hold HTML or scripts: templates escape them, and no inline script may run.
- A form of any size: forms are read up to `LARGEST` bytes.
"""

from __future__ import annotations

import contextlib
import ipaddress
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request
from fastapi.responses import PlainTextResponse, Response
from h11 import LocalProtocolError
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 4 * 1024 * 1024  # bytes of a form
_FIELDS = 32
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
# a finished page of retgen: one file with its style inside, and no script at all
FILE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
)

_HEADERS = {
    "content-security-policy": _POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer browsers send no Origin either
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class RequestRefused(Exception):
    """A request is refused. `status` of HTTP; `what` happened, and what to `do` about it."""

    def __init__(self, status: int, what: str, do: str) -> None:
        super().__init__(what)
        self.status, self.what, self.do = status, what, do


def is_own(name: str) -> bool:
    """Whether a Host header names this machine's loopback, as it does through a tunnel too."""
    try:
        host = urlsplit(f"//{name}").hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI middleware that refuses foreign requests and sets the headers of every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; anything but HTTP (a server's start and end) passes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            # nothing more is sent where the server refused the request itself, for its body
            with contextlib.suppress(LocalProtocolError):
                await send(message)

        answer = self._refusal(Request(scope)) or self.app
        await answer(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if not is_own(host):
            text = "This address is none of this server's: open the one `gen review` printed."
            return PlainTextResponse(text, 421)
        if request.method in ("GET", "HEAD"):
            return None
        source = request.headers.get("origin") or request.headers.get("referer") or ""
        try:
            own = urlsplit(source).netloc == host
        except ValueError:
            own = False
        text = "Nothing was kept: the form was not sent from this page. Open the review anew."
        return None if own else PlainTextResponse(text, 403)


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form that was sent from a page of ours. Raises `RequestRefused`."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise RequestRefused(415, "This is no form.", "Send the form of the page.")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST:
                raise RequestRefused(
                    413,
                    f"Nothing was kept: the form holds more than {LARGEST // 1024 // 1024} MB.",
                    "Go back, what you typed is still there, and shorten it.",
                )
        pairs = parse_qsl(body.decode("ascii"), True, max_num_fields=_FIELDS, errors="replace")
    except ClientDisconnect as error:  # nobody is there to read this
        raise RequestRefused(400, "The form ended in the middle.", "Send it again.") from error
    except ValueError as error:  # not ASCII, or too many fields
        raise RequestRefused(
            400, "This is no form of this page.", "Go back and send it again."
        ) from error
    return dict(pairs)
