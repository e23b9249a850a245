"""The command `gen` within this process, which has its imports already: no start-up for each call.

The process is lent to it: folder, environment, arguments, output (at the level of file
descriptors), handlers of signals and of logs are as `gen` finds them in a process of its own, and
afterwards as they were.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from retgen.cli import app

Done = subprocess.CompletedProcess[str]
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def in_process(
    *args: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Done:
    """What `gen ARGS` prints in a folder, and its exit code; `env` is the whole environment."""
    assert threading.current_thread() is threading.main_thread(), "beside this: as a process"
    words = [str(word) for word in args]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _written_to(out, err), _lent(cwd or Path(), os.environ if env is None else env, words):
            code = _exit_code(words)
        message = (_text(out), _text(err))
    return subprocess.CompletedProcess(["gen", *words], code, *message)


def _exit_code(words: list[str]) -> int:
    try:
        app(words, prog_name="gen")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:  # what nobody caught is shown, as the interpreter does
        traceback.print_exc()
        return 1
    return 0


@contextlib.contextmanager
def _written_to(out: IO[bytes], err: IO[bytes]) -> Iterator[None]:
    """stdout and stderr go to these files, also for who writes to the descriptors."""
    before = sys.stdout, sys.stderr
    kept = {number: os.dup(number) for number in (1, 2)}
    try:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        with (
            open(1, "w", encoding="utf-8", closefd=False) as sys.stdout,
            open(
                2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
            ) as sys.stderr,
        ):
            yield
    finally:
        sys.stdout, sys.stderr = before
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)


@contextlib.contextmanager
def _lent(cwd: Path, env: Mapping[str, str], words: list[str]) -> Iterator[None]:
    folder, environment, argv = Path.cwd(), dict(os.environ), sys.argv
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    root = logging.getLogger()
    logs, level = list(root.handlers), root.level
    try:
        os.chdir(cwd)
        _set_environment(dict(env))
        sys.argv = ["gen", *words]
        with warnings.catch_warnings():
            yield
    finally:
        sys.argv = argv
        _set_environment(environment)
        os.chdir(folder)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        root.handlers[:] = logs
        root.setLevel(level)


def _set_environment(env: dict[str, str]) -> None:
    for name in set(os.environ) - set(env):
        del os.environ[name]
    os.environ.update(env)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8").replace("\r\n", "\n")
