"""Two runs at one place of a bucket: at the same time, and one after the other."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from retgen import run
from retgen.errors import RunDirectoryError
from tests.bucket_run.bucket import CORPUS, HERE, LIMIT, TO, start, stored, tables
from tests.publishing.s3_server import State

pytestmark = pytest.mark.slow


def test_two_at_the_same_time(small: Path, s3: State, tmp_path: Path) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def before(request: str) -> None:
        if request == f"PUT {HERE}report.html":
            reached.set()
            go_on.wait(60)

    s3.before = before
    first = start(small, tmp_path / "first")
    assert reached.wait(60)
    second = start(small, tmp_path / "second")
    _, message = second.communicate(timeout=60)
    assert second.returncode == 2
    assert message.startswith(f"gen: {TO} is in use by another gen run (process {first.pid} on ")
    assert message.endswith("); wait for it, or choose another --out\n")
    go_on.set()
    assert first.communicate(timeout=60) == ("", "")
    assert first.returncode == 0
    assert stored(s3) == tables(run(small, out=tmp_path / "alone").path)


def test_a_run_that_was_taken_over_is_told(small: Path, s3: State, tmp_path: Path) -> None:
    stopped = threading.Event()

    def before(request: str) -> None:
        if request == f"PUT {HERE}{CORPUS[1]}" and not stopped.is_set():
            stopped.set()
            os.kill(first.pid, signal.SIGSTOP)

    first = start(small, tmp_path / "first")
    s3.before = before
    assert stopped.wait(60)
    assert not run(small, out=TO, work=tmp_path / "second").repeated
    whole = s3.objects(HERE)
    os.kill(first.pid, signal.SIGCONT)
    _, message = first.communicate(timeout=60)
    assert first.returncode == 2
    assert message.startswith(f"gen: {TO} was taken over by another gen run (process {os.getpid()}")
    assert s3.objects(HERE)[HERE + "manifest.json"] == whole[HERE + "manifest.json"]
    assert stored(s3) == tables(run(small, out=tmp_path / "alone").path)


def test_fresh_and_what_is_of_another_run(small: Path, s3: State, tmp_path: Path) -> None:
    first = run(small, out=TO, work=tmp_path / "one")
    other = tmp_path / "other.yaml"
    other.write_text(LIMIT.replace("6000", "500").replace("4}", "1}"))
    with pytest.raises(RunDirectoryError) as error:
        run(other, out=TO, work=tmp_path / "two")
    assert str(error.value) == (
        f"{TO} belongs to another recipe; it differs in params.docs, output.shards. Choose another "
        "--out, or throw away what is there with --fresh."
    )
    assert stored(s3) == tables(first.path)
    run(other, out=TO, work=tmp_path / "two", fresh=True)
    found = stored(s3)
    assert len(found["dataset/corpus.jsonl"].splitlines()) == 500
    assert not [name for name in found if name in CORPUS]
    # the folder of the first machine is of a run that is no more
    assert run(other, out=TO, work=tmp_path / "one").repeated
    assert found == stored(s3) == tables(run(other, out=tmp_path / "alone").path)


def test_a_slow_bucket_gets_nothing_of_another_run(small: Path, s3: State, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(LIMIT.replace("6000", "500").replace("4}", "1}"))
    run(other, out=TO, work=tmp_path / "one")
    first = run(small, out=TO, work=tmp_path / "two", fresh=True)
    before = stored(s3)
    s3.before = lambda request: time.sleep(5 * (request == f"GET {HERE}.files.json"))
    s3.requests.clear()
    assert run(small, out=TO, work=tmp_path / "one").repeated
    assert {one for one in s3.writes() if not one.endswith(".lock")} == set()
    assert stored(s3) == before == tables(first.path)
