"""Check requests to the review page, and set the headers of its answers.

- A foreign page posts a form here: Origin (or Referer) must be ours, and each form carries a token
  that follows from the browser's cookie.
- A foreign name points at this machine (DNS rebinding): the Host header must be loopback.
- Texts of records hold HTML or scripts: templates escape them, and no inline script may run.
- A form of any size: forms are read up to `LARGEST` bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import secrets
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request
from fastapi.responses import PlainTextResponse, Response
from h11 import LocalProtocolError
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 4 * 1024 * 1024  # bytes of a form
_FIELDS = 32
_KEPT = 30 * 24 * 3600  # seconds that a browser keeps the cookie
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

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.cookie = f"retgen_review_{port}"  # cookies know no ports: one name for each server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; anything but HTTP (a server's start and end) passes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        if (refused := self._refusal(request)) is not None:
            await refused(scope, receive, self._with_headers(send, None))
            return
        session = request.cookies.get(self.cookie, "")
        fresh = None if session else secrets.token_urlsafe(24)
        scope.setdefault("state", {})["session"] = session or fresh
        await self.app(scope, receive, self._with_headers(send, fresh))

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

    def _with_headers(self, send: Send, session: str | None) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if session is not None:
                    cookie = f"{self.cookie}={session}; Path=/; HttpOnly; SameSite=Strict"
                    headers.append("set-cookie", f"{cookie}; Max-Age={_KEPT}")
            # nothing more is sent where the server refused the request itself, for its body
            with contextlib.suppress(LocalProtocolError):
                await send(message)

        return send_with_headers


def form_token(request: Request) -> str:
    """The token that a form must carry; follows from the browser's cookie."""
    session: str = request.state.session
    return hmac.new(session.encode(), b"retgen review form", hashlib.sha256).hexdigest()


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
    fields = dict(pairs)
    if not hmac.compare_digest(fields.pop("form", "").encode(), form_token(request).encode()):
        raise RequestRefused(
            403,
            "Nothing was kept: the form is not of this browser's session.",
            "Go back, what you typed is still there; copy it, load the page again, and send it.",
        )
    return fields
