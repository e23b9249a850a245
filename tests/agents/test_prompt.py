"""Prompt files: filled in one pass, and checked before anything is sent."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from retgen.agents.prompt import Message, Request, load_prompt
from retgen.errors import RecipeError

GOOD = """---
purpose: Ask for things.
---
## System
Answer as {"things": [...]}.
## User
Things of {{category}}, not those of:
{{text}}
"""


def prompt(tmp_path: Path, text: str, name: str = "ask.md") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_what_is_filled_in_is_not_read_again(tmp_path: Path) -> None:
    path = prompt(tmp_path, GOOD)
    result = load_prompt(path)
    assert (result.name, result.purpose) == ("ask", "Ask for things.")
    assert result.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    text = '{{category}} {"a": {"b": 1}} \\1 {0} {{nothing}}'
    assert result.render({"category": "Fish", "text": text}) == (
        Message("system", 'Answer as {"things": [...]}.'),
        Message("user", f"Things of Fish, not those of:\n{text}"),
    )


def test_all_variables_at_fault_are_named(tmp_path: Path) -> None:
    result = load_prompt(prompt(tmp_path, GOOD))
    with pytest.raises(RecipeError) as error:
        result.render({"categroy": "Fish", "more": "x"})
    assert str(error.value) == (
        "prompt ask: its variables are not the fields of its question; only one of the two has "
        "category, categroy, more, text"
    )


@pytest.mark.parametrize(
    "text",
    [
        "## User\nHello",
        "---\npurpose: x\nmodel: m\n---\n## User\nHello",
        "---\npurpose: x\n---\n## System\nHello",
        "---\npurpose: x\n---\n## User\n \n",
    ],
)
def test_files_that_are_no_prompt(tmp_path: Path, text: str) -> None:
    path = prompt(tmp_path, text)
    with pytest.raises(RecipeError) as error:
        load_prompt(path)
    assert str(error.value) == (
        f"{path}: a prompt begins with the lines '---', 'purpose: ' with a sentence and '---'; "
        "then come '## System' (may be left out) and '## User', each with its text"
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none.md"
    with pytest.raises(RecipeError) as error:
        load_prompt(path)
    assert (
        str(error.value) == f"{path}: cannot be read: [Errno 2] No such file or directory: '{path}'"
    )


def test_the_key_of_a_request_is_that_of_what_decides_its_answer() -> None:
    hello = (Message("user", "Hello"),)
    one = Request("x", "m", hello, {"a": 1, "b": 2}, {"type": "object", "title": "T"})
    same = Request("x", "m", hello, {"b": 2, "a": 1}, {"title": "T", "type": "object"}, 0, 9, "y")
    assert (one.key, one) == (same.key, same)
    assert one.body == (
        b'{"endpoint":"x","messages":[{"content":"Hello","role":"user"}],"model":"m","sample":0,'
        b'"sampling":{"a":1,"b":2},"schema":{"title":"T","type":"object"}}'
    )
    assert one.key == hashlib.sha256(one.body).hexdigest()
    others = [replace(one, **other) for other in ({"sample": 1}, {"endpoint": "z"}, {"model": "n"})]
    assert len({one.key, *(other.key for other in others)}) == 4
