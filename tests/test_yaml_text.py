"""YAML of any depth and size: read, or refused at once with its file and line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from retgen.errors import DatasetError, RecipeError
from retgen.yaml_text import DEEPEST, parse_yaml, read_yaml, to_yaml
from tests.conftest import Gen

DEEP = {
    "brackets": ("[" * 2000 + "]" * 2000, 1),
    "open brackets": ("[" * 100_000, 1),
    "braces": ("{a: " * 2000 + "}" * 2000, 1),
    "lines of brackets": ("[\n" * 2000, 51),
    "a block": ("\n".join(f"{' ' * i}a:" for i in range(1200)), 50),
    "lists": ("- " * 2000 + "x", 1),
    "questions": ("? " * 2000 + "x", 1),
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


def test_as_deep_as_allowed() -> None:
    value = parse_yaml("[" * (DEEPEST - 1) + "]" * (DEEPEST - 1), "x")
    for _ in range(DEEPEST - 1):
        value = value[0] if value else value
    assert value == []


def test_aliases_make_values_deep_and_large() -> None:
    deep = "a0: &a0 [1]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(1500))
    with pytest.raises(DatasetError, match=r"^x: is nested more than 50 levels deep$"):
        parse_yaml(deep, "x", error=DatasetError)
    large = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
        f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]\n" for i in range(9)
    )
    with pytest.raises(RecipeError) as error:
        parse_yaml(large, "x")
    assert str(error.value) == "x: its aliases (*name) stand for more than 1,000,000 values"
    assert parse_yaml("a: &a [1]\nb: [*a, *a]", "x") == {"a": [1], "b": [[1], [1]]}


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    "text", ["a: &p [*p]", "a: &p {<<: *p}", "a: &p {file: *p}", "- &q x\n- &p [*q, {b: [*p]}]"]
)
def test_an_alias_within_what_it_stands_for(text: str, lines: bool) -> None:
    with pytest.raises(RecipeError) as error:
        parse_yaml(text, "x", lines=lines)
    assert str(error.value) == "x: *p stands within what it stands for"


@pytest.mark.parametrize("lines", [False, True])
def test_what_is_too_long(lines: bool) -> None:
    with pytest.raises(RecipeError) as error:
        parse_yaml("#" * 1_000_001, "x", lines=lines)
    assert str(error.value) == "x: has 1,000,001 characters, of which a file may have 1,000,000"


def test_what_is_written_is_read_again() -> None:
    tree = {"b": ["½", {"c": None}], "a": 1.5}
    assert to_yaml(tree) == "b:\n- ½\n- c: null\na: 1.5\n"
    assert parse_yaml(to_yaml(tree), "x") == tree


BOMB = "[" * 2000 + "]" * 2000


@pytest.mark.parametrize(
    ("name", "text", "arguments", "said"),
    [
        ("r.yaml", f"name: a\nparams: {BOMB}\n", ("plan", "r.yaml"), "r.yaml, line 2"),
        ("s.yaml", f"study: a\ndatasets: {BOMB}\n", ("eval", "s.yaml"), "s.yaml, line 2"),
        ("", "", ("plan", "limit_dense", "--set", f"params.k={BOMB}"), "--set params.k, line 1"),
        (
            "d.yaml", f"domain: {BOMB}\n",
            ("plan", "world_small", "--set", "params.domain=d.yaml"), "d.yaml, line 1",
        ),
        (
            "n.yaml", BOMB, ("plan", "niah", "--set", "params.table=n.yaml"), "n.yaml, line 1",
        ),
    ],
)  # fmt: skip
def test_commands(
    gen: Gen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    name: str, text: str, arguments: tuple[str, ...], said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    if name:
        (tmp_path / name).write_text(text)
    done = gen(*arguments)
    assert done.returncode == 2
    assert done.stderr.endswith(f"{said}: is nested more than 50 levels deep\n")
    assert done.stderr.count("\n") == 1
