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
variables: [category, text]
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
    assert (result.name, result.purpose, result.variables) == (
        "ask",
        "Ask for things.",
        ("category", "text"),
    )
    assert result.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    text = '{{category}} {"a": {"b": 1}} \\1 {0} {{nothing}}'
    assert result.render({"category": "Fish", "text": text}) == (
        Message("system", 'Answer as {"things": [...]}.'),
        Message("user", f"Things of Fish, not those of:\n{text}"),
    )


def test_without_a_system_part(tmp_path: Path) -> None:
    path = prompt(tmp_path, "---\npurpose: x\nvariables: []\n---\n## User\nHello\n")
    assert load_prompt(path).render({}) == (Message("user", "Hello"),)


def test_all_variables_at_fault_are_named(tmp_path: Path) -> None:
    result = load_prompt(prompt(tmp_path, GOOD))
    with pytest.raises(RecipeError) as error:
        result.render({"categroy": "Fish", "more": "x"})
    assert str(error.value) == ("prompt ask: lacks category, text; does not know categroy, more")


HEADER = "the header has purpose, a sentence, and variables, a list of names of a-z, 0-9 and _"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "## User\nHello",
            "a prompt begins with a header between two lines of ---",
        ),
        ("---\npurpose: x\n---\n## User\nHello", HEADER),
        ("---\npurpose: x\nvariables: []\nmodel: m\n---\n## User\nHello", HEADER),
        ("---\n- x\n---\n## User\nHello", HEADER),
        (
            "---\n[\n---\n## User\nHello",
            "the header, line 1: is not YAML: expected the node content, but found "
            "the end of the file, while parsing a flow node that begins in line 1",
        ),
        (
            "---\npurpose: x\nvariables: [a, A]\n---\n## User\n{{a}}",
            HEADER,
        ),
        (
            "---\npurpose: x\nvariables: []\n---\nHello",
            "below the header stand '## System' (may be left out) and '## User', each once",
        ),
        (
            "---\npurpose: x\nvariables: []\n---\n## User\na\n## User\nb",
            "below the header stand '## System' (may be left out) and '## User', each once",
        ),
        (
            "---\npurpose: x\nvariables: [a, b]\n---\n## User\n{{a}} {{c}} {{d}}",
            "uses undeclared c, d; never uses b",
        ),
    ],
)
def test_files_that_are_no_prompt(tmp_path: Path, text: str, message: str) -> None:
    path = prompt(tmp_path, text)
    with pytest.raises(RecipeError) as error:
        load_prompt(path)
    assert str(error.value) == f"{path}: {message}"


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
    others = {
        replace(one, sample=1).key,
        replace(one, endpoint="z").key,
        replace(one, model="n").key,
    }
    assert len({one.key, *others}) == 4
