"""What all backends need: statuses, waits, token counts, and keys that must not be kept."""

from __future__ import annotations

from typing import Any

import pytest

from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.chat import (
    NO_KEY,
    Usage,
    count,
    failed,
    no_answer,
    parse_object,
    part,
    parts,
    usage_of,
)

KEY = "sk-planted-0123456789"


@pytest.mark.parametrize(
    ("stated", "wait"),
    [
        ("3", 3.0),
        ("3s", 3.0),
        ("0", 0.0),
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


def test_json_that_is_none() -> None:
    assert parse_object(b'{"a": {"b": 1}}') == {"a": {"b": 1}}
    assert [parse_object(raw) for raw in (b"", b"[1]", b'{"a', b"\xff")] == [{}] * 4
    assert part({"a": {"b": 1}, "c": 2}, "a") == {"b": 1}
    assert part({"c": 2}, "c") == {}
    assert parts({"a": [{"b": 1}, 2, None]}, "a") == [{"b": 1}]
    assert parts({"a": {}}, "a") == parts({}, "a") == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"error": {"code": 502}}, 502),
        ({"error": {"code": "429"}}, 429),
        ({"error": {"code": "bad"}}, 200),
        ({"error": {"code": 7}}, 200),
        ({}, 200),
        ({"error": "no"}, 200),
    ],
)
def test_the_status_that_counts(body: dict[str, Any], expected: int) -> None:
    assert no_answer(b"", body, Usage()).status == expected


def test_an_error_that_stands_in_a_list() -> None:
    assert parse_object(b'[{"error": {"code": 503}}, {}]') == {"error": {"code": 503}}
    assert (
        parse_object(b'[{"candidates": []}]') == parse_object(b"[]") == parse_object(b"[1]") == {}
    )


def test_keys_are_taken_out_and_stand_ins_are_not() -> None:
    chat = OpenAIChat(api_key=KEY)
    chat.secrets |= {b"", NO_KEY.encode(), b"EMPTY"}
    assert chat.mask_text(f"with {KEY}, none is EMPTY") == "with [key], none is EMPTY"
    assert chat.mask(b"\xff" + KEY.encode()) == b"\xff[key]"
    assert OpenAIChat().mask_text("with none") == "with none"


# --- token counts, copied from documentation and reports ------------------------------------------


