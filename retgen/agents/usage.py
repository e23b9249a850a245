"""How many tokens an answer took, from any of the shapes in which servers state it.

    {"prompt_tokens": 27, "completion_tokens": 40, "total_tokens": 767}        -> 27 in, 740 out
    {"promptTokenCount": 27, "candidatesTokenCount": 40, "thoughtsTokenCount": 700} -> 27, 740
    {"input_tokens": 7, "cache_read_input_tokens": 20, "output_tokens": 740}   -> 27, 740

Reasoning tokens are charged as output wherever they are stated: inside the output, beside it
(xAI, Gemini), or only in the total. What is stated twice counts as the larger of both, since a cap
has to hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_IN = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count")
_OUT = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_TOTAL = ("total_tokens", "totalTokenCount")
# counts beside the one of the prompt: Anthropic's `input_tokens` are those that no cache held,
# Gemini counts the prompts of its tools apart; others that name a cache mean a part of the prompt
_BESIDE = {
    "input_tokens": ("cache_creation_input_tokens", "cache_read_input_tokens"),
    "promptTokenCount": ("toolUsePromptTokenCount",),
}
# where the reasoning tokens stand: in one of these objects, or beside the other counts
_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_REASONING = ("reasoning_tokens", "reasoning", "thinking_tokens", "thoughtsTokenCount")

# of a run that asks no model
OFFLINE_COSTS: dict[str, Any] = {
    "calls": 0, "cache_hits": 0, "unanswered": 0, "tokens": {"in": 0, "out": 0}, "usd": 0.0,
}  # fmt: skip


class Usage(NamedTuple):
    """Tokens of a request and of its answer; None where they are not stated.

    `hidden`: of `tokens_out` those that are stated to be reasoning.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None
    hidden: int = 0


def usage_of(stated: object) -> Usage:
    """The usage in a server's object of counts, or in LangChain's; what it lacks is None."""
    if not isinstance(stated, Mapping):
        return Usage()
    tokens_in, tokens_out, total = (_first(stated, names) for names in (_IN, _OUT, _TOTAL))
    hidden = _hidden(stated)
    if tokens_in is not None:
        for name, beside in _BESIDE.items():
            if name in stated and (name != "input_tokens" or total is None):
                tokens_in += sum(count(stated.get(one)) or 0 for one in beside)
    if "candidatesTokenCount" in stated or ("thoughtsTokenCount" in stated and total is not None):
        inside = total is not None and total == (tokens_in or 0) + (tokens_out or 0)
        tokens_out = (tokens_out or 0) + (0 if inside else hidden)
    elif tokens_out is not None and hidden > tokens_out:  # so it cannot be a part of it
        tokens_out += hidden
    if total is not None:
        if tokens_in is None and tokens_out is not None:
            tokens_in = max(0, total - tokens_out)
        elif tokens_in is not None:
            tokens_out = max(tokens_out or 0, total - tokens_in)
    return Usage(tokens_in, tokens_out, hidden)


def count(value: object) -> int | None:
    """A number of tokens as a server states it; None where it states none that can be true."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < 2**40 else None


def _first(stated: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((n for name in names if (n := count(stated.get(name))) is not None), None)


def _hidden(stated: Mapping[str, Any]) -> int:
    places = [stated, *(stated.get(name) for name in _DETAILS)]
    result = (_first(place, _REASONING) for place in places if isinstance(place, Mapping))
    return max((tokens for tokens in result if tokens is not None), default=0)
