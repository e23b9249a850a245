"""A terminal that goes away is an interruption, and a killed run holds no other back."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from tests.agents.minds import mind
from tests.agents.server import Server, serving
from tests.command import Done, in_process
from tests.with_agents.conftest import environment

FREE = 8  # answers before the server makes the others wait


class Held:
    """Answers the first eight requests at once, and the others when it is told to."""

    def __init__(self) -> None:
        self.full, self.released = threading.Event(), threading.Event()
        self.server: Server | None = None

    def __call__(self, body: dict[str, Any]) -> str:
        assert self.server is not None
        if len(self.server.requests) > FREE and not self.released.is_set():
            self.full.set()
            self.released.wait(60)
        return mind(body)


@contextmanager
def holding() -> Iterator[tuple[Held, Server]]:
    held = Held()
    with serving(held, delay=0.05) as server:
        held.server = server
        yield held, server


def command(recipe: Path, out: str) -> list[str]:
    return [sys.executable, "-m", "retgen.cli", "run", str(recipe), "--out", out]


def gen(recipe: Path, server: Server, *args: str) -> Done:
    return in_process(*args, cwd=recipe.parent, env=environment(server))


def parts(recipe: Path, server: Server) -> list[dict[str, Any]]:
    """What the ledger holds, by run, agent and model."""
    listed = gen(recipe, server, "ledger", "--ledger", "runs/ledger.sqlite", "--json")
    result: list[dict[str, Any]] = json.loads(listed.stdout)["parts"]
    return result


def nothing_is_lost(recipe: Path, server: Server) -> None:
    """Every request has its answer, and the run ends without asking for one of them again."""
    assert sum(part["open"] for part in parts(recipe, server)) == 0
    assert gen(recipe, server, "run", str(recipe), "--out", "runs/a").returncode == 0
    requests = [json.dumps(one, sort_keys=True) for one in server.requests]
    assert len(requests) == len(set(requests))


def interrupted(recipe: Path, server: Server, on_hang_up: signal.Handlers) -> Popen[str]:
    """A run whose handling of a hang-up is as it was left to it."""
    return Popen(
        command(recipe, "runs/a"), env=environment(server), cwd=recipe.parent, text=True,
        stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGHUP, on_hang_up),
    )  # fmt: skip


@pytest.mark.slow
def test_a_hang_up_is_an_interruption(asked: Path) -> None:
    """What is in flight is waited for and kept; nothing is paid twice. A second one is ignored."""
    with holding() as (held, server):
        process = interrupted(asked, server, signal.SIG_DFL)
        assert held.full.wait(60)
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        message = ""
        while "waiting for what is in flight" not in message:
            line = process.stderr.readline()
            assert line, message
            message += line
        process.send_signal(signal.SIGHUP)  # as a shell does
        time.sleep(0.3)
        assert process.poll() is None
        sent = len(server.requests)
        held.released.set()
        message += process.communicate(timeout=60)[1]
        assert process.returncode == 130
        assert message.endswith(
            "gen: interrupted; what is finished is kept. Resume with:\n"
            f"  gen run {asked} --out runs/a\n"
        )
        assert len(server.requests) == sent
        nothing_is_lost(asked, server)


@pytest.mark.slow
def test_a_terminal_that_is_gone(asked: Path) -> None:
    """Writing to it fails; what is in flight is kept all the same."""
    pty = pytest.importorskip("pty")
    with holding() as (held, server):
        ours, its = pty.openpty()
        process = Popen(
            [sys.executable, "-c", "import os, fcntl, termios, sys; os.setsid(); "
             "fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])",
             *command(asked, "runs/a")],
            env=environment(server), cwd=asked.parent, stdin=its, stdout=its, stderr=its,
        )  # fmt: skip
        os.close(its)
        terminal = Terminal(ours)
        assert held.full.wait(60)
        terminal.close()
        time.sleep(0.5)
        held.released.set()
        assert process.wait(60) == 130
        nothing_is_lost(asked, server)


class Terminal:
    """Reads what is written to a terminal; `close` hangs up, since nobody else has its end."""

    def __init__(self, number: int) -> None:
        self._number, self._stop = number, threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def close(self) -> None:
        self._stop.set()
        self._reader.join()
        os.close(self._number)

    def _read(self) -> None:
        while not self._stop.is_set():
            if select.select([self._number], [], [], 0.05)[0]:
                os.read(self._number, 65536)


@pytest.mark.slow
def test_nohup_is_respected(asked: Path) -> None:
    with holding() as (held, server):
        process = interrupted(asked, server, signal.SIG_IGN)
        assert held.full.wait(60)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        held.released.set()
        assert "interrupted" not in process.communicate(timeout=120)[1]
        assert process.returncode == 0


@pytest.mark.slow
def test_a_killed_run_holds_no_other_back(asked: Path) -> None:
    """Another run directory of the same ledger wants what it had in flight; its lease is 660 s."""
    with holding() as (held, server):
        process = Popen(command(asked, "runs/a"), env=environment(server),
                                   cwd=asked.parent)  # fmt: skip
        assert held.full.wait(60)
        process.kill()
        process.wait()
        held.released.set()
        began = time.monotonic()
        done = gen(asked, server, "run", str(asked), "--out", "runs/b")
        assert done.returncode == 0, done.stderr
        assert time.monotonic() - began < 60
        out = {part["run"]: part["open"] for part in parts(asked, server) if part["open"]}
        assert set(out) == {"a"}  # it stays charged with what it had in flight


@pytest.mark.slow
def test_lost_answers_stop_a_run_before_it_sends(asked: Path, server: Server) -> None:
    assert gen(asked, server, "run", str(asked), "--out", "runs/a").returncode == 0
    sent = len(server.requests)
    (asked.parent / "runs" / "ledger.sqlite").unlink()
    done = gen(asked, server, "run", str(asked), "--out", "runs/b")
    assert done.returncode == 2
    assert "ledger.sqlite is empty or gone; it held " in done.stderr
    assert "gen ledger check --accept --ledger " in done.stderr
    assert len(server.requests) == sent
