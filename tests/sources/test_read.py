"""A source by its path: what is none, and what is said of what was refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from retgen.errors import DatasetError
from retgen.sources import FORMATS, Columns, RefusedRow, SourceDocument, read_sources, refusals


def test_refusals_are_counted_by_rule_with_the_first_of_each() -> None:
    every = [
        RefusedRow("a:1", "source/json", "the line is not JSON"),
        RefusedRow("a:2", "source/encoding", "the line is not UTF-8"),
        RefusedRow("a:3", "source/encoding", "the line is not UTF-8"),
    ]
    assert refusals(every) == (
        "Refused are 2 by source/encoding, the first at a:2: the line is not UTF-8; "
        "1 by source/json, the first at a:1: the line is not JSON; convert the file to UTF-8."
    )
    assert refusals([]) == ""


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.jsonl", None, f"there is no source {{path}}: give {FORMATS}"),
        ("a.odt", b"x", f"{{path}}: a source is {FORMATS}, not .odt"),
        ("README", b"x", f"{{path}}: a source is {FORMATS}, not a file like this"),
        ("a.parquet", b"no", "{path}: is not a Parquet file of texts: "),
        ("a.parquet.gz", b"x", "{path}: is not a whole .gz file ("),
        ("a.csv", b'text\n"open', "{path}, line 1: is not CSV: unexpected end of data"),
    ],
)
def test_sources_that_are_none(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DatasetError) as error:
        list(read_sources(path, Columns()))
    assert str(error.value).startswith(message.format(path=path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    folder.mkdir(mode=0o300)
    with pytest.raises(DatasetError, match="kb: cannot be read: Permission denied"):
        list(read_sources(folder, Columns()))


def test_one_file_of_text_is_one_document(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_bytes(b"\xef\xbb\xbfA line.\r\nAnother.\n")
    assert list(read_sources(tmp_path / "one.txt", Columns())) == [
        SourceDocument("one", "", "A line.\r\nAnother.\n")
    ]
