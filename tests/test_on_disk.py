"""Lists that lie in files."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

from retgen import on_disk
from retgen.errors import OutputError
from retgen.on_disk import DiskList, JSONLines, MappedList, disk_arrays


def test_items_are_read_where_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_disk, "_WAITING", 100)  # some are written, some wait
    texts = [f"text {i}" * (i % 7) for i in range(50)]
    found = DiskList(texts)
    assert list(found) == texts
    assert found[48:] == texts[48:]
    assert found[-1] == texts[-1]
    found[3], found[49] = "another", "one more"
    found.append("the last")
    assert [*found] == [*texts[:3], "another", *texts[4:49], "one more", "the last"]
    with pytest.raises(IndexError):
        found[51]


def test_arrays() -> None:
    found = disk_arrays()
    found.extend([np.arange(3, dtype=np.uint64), np.empty(0, np.uint64)])
    assert [one.tolist() for one in found] == [[0, 1, 2], []]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a": "ä"}\n{"a": 3}')
    rows = JSONLines(path)
    assert [one["a"] for one in rows] == [1, "ä", 3]
    assert MappedList(lambda row: row["a"], rows)[1:] == ["ä", 3]
    assert [*MappedList(len, rows)] == [1, 1, 1]


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def seek(self, place: int) -> None: ...

        def close(self) -> None: ...

        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(on_disk, "_WAITING", 10)
    monkeypatch.setattr(on_disk.tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(OutputError, match="the disk is full"):
        DiskList(["a text", "another text"])
