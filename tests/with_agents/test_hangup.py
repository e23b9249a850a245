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
from pathlib import Path
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


def command(recipe: Path, out: str) -> list[str]:
    return [sys.executable, "-m", "retgen.cli", "run", str(recipe), "--out", out]


def gen(recipe: Path, server: Server, *args: str) -> Done:
    return in_process(*args, cwd=recipe.parent, env=environment(server))


def test_a_hang_up_is_an_interruption(asked: Path) -> None:
    """What is in flight is waited for and kept; nothing is paid twice. A second one is ignored."""
    held = Held()
    with serving(held, delay=0.05) as server:
        held.server = server
        process = subprocess.Popen(
            command(asked, "runs/a"), env=environment(server), cwd=asked.parent,
            stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )  # fmt: skip
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
        parts = json.loads(
            gen(asked, server, "ledger", "--ledger", "runs/ledger.sqlite", "--json").stdout
        )["parts"]
        assert sum(part["open"] for part in parts) == 0
        assert gen(asked, server, "run", str(asked), "--out", "runs/a").returncode == 0
        asked_for = [json.dumps(one, sort_keys=True) for one in server.requests]
        assert len(asked_for) == len(set(asked_for))


@pytest.mark.slow
def test_a_terminal_that_is_gone(asked: Path) -> None:
    """Writing to it fails; what is in flight is kept all the same."""
    pty = pytest.importorskip("pty")
    held = Held()
    with serving(held, delay=0.05) as server:
        held.server = server
        ours, its = pty.openpty()
        process = subprocess.Popen(
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
        parts = json.loads(
            gen(asked, server, "ledger", "--ledger", "runs/ledger.sqlite", "--json").stdout
        )["parts"]
        assert sum(part["open"] for part in parts) == 0
        assert gen(asked, server, "run", str(asked), "--out", "runs/a").returncode == 0
        asked_for = [json.dumps(one, sort_keys=True) for one in server.requests]
        assert len(asked_for) == len(set(asked_for))


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
    held = Held()
    with serving(held, delay=0.05) as server:
        held.server = server
        process = subprocess.Popen(
            command(asked, "runs/a"), env=environment(server), cwd=asked.parent,
            stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )  # fmt: skip
        assert held.full.wait(60)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        held.released.set()
        assert "interrupted" not in process.communicate(timeout=120)[1]
        assert process.returncode == 0


@pytest.mark.slow
def test_a_killed_run_holds_no_other_back(asked: Path) -> None:
    """Another run directory of the same ledger wants what it had in flight; its lease is 660 s."""
    held = Held()
    with serving(held, delay=0.05) as server:
        held.server = server
        process = subprocess.Popen(command(asked, "runs/a"), env=environment(server),
                                   cwd=asked.parent)  # fmt: skip
        assert held.full.wait(60)
        process.kill()
        process.wait()
        held.released.set()
        began = time.monotonic()
        done = gen(asked, server, "run", str(asked), "--out", "runs/b")
        assert done.returncode == 0, done.stderr
        assert time.monotonic() - began < 60
        listed = gen(asked, server, "ledger", "--ledger", "runs/ledger.sqlite", "--json")
        parts = json.loads(listed.stdout)["parts"]
        out = {part["run"]: part["open"] for part in parts if part["open"]}
        assert set(out) == {"a"}  # it stays charged with what it had in flight


def test_lost_answers_stop_a_run_before_it_sends(asked: Path, server: Server) -> None:
    assert gen(asked, server, "run", str(asked), "--out", "runs/a").returncode == 0
    sent = len(server.requests)
    (asked.parent / "runs" / "ledger.sqlite").unlink()
    done = gen(asked, server, "run", str(asked), "--out", "runs/b")
    assert done.returncode == 2
    assert "ledger.sqlite is empty or gone; it held " in done.stderr
    assert "gen ledger check --accept --ledger " in done.stderr
    assert len(server.requests) == sent
