"""What all backends do alike, against servers on loopback: failures, and keys that are not kept."""

from __future__ import annotations

from typing import Any

import pytest

from retgen.agents.chat import SILENCE, Response
from retgen.agents.prompt import Message, Request
from tests.agents.loopback import KEY, OPEN, send_all
from tests.agents.server import Server, serving

# the packages of the other two are slow to set up
backends = pytest.mark.parametrize(
    "backend",
    [one if one == "openai" else pytest.param(one, marks=pytest.mark.slow) for one in OPEN],
)


def ask(
    server: Server, backend: str, model: str, timeout: float = 120.0, **schema: Any
) -> Response:
    messages = Message("system", "Be brief."), Message("user", "What is it?")
    request = Request("x", model, messages, {}, schema or None, max_tokens=9)
    options = {"base_url": server.url, "api_key": KEY, "timeout": timeout}
    (result,) = send_all(lambda: OPEN[backend](**options), [request])
    return result


@backends
def test_what_repeats_the_key_is_kept_without_it(backend: str) -> None:
    """An answer, and errors; none is tried again, and no redirect is followed."""
    cases = {"ok": (200, None), "status-429": (429, 3.0), "status-500": (500, None)}
    cases |= {"status-401": (401, None)} | (
        {"status-307": (307, None)} if backend == "google" else {}
    )
    for model, (status, wait) in cases.items():
        with serving(lambda body: f"not with {KEY}") as server:
            schema = {"title": "Things", "type": "object", "properties": {}}
            result = ask(server, backend, model, **({} if model == "ok" else schema))
            assert (result.status, result.wait) == (status, wait)
            assert (result.text or result.error) == "not with [key]"
            assert KEY.encode() not in result.raw
            assert len(server.requests) == 1


@pytest.mark.slow
@backends
@pytest.mark.parametrize(
    ("how", "message"),
    [("hang", "no answer in time"), ("drop", "the connection was lost before the answer came")],
)
def test_what_is_never_answered(backend: str, how: str, message: str) -> None:
    message = "Request timed out." if backend == "langchain" else message
    with serving() as server:
        assert ask(server, backend, how, timeout=2.0) == Response(b"", SILENCE, message)
        assert len(server.requests) == 1
