"""A terminal that goes away is an interruption."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path
from subprocess import Popen

import pytest

from tests.agents.server import Server
from tests.with_agents.conftest import arrived, begin, environment, gen_at, holding, read_to

pytestmark = pytest.mark.slow
FREE = 8  # answers before the server makes the others wait


def nothing_is_lost(recipe: Path, server: Server) -> None:
    """Every request has its answer, and the run ends without asking for one of them again."""
    gen = gen_at(server, recipe.parent)
    listed = json.loads(gen("ledger", "--ledger", "runs/ledger.sqlite", "--json").stdout)
    assert sum(part["open"] for part in listed["parts"]) == 0
    assert gen("run", recipe, "--out", "runs/a").returncode == 0
    assert set(server.worked.values()) == {1}


def test_a_hang_up_is_an_interruption(asked: Path) -> None:
    """What is in flight is waited for and kept; nothing is paid twice. A second one is ignored."""
    with holding(FREE) as (server, full, released):
        process = begin(asked, server, signal.SIGHUP)
        assert full.wait(120)
        process.send_signal(signal.SIGHUP)
        message = read_to(process, "waiting for what is in flight")
        process.send_signal(signal.SIGHUP)  # as a shell does
        time.sleep(0.3)
        assert process.poll() is None
        sent = arrived(server, asked.parent / "runs" / "ledger.sqlite")
        released.set()
        message += process.communicate(timeout=120)[1]
        assert process.returncode == 130
        assert message.endswith(
            "gen: interrupted; what is finished is kept. Resume with:\n"
            f"  gen run {asked} --out runs/a\n"
        )
        assert len(server.requests) == sent
        nothing_is_lost(asked, server)


def test_nohup_is_respected(asked: Path) -> None:
    with holding(FREE) as (server, full, released):
        process = begin(asked, server, signal.SIGHUP, signal.SIG_IGN)
        assert full.wait(120)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        released.set()
        assert "interrupted" not in process.communicate(timeout=120)[1]
        assert process.returncode == 0


# a session of its own, whose terminal is stdin; that tests may run under nohup is not inherited
LEADER = (
    "import os, fcntl, signal, termios, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


def test_a_terminal_that_is_gone(asked: Path) -> None:
    """Writing to it fails; what is in flight is kept all the same."""
    pty = pytest.importorskip("pty")
    with holding(FREE) as (server, full, released):
        ours, its = pty.openpty()
        command = [sys.executable, "-m", "retgen.cli", "run", str(asked), "--out", "runs/a"]
        process = Popen(
            [sys.executable, "-c", LEADER, *command],
            env=environment(server),
            cwd=asked.parent,
            stdin=its,
            stdout=its,
            stderr=its,
        )
        os.close(its)
        hung_up = threading.Event()

        def read() -> None:
            while not hung_up.is_set():
                if select.select([ours], [], [], 0.05)[0]:
                    os.read(ours, 65536)
            os.close(ours)  # nobody else has this end

        terminal = threading.Thread(target=read, daemon=True)
        terminal.start()
        assert full.wait(120)
        hung_up.set()
        terminal.join()
        time.sleep(0.5)
        released.set()
        assert process.wait(120) == 130
        nothing_is_lost(asked, server)
