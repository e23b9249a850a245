"""Every row of the table of outcomes, for every backend, against a server on loopback.

What the servers say was copied from their documentation and from reports of what they sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from retgen.agents.backends.google_genai import GoogleChat
from retgen.agents.backends.langchain import LangChainChat
from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.chat import NO_CONNECTION, NOT_RUN, NOT_SENT, SILENCE, ChatModel, Response, Usage
from retgen.agents.outcomes import TABLE, OutcomeRow, classify, costs_nothing, states_all
from retgen.agents.prompt import Message, Request
from tests.agents.billing import GEMINI, GEMINI_OUTCOMES, Worked
from tests.agents.canned import Canned, serving
from tests.agents.loopback import send_all
from tests.loops import for_each

KEY = "sk-planted-0123456789"
SCHEMA = {"title": "Things", "type": "object", "properties": {"a": {"type": "string"}}}
MAKE: dict[str, Callable[[str], ChatModel]] = {
    "openai": lambda url: OpenAIChat(base_url=f"{url}/v1", api_key=KEY, timeout=0.5),
    "google": lambda url: GoogleChat(base_url=url, api_key=KEY, timeout=0.5),
    "langchain": lambda url: LangChainChat(
        provider="openai", base_url=f"{url}/v1", api_key=KEY, timeout=0.5
    ),
}
USAGE = {"prompt_tokens": 5, "completion_tokens": 2}
GOOGLE_USAGE = {"promptTokenCount": 5, "candidatesTokenCount": 2}


def error(status: int, message: str, code: Any = None, **more: Any) -> Canned:
    """An error as OpenAI words it."""
    return Canned(status, {"error": {"message": message, "code": code, **more}})


def google(status: int, message: str, kind: str = "", *details: Any) -> Canned:
    """An error as Gemini words it."""
    result = {"code": status, "message": message, "status": kind, "details": list(details)}
    return Canned(status, {"error": result})


def completion(content: Any, ended: str | None = "stop", **message: Any) -> Canned:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message},
              "finish_reason": ended}  # fmt: skip
    return Canned(200, {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
                        "choices": [choice], "usage": USAGE})  # fmt: skip


def made(text: str | None, ended: str = "STOP") -> Canned:
    """Generated content."""
    content = {"role": "model", "parts": [] if text is None else [{"text": text}]}
    candidate = {"content": content, "finishReason": ended}
    return Canned(200, {"candidates": [candidate], "usageMetadata": GOOGLE_USAGE})


def page(status: int = 200) -> Canned:
    return Canned(status, b"<html>Bad gateway</html>", {"content-type": "text/html"})


STREAM = Canned(
    200, b'data: {"choices":[{"delta":{"content":"he"}}]}\n\ndata: [DONE]\n\n',
    {"content-type": "text/event-stream"},
)  # fmt: skip
DAY = {"@type": "QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}
CASES: list[tuple[str, Canned, Canned]] = [  # a row, and who says so: OpenAI's protocol, Gemini's
    ("no answer in time, or the connection was lost", Canned(0, b""), Canned(0, b"")),
    ("too many requests at a time for the account's credit",
     error(402, "Budget in flight.", 402, metadata={"limit_source": "openrouter_in_flight_budget"}),
     google(429, "in_flight_budget")),
    ("the account is out of credit, or at its limit for the day",
     error(429, "You exceeded your current quota, please check your plan.", "insufficient_quota"),
     google(429, "You exceeded your current quota.", "RESOURCE_EXHAUSTED", DAY)),
    ("the account is out of credit, or at its limit for the day",
     error(429, "Your team t has either used all available credits or reached its monthly limit."),
     google(402, "Your prepayment credits are depleted.", "RESOURCE_EXHAUSTED")),
    ("the account is out of credit, or at its limit for the day",
     error(422, "ExceededBudget", None, type="budget_exceeded"),
     google(402, "Your prepayment credits are depleted.")),
    ("the key, the address or the model is wrong",
     Canned(400, {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: x"}),
     google(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT",
            {"reason": "API_KEY_INVALID"})),
    ("the request was filtered",
     error(400, "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
           "invalid_prompt"),
     google(400, "The prompt was blocked: PROHIBITED_CONTENT")),
    ("the request was filtered",
     Canned(403, {"code": "permission-denied", "error": "Content violates usage guidelines. "}),
     google(403, "Content violates usage guidelines.")),
    ("the request was filtered",
     error(403, "Your chosen model requires moderation", 403,
           metadata={"reasons": ["violence"], "flagged_input": "..."}),
     google(422, "moderation")),
    ("the answer was cut off, and the server says so by an error",
     error(400, "Could not finish the message because max_tokens or model output limit was reached."),
     google(400, "output limit was reached")),
    ("the server has another name for the room of an answer",
     error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
           "unsupported_parameter"),
     google(400, "Use 'max_completion_tokens' instead.")),
    ("the server does not know a parameter",
     error(400, "Unsupported parameter: 'seed' is not supported with this model.",
           "unsupported_parameter"),
     google(400, "Unsupported parameter: seed")),
    ("the model has not so much room for an answer",
     error(400, "max_tokens is too large: 32768. This model supports at most 16384 completion tokens.",
           "invalid_value"),
     google(400, "maxOutputTokens must be at most 8192", "INVALID_ARGUMENT")),
    ("the model has not so much room for an answer",
     error(400, "This model's maximum context length is 32768 tokens. However, you requested 32512 "
           "output tokens and your prompt contains at least 257 input tokens.", 400),
     google(400, "max_output_tokens is too large")),
    ("the request is too long for the model",
     error(400, "This model's maximum context length is 9 tokens.", "context_length_exceeded"),
     google(400, "The input token count (9) exceeds the maximum number of tokens allowed (8).")),
    ("the request is too long for the model",
     Canned(400, {"error": '{"error":{"code":400,"message":"request (9 tokens) exceeds the available '
                           'context size","type":"exceed_context_size_error"}}'}),
     google(500, "The input context length is too long.", "INTERNAL")),
    ("the request is too long for the model",
     error(502, "Upstream error: This model's maximum context length is 262144 tokens.", 502),
     google(400, "The input token count is 9")),
    ("the request is too large", page(413), page(413)),
    ("the server knows no JSON schema",
     error(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported."),
     google(400, "JSON mode is not enabled for this model")),
    ("the request alone is more than the account may send in a minute",
     error(429, "Request too large for m on tokens per min (TPM): Limit 9, Requested 10."),
     google(429, "Request too large for m")),
    ("the key or the address is wrong, or the server redirects",
     error(401, "no"), google(401, "no")),
    ("the key or the address is wrong, or the server redirects",
     error(402, "Insufficient funds"), Canned(307, b"", {"location": "/v1beta/models/ok"})),
    ("overloaded, or too many requests", error(429, "Rate limit reached"), google(503, "overloaded")),
    ("overloaded, or too many requests", error(529, "Overloaded"), google(429, "quota of a minute")),
    ("somebody on the way gave up waiting", page(504), google(504, "DEADLINE_EXCEEDED")),
    ("the server failed", error(500, "The server had an error"), google(500, "INTERNAL")),
    ("the server failed", page(502), page(502)),
    ("the server refuses the request: not allowed, not found, not understood", error(422, [{"loc": ["body"], "msg": "wrong"}]),
     google(400, "INVALID_ARGUMENT")),
    ("the server refuses the request: not allowed, not found, not understood", page(403),
     google(404, "models/m is not found")),
    # --- status 200 ---
    ("an error, a page or a stream in the place of an answer", Canned(200, {"error": {"message": "upstream"}}),
     Canned(200, {"error": {"message": "upstream"}})),
    ("an error, a page or a stream in the place of an answer", Canned(200, {"error": "upstream", "choices": None}),
     Canned(200, {"error": "upstream", "candidates": None})),
    ("an error, a page or a stream in the place of an answer", page(), page()),
    ("an error, a page or a stream in the place of an answer", STREAM, STREAM),
    ("an error, a page or a stream in the place of an answer", Canned(200, b'{"choices": [{"mess'),
     Canned(200, b'{"candidates": [{"cont')),
    ("the server failed", Canned(200, {"error": {"message": "Provider returned error", "code": 502}}),
     Canned(200, {"error": {"message": "INTERNAL", "code": 500}})),
    ("overloaded, or too many requests", Canned(200, {"error": {"message": "slow down", "code": "429"}}),
     Canned(200, {"error": {"message": "slow down", "code": 429}})),
    ("the model refused, or its answer was filtered", completion("he", "content_filter"), made("he", "SAFETY")),
    ("the model refused, or its answer was filtered", completion(None, refusal="I cannot."),
     Canned(200, {"promptFeedback": {"blockReason": "OTHER"},
                  "usageMetadata": {"promptTokenCount": 5}})),
    ("the answer was cut off", completion("", "length"), made(None, "MAX_TOKENS")),
    ("the answer was cut off", completion("he", "length"), made("he", "MAX_TOKENS")),
    ("the answer broke off", completion("he", "error"), made("he", "MALFORMED_FUNCTION_CALL")),
    ("the answer broke off", completion("", "load"), made("", "MALFORMED_RESPONSE")),
    ("an answer", completion("hello"), made("hello")),
    ("an answer", completion("hello", None), made("hello", "FINISH_REASON_UNSPECIFIED")),
    ("no answer: no choices, or no content", completion(None), made(None)),
    ("no answer: no choices, or no content",
     Canned(200, {"choices": [], "usage": USAGE}), Canned(200, {"candidates": []})),
    ("no answer: no choices, or no content", Canned(200, b""), Canned(200, b"")),
]  # fmt: skip
ELSEWHERE = {
    "no connection, so nothing was sent",
    "the provider's package cannot make the request, or is not installed",
    "a batch could not be submitted, or ended before this request was worked on",
}


def test_every_row_has_a_case() -> None:
    assert {row.what for row in TABLE} == {what for what, *_ in CASES} | ELSEWHERE
    assert len({row.what for row in TABLE}) == len(TABLE)


# the packages of the other two are slow to set up, 46 times each
@pytest.mark.slow
@pytest.mark.parametrize(
    "backend",
    ["openai", *(pytest.param(one, marks=pytest.mark.slow) for one in ("google", "langchain"))],
)
@for_each("case", range(len(CASES)))
def test_what_a_response_stands_for(case: int, backend: str) -> None:
    what, openai, gemini = CASES[case]
    result = response(backend, gemini if backend == "google" else openai)
    assert classify(result).what == what, result
    assert KEY not in repr(result)


def response(backend: str, canned: Canned) -> Response:
    messages = Message("system", "Be brief."), Message("user", "Hello?")
    asked = Request("loopback", "m", messages, {}, SCHEMA)
    with serving(lambda body: canned) as server:
        (result,) = send_all(lambda: MAKE[backend](server.url), [asked])
        assert len(server.requests) == 1  # no backend tries again by itself
    return result


@pytest.mark.parametrize("backend", list(MAKE))
def test_nobody_there(backend: str) -> None:
    asked = Request("loopback", "m", (Message("user", "Hello?"),))
    (result,) = send_all(lambda: MAKE[backend]("http://127.0.0.1:9"), [asked])
    assert classify(result).what == "no connection, so nothing was sent"
    assert result.error.startswith("no connection to ")


def test_a_package_that_cannot_make_the_request() -> None:
    asked = Request("loopback", "m", (Message("user", "Hello?"),))
    (result,) = send_all(lambda: LangChainChat(provider="upstage"), [asked])
    assert classify(result) == row(
        "the provider's package cannot make the request, or is not installed"
    )
    assert result.error.startswith(
        "Initializing ChatUpstage requires the langchain-upstage package. Please install it with "
        "`pip install langchain-upstage`"
    )


def row(what: str) -> OutcomeRow:
    return next(one for one in TABLE if one.what == what)


@pytest.mark.parametrize(
    ("backend", "canned", "text"),
    [
        ("openai", error(429, "wait", headers=None)._replace(headers={"retry-after": "3"}), 3.0),
        ("langchain", error(429, "wait")._replace(headers={"retry-after": "3"}), 3.0),
        ("google", google(429, "wait")._replace(headers={"retry-after": "4"}), 4.0),
        ("google", google(429, "wait", "", {"retryDelay": "3s"}), 3.0),
        ("openai", error(429, "wait"), None),
    ],
)
def test_when_to_try_again(backend: str, canned: Canned, text: float | None) -> None:
    assert response(backend, canned).wait == text


def test_why_gemini_wrote_nothing() -> None:
    content = made(None, "OTHER")
    content.body["candidates"][0]["finishMessage"] = "the engine was restarted"
    result = response("google", content)
    assert (classify(result).outcome, result.error) == ("retry", "the engine was restarted")


def test_the_words_of_a_server() -> None:
    """All forms in which errors come, code first."""
    provider = {"raw": "the engine is down", "provider_name": "x"}
    cases: list[tuple[Canned, str]] = [
        (error(400, "no\n such  thing", "bad"), "bad: no such thing"),
        (Canned(403, {"code": "denied", "error": "Content violates"}), "denied: Content violates"),
        (Canned(422, {"detail": [{"msg": "wrong"}]}), '[{"msg":"wrong"}]'),
        (Canned(400, {"object": "error", "message": "flat", "type": "t"}), "flat"),
        (Canned(502, {"error": {"message": "Provider returned error", "metadata": provider}}),
         "Provider returned error: raw: the engine is down"),
        (page(502), "<html>Bad gateway</html>"),
        (Canned(500, b""), "no reason given"),
        (Canned(500, b"x" * 999), "x" * 300),
    ]  # fmt: skip
    assert [response("openai", canned).error for canned, _ in cases] == [
        words for _, words in cases
    ]


# --- what is charged ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "begun", "of_nobody", "of_google"),
    [(NOT_RUN, False, True, True), (NOT_SENT, False, True, True), (NOT_SENT, True, False, False), (NO_CONNECTION, False, True, True),
     (SILENCE, False, False, False), (200, False, False, False), (204, False, False, False),
     (307, False, True, True), (401, False, True, True), (404, False, True, True),
     (429, False, True, True), (429, True, False, False), (400, False, False, True),
     (403, False, False, False), (408, False, False, False), (413, False, False, False),
     (422, False, False, False), (500, False, False, True), (500, True, False, False),
     (503, False, False, False), (529, False, False, False)],
)  # fmt: skip
def test_what_costs_nothing(status: int, begun: bool, of_nobody: bool, of_google: bool) -> None:
    result = Response(b"", status, begun=begun)
    assert costs_nothing(result, "") is costs_nothing(result, "openai") is of_nobody
    assert costs_nothing(result, "google_genai") is of_google


@pytest.mark.parametrize(
    ("usage", "text", "believed"),
    [(Usage(4, 2), "hello", True), (Usage(4, 2), "", True), (Usage(4, 2), "x" * 64, True),
     (Usage(4, 2), "x" * 65, False), (Usage(3, 2), "hello", False), (Usage(0, 0), "", False),
     (Usage(4, 0), "", False), (Usage(4, None), "hello", False), (Usage(None, 2), "hello", False),
     (Usage(), "hello", False)],
)  # fmt: skip
def test_usage_that_can_be_all(usage: Usage, text: str, believed: bool) -> None:
    """A token for 32 bytes of what was sent and of what came, at the least."""
    asked = Request("loopback", "m", (Message("system", "x" * 28), Message("user", "y" * 100)))
    assert states_all(Response(b"", 200, text=text, usage=usage), asked) is believed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "outcome"), list(zip(GEMINI, GEMINI_OUTCOMES, strict=True)), ids=list(GEMINI)
)
def test_what_shapes_of_gemini_stand_for(shape: str, outcome: str) -> None:
    sends = GEMINI[shape](Worked(True, "hello there", 40, 9, 100))
    result = response("google", Canned(sends.status, sends.body, sends.headers))
    assert classify(result).outcome == outcome, result
    asked = Request("loopback", "m", (Message("user", "Hello?"),))
    if sends.billed:  # nothing that was billed is free, or believed to be less
        assert not costs_nothing(result, "")
        assert not states_all(result, asked) or result.usage[:2] == (40, 9)
    else:
        assert (result.wait, costs_nothing(result, "")) == (0.01, True)
