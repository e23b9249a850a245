"""Who may ask: hosts, the token, where a form was sent from; and what every answer says.

- A page elsewhere posts forms to this one: Origin (or Referer) must be ours, and each form carries
  a token that follows from the browser's cookie.
- A name is made to point at this machine (DNS rebinding): the Host header must be one of ours.
- Somebody else in the network: other hosts than loopback need the token of the printed address.
- Texts of records that are HTML or scripts: templates escape, and no inline script may run.
- Forms of any size: they are read up to `LARGEST` bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

from fastapi import Request
from h11 import LocalProtocolError
from starlette.requests import ClientDisconnect

LARGEST = 4 * 1024 * 1024  # bytes of a form: three texts with their edits, percent-encoded
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

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class RequestRefused(Exception):
    """A request that is not answered as asked; `status`, and what the person should know and do."""

    def __init__(self, status: int, what: str, do: str) -> None:
        super().__init__(what)
        self.status, self.what, self.do = status, what, do


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_allowed(name: str, host: str) -> bool:
    """Whether a Host header may be answered by a server that listens at `host`.

    On loopback: its names. Elsewhere also numeric addresses, which nobody can make point here, and
    the machine's own names.
    """
    try:
        hostname = urlsplit(f"//{name}").hostname or ""
    except ValueError:
        return False
    if is_loopback(hostname):
        return True
    if is_loopback(host):
        return False
    if hostname in {host.casefold(), socket.gethostname().casefold(), socket.getfqdn().casefold()}:
        return True
    try:
        ipaddress.ip_address(hostname)
    except ValueError:
        return False
    return True


class Guard:
    """Lets through what may be answered, and puts the headers on every answer."""

    def __init__(self, app: App, host: str, port: int, token: str | None) -> None:
        self.app, self.host, self.token = app, host, token
        self.cookie = f"retgen_review_{port}"  # cookies know no ports: one name for each server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; anything but HTTP (a server's start and end) passes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send = _until_refused(send)
        headers = {key.decode("latin-1"): v.decode("latin-1") for key, v in scope["headers"]}
        session = _cookie(headers.get("cookie", ""), self.cookie)
        fresh = None
        refusal = self._refusal(scope, headers)
        if refusal is None and self.token is not None:
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
            if given and hmac.compare_digest(given.encode(), self.token.encode()):
                # out of the address, so that no history and no link hands it on
                location = ("location", "/" + quote(scope["path"].lstrip("/\\")))
                await _plain(self._with_headers(send, self.token), 303, "", location)
                return
            if not hmac.compare_digest(session.encode(), self.token.encode()):
                refusal = (
                    403,
                    "This review needs its token: open the address that `gen review` printed.",
                )
        elif refusal is None and not session:
            session = fresh = secrets.token_urlsafe(24)
        if refusal is not None:
            await _plain(self._with_headers(send, None), *refusal)
            return
        scope.setdefault("state", {})["session"] = session
        await self.app(scope, receive, self._with_headers(send, fresh))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not host_allowed(host, self.host):
            return 421, "This address is none of this server's: open the one `gen review` printed."
        if scope["method"] in ("GET", "HEAD"):
            return None
        source = headers.get("origin") or headers.get("referer") or ""
        try:
            own = urlsplit(source).netloc == host
        except ValueError:
            own = False
        if not own:
            return 403, (
                "Nothing was kept: the form was not sent from this page. Open the review anew."
            )
        return None

    def _with_headers(self, send: Send, session: str | None) -> Send:
        own = {
            "content-security-policy": _POLICY,
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "same-origin",  # with no-referrer browsers send no Origin either
            "cross-origin-resource-policy": "same-origin",
            "cross-origin-opener-policy": "same-origin",
        }

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", []))
                there = {key.lower() for key, _ in given}
                given += [
                    (key.encode(), value.encode())
                    for key, value in own.items()
                    if key.encode() not in there
                ]
                if session is not None:
                    cookie = f"{self.cookie}={session}; Path=/; HttpOnly; SameSite=Strict"
                    given.append((b"set-cookie", f"{cookie}; Max-Age={_KEPT}".encode()))
                message["headers"] = given
            await send(message)

        return send_with_headers


def _until_refused(send: Send) -> Send:
    """Answers nothing more where the server refused the request itself, for a body that is none."""

    async def answer(message: Message) -> None:
        with contextlib.suppress(LocalProtocolError):
            await send(message)

    return answer


async def _plain(send: Send, status: int, text: str, *headers: tuple[str, str]) -> None:
    own = [(b"content-type", b"text/plain; charset=utf-8")]
    own += [(key.encode(), value.encode("utf-8")) for key, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": own})
    await send({"type": "http.response.body", "body": text.encode()})


def _cookie(header: str, name: str) -> str:
    try:
        cookies = SimpleCookie(header)
    except CookieError:
        return ""
    return cookies[name].value if name in cookies else ""


def form_token(request: Request) -> str:
    """What a form must carry: follows from the browser's cookie, which no other page can read."""
    session: str = request.state.session
    return hmac.new(session.encode(), b"retgen review form", hashlib.sha256).hexdigest()


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect as error:  # nobody is there to read this
        raise RequestRefused(400, "The form ended in the middle.", "Send it again.") from error


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form that was sent from a page of ours. Raises `Refused`."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise RequestRefused(415, "This is no form.", "Send the form of the page.")
    body = bytearray()
    async for chunk in _chunks(request):
        body += chunk
        if len(body) > LARGEST:
            raise RequestRefused(
                413,
                f"Nothing was kept: the form holds more than {LARGEST // 1024 // 1024} MB.",
                "Go back, what you typed is still there, and shorten it.",
            )
    try:
        fields = dict(
            parse_qsl(
                body.decode("ascii"),
                keep_blank_values=True,
                max_num_fields=_FIELDS,
                errors="replace",
            )
        )
    except ValueError as error:  # not ASCII, or too many fields
        raise RequestRefused(
            400, "This is no form of this page.", "Go back and send it again."
        ) from error
    if not hmac.compare_digest(fields.pop("form", "").encode(), form_token(request).encode()):
        raise RequestRefused(
            403,
            "Nothing was kept: the form is not of this browser's session.",
            "Go back, what you typed is still there; copy it, load the page again, and send it.",
        )
    return fields
