"""Every row of the table of outcomes, for every backend, against a server on loopback.

What the servers say was copied from their documentation and from reports of what they sent.
"""

from __future__ import annotations

from typing import Any

import pytest

from retgen.agents.chat import NO_CONNECTION, NOT_RUN, NOT_SENT, SILENCE, Response, Usage
from retgen.agents.outcomes import TABLE, classify, usage_is_stated
from retgen.agents.prompt import Message, Request
from tests.agents.loopback import KEY, OPEN, send_all
from tests.agents.server import GEMINI, Reply, Worked, answering, completion, error, generated, page
from tests.loops import for_each

SCHEMA = {"title": "Things", "type": "object", "properties": {"a": {"type": "string"}}}


def google(status: int, message: str, kind: str = "", *details: Any) -> Reply:
    """An error as Gemini words it."""
    result = {"code": status, "message": message, "status": kind, "details": list(details)}
    return Reply(status, {"error": result})


STREAM = Reply(
    200,
    b'data: {"choices":[{"delta":{"content":"he"}}]}\n\ndata: [DONE]\n\n',
    {"content-type": "text/event-stream"},
)
DAY = {"@type": "QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}
UPSTREAM = Reply(200, {"error": {"message": "upstream"}})
# by the row of the table: what servers say in OpenAI's protocol, and in Gemini's
CASES: dict[str, tuple[list[Reply], list[Reply]]] = {
    "the account is out of credit or at its limit of a day, or the key or the model is wrong": (
        [
            error(429, "You exceeded your current quota, check your plan.", "insufficient_quota"),
            error(429, "Your team t has used all available credits or reached its monthly limit."),
            error(422, "ExceededBudget", None, type="budget_exceeded"),
            Reply(400, {"code": "invalid argument", "error": "Incorrect API key provided: x"}),
            error(400, "The model does not exist.", "model_not_found"),
        ],
        [
            google(429, "You exceeded your current quota.", "RESOURCE_EXHAUSTED", DAY),
            google(402, "Your prepayment credits are depleted."),
            google(400, "Please pass a valid one.", "INVALID", {"reason": "API_KEY_INVALID"}),
            google(400, "User location is not supported for the API use."),
        ],
    ),
    "the request or its answer was filtered, or the model refused": (
        [
            error(400, "Your prompt may violate our usage policy.", "invalid_prompt"),
            Reply(403, {"code": "permission-denied", "error": "Content violates usage guidelines"}),
            error(403, "Your model requires moderation", 403, metadata={"reasons": ["violence"]}),
            completion("he", "content_filter"),
            completion(None, refusal="I cannot."),
        ],
        [
            google(400, "The prompt was blocked: PROHIBITED_CONTENT"),
            generated("he", "SAFETY"),
            Reply(200, {"promptFeedback": {"blockReason": "OTHER"}}),
        ],
    ),
    "the answer was cut off": (
        [
            completion("he", "length"),
            error(400, "Could not finish the message: max_tokens or output limit was reached."),
        ],
        [generated("he", "MAX_TOKENS"), google(400, "output limit was reached")],
    ),
    "the server has another name for max_tokens, which it gets from now on": (
        [error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")],
        [google(400, "Use 'max_completion_tokens' instead.")],
    ),
    "the model cannot write so many tokens": (
        [error(400, "max_tokens is too large: 32768. At most 16384 completion tokens.", "value")],
        [google(400, "maxOutputTokens must be at most 8192", "INVALID_ARGUMENT")],
    ),
    "the request and so long an answer are too long for the model together": (
        [
            error(400, "context length is 8192, and you requested 9512 in the completion."),
            error(400, "context length is 32768, and you requested 32512 output tokens"),
        ],
        [google(400, "the prompt and max_output_tokens exceed the context window")],
    ),
    "the request is too long for the model": (
        [
            error(400, "This model's maximum context length is 9.", "context_length_exceeded"),
            Reply(400, {"error": '{"type":"exceed_context_size_error"}'}),
            error(502, "Upstream error: This model's maximum context length is 262144 tokens."),
            error(413, "Request Entity Too Large"),
        ],
        [
            google(400, "The input token count (9) exceeds the maximum number of tokens allowed."),
            google(500, "The input context length is too long.", "INTERNAL"),
        ],
    ),
    "the server does not know the JSON schema of an answer": (
        [error(400, "Invalid parameter: 'response_format' of type 'json_schema' is unknown.")],
        [google(400, "JSON mode is not enabled for this model")],
    ),
    "the package, key, address or model is wrong, or the server redirects": (
        [error(401, "no"), error(402, "Insufficient funds"), page(404)],
        [google(401, "no"), Reply(307, b"", {"location": "/v1beta/models/ok"})],
    ),
    "no connection, too many requests, or a batch that ended before it came to this one": (
        [
            error(429, "Rate limit reached"),
            Reply(200, {"error": {"message": "slow down", "code": "429"}}),
        ],
        [
            google(429, "quota of a minute"),
            Reply(200, {"error": {"message": "slow down", "code": 429}}),
        ],
    ),
    "no answer in time, a lost connection, or a server that is overloaded or has failed": (
        [
            Reply(0, b""),
            error(529, "Overloaded"),
            page(504),
            Reply(200, {"error": {"message": "Provider returned error", "code": 502}}),
        ],
        [Reply(0, b""), google(504, "DEADLINE_EXCEEDED"), google(500, "INTERNAL"), page(502)],
    ),
    "the server refuses the request": (
        [error(422, [{"msg": "wrong"}]), error(400, "'seed' is not supported."), page(403)],
        [google(400, "INVALID_ARGUMENT"), google(400, "Unsupported parameter: seed"), page(413)],
    ),
    "the answer broke off, or an error, a page or nothing stands in its place": (
        [
            UPSTREAM,
            Reply(200, {"error": "upstream", "choices": None}),
            page(),
            STREAM,
            Reply(200, b'{"choices": [{"mess'),
            Reply(200, {"choices": []}),
            Reply(200, b""),
            completion("he", "error"),
        ],
        [
            UPSTREAM,
            page(),
            STREAM,
            Reply(200, b'{"candidates": [{"cont'),
            Reply(200, {"candidates": []}),
            Reply(200, b""),
            generated("he", "MALFORMED_FUNCTION_CALL"),
        ],
    ),
    "an answer": (
        [completion("hello"), completion("hello", None), completion("")],
        [generated("hello"), generated("hello", "FINISH_REASON_UNSPECIFIED"), generated("")],
    ),
}
# of an answer that a package of LangChain cannot read
UNREAD = "no answer in time, a lost connection, or a server that is overloaded or has failed"


def test_every_row_has_a_case() -> None:
    assert {row.meaning for row in TABLE} == CASES.keys()
    assert len({row.meaning for row in TABLE}) == len(TABLE)


# the packages of the other two are slow to set up, once a case
@pytest.mark.parametrize(
    "backend",
    ["openai", *(pytest.param(one, marks=pytest.mark.slow) for one in ("google", "langchain"))],
)
@for_each("meaning", CASES)
def test_what_a_response_stands_for(meaning: str, backend: str) -> None:
    for reply in CASES[meaning][backend == "google"]:
        result = response(backend, reply)
        unread = backend == "langchain" and reply.status == 200 and result.status == SILENCE
        assert classify(result).meaning == (UNREAD if unread else meaning), result


def request(*messages: Message) -> Request:
    return Request("loopback", "m", messages or (Message("user", "Hello?"),), {}, SCHEMA)


def send(backend: str, url: str) -> Response:
    """One request of 1,024 tokens."""
    (result,) = send_all(lambda: OPEN[backend](base_url=url, api_key=KEY), [request()])
    return result


def response(backend: str, canned: Reply) -> Response:
    with answering(lambda body: canned) as server:
        result = send(backend, server.url)
        assert len(server.requests) == 1  # no backend tries again by itself
    return result


@pytest.mark.parametrize("backend", list(OPEN))
def test_nobody_there(backend: str) -> None:
    result = send(backend, "http://127.0.0.1:9")
    assert classify(result).meaning.startswith("no connection, ")
    assert result.error.startswith("no connection to ")


def test_the_words_of_a_server() -> None:
    """All forms in which errors come, code first."""
    provider = {"raw": "the engine is down", "provider_name": "x"}
    failed = {"error": {"message": "Provider returned error", "metadata": provider}}
    cases: list[tuple[Reply, str]] = [
        (error(400, "no\n such  thing", "bad"), "bad: no such thing"),
        (Reply(403, {"code": "denied", "error": "Content violates"}), "denied: Content violates"),
        (Reply(422, {"detail": [{"msg": "wrong"}]}), '[{"msg":"wrong"}]'),
        (Reply(400, {"object": "error", "message": "flat", "type": "t"}), "flat"),
        (Reply(502, failed), "Provider returned error: raw: the engine is down"),
        (page(502), "<html>Bad gateway</html>"),
        (Reply(500, b""), "no reason given"),
        (Reply(500, b"x" * 999), "x" * 300),
    ]
    for canned, words in cases:
        assert response("openai", canned).error == words


# --- what is charged ----------------------------------------------------------------------------


def test_what_costs_nothing() -> None:
    """What was not sent, or what every provider documents as free."""
    statuses = (NOT_RUN, NOT_SENT, NO_CONNECTION, SILENCE, 200, 204, 307, 400, 401, 402, 403, 404)
    statuses += (405, 407, 408, 409, 413, 422, 425, 429, 451, 498, 499, 500, 502, 503, 504, 529)
    free = {status for status in statuses if classify(Response(b"", status)).free}
    assert free == {NOT_RUN, NOT_SENT, NO_CONNECTION, 307, 401, 402, 404, 405, 407, 429}


@pytest.mark.parametrize(
    ("usage", "text", "believed"),
    [
        (Usage(4, 2), "", True),
        (Usage(4, 2), "x" * 64, True),
        (Usage(4, 2), "x" * 65, False),
        (Usage(3, 2), "hello", False),
        (Usage(0, 0), "", False),
        (Usage(4, None), "hello", False),
        (Usage(None, 2), "hello", False),
    ],
)
def test_usage_that_can_be_all(usage: Usage, text: str, believed: bool) -> None:
    """A token for 32 bytes of what was sent and of what came, at the least."""
    sent = request(Message("system", "x" * 28), Message("user", "y" * 100))
    assert usage_is_stated(Response(b"", 200, text=text, usage=usage), sent) is believed


@pytest.mark.slow
@for_each("shape", GEMINI)
def test_what_shapes_of_gemini_stand_for(shape: str) -> None:
    fault, action = GEMINI[shape]
    reply = fault(Worked(True, "hello there", 40, 9, 100))
    assert reply
    result = response("google", reply)
    assert classify(result).action == action, result
    if reply.billed:  # nothing that was billed is free, or believed to be less
        assert not classify(result).free or result.begun
        assert not usage_is_stated(result, request()) or result.usage == (40, 9)
    else:
        assert (result.wait, classify(result).free) == (0.01, True)
