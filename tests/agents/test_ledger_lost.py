"""A ledger that went back in time is noticed before anything is sent, and a sound one never is."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from retgen.agents.ledger import Ledger, LedgerAnswer, LostAnswers
from retgen.agents.ledger.care import check
from retgen.agents.ledger.file import salvage
from retgen.errors import UsageError
from tests.agents.ledgers import fill, read_to, reserve, send, sound, worker

FILES = ("", "-wal", "-shm", ".state")


def copied(path: Path, folder: Path, *ends: str) -> Path:
    folder.mkdir()
    for end in ends:
        shutil.copy(path.with_name(path.name + end), folder / (path.name + end))
    return folder / path.name


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("left") / "ledger.sqlite"
    process = worker(path, "answer", 5)
    read_to(process, 4)
    process.kill()
    process.communicate()
    return path


@pytest.fixture
def killed(left: Path, path: Path) -> Path:
    """What a killed process left: five answers, all of them in the -wal."""
    for end in FILES:
        shutil.copy(left.with_name(left.name + end), path.with_name(path.name + end))
    return path


# --- what is noticed ----------------------------------------------------------------------------


def message(path: Path, what: str) -> str:
    return (
        f"{path} {what}. Nothing was sent. Put the missing file back (ledger.sqlite, "
        "ledger.sqlite-wal and ledger.sqlite.state belong together), or go on with what is there, "
        "pay again for what is not, and have what it cost no longer counted against --max-usd: "
        f"gen ledger check --accept --ledger {path}"
    )


def test_a_wal_that_was_lost_and_put_back(killed: Path, tmp_path: Path) -> None:
    wal = killed.with_name("ledger.sqlite-wal")
    wal.rename(tmp_path / "away")
    text = message(
        killed,
        "lacks 5 of 5 answers that were paid for: it went back by 10 changes (its -wal file was "
        "lost, or an older copy was put in its place)",
    )
    for _ in range(2):  # having looked changes nothing
        with pytest.raises(LostAnswers, match=f"^{re.escape(text)}$"):
            Ledger(killed)
        assert not wal.exists()
    (tmp_path / "away").rename(wal)
    sound(killed, 5)


@pytest.mark.parametrize("ends", [("",), ("", ".state"), ("", "-shm", ".state")])
def test_a_copy_without_its_wal(killed: Path, tmp_path: Path, ends: tuple[str, ...]) -> None:
    copy = copied(killed, tmp_path / "copy", *ends)
    what = (
        "lacks 5 of 5 answers that were paid for: it went back by 10 changes (its -wal file was "
        "lost, or an older copy was put in its place)"
        if ".state" in ends
        else "was in use, and its -wal file is not there: it was lost, or left behind in a copy, "
        "so the number of missing answers is unknown"
    )
    with pytest.raises(LostAnswers) as error:
        Ledger(copy)
    assert str(error.value) == message(copy, what)
    assert sorted(one.name for one in copy.parent.iterdir()) == sorted(
        f"ledger.sqlite{end}" for end in ends
    )
    accepted = Ledger(copy, accept=True)
    assert list(accepted.answers()) == []
    fill(accepted, 2)
    accepted.close()
    sound(copy, 2)


def test_an_older_copy_in_its_place(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path)
    fill(ledger, 3)
    ledger.close()
    copy = copied(path, tmp_path / "copy", "")
    ledger = Ledger(path)
    fill(ledger, 4, first=3)
    ledger.close()
    shutil.copy(copy, path)
    with pytest.raises(LostAnswers, match=r"ledger\.sqlite lacks 4 of 7 answers .* 8 changes"):
        Ledger(path)


def test_a_database_that_is_gone_empty_or_another(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path)
    fill(ledger, 3)
    ledger.close()
    other = Ledger(tmp_path / "other.sqlite")
    fill(other, 1)
    other.close()
    path.unlink()
    gone = "is empty or gone; it held 3 answers"
    for make, what in (
        (lambda: None, gone),
        (path.touch, gone),
        (
            lambda: shutil.copy(tmp_path / "other.sqlite", path),
            "is another ledger than the one that was here, which held 3 answers",
        ),
    ):
        make()
        with pytest.raises(LostAnswers) as error:
            Ledger(path)
        assert str(error.value) == message(path, what)
    Ledger(path, accept=True).close()
    sound(path, 1)


def test_a_file_that_was_cut_off(path: Path) -> None:
    ledger = Ledger(path)
    with ledger.transaction():
        fill(ledger, 200)
    ledger.close()
    whole = path.stat().st_size
    os.truncate(path, whole - 5000)
    with pytest.raises(LostAnswers) as error:
        Ledger(path)
    assert str(error.value) == (
        f"{path} is cut off: {whole - 5000:,} of its {whole:,} bytes are there. Nothing was sent. "
        f"Put the whole file back, or {salvage(path)}"
    )
    with pytest.raises(LostAnswers):
        Ledger(path, accept=True)


def test_nothing_is_accepted_while_others_use_it(killed: Path) -> None:
    ledger = Ledger(killed)
    with pytest.raises(Exception, match="is in use: end the runs that have it open first"):
        Ledger(killed, accept=True)
    ledger.close()


# --- what is no loss ----------------------------------------------------------------------------


def test_copies_that_are_whole(killed: Path, tmp_path: Path) -> None:
    sound(copied(killed, tmp_path / "all", *FILES), 5)
    sound(copied(killed, tmp_path / "three", "", "-wal", ".state"), 5)
    sound(copied(killed, tmp_path / "two", "", "-wal"), 5)
    sound(killed, 5)
    sound(copied(killed, tmp_path / "closed", ""), 5)


def test_another_tool_has_read_it(killed: Path) -> None:
    """The shell of SQLite moves the -wal into the database and removes it."""
    with sqlite3.connect(killed) as db:
        assert db.execute("SELECT count(*) FROM sends").fetchone() == (5,)
    db.close()
    assert not killed.with_name("ledger.sqlite-wal").exists()
    sound(killed, 5)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: state.unlink(),
        lambda state: os.truncate(state, 0),
        lambda state: os.truncate(state, 50),
        lambda state: state.write_bytes(bytes(128)),
        lambda state: state.write_bytes(state.read_bytes().replace(b" 10 5 ", b" 99 5 ")),
        lambda state: state.write_bytes(b"\xff" * 300),
    ],
)
@pytest.mark.parametrize("closed", [False, True])
def test_a_state_file_that_a_power_failure_left(
    killed: Path, spoil: Callable[[Path], object], closed: bool
) -> None:
    if closed:
        sound(killed, 5)
    spoil(killed.with_name("ledger.sqlite.state"))
    sound(killed, 5)
    sound(killed, 5)


def test_a_state_file_that_is_behind(killed: Path, tmp_path: Path) -> None:
    old = copied(killed, tmp_path / "old", ".state").with_name("ledger.sqlite.state")
    ledger = Ledger(killed)
    fill(ledger, 4, first=5)
    ledger.close()
    shutil.copy(old, killed.with_name("ledger.sqlite.state"))
    sound(killed, 9)


@pytest.mark.slow
def test_killed_at_any_moment(path: Path) -> None:
    """While it opens, answers and closes; the state file is there, gone or broken."""
    chance = random.Random(7)
    Ledger(path).close()
    for i in range(6):
        process = worker(path, "again", 2)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.15))
        process.kill()
        process.communicate()
        state = path.with_name("ledger.sqlite.state")
        if i % 3 == 1:
            state.unlink()
        elif i % 3 == 2:
            os.truncate(state, 30)
        ledger = Ledger(path)
        assert check(ledger).findings == []
        ledger.close()


def test_opened_and_closed_in_any_order(path: Path) -> None:
    chance = random.Random(11)
    opened: list[Ledger] = []
    number = 0
    for _ in range(60):
        if opened and chance.random() < 0.5:
            opened.pop(chance.randrange(len(opened))).close()
        else:
            opened.append(Ledger(path))
            one = chance.choice(opened)
            one.record_answer(send(one, number), b"x", 1, 1, 1)
            number += 1
        in_use = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        assert in_use.execute("SELECT in_use FROM meta").fetchone() == (bool(opened),)
        in_use.close()
    for one in opened:
        one.close()
    assert sorted(p.name for p in path.parent.iterdir()) == ["ledger.sqlite", "ledger.sqlite.state"]
    path.with_name("ledger.sqlite.state").unlink()
    sound(path, number)


@pytest.mark.slow
def test_two_processes_at_once(path: Path) -> None:
    processes = [worker(path, "again", 1) for _ in range(2)]
    for process in processes:
        read_to(process, 12)
    for process in processes:
        process.kill()
        process.communicate()
    ledger = Ledger(path)
    assert check(ledger).findings == []
    assert isinstance(reserve(ledger, 0), LedgerAnswer)
    ledger.close()


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "music.sqlite"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE songs (title)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(
        UsageError, match=r" is no ledger \(it is a database of something else\): name "
    ):
        Ledger(path)
    assert [one.name for one in tmp_path.iterdir()] == ["music.sqlite"]
    assert path.read_bytes() == before


@pytest.fixture
def read_only(killed: Path) -> Iterator[Path]:
    """A folder that nobody can write, with a ledger that was closed well."""
    sound(killed, 5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(killed, folder)
        for one in (folder / "ledger.sqlite", folder):
            one.chmod(0o555)
        yield folder / "ledger.sqlite"
        folder.chmod(0o755)


@pytest.mark.slow
def test_a_read_only_medium_is_read(read_only: Path) -> None:
    command = [sys.executable, "-m", "retgen.cli", "ledger"]
    if os.getuid() == 0:  # who may write anywhere, but for this
        assert shutil.which("setpriv"), "install the package util-linux, or do not test as root"
        command = ["setpriv", "--bounding-set=-dac_override", *command]
    for inner in ([], ["check"]):
        done = subprocess.run(
            [*command, *inner, "--ledger", str(read_only)], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "note: it cannot be written: no run can use it where it is" in done.stdout
    assert "sound: nothing is missing" in done.stdout
    assert [one.name for one in read_only.parent.iterdir()] == ["ledger.sqlite"]
