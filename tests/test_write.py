from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from retgen.errors import OutputError
from retgen.write import (
    AtomicFile,
    file_info,
    remove_partial,
    scratch_folder,
    size_text,
    whole_folder,
    write_file,
)


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
    """A file where nobody else writes; a folder only by its own prefix."""
    (tmp_path / ".a.txt.12-0123abcd.partial").write_text("half")
    (tmp_path / ".mine.partial").write_text("whole")
    scratch = tmp_path / ".scratch-1.partial"
    scratch.mkdir()
    (scratch / "b.txt").write_text("half")
    remove_partial(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".mine.partial", scratch.name}
    os.utime(scratch, (time.time() - 90_000,) * 2)
    with scratch_folder(".scratch-", tmp_path) as folder:
        assert {*tmp_path.iterdir()} == {tmp_path / ".mine.partial", folder}


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    """Two writers of one file never meet: the second takes the place of the first."""
    path = tmp_path / "a.txt"
    with AtomicFile(path) as one, AtomicFile(path) as two:
        assert len(list(tmp_path.iterdir())) == 2
        two.write(b"two")
        one.write(b"one")
    assert path.read_bytes() == b"one"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


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


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """What this process writes into files of a folder goes to a device that is full."""
    links = {int(one.name): os.path.realpath(one) for one in Path("/proc/self/fd").iterdir()}
    files = {fd: os.dup(fd) for fd, path in links.items() if Path(path).parent == folder}
    assert files
    with open("/dev/full", "wb") as full:
        for fd in files:
            os.dup2(full.fileno(), fd)
    yield
    for fd, kept in files.items():
        os.dup2(kept, fd)
        os.close(kept)


def test_a_device_that_is_full(tmp_path: Path) -> None:
    full = pytest.raises(OutputError, match="No space left on device")
    with AtomicFile(tmp_path / "a.txt") as file, full_disk(tmp_path), full:
        file.write(b"x")


# --- folders --------------------------------------------------------------------------------------


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()  # an empty one is no obstacle
    with whole_folder(tmp_path / "kb") as folder:
        write_file(folder / "a", "new")
        assert list((tmp_path / "kb").iterdir()) == []
    assert (tmp_path / "kb" / "a").read_text() == "new"

    def fails() -> None:
        with whole_folder(tmp_path / "other") as folder:
            write_file(folder / "a", "new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert [path.name for path in tmp_path.iterdir()] == ["kb"]


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1500, "1.5 kB"),
        (999_960, "1.0 MB"),
        (4.2e6, "4.2 MB"),
        (12e9, "12.0 GB"),
        (10**18, "1,000,000.0 TB"),
    ],
)
def test_sizes_have_the_unit_that_shows_them(number: float, shown: str) -> None:
    assert size_text(number) == shown
