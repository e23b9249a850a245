"""One handler of signals for every command: an interruption cleans up and says how to resume.

A polite kill (SIGTERM), or a terminal that goes away (SIGHUP), is an interruption like Ctrl-C.
Nothing heavy is imported here, since it is installed before anything else is.
"""

from __future__ import annotations

import os
import signal
import sys

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
