"""A file that is no ledger is left alone; a damaged one is saved by what the message says."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from retgen.agents.ledger import Ledger
from retgen.agents.ledger.care import check, check_before_sending
from retgen.errors import OutputError
from tests.agents.ledgers import fill, gen, reserve, sound
from tests.agents.minds import mind
from tests.agents.server import serving
from tests.command import in_process
from tests.with_agents.conftest import environment, recipe_of


def overwrite(path: Path, page: int) -> None:
    with open(path, "r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(b"\xff" * 4096)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["index", "last page", "cut off"])
def test_what_can_be_read_is_saved(path: Path, how: str) -> None:
    assert shutil.which("sqlite3"), "install the package sqlite3: the documented command needs it"
    ledger = Ledger(path)
    with ledger.transaction():
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
    assert (how, int(number[1])) in (("index", 300), ("last page", 292))
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


@pytest.mark.slow
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


# --- damage that SQLite does not notice by itself -----------------------------------------------


def replaced(path: Path, old: bytes, new: bytes) -> None:
    """Write other bytes of the same number in the place where some stand first."""
    data = path.read_bytes()
    assert len(old) == len(new)
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def test_an_answer_that_has_changed_is_given_to_nobody(path: Path) -> None:
    ledger = Ledger(path)
    fill(ledger, 3)
    ledger.close()
    replaced(path, b"answer 1", b"answer 7")
    ledger = Ledger(path)
    reserve(ledger, 0)
    with pytest.raises(
        OutputError, match=r"malformed: the answer of request 2 has changed\)\. `gen"
    ):
        reserve(ledger, 1)
    assert check(ledger).findings == ["answers that have changed: those of requests 2"]
    ledger.close()


def test_an_answer_without_its_checksum_is_given_to_nobody(path: Path) -> None:
    """What spoils both, such as a block of zeros, is damage, too, and no older ledger."""
    ledger = Ledger(path)
    fill(ledger, 3)
    ledger.close()
    with sqlite3.connect(path) as db:
        change = (
            "UPDATE sends SET reason = substr(reason, 1, 5) || char(0), answer = ? WHERE id = ?"
        )
        db.execute(change, (bytes(8), 2))
        db.execute("UPDATE sends SET reason = NULL WHERE id = 3")  # an older ledger's
    ledger = Ledger(path)
    with pytest.raises(OutputError, match="the answer of request 2 has changed"):
        reserve(ledger, 1)
    reserve(ledger, 2)
    assert check(ledger).findings == ["answers that have changed: those of requests 2"]
    ledger.close()


def test_a_key_that_has_changed_is_noticed_before_anything_is_sent(path: Path) -> None:
    ledger = Ledger(path)
    fill(ledger, 3)
    check_before_sending(ledger)
    ledger.close()
    with sqlite3.connect(path) as db:
        ((key,),) = db.execute("SELECT key FROM sends WHERE id = 2")
    db.close()
    replaced(path, key, bytes([key[0] ^ 1]) + key[1:])
    ledger = Ledger(path)
    with pytest.raises(OutputError, match=r"the ledger is damaged \(malformed: row "):
        check_before_sending(ledger)
    ledger.close()


def test_sums_that_have_changed_are_noticed_before_anything_is_sent(path: Path) -> None:
    ledger = Ledger(path)
    fill(ledger, 3)
    ledger.close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE runs SET nano_usd = 0")
    db.close()
    ledger = Ledger(path)
    with pytest.raises(
        OutputError, match=r"malformed: a: \$0\.0000 are charged, its requests have"
    ):
        check_before_sending(ledger)
    ledger.close()


def test_a_state_file_whose_checksum_is_none(path: Path) -> None:
    Ledger(path).close()
    state = path.with_name(path.name + ".state")
    state.write_bytes(state.read_bytes().rstrip() + b"v" + b" " * 20 + b"\n")
    assert gen("check", "--ledger", path).returncode == 0


def spoiled(path: Path, rng: random.Random) -> str:
    """Damage one of a ledger's files, each time in another way."""
    ends = rng.choice(["", "", "", "", ".state", "-wal", "-shm"])
    file = path.with_name(path.name + ends)
    data = bytearray(file.read_bytes()) if file.exists() else bytearray(rng.randbytes(5000))
    how = rng.choice(["bits", "bits", "bits", "cut", "zeros", "gone"])
    if how == "bits":
        for _ in range(rng.choice([1, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del data[rng.randrange(len(data)) :]
    elif how == "zeros":
        at = rng.randrange(len(data))
        data[at : at + 100] = bytes(len(data[at : at + 100]))
    file.write_bytes(data)
    if how == "gone":
        file.unlink()
    return f"{ends or 'main'} {how}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_run_on_a_damaged_ledger_never_pays_again_in_silence(seed: int, tmp_path: Path) -> None:
    """It ends as before without a request, or with one line, and nothing was sent."""
    rng = random.Random(seed)
    (tmp_path / "asked.yaml").write_text(recipe_of(12, 50))
    model = "--model", "openai:gpt-5-mini", "--max-usd", "5", "--ledger", "l.sqlite", "-q"
    with serving(mind) as server:
        env = environment(server)
        first = in_process("run", "asked.yaml", *model, "--out", "0", cwd=tmp_path, env=env)
        assert first.returncode == 0, first.stderr
        paid = len(server.requests)
        kept = {one.name: one.read_bytes() for one in tmp_path.glob("l.sqlite*")}
        right = (tmp_path / "0" / "dataset" / "queries.jsonl").read_bytes()
        for number in range(1, 16):
            for one in tmp_path.glob("l.sqlite*"):
                one.unlink()
            for name, data in kept.items():
                (tmp_path / name).write_bytes(data)
            how = spoiled(tmp_path / "l.sqlite", rng)
            for args in (("ledger",), ("ledger", "check")):
                done = in_process(*args, "--ledger", "l.sqlite", cwd=tmp_path, env=env)
                assert "Traceback" not in done.stdout + done.stderr, (number, how)
            out = str(number)
            done = in_process("run", "asked.yaml", *model, "--out", out, cwd=tmp_path, env=env)
            assert len(server.requests) == paid, (number, how)
            if done.returncode == 0:
                made = tmp_path / out / "dataset" / "queries.jsonl"
                assert made.read_bytes() == right, (number, how)
            else:
                assert done.returncode == 2, (number, how)
                assert re.fullmatch(r"gen: .*\n", done.stderr), (number, how, done.stderr)
