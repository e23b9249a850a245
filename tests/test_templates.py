"""Compiled templates are kept beside their source, and only used for it."""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
import pytest

from retgen.templates import CompiledTemplates


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def shown(folder: Path, *, trim: bool = True) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        bytecode_cache=CompiledTemplates(folder),
        trim_blocks=trim,
    )
    return environment.get_template("page.html").render(name="A")


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "__pycache__").glob("*"))


def test_one_file_an_environment(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("{% if name %}\n{{ name }}{% endif %}\n")
    assert [shown(tmp_path), shown(tmp_path)] == ["A", "A"]
    assert [path.suffix for path in kept(tmp_path)] == [".jinja"]
    assert shown(tmp_path, trim=False) == "\nA"
    assert len(kept(tmp_path)) == 2


def test_a_changed_source_is_compiled_again(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("old {{ name }}")
    assert shown(tmp_path) == "old A"
    page.write_text("new {{ name }}")
    assert shown(tmp_path) == "new A"
    assert len(kept(tmp_path)) == 1


@pytest.mark.parametrize("damage", [b"", b"nothing", slice(0, 60)])
def test_a_damaged_file_is_compiled_again(tmp_path: Path, damage: bytes | slice) -> None:
    (tmp_path / "page.html").write_text("page of {{ name }}")
    shown(tmp_path)
    (path,) = kept(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[damage] if isinstance(damage, slice) else damage)
    assert shown(tmp_path) == "page of A"
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("page of {{ name }}")
    (tmp_path / "__pycache__").write_text("a file, and no folder")
    assert shown(tmp_path) == "page of A"


def test_nothing_is_kept_where_python_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "page.html").write_text("page of {{ name }}")
    assert shown(tmp_path) == "page of A"
    assert not kept(tmp_path)
