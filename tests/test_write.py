from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from retgen.errors import OutputError
from retgen.write import AtomicFile, file_info, remove_partial, write_file


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with AtomicFile(path) as file:
        file.write(b"one ")
        assert not path.exists()
        file.write(b"two")
    assert path.read_bytes() == b"one two"
    assert file.info == file_info(path) == (hashlib.sha256(b"one two").hexdigest(), 7)
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_file(path, "old")

    def fails() -> None:
        with AtomicFile(path) as file:
            file.write(b"new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".a.txt.partial").write_text("half")
    remove_partial(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as error:
        write_file(tmp_path / "no" / "a.txt", "x")
    assert str(error.value) == (
        f"cannot write {tmp_path}/no/a.txt: No such file or directory. What was finished before "
        "is kept: choose another folder with --out and run the same command again."
    )


def test_a_device_that_is_full(tmp_path: Path) -> None:
    with AtomicFile(tmp_path / "a.txt") as file:
        file._file.close()
        file._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 - closed on the way out
        with pytest.raises(OutputError, match="the disk is full"):
            file.write(b"x")
        file._file.close()
        file._file = open(tmp_path / "b", "wb", buffering=0)  # noqa: SIM115
