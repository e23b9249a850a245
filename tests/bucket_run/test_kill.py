"""Runs in a bucket that were killed or stopped: what is finished is kept, whoever goes on."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from retgen import run, validate
from retgen.engines.ranks import Rank
from retgen.errors import DatasetError
from retgen.run import run_rank
from tests.bucket_run.bucket import CORPUS, HERE, LIMIT, TO, kill_at, start, stored, tables
from tests.publishing.s3_server import State, calm

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("request_", "number", "kept"),
    [
        ("PUT .lock", 1, 0), ("PUT recipe.yaml", 1, 0), (f"PUT {CORPUS[2]}", 1, 2),
        ("PUT .files.json", 6, 3), ("PUT report.html", 1, 4), (f"HEAD {CORPUS[1]}", 1, 4),
        ("PUT manifest.json", 1, 4),
    ],
)  # fmt: skip
def test_killed_and_gone_on_with_elsewhere(
    small: Path, s3: State, tmp_path: Path, request_: str, number: int, kept: int
) -> None:
    """What the bucket had is not made again."""
    method, name = request_.split()
    first = start(small, tmp_path / "first")
    kill_at(s3, number, f"{method} {HERE}{name}", lambda: first)
    assert first.wait(timeout=60) == -signal.SIGKILL
    calm(s3)
    first.communicate()
    s3.requests.clear()
    if name == ".files.json":  # what is put before a corpus file depends on when it was looked for
        noted = json.loads(s3.objects(HERE + name)[HERE + name])
        kept = sum("corpus" in one for one in noted)
        assert kept in (2, 3)
    second = run(small, out=TO, work=tmp_path / "second", workers=1)
    assert stored(s3) == tables(run(small, out=tmp_path / "alone", workers=1).path)
    made = [one for one in s3.writes() if "corpus" in one]
    assert len(made) == (4 - kept if name != "manifest.json" or not second.repeated else 0)
    if kept and not second.repeated:
        assert (
            f"kept {kept} corpus files of an earlier run" in (second.path / "run.log").read_text()
        )


def test_files_are_there_while_the_run_goes_on(s3: State, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(LIMIT.replace("6000", "600000").replace("4}", "12}"))
    first = start(tmp_path / "recipe.yaml", tmp_path / "first", "--workers", "1")
    kill_at(s3, 2, f"PUT {HERE}.tables.json", lambda: first)
    assert first.wait(timeout=120) == -signal.SIGKILL
    first.communicate()
    noted = json.loads(s3.objects(HERE + ".files.json")[HERE + ".files.json"])
    corpus = [name for name in noted if "corpus" in name]
    assert 0 < len(corpus) < 12
    assert {HERE + name for name in corpus} <= set(s3.keys())


def test_a_folder_goes_on_at_once_and_a_killed_run_is_waited_for(
    small: Path, s3: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETGEN_LEASE", "600")
    first = start(small, tmp_path / "first")
    kill_at(s3, 1, f"PUT {HERE}report.html", lambda: first)
    first.communicate(timeout=60)
    calm(s3)
    notes: list[str] = []

    def interrupt(stage: str, done: int, total: int, note: str = "", /) -> None:
        notes.append(f"{stage} {total} {note}")
        if stage == "waiting":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(small, out=TO, work=tmp_path / "second", progress=interrupt)
    (note,) = notes
    assert note.startswith(f"waiting 600 process {first.pid} on ")
    assert note.endswith("makes this run, or was killed")
    assert not run(small, out=TO, work=tmp_path / "first").repeated
    assert run(small, out=TO, work=tmp_path / "second").repeated


def test_a_merge_that_was_killed_goes_on_elsewhere(small: Path, s3: State, tmp_path: Path) -> None:
    for number in range(2):
        run_rank(small, Rank(number, 2), out=TO, work=tmp_path / str(number), workers=1)
    first = start(small, tmp_path / "first")
    kill_at(s3, 1, f"PUT {HERE}report.html", lambda: first)
    assert first.wait(timeout=60) == -signal.SIGKILL
    first.communicate()
    calm(s3)
    second = run(small, out=TO, work=tmp_path / "second")
    assert "kept 4 corpus files of an earlier run" in (second.path / "run.log").read_text()
    assert stored(s3) == tables(run(small, out=tmp_path / "alone").path)


def test_a_merge_that_was_killed_while_it_tidied_up(small: Path, s3: State, tmp_path: Path) -> None:
    for number in range(2):
        run_rank(small, Rank(number, 2), out=TO, work=tmp_path / str(number), workers=1)
    first = start(small, tmp_path / "first")
    kill_at(s3, 1, f"DELETE {HERE}.tables.json", lambda: first)
    assert first.wait(timeout=60) == -signal.SIGKILL
    first.communicate()
    calm(s3)
    assert s3.keys(HERE + ".parts/")
    assert run(small, out=TO, work=tmp_path / "second").repeated
    assert s3.keys(HERE + ".parts/") == s3.keys(HERE + ".tables") == []
    assert stored(s3) == tables(run(small, out=tmp_path / "alone").path)


def test_a_run_whose_last_words_did_not_arrive(small: Path, s3: State, tmp_path: Path) -> None:
    os.environ["AWS_MAX_ATTEMPTS"] = "1"
    s3.fault = lambda number, request: 503 if request == f"PUT {HERE}manifest.json" else None
    failed = start(small, tmp_path / "work")
    _, message = failed.communicate(timeout=60)
    assert failed.returncode == 4
    assert message.splitlines()[0] == (
        f"gen: {TO}: S3 did not answer as it should (SlowDown 503). What is finished is kept; the "
        "same command goes on"
    )
    with pytest.raises(DatasetError, match="holds no finished run: it has no manifest"):
        validate(TO)
    calm(s3)
    s3.requests.clear()
    assert not run(small, out=TO, work=tmp_path / "work").repeated
    assert validate(TO).ok
    assert [one for one in s3.writes() if "corpus" in one] == []


def test_a_signal_is_an_end_in_order(small: Path, s3: State, tmp_path: Path) -> None:
    """What is finished is put there, and the lock let go: another machine goes on at once."""
    sent = threading.Event()

    def before(request: str) -> None:
        if request == f"PUT {HERE}{CORPUS[1]}" and not sent.is_set():
            sent.set()
            first.send_signal(signal.SIGTERM)

    s3.before = before
    first = start(small, tmp_path / "first")
    _, message = first.communicate(timeout=60)
    assert first.returncode == 130
    assert message.startswith(
        "gen: interrupted; what is finished is kept. Resume with:\n  gen run "
    )
    calm(s3)
    assert set(CORPUS) <= set(json.loads(s3.objects(HERE)[HERE + ".files.json"]))
    began = time.monotonic()
    second = run(small, out=TO, work=tmp_path / "second")
    assert time.monotonic() - began < 3
    assert "kept 4 corpus files of an earlier run" in (second.path / "run.log").read_text()
