"""Several processes: the same bytes, and Ctrl-C while they work."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import retgen.work.local
from retgen import run
from tests.generators.capretrieval.texts import write_recipe, write_rows
from tests.with_agents.conftest import contents
from tests.work.test_local import alive, ended

PARTS = ("dataset", "training")
BATCHES = 5  # of documents
# `gen` whose workers start with the first batch, however fast this machine is
COMMAND = """
import retgen.work.local
from retgen.cli import main

if __name__ == "__main__":
    retgen.work.local.START = 0.0
    main()
"""


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty long documents, in five batches of 300,000 characters."""
    draw = random.Random(0)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    texts = []
    for _ in range(60):
        names = ["".join(draw.choices(syllables, k=3)) for _ in range(200)]
        sentences = (
            "The {} of the {} is kept in a {} near the {}, and it was made for {}.".format(
                *draw.choices(names, k=5)
            )
            for _ in range(320)
        )
        texts.append(" ".join(sentences))
    size = sum(map(len, texts))
    assert BATCHES * 300_000 < size < 1.2 * BATCHES * 300_000
    folder = tmp_path_factory.mktemp("processes")
    return write_recipe(folder / "kb.yaml", write_rows(folder / "kb.jsonl", texts))


@pytest.fixture(scope="module")
def alone(recipe: Path) -> Path:
    """The run in one process."""
    began = children_seconds()
    result = run(recipe, out=recipe.parent / "one", workers=1).path
    assert children_seconds() == began
    return result


def children_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def assert_same(one: Path, other: Path) -> None:
    for part in PARTS:
        assert contents(one / part) == contents(other / part), part
    assert (one / "rejected.jsonl").read_bytes() == (other / "rejected.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 3])
def test_bytes_do_not_depend_on_the_number_of_processes(
    recipe: Path, alone: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = children_seconds()
    # reason: starting processes is worth it from seconds of work on; the threshold is no behaviour
    monkeypatch.setattr(retgen.work.local, "START", 0.0)
    result = run(recipe, out=recipe.parent / f"of_{workers}", workers=workers).path
    assert children_seconds() > began  # others did the work
    assert_same(alone, result)


def workers_of(parent: int) -> list[int]:
    """The worker processes of a process, also those that have only just been started."""
    result = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            stat = (one / "stat").read_text().rpartition(")")[2].split()
            line = (one / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if int(stat[1]) == parent and b"multiprocessing.spawn" in line:
            result.append(int(one.name))
    return result


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
@pytest.mark.parametrize("seconds", [0, 2])
def test_ctrl_c_while_processes_start_and_work(
    recipe: Path, alone: Path, tmp_path: Path, seconds: float
) -> None:
    """It reaches the whole group. Nothing of it is left, and the same command ends the same."""
    command = [
        sys.executable,
        "-c",
        COMMAND,
        "run",
        str(recipe),
        "--workers",
        "2",
        "--out",
        "out",
    ]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # where the tests run in the background, SIGINT may be ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until = time.monotonic() + 120
    while len(workers := workers_of(process.pid)) < 2 and time.monotonic() < until:
        time.sleep(0.005)
    time.sleep(seconds)
    workers = sorted({*workers, *workers_of(process.pid)})
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    stderr = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert stderr == (
        "gen: interrupted; what is finished is kept. Resume with:\n"
        f"  gen run {recipe} --workers 2 --out out\n"
    )
    assert ended(workers)
    assert not any(map(alive, workers))
    assert not (tmp_path / "out" / "manifest.json").exists()
    subprocess.run([*command, "-q"], cwd=tmp_path, check=True)
    assert_same(alone, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
def test_a_killed_worker_costs_its_work_alone(recipe: Path, alone: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        COMMAND,
        "run",
        str(recipe),
        "--workers",
        "2",
        "--out",
        "out",
        "-q",
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    killed = 0
    while not killed and time.monotonic() < until:
        time.sleep(0.05)
        for worker in workers_of(process.pid)[1:]:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(worker, signal.SIGKILL)
                killed = worker
                break
    assert killed
    assert process.communicate(timeout=300)[1] == ""
    assert process.returncode == 0
    assert_same(alone, tmp_path / "out")
