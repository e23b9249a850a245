"""A PostgreSQL server of the tests' own, on loopback, with a password; a database for each test."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

USER, PASSWORD = "tester", "s3cr3t-w0rd"
_numbers = itertools.count()


class Postgres:
    """`kill` and `start` it as often as wanted: what it holds stays."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._process = folder, None
        found = [shutil.which("initdb"), *sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))]
        assert any(found), "install the package postgresql: the ledger's tests start a server"
        self._programs = Path(next(one for one in reversed(found) if one)).resolve().parent
        # the server refuses root
        self._as: dict[str, Any] = {"cwd": folder}
        if os.geteuid() == 0:
            user = pwd.getpwnam("nobody")
            os.chown(folder, user.pw_uid, user.pw_gid)
            self._as |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        self._call("initdb", "-D", "data", "-U", USER, "-A", "scram-sha-256", "--no-sync",
                   "--encoding=UTF8", "--locale=C.UTF-8", f"--pwfile={password}")  # fmt: skip
        self.start()

    def start(self) -> None:
        # a crash of the server is no crash of the machine, so nothing needs to be synchronised
        settings = {"listen_addresses": "127.0.0.1", "port": self.port, "fsync": "off",
                    "unix_socket_directories": self._folder, "shared_buffers": "16MB"}  # fmt: skip
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", "data", *options],
                stdout=log, stderr=log, **self._as,
            )  # fmt: skip
        until = time.monotonic() + 60
        while True:
            try:
                self.execute("SELECT 1")
            except psycopg.OperationalError:
                assert time.monotonic() < until, (self._folder / "log").read_text()
                time.sleep(0.05)
            else:
                return

    def stop(self, how: str = "immediate") -> None:
        """`immediate` is what a crash does, `fast` what an administrator does."""
        self._call("pg_ctl", "stop", "-D", "data", "-m", how)
        self._process.wait()

    def url(self, database: str = "postgres", *, user: str = USER, password: str = PASSWORD) -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def shown(self, database: str) -> str:
        """As `gen` may show it."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Its name."""
        name = f"ledger{next(_numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def execute(self, words: str, database: str = "postgres") -> list[Any]:
        """The rows of a statement, as the administrator."""
        with psycopg.connect(self.url(database), autocommit=True) as db:
            rows = db.execute(words)
            return rows.fetchall() if rows.description else []

    def _call(self, program: str, *args: object) -> None:
        words = [self._programs / program, *map(str, args)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **self._as)


@contextmanager
def running() -> Iterator[Postgres]:
    # not below pytest's folder, which only its user may enter
    with tempfile.TemporaryDirectory(prefix="retgen-postgres-") as folder:
        server = Postgres(Path(folder))
        try:
            yield server
        finally:
            server.stop()
