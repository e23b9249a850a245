"""Prompt files: filled in one pass, and checked before anything is sent."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from retgen.agents.prompt import Message, load_prompt
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
        "ask", "Ask for things.", ("category", "text"),
    )  # fmt: skip
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "## User\nHello",
            "a prompt begins with a header between two lines of ---, with purpose and variables",
        ),
        ("---\npurpose: x\n---\n## User\nHello", "the header has exactly purpose and variables"),
        (
            "---\n[\n---\n## User\nHello",
            "the header, line 1: is not YAML: expected the node content, but found "
            "the end of the file. It begins in line 1: '['. Look for a comma, a bracket or a quote "
            "that is missing",
        ),
        (
            "---\npurpose: x\nvariables: [a, A]\n---\n## User\n{{a}}",
            "variables are distinct names of a-z, 0-9 and _, not A",
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
    with pytest.raises(RecipeError) as error:
        load_prompt(tmp_path / "none.md")
    assert str(error.value) == f"{tmp_path / 'none.md'}: cannot be read: No such file or directory"
