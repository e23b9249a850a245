"""What all backends need: waits, token counts, and keys that must not be kept."""

from __future__ import annotations

from typing import Any

import pytest

from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.chat import NO_KEY, Usage, failed, usage_of

KEY = "sk-planted-0123456789"


@pytest.mark.parametrize(
    ("stated", "wait"),
    [
        ("3", 3.0),
        ("3s", 3.0),
        ("1e308", 600.0),
        ("inf", 600.0),
        ("nan", None),
        ("-1", None),
        ("Sat, 21 Nov 2026 19:00:00 GMT", None),
        (None, None),
    ],
)
def test_how_long_to_wait(stated: str | None, wait: float | None) -> None:
    assert failed(b"", 429, stated).wait == wait


def test_keys_are_taken_out_and_stand_ins_are_not() -> None:
    chat = OpenAIChat(api_key=KEY)
    chat.secrets |= {b"", NO_KEY.encode(), b"EMPTY"}
    assert chat.mask_text(f"with {KEY}, none is EMPTY") == "with [key], none is EMPTY"
    assert chat.mask(b"\xff" + KEY.encode()) == b"\xff[key]"
    assert OpenAIChat().mask_text("with none") == "with none"


def openai(
    prompt: Any, answer: Any, total: Any = None, *, hidden: int | None = None, **more: Any
) -> dict[str, Any]:
    """Usage as OpenAI states it; `hidden`: tokens of reasoning."""
    details = {} if hidden is None else {"completion_tokens_details": {"reasoning_tokens": hidden}}
    counts = {"prompt_tokens": prompt, "completion_tokens": answer, **details, **more}
    return counts if total is None else counts | {"total_tokens": total}


def gemini(prompt: int, **more: int) -> dict[str, Any]:
    return {"promptTokenCount": prompt, **more}


# by whom, what is stated, and what it comes to: copied from documentation and reports
SHAPES: list[tuple[str, Any, tuple[int | None, int | None]]] = [
    ("OpenAI", openai(126, 1174, 1300, hidden=1100), (126, 1174)),
    (
        "OpenAI Responses",
        {
            "input_tokens": 20,
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 40},
        },
        (20, 50),
    ),
    ("xAI: beside", openai(10120, 1499, 14428, hidden=2809), (10120, 4308)),
    ("beside, no total", openai(9, 40, hidden=700), (9, 740)),
    ("beside, in the total alone", openai(27, 40, 767), (27, 740)),
    (
        "Gemini",
        gemini(171, candidatesTokenCount=40, thoughtsTokenCount=900, totalTokenCount=1111),
        (171, 940),
    ),
    ("Gemini, no total", gemini(171, candidatesTokenCount=40, thoughtsTokenCount=900), (171, 940)),
    (
        "Gemini, thoughts inside",
        gemini(171, candidatesTokenCount=940, thoughtsTokenCount=900, totalTokenCount=1111),
        (171, 940),
    ),
    ("Gemini, thoughts alone", gemini(9, thoughtsTokenCount=512, totalTokenCount=521), (9, 512)),
    ("Gemini, nothing written", gemini(171, totalTokenCount=171), (171, 0)),
    (
        "Anthropic",
        {
            "input_tokens": 50,
            "cache_creation_input_tokens": 2000,
            "cache_read_input_tokens": 10000,
            "output_tokens": 640,
            "output_tokens_details": {"thinking_tokens": 500},
        },
        (12050, 640),
    ),
    (
        "LangChain to xAI",
        {
            "input_tokens": 10,
            "output_tokens": 40,
            "total_tokens": 750,
            "input_token_details": {"cache_read": 5},
            "output_token_details": {"reasoning": 700},
        },
        (10, 740),
    ),
    (
        "LiteLLM: a cache within the prompt",
        openai(12050, 640, 12690, hidden=500, cache_read_input_tokens=10000),
        (12050, 640),
    ),
    ("OpenRouter", openai(194, 2, 196, hidden=0, cost=0.95), (194, 2)),
    ("OpenRouter, failed", openai(None, None, 0), (None, None)),
    ("vLLM", openai(31, 200, 231, prompt_tokens_details=None), (31, 200)),
    ("Ollama", {"prompt_eval_count": 26, "eval_count": 298}, (26, 298)),
    ("DeepSeek", openai(100, 50, 150, hidden=30, prompt_cache_hit_tokens=64), (100, 50)),
    ("no total that can be", openai(10, 5, 3), (10, 5)),
    ("no prompt", {"completion_tokens": 5, "total_tokens": 15}, (10, 5)),
    ("no answer", {"prompt_tokens": 10, "total_tokens": 15}, (10, 5)),
    ("whole floats", openai(10.0, 5.0), (10, 5)),
    ("words", openai("10", "five"), (None, None)),
    ("what cannot be", openai(-1, 2**63), (None, None)),
    ("neither whole nor a number", openai(7.5, float("nan")), (None, None)),
    ("true", openai(True, float("inf")), (None, None)),
    ("a list", [1, 2], (None, None)),
]


@pytest.mark.parametrize(
    ("stated", "expected"), [shape[1:] for shape in SHAPES], ids=[shape[0] for shape in SHAPES]
)
def test_usage(stated: Any, expected: tuple[int | None, int | None]) -> None:
    assert usage_of(stated) == Usage(*expected)
