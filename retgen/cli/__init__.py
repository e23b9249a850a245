"""The command line, `gen`. Every command is a function of the package as well (`retgen.run`, ...).

Results go to stdout, progress (only on a terminal) and errors to stderr. Exit codes: 0 done; 1 the
data failed its checks; 2 usage, recipe or input error; 3 stopped at the budget; 4 the model did not
answer; 130 interrupted. The last three are resumable.

One handler of signals is installed before anything heavy is imported: a polite kill (SIGTERM), or a
terminal that goes away (SIGHUP), is an interruption like Ctrl-C, which cleans up and says how to
resume.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import Any

# each adds its commands to the application when it is imported
_COMMANDS = "run recipes check review share evaluate diagnose train sealed ledger".split()
_terminals: list[int] = []  # descriptors that were terminals at the start


def interruptible() -> None:
    """Let these signals raise `KeyboardInterrupt`."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    # nohup has it ignored
    if sys.platform == "win32" or signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        return
    _terminals[:] = [number for number in (0, 1, 2) if os.isatty(number)]

    def hang_up(*_: object) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the shell sends another one
        leave_terminal()
        raise KeyboardInterrupt

    signal.signal(signal.SIGHUP, hang_up)


def leave_terminal() -> bool:
    """Let what is written to a terminal that is gone go nowhere, or it fails; whether one is."""
    gone = [number for number in _terminals if not os.isatty(number)]
    for number in gone:
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    if gone:  # that it is gone is known, whether the signal has come yet or comes later
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return bool(gone)


def main() -> None:
    """Entry point of the command `gen`."""
    try:
        interruptible()
        __getattr__("app")()
    except KeyboardInterrupt:  # while modules are imported: nothing was begun
        print("gen: interrupted before anything was done", file=sys.stderr)
        sys.exit(130)


def __getattr__(name: str) -> Any:
    """`app`, with all commands."""
    if name != "app":
        raise AttributeError(name)
    for module in _COMMANDS:
        import_module(f"retgen.cli.{module}")
    return import_module("retgen.cli.base").app
