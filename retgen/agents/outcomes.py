"""What may come back from a chat model, and what is done about it: one table, read from the top.

The first row that fits decides. docs/models_reference.md prints the table, and every row has a test
of its own against a server, for each backend. What servers write was read in their documentation
and sources; `by` says whose, and where.

Outcomes:

    answer   it is kept, and is the answer from now on
    room     cut off: asked again with more room, of which the model's agent then has as much
    less     the model has not so much room: asked again with less
    reject   its record is rejected, now and in every later run (`gen ledger forget` asks again)
    refuse   the same if the server goes on to answer others like it; else the run stops
    retry    asked again; when it never helps: as `refuse`, if others are answered meanwhile
    later    asked again later; never the fault of a record, so in the end the run stops
    stop     nobody would be answered: the run stops

What a run is charged does not depend on the row. What was sent costs the usage that comes back, and
without it the most that it could cost, unless `UNBILLED` names who documents that it is free.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from retgen.agents.chat import NO_CONNECTION, NOT_RUN, NOT_SENT, SILENCE, Response, Why
from retgen.agents.prompt import Request

Outcome = Literal["answer", "room", "less", "reject", "refuse", "retry", "later", "stop"]

_ERRORS = frozenset(range(300, 600))
_BAD = frozenset({400, 413, 422})  # something about this request


class OutcomeRow(NamedTuple):
    """A row of the table.

    `what`: in words; `by`: who does so, with where that stands. It fits a response whose status is
    one of `status`, whose error holds one of `says` (in lower case), whose answer ended for one of
    the reasons `finish`, and that has a text or has none (`text`), an error or none (`error`);
    what is empty or None fits all. `why`: of a rejected record. `hint`: what a user can do.
    """

    what: str
    outcome: Outcome
    status: frozenset[int]
    says: tuple[str, ...] = ()
    finish: frozenset[str] = frozenset()
    text: bool | None = None
    error: bool | None = None
    why: Why = "refused"
    by: str = ""
    hint: str = ""

    def fits(self, response: Response) -> bool:
        """Whether this row is about such a response."""
        return (
            response.status in self.status
            and (self.error is None or self.error == bool(response.error))
            and (self.text is None or self.text == bool(response.text))
            and (not self.finish or response.finish in self.finish)
            and (not self.says or any(one in response.error.casefold() for one in self.says))
        )


_CUT = frozenset(
    "length max_tokens max_output_tokens model_length model_context_window_exceeded "
    "continuation".split()
)
_FILTERED = frozenset(
    "content_filter content_filtered safety recitation blocklist prohibited_content spii refusal "
    "guardrail_intervened error_toxic language image_safety blocked refused sensitive".split()
)
_BROKEN = frozenset(
    "error abort aborted cancelled load unload repetition malformed_function_call "
    "malformed_response unexpected_tool_call too_many_tool_calls network_error "
    "insufficient_system_resource pause_turn".split()
)
_OK = frozenset({200})
_LONG = frozenset({400, 413, 422, 500, 502})  # too long, as some say it
WAITED = frozenset({408, 499, 504, 522, 524})  # each of them after a time limit

_OPENAI = "[OpenAI](https://help.openai.com/en/articles/5955604)"
_ANTHROPIC = "[Anthropic](https://docs.claude.com/en/api/errors)"
_GEMINI = "[Gemini](https://ai.google.dev/gemini-api/docs/troubleshooting)"
_OPENROUTER = "[OpenRouter](https://openrouter.ai/docs/api/reference/errors-and-debugging)"
_XAI = "[xAI](https://docs.x.ai/developers/debugging)"
_DEEPSEEK = "[DeepSeek](https://api-docs.deepseek.com/quick_start/error_codes)"
_VLLM = "vLLM (`entrypoints/openai/chat_completion/serving.py`)"
_LITELLM = "LiteLLM (`exception_mapping_utils.py`)"
_OLLAMA = "Ollama (`openai/openai.go`)"

TABLE: tuple[OutcomeRow, ...] = (
    OutcomeRow("the provider's package cannot make the request, or is not installed", "stop",
        frozenset({NOT_SENT}), by="packages of LangChain"),
    OutcomeRow("a batch could not be submitted, or ended before this request was worked on",
        "later", frozenset({NOT_RUN}), by="batch APIs"),
    OutcomeRow("no connection, so nothing was sent", "later", frozenset({NO_CONNECTION}), by="all"),
    OutcomeRow("no answer in time, or the connection was lost", "retry", frozenset({SILENCE}),
               by="all"),
    # --- errors that say what is wrong ----------------------------------------------------------
    OutcomeRow("too many requests at a time for the account's credit", "later", _ERRORS,
        ("in_flight_budget",), by=_OPENROUTER),
    OutcomeRow("the account is out of credit, or at its limit for the day", "stop", _ERRORS,
        ("insufficient_quota", "credit balance", "credit_balance", "available credits",
         "insufficient credits", "requires more credits", "credits are depleted",
         "insufficient balance", "billing_hard_limit", "billing_not_active", "billing_error",
         "spend_limit", "usage_limit_exceeded", "spending limit", "budget_exceeded",
         "budget has been exceeded", "perday", "guardrail_budget", "workspace_budget",
         "openrouter_key_limit"),
        by=f"{_OPENAI} (429), {_ANTHROPIC} (402, 429), {_GEMINI} (402, 429), {_XAI} (429), "
        f"{_OPENROUTER} and {_DEEPSEEK} (402), {_LITELLM} (422)"),
    OutcomeRow("the key, the address or the model is wrong", "stop", _ERRORS,
        ("api_key_invalid", "api key not valid", "invalid_api_key", "incorrect api key",
         "model_not_found", "user location is not supported"),
        by=f"{_GEMINI} and {_XAI} (400), OpenAI"),
    OutcomeRow("the request was filtered", "reject", frozenset({400, 403, 422, 451}),
        ("content_filter", "content_policy", "content filtering policy", "contentpolicyviolation",
         "content management policy", "invalid_prompt", "moderation", "flagged", "safety system",
         "usage guidelines", "usage policy", "usage policies", "prohibited_content",
         "request blocked"),
        why="filtered", by=f"OpenAI and Azure (400), {_ANTHROPIC} (400), {_XAI} and {_OPENROUTER} "
        f"(403), {_LITELLM}"),
    OutcomeRow("the answer was cut off, and the server says so by an error", "room", _BAD,
        ("output limit was reached",), why="cut_off", by="OpenAI"),
    OutcomeRow("the server has another name for the room of an answer", "retry", frozenset({400}),
        ("use 'max_completion_tokens'",), by="OpenAI's models behind another address"),
    OutcomeRow("the server does not know a parameter", "refuse", frozenset({400, 422}),
        ("unsupported_parameter", "unsupported parameter", "unsupported_value",
         "unsupportedparams", "unrecognized request argument"),
        by=f"OpenAI, {_LITELLM}",
        hint="leave it out of the recipe's model block, or take another model"),
    OutcomeRow("the model has not so much room for an answer", "less", _LONG,
        ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens",
         "num_predict", "in the completion", "output tokens", "in the output"),
        why="too_long", by=f"OpenAI, Anthropic, {_VLLM}, Gemini"),
    OutcomeRow("the request is too long for the model", "reject", _LONG,
        ("context_length_exceeded", "contextwindowexceeded", "exceed_context_size",
         "context length", "context window", "context limit", "context size", "prompt is too long",
         "input is too long", "request_too_large", "input token count", "input tokens exceed",
         "maximum number of tokens", "maximum prompt length", "too large for model with",
         "string_too_long", "maximum input length", "too many tokens",
         "max allowed tokens per submitted batch"),
        why="too_long",
        by=f"OpenAI, {_ANTHROPIC}, {_GEMINI}, {_XAI}, {_VLLM}, llama.cpp, {_OLLAMA}; "
        f"{_OPENROUTER} (502 too); embeddings of OpenAI, Cohere and Voyage AI"),
    OutcomeRow("the request is too large", "reject", frozenset({413}), why="too_long",
        by=f"{_ANTHROPIC}, proxies"),
    OutcomeRow("the server knows no JSON schema", "refuse", frozenset({400, 404, 422, 501}),
        ("json_schema", "response_format", "responsejsonschema", "response_schema",
         "structured output", "guided_json", "json mode", "output format"),
        by="OpenAI's older models, DeepSeek, servers of OpenAI's protocol",
        hint="add `structured: prompt` to the recipe's model block: then the prompt says what form "
        "an answer has"),
    OutcomeRow("the request alone is more than the account may send in a minute", "refuse",
        frozenset({429}), ("request too large for",), why="too_long", by="OpenAI"),
    # --- errors by their status -----------------------------------------------------------------
    OutcomeRow("the key or the address is wrong, or the server redirects", "stop",
        frozenset({*range(300, 400), 401, 402, 405, 407}), by="all"),
    OutcomeRow("overloaded, or too many requests", "later",
        frozenset({409, 425, 429, 498, 503, 529}), by=f"all; 529 is {_ANTHROPIC}'s"),
    OutcomeRow("somebody on the way gave up waiting", "retry", WAITED, by="proxies, Gemini (504)"),
    OutcomeRow("the server failed", "retry", frozenset(range(500, 600)), by="all"),
    OutcomeRow("the server refuses the request: not allowed, not found, not understood", "refuse",
        frozenset(range(400, 500)), by="all; firewalls (403)"),
    # --- status 200 -----------------------------------------------------------------------------
    OutcomeRow("the model refused, or its answer was filtered", "reject", _OK,
        finish=_FILTERED, why="filtered", by="OpenAI, Anthropic, Gemini, Bedrock"),
    OutcomeRow("the answer was cut off", "room", _OK, finish=_CUT, why="cut_off",
        by="all; reasoning models often without any text"),
    OutcomeRow("the answer broke off", "retry", _OK, finish=_BROKEN,
        by=f"{_OPENROUTER} and Mistral (error), {_VLLM} (abort), {_OLLAMA} (load), Gemini "
        "(MALFORMED_FUNCTION_CALL), DeepSeek (insufficient_system_resource)"),
    OutcomeRow("an answer", "answer", _OK, text=True, error=False, by="all"),
    OutcomeRow("an error, a page or a stream in the place of an answer", "retry", _OK,
        error=True, by=f"{_OPENROUTER}, proxies"),
    OutcomeRow("no answer: no choices, or no content", "retry", _OK,
        text=False, by="proxies, gateways, local servers"),
)  # fmt: skip
_ANSWER = next(row for row in TABLE if row.outcome == "answer")
_PLAIN = frozenset({"stop", "end_turn", ""})


class UnbilledErrors(NamedTuple):
    """Errors that cost nothing, by who says so. `provider`: of whose own server; "": of any."""

    what: str
    provider: str
    status: frozenset[int]
    source: str


_AZURE = "https://learn.microsoft.com/azure/ai-services/openai/how-to/manage-costs"
UNBILLED: tuple[UnbilledErrors, ...] = (
    UnbilledErrors("turned away before any model works on it", "",
             frozenset({*range(300, 400), 401, 402, 404, 405, 407, 429}),
             f'[Azure OpenAI]({_AZURE}): "If the service doesn\'t perform processing, you won\'t '
             'be charged. For example, a 401 error due to authentication or a 429 error". It '
             "charges a 400 of its filter or its input limit, and a 408"),
    UnbilledErrors("failed", "google_genai", frozenset({400, 500}),
             '[Gemini](https://ai.google.dev/gemini-api/docs/billing): "If your request fails with '
             'a 400 or 500 error, you won\'t be charged for the tokens used"'),
)  # fmt: skip
# of text in a token, on average, at the most: one of 4 is English, one of 12 Thai in a large
# vocabulary; whoever states fewer tokens has not counted all of them
_BYTES = 32


def classify(response: Response) -> OutcomeRow:
    """The first row that fits a response."""
    if response.status == 200 and response.text and response.finish in _PLAIN:
        return _ANSWER  # as nearly all are; `fits` of all rows costs more than the rest of it
    return next((row for row in TABLE if row.fits(response)), TABLE[-1])


def costs_nothing(response: Response, provider: str) -> bool:
    """Whether nothing was sent, or `provider`, on its own server, documents that it bills nothing.

    What a body of status 200 says of its status does not count: a model had begun.
    """
    if response.begun:
        return False
    return response.status in (NOT_RUN, NOT_SENT, NO_CONNECTION) or any(
        response.status in one.status and one.provider in ("", provider) for one in UNBILLED
    )


def states_all(response: Response, request: Request) -> bool:
    """Whether the usage that came can be all: both numbers are there, and none is too small.

    Where a request has no room for an answer, as one for embeddings, only what was sent counts.
    """
    tokens_in, tokens_out, _ = response.usage
    sent = sum(len(message.content.encode()) for message in request.messages)
    if not request.room:
        return bool(tokens_in) and (tokens_in or 0) * _BYTES >= sent
    if not tokens_in or not tokens_out:
        return False
    return tokens_in * _BYTES >= sent and tokens_out * _BYTES >= len(response.text.encode())