# by whom, what is stated, and what it comes to: in, out, of these stated to be reasoning
SHAPES: list[tuple[str, Any, tuple[int | None, int | None, int]]] = [
    (
        "OpenAI",
        {
            "prompt_tokens": 126,
            "completion_tokens": 1174,
            "total_tokens": 1300,
            "prompt_tokens_details": {"cached_tokens": 120},
            "completion_tokens_details": {"reasoning_tokens": 1100},
        },
        (126, 1174),
    ),
    (
        "OpenAI Responses",
        {
            "input_tokens": 20,
            "output_tokens": 50,
            "total_tokens": 70,
            "input_tokens_details": {"cached_tokens": 10},
            "output_tokens_details": {"reasoning_tokens": 40},
        },
        (20, 50),
    ),
    (
        "xAI: beside",
        {
            "prompt_tokens": 10120,
            "completion_tokens": 1499,
            "total_tokens": 14428,
            "completion_tokens_details": {"reasoning_tokens": 2809},
            "cost_in_usd_ticks": 232856000,
        },
        (10120, 4308),
    ),
    (
        "beside, no total",
        {
            "prompt_tokens": 9,
            "completion_tokens": 40,
            "completion_tokens_details": {"reasoning_tokens": 700},
        },
        (9, 740),
    ),
    (
        "beside, in the total alone",
        {"prompt_tokens": 27, "completion_tokens": 40, "total_tokens": 767},
        (27, 740),
    ),
    (
        "Gemini",
        {
            "promptTokenCount": 171,
            "candidatesTokenCount": 40,
            "thoughtsTokenCount": 900,
            "cachedContentTokenCount": 128,
            "totalTokenCount": 1111,
        },
        (171, 940),
    ),
    (
        "Gemini, no total",
        {"promptTokenCount": 171, "candidatesTokenCount": 40, "thoughtsTokenCount": 900},
        (171, 940),
    ),
    (
        "Gemini, thoughts inside",
        {
            "promptTokenCount": 171,
            "candidatesTokenCount": 940,
            "thoughtsTokenCount": 900,
            "totalTokenCount": 1111,
        },
        (171, 940),
    ),
    (
        "Gemini, thoughts alone",
        {"promptTokenCount": 9, "thoughtsTokenCount": 512, "totalTokenCount": 521},
        (9, 512),
    ),
    ("Gemini, nothing written", {"promptTokenCount": 171, "totalTokenCount": 171}, (171, 0)),
    (
        "Gemini through OpenAI's protocol",
        {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 613},
        (9, 604),
    ),
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
        "LangChain",
        {
            "input_tokens": 12050,
            "output_tokens": 640,
            "total_tokens": 12690,
            "input_token_details": {"cache_read": 10000},
            "output_token_details": {"reasoning": 500},
        },
        (12050, 640),
    ),
    (
        "LangChain to xAI",
        {
            "input_tokens": 10,
            "output_tokens": 40,
            "total_tokens": 750,
            "output_token_details": {"reasoning": 700},
        },
        (10, 740),
    ),
    (
        "LiteLLM",
        {
            "prompt_tokens": 12050,
            "completion_tokens": 640,
            "total_tokens": 12690,
            "cache_creation_input_tokens": 2000,
            "cache_read_input_tokens": 10000,
            "completion_tokens_details": {"reasoning_tokens": 500},
        },
        (12050, 640),
    ),
    (
        "OpenRouter",
        {
            "prompt_tokens": 194,
            "completion_tokens": 2,
            "total_tokens": 196,
            "cost": 0.95,
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        (194, 2),
    ),
    (
        "OpenRouter, failed",
        {"prompt_tokens": None, "completion_tokens": None, "total_tokens": 0},
        (None, None),
    ),
    (
        "vLLM",
        {
            "prompt_tokens": 31,
            "total_tokens": 231,
            "completion_tokens": 200,
            "prompt_tokens_details": None,
        },
        (31, 200),
    ),
    ("Ollama", {"prompt_tokens": 26, "completion_tokens": 298, "total_tokens": 324}, (26, 298)),
    ("Ollama's own", {"prompt_eval_count": 26, "eval_count": 298}, (26, 298)),
    (
        "DeepSeek",
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "total_tokens": 150,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 36,
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        (100, 50),
    ),
    (
        "no total that can be",
        {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 3},
        (10, 5),
    ),
    ("no prompt", {"completion_tokens": 5, "total_tokens": 15}, (10, 5)),
    ("no answer", {"prompt_tokens": 10, "total_tokens": 15}, (10, 5)),
    ("whole floats", {"prompt_tokens": 10.0, "completion_tokens": 5.0}, (10, 5)),
    ("words", {"prompt_tokens": "10", "completion_tokens": "five"}, (None, None)),
    ("what cannot be", {"prompt_tokens": -1, "completion_tokens": 2**63}, (None, None)),
    ("nothing", None, (None, None)),
    ("a list", [1, 2], (None, None)),
]


@pytest.mark.parametrize(
    ("stated", "expected"), [shape[1:] for shape in SHAPES], ids=[shape[0] for shape in SHAPES]
)
def test_usage(stated: Any, expected: tuple[int | None, int | None]) -> None:
    assert usage_of(stated) == Usage(*expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (7, 7),
        (7.0, 7),
        (7.5, None),
        (True, None),
        (-1, None),
        (2**40, None),
        ("7", None),
        (None, None),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_count(value: object, expected: int | None) -> None:
    assert count(value) == expected
