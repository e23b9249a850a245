"""Outcomes: what a response means, what it is charged, and what is done about it, in one table.

The first row that fits decides. docs/models_reference.md prints the table, and every row has tests
against a server, for each backend. The patterns are words of OpenAI, Azure, Anthropic, Gemini, xAI,
OpenRouter, DeepSeek, Mistral, LiteLLM, vLLM, llama.cpp and Ollama, from their documentation and
sources.

    answer   keep it; it is the answer from now on
    reject   reject the record, now and in later runs (`gen run --retry-refused` asks again)
    refuse   the same if the server goes on to answer others like it; else stop the run
    more     cut off: ask again with more tokens for the answer
    fewer    the model cannot write so many tokens: ask again with fewer
    retry    back off and ask again; never the fault of a record
    stop     every request would fail: stop the run

What was sent costs the usage that is stated and, where none is, the most that it could cost. A row
marked `free` costs nothing, unless the error came in the body of a status 200.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from retgen.agents.chat import NO_CONNECTION, NOT_RUN, NOT_SENT, SILENCE, Response, Why
from retgen.agents.prompt import Request

Action = Literal["answer", "reject", "refuse", "more", "fewer", "retry", "stop"]


class Outcome(NamedTuple):
    """A row of the table.

    It fits a response whose status is one of `status` and whose error holds `says` (any case) or
    whose answer ended for a reason in `finish`; without both of these the status decides. `free`:
    it costs nothing. `why`: of a rejected record. `hint`: what a user can do. `of_model`: it holds
    for all requests to the model.
    """

    meaning: str
    action: Action
    status: frozenset[int]
    says: str = ""
    finish: frozenset[str] = frozenset()
    free: bool = False
    why: Why = "refused"
    hint: str = ""
    of_model: bool = False

    def fits(self, response: Response) -> bool:
        """Whether this row is about such a response."""
        if response.status not in self.status:
            return False
        words = self.says and re.search(self.says, response.error, re.IGNORECASE)
        return bool(words) or response.finish in self.finish or not (self.says or self.finish)


_ERRORS = frozenset(range(300, 600))
_REFUSED = frozenset(
    {400, 403, 404, 422, 451, 500, 501, 502}
)  # a refusal in words, as some send it
_PLAIN = frozenset({"stop", "end_turn", ""})

_FILTERED = frozenset(
    "content_filter content_filtered safety recitation blocklist prohibited_content spii refusal "
    "guardrail_intervened error_toxic language image_safety blocked refused sensitive".split()
)
_CUT = frozenset(
    "length max_tokens max_output_tokens model_length model_context_window_exceeded "
    "continuation".split()
)
# "": no text and no reason for its end, as of a body without choices
_BROKEN = frozenset(
    "error abort aborted cancelled load unload repetition malformed_function_call "
    "malformed_response unexpected_tool_call too_many_tool_calls network_error "
    "insufficient_system_resource pause_turn".split()
) | {""}

TABLE: tuple[Outcome, ...] = (
    Outcome(
        "the account is out of credit or at its limit of a day, or the key or the model is wrong",
        "stop",
        _ERRORS,
        "insufficient_quota|credit.balance|available credits|insufficient (credits|balance)|"
        "requires more credits|credits are depleted|billing_(hard_limit|not_active|error)|"
        "spend(ing)?.limit|usage_limit_exceeded|budget_exceeded|budget has been exceeded|perday|"
        "(guardrail|workspace)_budget|openrouter_key_limit|"
        "api_key_invalid|api key not valid|(invalid|incorrect).api.key|model_not_found|"
        "user location is not supported",
        free=True,
    ),
    Outcome(
        "the request or its answer was filtered, or the model refused",
        "reject",
        frozenset({200, 400, 403, 422, 451}),
        "content.?(filter|policy|management policy)|invalid_prompt|moderation|flagged|"
        "safety system|usage (guidelines|polic)|prohibited_content|request blocked",
        _FILTERED,
        why="filtered",
    ),
    Outcome(
        "the answer was cut off",
        "more",
        frozenset({200, 400}),
        "output limit was reached",
        _CUT,
        why="cut_off",
    ),
    Outcome(
        "the server has another name for max_tokens, which it gets from now on",
        "retry",
        frozenset({400}),
        "use .?max_completion_tokens",
    ),
    Outcome(
        "the request and so long an answer are too long for the model together",
        "fewer",
        _REFUSED,
        "^(?=.*context.?(length|window|limit|size)).*"
        "(max_(completion_|output_)?tokens|in the (completion|output)|output tokens)",
        why="too_long",
    ),
    Outcome(
        "the model cannot write so many tokens",
        "fewer",
        _REFUSED,
        "^(?!.*(unsupported|unrecognized)).*(max_(completion_|output_)?tokens|maxoutputtokens|"
        "num_predict|in the (completion|output)|output tokens)",
        why="too_long",
        of_model=True,
    ),
    Outcome(
        "the request is too long for the model",
        "reject",
        _REFUSED | {413},
        "context.?(length|window|limit|size)|exceed_context_size|(prompt|input) is too long|"
        "request.too.large|input token count|input tokens exceed|maximum (number of tokens|prompt "
        "length|input length)|too large for model with|string_too_long|too many tokens|"
        "max allowed tokens per submitted batch|entity too large",
        why="too_long",
    ),
    Outcome(
        "the server does not know the JSON schema of an answer",
        "refuse",
        _REFUSED,
        "json_?schema|response_?(format|schema)|responsejsonschema|structured output|guided_json|"
        "json mode|output format",
        hint="add `structured: prompt` to the recipe's model block: then the prompt says what form "
        "an answer has",
    ),
    Outcome(
        "the package, key, address or model is wrong, or the server redirects",
        "stop",
        frozenset({NOT_SENT, *range(300, 400), 401, 402, 404, 405, 407}),
        free=True,
        hint="`gen doctor` shows which keys are set",
    ),
    Outcome(
        "no connection, too many requests, or a batch that ended before it came to this one",
        "retry",
        frozenset({NO_CONNECTION, NOT_RUN, 429}),
        free=True,
    ),
    Outcome(
        "no answer in time, a lost connection, or a server that is overloaded or has failed",
        "retry",
        frozenset({SILENCE, 408, 409, 425, 498, 499, *range(500, 600)}),
    ),
    Outcome(
        "the server refuses the request",
        "refuse",
        frozenset(range(400, 500)),
        hint="leave what the server does not know out of the recipe's model block, or take another "
        "model",
    ),
    Outcome(
        "the answer broke off, or an error, a page or nothing stands in its place",
        "retry",
        frozenset({200}),
        "^.",
        _BROKEN,
    ),
    Outcome("an answer", "answer", frozenset({200})),
)
_ANSWER = TABLE[-1]
# of text in a token, on average, at the most: one of 4 is English, one of 12 Thai in a large
# vocabulary; whoever states fewer tokens has not counted all of them
_BYTES = 32


def classify(response: Response) -> Outcome:
    """The first row that fits a response."""
    if response.status == 200 and response.text and response.finish in _PLAIN:
        return _ANSWER  # nearly all are; to try all rows costs more than the rest of a call
    return next((row for row in TABLE if row.fits(response)), TABLE[-2])


def usage_is_stated(response: Response, request: Request) -> bool:
    """Whether the usage that came can be all: both numbers are there, and none is too small.

    Where a request has no answer of tokens, as one for embeddings, only what was sent counts.
    """
    tokens_in, tokens_out = response.usage
    sent = sum(len(message.content.encode()) for message in request.messages)
    if not tokens_in or tokens_in * _BYTES < sent:
        return False
    if not request.max_tokens:
        return True
    return bool(tokens_out) and (tokens_out or 0) * _BYTES >= len(response.text.encode())
