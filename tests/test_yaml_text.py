"""YAML of any depth and size: read, or refused at once with its file and line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from retgen.errors import DatasetError, RecipeError
from retgen.yaml_text import parse_yaml, read_yaml, to_yaml

DEEP = {
    "brackets": ("[" * 2000 + "]" * 2000, 1),
    "open brackets": ("[" * 100_000, 1),
    "braces": ("{a: " * 2000 + "}" * 2000, 1),
    "a block": ("\n".join(f"{' ' * i}a:" for i in range(1200)), 50),
}


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("name", DEEP)
def test_what_is_too_deep_is_refused_at_once(name: str, lines: bool, tmp_path: Path) -> None:
    text, line = DEEP[name]
    path = tmp_path / "x.yaml"
    path.write_text(text)
    begin = time.process_time()
    with pytest.raises(RecipeError) as error:
        read_yaml(path, lines=lines)
    assert time.process_time() - begin < 2
    assert str(error.value) == f"{path}, line {line}: is nested more than 50 levels deep"


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    ("text", "line"), [("a: &p [1]\nb: *p", 2), ("a: &p [*p]", 1), ("a: &p\n  <<: *p", 2)]
)
def test_aliases_are_refused(text: str, line: int, lines: bool) -> None:
    with pytest.raises(DatasetError) as error:
        parse_yaml(text, "x", lines=lines, error=DatasetError)
    assert str(error.value) == (
        f"x, line {line}: aliases are not read: write the value that *p stands for"
    )


@pytest.mark.parametrize("lines", [False, True])
def test_what_is_too_long(lines: bool) -> None:
    with pytest.raises(RecipeError) as error:
        parse_yaml("#" * 1_000_001, "x", lines=lines)
    assert str(error.value) == "x: has 1,000,001 characters, of which a file may have 1,000,000"


def test_what_is_written_is_read_again() -> None:
    tree = {"b": ["½", {"c": None}], "a": 1.5}
    assert to_yaml(tree) == "b:\n- ½\n- c: null\na: 1.5\n"
    assert parse_yaml(to_yaml(tree), "x") == tree


# texts that readers of YAML 1.1 or 1.2 take for something else where they stand without quotes
GUESSED = (
    "no No NO on oN ON off Off yes Yes y Y n N true null Null ~ = << 12:30 1:2 190:20:30 1:30.5 0o17 "
    "017 08 0x1f 0b1 1_000 1__0 1e3 1.e3 12e03 1E+3 .5 +.5 ._1 5. 1_0.5 .inf -.inf +.INF .nan .NaN "
    "+1 -1 0 2023-01-01 2023-1-1 2023-01-01T10:00:00Z - ? : ! & * | > % @ ` . ... ---"
).split()
SPACED = [
    "",
    " ",
    " no",
    "null ",
    "2001-12-14 21:59:43.10 -5",
    "a: b",
    "a #b",
    "\t",
    "\na \n\n b\n",
]
CONTROL = [
    "x\x85y",
    "x\u2028y",
    "x\u2029y",
    "a\r\nb",
    "\ufeffx",
    "\x00\x07\x1b\x7f\x9f",
    "\ufffe\uffff",
]
TEXTS = st.text(
    st.sampled_from("0189.:_-+eExob~=<>tfynN \n\t'\"#,[{&*!|%@?\x85\u2028é😀") | st.characters()
)


def survives(text: str) -> bool:
    """Whether both versions read the text back, as a value and as a key."""
    tree = {"a": [text], text: {"b": text}}
    written = [to_yaml(tree), to_yaml(tree, width=None)]
    return all(yaml.safe_load(one) == tree == parse_yaml(one, "x") for one in written)


def test_texts_that_a_reader_would_guess() -> None:
    assert [one for one in GUESSED + SPACED + CONTROL if not survives(one)] == []
    assert (
        to_yaml({"a": ["no", "nb", "12:30", "x\x85y"]})
        == "a:\n- 'no'\n- nb\n- '12:30'\n- \"x\\Ny\"\n"
    )


@settings(derandomize=True, deadline=None)
@given(TEXTS)
@example("word " * 60)
def test_any_text_is_read_again(text: str) -> None:
    assert survives(text)


BOMB = "[" * 2000 + "]" * 2000
