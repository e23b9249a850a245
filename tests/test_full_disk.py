"""A disk that fills in the middle: said as what it is, and the same command goes on with room.

The disk is a small file system in memory, which the test mounts in a namespace of its own.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from retgen import run
from tests.test_run import digests

RECIPE = """name: disk
family: limit
output: {format: FORMAT, shards: 4}
params: {pattern: dense, docs: 5000, queries: 100, k: 2, attributes_per_doc: 20}
"""
# two processes from the first document on, and a proof in parts, which pay from seconds of work on
COMMAND = """
import sys
import retgen.work.local, retgen.validation.scan
from retgen.cli import main

if __name__ == "__main__":
    retgen.work.local.START = 0.0
    scan = sys.modules["retgen.validation.scan"]
    scan.MOST = 400_000
    main()
"""
# mounts a small disk, runs, makes it larger, runs again, and saves what is there
SCRIPT = """
mount -t tmpfs -o size=$2 tmpfs "$1" || exit 90
shift 2
"$@" 2> first.txt
echo $? > first.rc
ls -A out/dataset > left.txt
mount -o remount,size=40m "$SMALL"
"$@" 2> second.txt
echo $? > second.rc
cp -r out saved
"""


@functools.cache
def namespace() -> list[str]:
    """The command that gives a process mounts of its own; skips where the system has none."""
    for command in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        if (
            shutil.which("unshare")
            and not subprocess.run(
                [*command, "sh", "-c", "mount -t tmpfs tmpfs /mnt"], capture_output=True
            ).returncode
        ):
            return command
    pytest.skip("needs `unshare` (util-linux), and either root or user namespaces, to mount a disk")


def fill(folder: Path, small: str, size: str, form: str, workers: int) -> tuple[str, list[str]]:
    """A run on a small disk, then on a larger one, which ends with the same bytes as any other.

    (what the first one says, what it leaves in dataset/)
    """
    (folder / "disk.yaml").write_text(RECIPE.replace("FORMAT", form))
    (folder / "command.py").write_text(COMMAND)
    whole = run(folder / "disk.yaml", out=folder / "whole").path
    (folder / small).mkdir(parents=True)
    if small != "out":  # as a run begins, so that what it finds is its own
        shutil.copy(whole / "recipe.yaml", folder / "out")
    call = f"command.py run disk.yaml --out out -q --workers {workers}".split()
    subprocess.run(
        [*namespace(), "sh", "-c", SCRIPT, "sh", small, size, sys.executable, *call],
        cwd=folder,
        check=True,
        timeout=120,
        env={**os.environ, "SMALL": small},
    )
    assert (folder / "first.rc").read_text() == "2\n"
    assert (folder / "second.txt").read_text() == ""
    assert (folder / "second.rc").read_text() == "0\n"
    left = (folder / "left.txt").read_text().split()
    assert digests(folder / "saved") == digests(whole)
    return (folder / "first.txt").read_text(), left


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "workers"),
    [("jsonl", 1), *(pytest.param(n, 2, marks=pytest.mark.slow) for n in ("jsonl", "parquet"))],
)
def test_while_documents_are_written(tmp_path: Path, form: str, workers: int) -> None:
    size = "1024k" if form == "jsonl" else "448k"
    text, left = fill(tmp_path, "out/dataset", size, form, workers)
    names = [f"corpus-{number:05}-of-00004.{form}" for number in range(4)]
    assert text in [
        f"gen: cannot write out/dataset/{name}: No space left on device. What was finished before is "
        "kept: free some space and run the same command again.\n"
        for name in names
    ]
    assert set(left) < set(names)  # whole files, and no half of one
    assert left


# mounts a small disk, runs, makes it larger, runs again, and saves what is there
ANY = """
mount -t tmpfs -o size=$1 tmpfs small || exit 90
shift
"$@" > first.out 2> first.txt
echo $? > first.rc
mount -o remount,size=600m small
"$@" > second.out 2> second.txt
echo $? > second.rc
cp -r small saved
"""


def twice(folder: Path, size: str, *words: str | Path) -> str:
    """What `gen` with these words says while `folder`/small has no room; then it has, and it is
    done.
    """
    (folder / "small").mkdir()
    command = [sys.executable, "-m", "retgen.cli", *map(str, words)]
    subprocess.run(
        [*namespace(), "sh", "-c", ANY, "sh", size, *command],
        cwd=folder,
        check=True,
        timeout=300,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert (folder / "first.rc").read_text() == "2\n"
    assert (folder / "second.txt").read_text() == ""
    assert (folder / "second.rc").read_text() == "0\n"
    return (folder / "first.txt").read_text()


@pytest.mark.slow
def test_no_room_for_temporary_files(tmp_path: Path) -> None:
    """Of a library: who tells languages unpacks 40 MB."""
    (tmp_path / "kb.yaml").write_text("name: kb\nfamily: capretrieval\nparams: {}\n")
    (tmp_path / "small").mkdir()
    script = (
        'mount -t tmpfs -o size=1m tmpfs small || exit 90; TMPDIR=$PWD/small "$@" 2> first.txt; '
        "echo $? > first.rc"
    )
    call = "-m retgen.cli run kb.yaml --out out -q".split()
    subprocess.run(
        [*namespace(), "sh", "-c", script, "sh", sys.executable, *call],
        cwd=tmp_path,
        check=True,
        timeout=120,
    )
    assert (tmp_path / "first.rc").read_text() == "2\n"
    assert (tmp_path / "first.txt").read_text() == (
        f"gen: cannot write {tmp_path}/small: the disk is full. What was finished before is kept: "
        "free some space, or name another folder for temporary files with TMPDIR, and run the same "
        "command again.\n"
    )


def test_while_a_list_grows(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "grow.py").write_text(
        "from retgen.errors import OutputError\nfrom retgen.on_disk import DiskList\n"
        "try:\n    DiskList(['a' * 100_000] * 100)\nexcept OutputError as error:\n    print(error)\n"
    )
    script = 'mount -t tmpfs -o size=1m tmpfs small || exit 90; TMPDIR=$PWD/small "$@"'
    said = subprocess.run(
        [*namespace(), "sh", "-c", script, "sh", sys.executable, "grow.py"],
        cwd=tmp_path,
        check=True,
        timeout=120,
        capture_output=True,
        text=True,
    ).stdout
    assert said.startswith(f"cannot write {tmp_path}/small: No space left on device.")


@pytest.mark.slow
def test_while_embeddings_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETGEN_CACHE", "small/cache")
    made = run("limit_small", out=tmp_path / "run", overrides={"params.docs": 3000}).path
    words = ("eval", made, "--model", "static:minilm", "--out", "out", "-q")
    message = twice(tmp_path, "1m", *words)
    assert "small/cache/" in message
    assert (
        "this cache of embeddings cannot be used (database or disk is full). Free some" in message
    )
    assert len(message.splitlines()) == 1
