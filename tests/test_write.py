from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
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
    settle_folder,
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


def test_what_was_left_of_the_same_file_goes_after_an_hour(tmp_path: Path) -> None:
    for name, age in ((".a.txt.12-ab", 4000), (".a.txt.13-cd", 0), (".b.txt.12-ab", 4000)):
        left = tmp_path / f"{name}.partial"
        left.write_text("half")
        os.utime(left, (time.time() - age,) * 2)
    write_file(tmp_path / "a.txt", "whole")
    kept = [".a.txt.13-cd.partial", ".b.txt.12-ab.partial", "a.txt"]
    assert sorted(p.name for p in tmp_path.iterdir()) == kept


def test_many_processes_write_one_file_at_once(tmp_path: Path) -> None:
    """None takes the unlocked file of another for one that was left."""
    program = (
        "import sys; from pathlib import Path; from retgen.write import write_file\n"
        "for _ in range(400): write_file(Path(sys.argv[1]), b'the same')"
    )
    path = tmp_path / "a.txt"
    writers = [subprocess.Popen([sys.executable, "-c", program, path]) for _ in range(4)]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_bytes() == b"the same"


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
    full = pytest.raises(OutputError, match="the disk is full")
    with AtomicFile(tmp_path / "a.txt") as file, full_disk(tmp_path), full:
        file.write(b"x")


# folders that are replaced, and folders for a while

# replaces a folder; SIGKILL comes before the step with a number, of those that change what is where
REPLACE = """
import os, signal, sys
from pathlib import Path
from retgen.write import whole_folder, write_file

steps = iter(range(int(sys.argv[2]), -1, -1))

def step(event, args):
    if event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir") and next(steps) == 0:
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(step)
with whole_folder(Path(sys.argv[1]), replace=True) as folder:
    for name in ("a", "b"):
        write_file(folder / name, "new")
"""


def held(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_replaced_folder_is_the_old_or_the_new_one_whenever_it_is_killed(tmp_path: Path) -> None:
    """A kill between the two renames leaves no folder of that name; the old one is put back."""
    old, new = {"a": "old", "b": "old", "c": "old"}, {"a": "new", "b": "new"}
    met = []
    for number in range(100):
        parent = tmp_path / str(number)
        place = parent / "kb"
        place.mkdir(parents=True)
        for name, text in old.items():
            (place / name).write_text(text)
        done = subprocess.run([sys.executable, "-c", REPLACE, place, str(number)])
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        met.append(held(place) if place.exists() else None)
        assert settle_folder(place)
        assert held(place) == (met[-1] or old)
        assert [path.name for path in parent.iterdir()] == ["kb"]
    assert held(place) == new
    assert [path.name for path in parent.iterdir()] == ["kb"]
    before, between = met.index(None), met.count(None)
    assert met == [old] * before + [None] * between + [new] * (len(met) - before - between)
    assert between == 1


def test_what_another_process_writes_is_not_settled(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "kb") as folder:
        write_file(folder / "a", "new")
        assert not settle_folder(tmp_path / "kb")
        assert held(folder) == {"a": "new"}
    assert held(tmp_path / "kb") == {"a": "new"}


SCRATCH = """
import sys, time
from pathlib import Path
from retgen.write import scratch_folder
with scratch_folder("mine-", Path(sys.argv[1])) as folder:
    (folder / "half").write_text("x")
    print(folder, flush=True)
    time.sleep(60)
"""


@contextmanager
def working(room: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that works in a scratch folder of a room, and that folder."""
    words = [sys.executable, "-c", SCRATCH, str(room)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_scratch_folders_of_killed_processes_go_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "others").mkdir()
    with working(tmp_path) as (process, theirs):
        with scratch_folder("mine-", tmp_path) as folder:
            assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "others", theirs, folder])
        process.kill()
        process.wait()
        assert (theirs / "half").exists()
        with scratch_folder("mine-", tmp_path) as folder:
            assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "others", folder])
    assert list(tmp_path.iterdir()) == [tmp_path / "others"]


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
