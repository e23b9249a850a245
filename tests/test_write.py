from __future__ import annotations

import hashlib
import os
import re
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


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    """Two writers of one file never meet: the second takes the place of the first."""
    path = tmp_path / "a.txt"
    with AtomicFile(path) as one, AtomicFile(path) as two:
        assert len(list(tmp_path.iterdir())) == 2
        two.write(b"two")
        one.write(b"one")
    assert path.read_bytes() == b"one"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_what_was_left_of_the_same_file_goes_with_the_next_write(tmp_path: Path) -> None:
    for name in (".a.txt.partial", ".a.txt.12-ab.partial", ".b.txt.12-ab.partial"):
        (tmp_path / name).write_text("half")
    write_file(tmp_path / "a.txt", "whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".b.txt.12-ab.partial", "a.txt"]


def test_a_file_that_is_still_written_is_not_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of").mkdir()
    with AtomicFile(tmp_path / "of" / "a.txt"):
        monkeypatch.setattr("retgen.write._PATIENCE", 0.2)  # seconds
        with pytest.raises(OutputError) as error:
            remove_partial(tmp_path / "of")
    assert re.fullmatch(
        rf"{tmp_path}/of/\.a\.txt\.{os.getpid()}-[0-9a-f]{{8}}\.partial is still being written by "
        rf"another process \({os.getpid()}\), which a killed run may have left. End it, and run the "
        r"same command again\.",
        str(error.value),
    )


def test_a_long_name(tmp_path: Path) -> None:
    name = "ü" * 120 + ".jsonl"
    assert write_file(tmp_path / name, "x").bytes == 1
    assert [p.name for p in tmp_path.iterdir()] == [name]


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
