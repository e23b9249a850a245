"""Rows of JSON that no program can pass on are refused with their line, whatever their depth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.rows import Problem, json_rows
from tests.conftest import Gen

DEEP = "is nested more than 200 levels deep"


@pytest.mark.parametrize("levels", [201, 260, 990, 1_100, 100_000])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_deep_rows(levels: int, pair: str) -> None:
    opening = "[" if pair == "[]" else '{"a":'
    nested = opening * (levels - 1) + "1" + pair[1] * (levels - 1)
    lines = [b'{"text": "[[[[ not deep ]]]]"}', b'{"_id": "\\u0061", "m": %s}' % nested.encode()]
    rows = json_rows(b"\n".join(lines), lines)
    assert rows == [{"text": "[[[[ not deep ]]]]"}, Problem(2, DEEP)]


def test_rows_with_many_brackets_are_not_deep() -> None:
    row = {"text": "[" * 500, "m": [[n] for n in range(300)]}
    line = json.dumps(row).encode()
    assert json_rows(line, [line]) == [row]
    deepest = b'{"m": ' + b"[" * 199 + b"]" * 199 + b"}"
    (read,) = json_rows(deepest, [deepest])
    assert isinstance(read, dict)


def test_commands(gen: Gen, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    deep = "[" * 300 + "]" * 300
    (folder / "corpus.jsonl").write_text('{"_id": "d", "text": "A text."}\n')
    (folder / "queries.jsonl").write_text(f'{{"_id": "q", "text": "Which?", "metadata": {deep}}}\n')
    (folder / "qrels.jsonl").write_text('{"query-id": "q", "corpus-id": "d", "score": 1}\n')
    for command in (("eval", folder), ("export", folder, "--to", "beir", "--out", tmp_path / "b")):
        done = gen(*command)
        assert done.returncode == 2
        assert f"queries.jsonl, line 1: {DEEP}" in done.stderr
    checked = gen("validate", folder)
    assert checked.returncode == 1
    assert DEEP in checked.stdout
