"""Lists that lie in files."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

from retgen.on_disk import (
    IN_MEMORY,
    BlockList,
    DiskList,
    JSONLines,
    Keyed,
    MappedList,
    disk_arrays,
    joined,
    mapped_arrays,
)


def test_items_are_read_where_they_lie() -> None:
    texts = [f"text {i}" * (i % 7) * 2000 for i in range(50)]  # some are written, some wait
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


@pytest.mark.parametrize("count", [3, IN_MEMORY + 1])
def test_arrays_that_are_mapped(count: int) -> None:
    made = [np.arange(count, dtype=np.uint64), np.empty(0, np.uint64), np.ones(1, np.uint64)]
    found = mapped_arrays(made)
    assert len(found) == 3
    assert all(map(np.array_equal, found, made))
    assert isinstance(joined(made, np.uint64).base, np.memmap) == (count > IN_MEMORY)
    assert joined([], np.int32).tolist() == []


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a": "ä"}\n{"a": 3}')
    rows = JSONLines(path)
    assert [one["a"] for one in rows] == [1, "ä", 3]
    assert MappedList(lambda row: row["a"], rows)[1:] == ["ä", 3]
    assert [*MappedList(len, rows)] == [1, 1, 1]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 30])
def test_blocks(count: int) -> None:
    found = BlockList(iter(range(count)))
    assert len(found) == count
    assert [*found] == [found[i] for i in range(count)] == [*range(count)]
    assert found[1:-1] == [*range(count)][1:-1]
    with pytest.raises(IndexError):
        found[count]


def test_items_by_key() -> None:
    rows = [("a", 1), ("b", 2), ("a", 3), (5, 4), (None, 5)]
    found, wanted = Keyed(rows, itemgetter(0)), {row[0]: row for row in rows}
    assert [*found.items()] == [*wanted.items()]
    assert (len(found), "b" in found, "c" in found) == (4, True, False)
    assert (found.all("a"), found.all("c"), found.get("c")) == ([rows[0], rows[2]], [], None)
    assert not Keyed([], itemgetter(0))
    with pytest.raises(KeyError, match="c"):
        found["c"]
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        Keyed([[[]]], itemgetter(0))


def test_keys_whose_hashes_are_equal() -> None:
    found = Keyed(rows := [(-1, "one"), (-2, "other"), (-1, "again")], itemgetter(0))
    assert hash(-1) == hash(-2)
    assert [*found.items()] == [(-1, rows[2]), (-2, rows[1])]
