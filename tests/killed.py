"""`gen` in a process that kills itself at a step, so that no test depends on when it is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, signal, sys
from retgen.cli import main

name, left = sys.argv.pop(1), int(sys.argv.pop(1))

def step(event, args):
    global left
    if event == "os.rename" and os.path.basename(str(args[1])).startswith(name):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(step)
main()
"""


def gen_killed_at(name: str, number: int, *words: str | Path, cwd: Path) -> None:
    """Run `gen WORDS`; SIGKILL comes where the so many-th file whose name begins so would appear."""
    command = [sys.executable, "-c", PROGRAM, name, str(number), *map(str, words)]
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL)
    assert done.returncode == -signal.SIGKILL
