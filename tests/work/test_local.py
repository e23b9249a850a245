"""Processes that end with the one they work for, and runs that go on after that."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.test_run import digests

LONG = bool(os.environ.get("RETGEN_LONG_PROOFS"))

# two workers write their process ids, then sleep through whatever the parent does
BUSY = """
import os, signal, sys, time
from pathlib import Path
from retgen.work.local import process_pool

def sleep(number):
    Path(sys.argv[1], f"{number}").write_text(str(os.getpid()))
    Path(sys.argv[1], f"{number}").rename(Path(sys.argv[1], f"{number}.pid"))
    time.sleep(600)

if __name__ == "__main__":
    # tests in the background of a shell ignore Ctrl-C, and so does what they start
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with process_pool(2) as pool:
        tasks = [pool.submit(sleep, number) for number in range(2)]
        while not all(Path(sys.argv[1], f"{n}.pid").exists() for n in range(2)):
            time.sleep(0.01)
        Path(sys.argv[1], "ready").touch()
        {then}
"""


def start(folder: Path, then: str) -> tuple[subprocess.Popen[str], list[int]]:
    script = folder / "busy.py"
    script.write_text(BUSY.replace("{then}", then))
    process = subprocess.Popen([sys.executable, script, folder], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not (folder / "ready").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    return process, [int((folder / f"{number}.pid").read_text()) for number in range(2)]


def ended(processes: list[int]) -> bool:
    """Whether all end within some seconds; one that only waits to be reaped has ended."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if not any(alive(process) for process in processes):
            return True
        time.sleep(0.01)
    return False


def alive(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


def test_workers_end_with_a_parent_that_is_killed_alone(tmp_path: Path) -> None:
    parent, workers = start(tmp_path, "time.sleep(600)")
    assert all(alive(worker) for worker in workers)
    parent.kill()
    assert ended(workers)
    # Python's own tracker of resources may say that it cleaned up
    assert "Traceback" not in parent.communicate(timeout=120)[1]
    assert parent.returncode == -signal.SIGKILL


def test_an_error_does_not_wait_for_work_that_is_of_no_use(tmp_path: Path) -> None:
    parent, workers = start(tmp_path, "raise SystemExit(7)")
    assert parent.communicate(timeout=120)[1] == ""
    assert parent.returncode == 7
    assert ended(workers)


def test_ctrl_c_reaches_the_group_and_one_answers(tmp_path: Path) -> None:
    parent, workers = start(tmp_path, "time.sleep(600)")
    for process in (*workers, parent.pid):
        os.kill(process, signal.SIGINT)
    stderr = parent.communicate(timeout=120)[1]
    assert ended(workers)
    assert stderr.count("Traceback") == 1  # that of the script, which does not catch it
    assert stderr.endswith("KeyboardInterrupt\n")


@pytest.mark.parametrize(
    ("documents", "kills"),
    [
        pytest.param(300_000, 5, marks=pytest.mark.slow),
        pytest.param(1_000_000, 15, marks=pytest.mark.skipif(not LONG, reason="make proof")),
    ],
)
def test_the_parent_killed_alone_again_and_again(
    tmp_path: Path, documents: int, kills: int
) -> None:
    """As a system that runs out of memory does; the same command at once, and the same bytes."""
    recipe = tmp_path / "shards.yaml"
    recipe.write_text(
        "name: shards\nfamily: limit\noutput: {shards: 12}\nparams: {pattern: dense, "
        f"docs: {documents}, queries: 1000, k: 2, attributes_per_doc: 45}}\n"
    )
    command = [sys.executable, *f"-m retgen.cli run {recipe} -q --workers 2 --out".split()]
    began = time.monotonic()
    subprocess.run([*command, str(tmp_path / "whole")], check=True, timeout=1800)
    took = time.monotonic() - began
    whole = digests(tmp_path / "whole")
    assert len(whole) == 12 + 3
    chance = random.Random(documents)
    done, number = 0, 0
    while done < kills or number == 0:
        number += 1
        out = tmp_path / f"killed{number}"
        while True:
            process = subprocess.Popen([*command, str(out)], stderr=subprocess.PIPE, text=True)
            if done < kills:
                try:
                    process.wait(chance.uniform(0.02, 0.9) * took)
                except subprocess.TimeoutExpired:
                    process.kill()
                    done += 1
                    process.communicate(timeout=120)  # ends when its workers, who share it, do
                    continue
            stderr = process.communicate(timeout=1800)[1]
            break
        assert (process.returncode, stderr) == (0, "")
        assert digests(out) == whole
        left = [path.name for path in out.rglob(".*") if path.name not in (".lock",)]
        assert left == []
