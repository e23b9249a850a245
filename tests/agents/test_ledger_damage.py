"""A file that is no ledger is left alone; a damaged one is saved by what the message says."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from retgen.agents.ledger import Ledger
from tests.agents.ledgers import fill, gen, sound


def overwrite(path: Path, page: int) -> None:
    with open(path, "r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(b"\xff" * 4096)


@pytest.mark.parametrize("how", ["index", "last page", "cut off"])
def test_what_can_be_read_is_saved(path: Path, how: str) -> None:
    assert shutil.which("sqlite3"), "install the package sqlite3: the documented command needs it"
    ledger = Ledger(path)
    with ledger.together():
        fill(ledger, 300)
    ledger.close()
    size = path.stat().st_size
    if how == "cut off":
        os.truncate(path, size - 5000)
    else:
        overwrite(path, page_of(path, "ix_sends_key") if how == "index" else size // 4096)
    done = gen("check", "--ledger", path)
    assert (done.returncode, done.stderr) == (1, "")
    result = re.search(r"(sqlite3 .*), then gen (ledger check --accept --ledger .*)", done.stdout)
    assert result is not None, done.stdout
    # rows that are cut in two are reported, and left out
    subprocess.run(result[1], shell=True, stderr=subprocess.DEVNULL, check=False)
    accepted = gen(*result[2].split()[1:])
    assert accepted.stderr == ""
    (counts, *rest) = accepted.stdout.splitlines()
    number = re.search(r"(\d+) answered$", counts)
    assert number is not None, counts
    if how == "cut off":
        assert accepted.returncode == 1
        assert rest[0].startswith("wrong: a: requests whose text is not that of their key: ")
        assert 250 < int(number[1]) < 300
        saved = path.with_name("saved.sqlite")
        done = gen("export", path.with_name("answers.jsonl"), "--ledger", saved)
        assert (done.returncode, done.stderr) == (
            2,
            f"gen: {saved}: a request of write cannot be read: gen ledger check says what to do\n",
        )
        return
    assert rest == ["sound: nothing is missing, and the sums are those of the requests"]
    assert (how, int(number[1])) in (("index", 300), ("last page", 293))
    sound(path.with_name("saved.sqlite"), int(number[1]))


def page_of(path: Path, name: str) -> int:
    db = sqlite3.connect(path)
    (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    db.close()
    return int(page)


def test_a_damaged_ledger_says_what_to_do(path: Path) -> None:
    ledger = Ledger(path)
    fill(ledger, 3)
    ledger.close()
    overwrite(path, page_of(path, "parts"))
    done = gen("--ledger", path)
    assert (done.returncode, done.stdout) == (2, "")
    saved = path.with_name("saved.sqlite")
    assert done.stderr == (
        f"gen: {path}: the ledger is damaged (database disk image is malformed). `gen ledger check "
        f"--ledger {path}` says more. Put a whole copy back, or save what can be read: sqlite3 "
        f"{path} .dump | sed 's/^ROLLBACK;.*/COMMIT;/' | sqlite3 {saved}, then gen ledger check "
        f"--accept --ledger {saved}\n"
    )
    overwrite(path, 1)
    assert gen("--ledger", path).stderr == (
        f"gen: {path}: the ledger is damaged (file is not a database): its first page is gone, and "
        "nothing can be read without it. Put a whole copy back, or name another with --ledger\n"
    )
    path.with_name("ledger.sqlite.state").unlink()
    done = gen("--ledger", path)
    assert done.stderr == (
        f"gen: {path} is no ledger (file is not a database): name another with --ledger\n"
    )


@pytest.mark.parametrize("content", ["nothing", "no table"])
@pytest.mark.parametrize(
    "args",
    ["", "check", "check --accept", "forget --state open", "prune --yes", "copy c", "export e"],
)
def test_an_empty_file_is_no_ledger(tmp_path: Path, content: str, args: str) -> None:
    path = tmp_path / "empty.sqlite"
    path.touch()
    if content == "no table":
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 1")
        db.close()
    before = path.read_bytes()
    assert bool(before) == (content == "no table")
    done = gen(*args.split(), "--ledger", path, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gen: {path} is empty: it holds no ledger. Name another with --ledger\n"
    assert [one.name for one in tmp_path.iterdir()] == ["empty.sqlite"]
    assert path.read_bytes() == before
    Ledger(path).close()  # a run that was killed while it made one goes on
    sound(path, 0)
