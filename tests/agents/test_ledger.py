"""The ledger: nothing paid for is lost, whenever its process is killed, and one process has it."""

from __future__ import annotations

import json
import os
import platform
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from retgen.agents.ledger import Answer, Ledger, LedgerReader, StoredAnswer
from retgen.agents.replay import read_replay
from retgen.errors import OutputError, RetgenError, RunDirectoryError, UsageError
from tests.agents.ledgers import (
    PRICE,
    WORST,
    add_call,
    fill,
    find,
    request,
    request_all,
    run,
    spent,
    states,
)
from tests.agents.minds import mind
from tests.agents.server import answering, completion
from tests.agents.server import serving as serving_mind
from tests.command import Done, in_process
from tests.test_full_disk import namespace, twice
from tests.with_agents.conftest import USAGE, environment, recipe_of

ROOT = Path(__file__).parents[2]
COST = PRICE.of(5, 2)  # of an answer of `completion`


# --- calls and their ends -------------------------------------------------------------------------


def test_a_refusal_stands_until_its_run_asks_again(ledger: Ledger) -> None:
    async def refuse(number: int, name: str) -> None:
        call = await add_call(ledger, number, run=name)
        answer = Answer(b'{"error":1}', 3, 0, "", "400: no")
        await ledger.end_call(call, "failed", 20, answer)
        await ledger.end_call(call, "refused", 20, answer._replace(why="refused"))

    run(ledger, refuse(0, "a"))
    run(ledger, refuse(1, "b"))
    refusal = Answer(b'{"error":1}', 3, 0, "refused", "400: no")
    assert find(ledger, 0, "a") == find(ledger, 0, "c") == find(ledger, 1, "b") == refusal
    assert [one.answer for one in ledger.answers()] == [refusal] * 2
    assert ledger.begin("a") == 20
    assert find(ledger, 0, "a") == refusal
    assert ledger.begin("c", retry_refused=True) == 0  # it has used the refusal of the first
    assert (find(ledger, 0, "c"), find(ledger, 1, "b")) == (None, refusal)
    assert ledger.begin("b", retry_refused=True) == 20
    assert find(ledger, 1, "b") is None
    assert states(ledger.path) == {"failed": 2}


def test_answers_are_taken_over_at_no_cost(ledger: Ledger, tmp_path: Path) -> None:
    fill(ledger, *range(3))
    kept = list(ledger.answers())
    with closing(Ledger(tmp_path / "other.sqlite")) as other:
        other.add_answers("r", kept)
        assert list(other.answers()) == kept
        assert spent(other) == {"r": (3, 0, 3, 3, 0)}

        def one_then_none() -> Iterator[StoredAnswer]:
            yield kept[0]._replace(key="0" * 64)
            raise UsageError("line 2")

        with pytest.raises(UsageError, match=r"^line 2$"):
            other.add_answers("r", one_then_none())
        assert list(other.answers()) == kept  # all or nothing


# --- kills ----------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.ledger import Ledger
from tests.agents.ledgers import request, request_all

path, url, step = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

class Killed(OpenAIChat):
    async def send(self, one, max_tokens):
        if step == "committed":
            os.kill(os.getpid(), signal.SIGKILL)
        response = await super().send(one, max_tokens)
        if step == "received":
            os.kill(os.getpid(), signal.SIGKILL)
        return response

request_all(Ledger(path), url, request(10), chat=Killed(base_url=url, api_key="sk-planted"))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("step", "sent", "state", "charged"),
    [
        ("received", 1, "lost", WORST),
        pytest.param("committed", 0, "lost", WORST, marks=pytest.mark.slow),
        pytest.param("answered", 1, "answered", COST, marks=pytest.mark.slow),
    ],
)
def test_killed_between_commit_and_answer(
    path: Path, step: str, sent: int, state: str, charged: int
) -> None:
    with answering(lambda body: completion("hello")) as server:
        url = server.url
        command = [sys.executable, "-c", KILLED, str(path), url, step]
        assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
        assert len(server.requests) == sent
        with closing(Ledger(path)) as ledger:
            assert ledger.begin("a") == charged
            assert states(path) == {state: 1}
            for _ in range(2):
                assert request_all(ledger, url, request(10)) == ["hello"]
            assert len(server.requests) == sent + (state == "lost")
            assert ledger.spent("a").nano_usd == COST + (WORST if state == "lost" else 0)


WORKER = """
import asyncio, itertools, sys
from pathlib import Path
from retgen.agents.ledger import Ledger
from tests.agents.ledgers import add_answer

async def work():
    ledger = Ledger(Path(sys.argv[1]))
    print("open", flush=True)
    if sys.argv[2] == "hold":
        sys.stdin.read()
        return
    for number in itertools.count():
        await add_answer(ledger, number)
        print(number, flush=True)

asyncio.run(work())
"""


@contextmanager
def other_process(path: Path, what: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the ledger: it holds it, or writes answers 0, 1, ... until it ends."""
    command = [sys.executable, "-c", WORKER, str(path), what]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        try:
            yield process
        finally:
            process.kill()


# --- one process at a time ------------------------------------------------------------------------


def gen(*args: str | Path, cwd: Path | None = None) -> Done:
    return in_process("ledger", *args, cwd=cwd)


def test_a_second_process_stops_at_once(path: Path) -> None:
    with other_process(path, "hold") as process:
        with pytest.raises(RunDirectoryError) as error:
            Ledger(path)
        assert str(error.value) == (
            f"{path} is in use, and one process at a time uses a ledger: wait until that ends, or "
            f"name another file with --ledger FILE. It is process {process.pid} on "
            f"{platform.node()}: gen {path} hold"
        )
        assert error.value.exit_code == 2
    Ledger(path).close()  # a killed process lets go


def test_it_is_read_while_another_process_writes(path: Path, tmp_path: Path) -> None:
    """Each sees what was committed: whole answers, with the sums that belong to them."""
    with other_process(path, "write") as process:
        assert process.stdout is not None
        for _ in range(3):
            number = int(process.stdout.readline())
            (spent,) = json.loads(gen("--json", "--ledger", path).stdout)["runs"]
            assert spent["calls"] > number
            assert spent["tokens_in"] in (spent["calls"], spent["calls"] - 1)
            done = gen("export", tmp_path / "answers.jsonl", "--ledger", path)
            assert done.stderr == ""
            kept = list(read_replay(tmp_path / "answers.jsonl"))
            assert done.stdout == f"wrote {len(kept):,} answers to {tmp_path / 'answers.jsonl'}\n"
            assert {request(i).key for i in range(number + 1)} <= {one.key for one in kept}


# --- files that cannot be used --------------------------------------------------------------------


def bad_database(path: Path, version: int, table: str = "") -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA user_version = {version}; {table}")


OTHER = (
    " is no ledger of this version of retgen: name another file with --ledger FILE. To use the "
    "answers of another version's ledger, write them to a file with that version (gen ledger "
    "export answers.jsonl), then run the recipe with --replay answers.jsonl"
)
DAMAGED = (
    "; the file is damaged, or not a ledger: restore a backup, or begin a new ledger with --ledger "
    "FILE, which pays for all answers again"
)
CUT = ": the ledger cannot be used: it is cut off at {} bytes" + DAMAGED
NO_DATABASE = f": the ledger cannot be used: file is not a database{DAMAGED}"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: bad_database(path, 2, "CREATE TABLE sends (id)"), OTHER),
        (lambda path: bad_database(path, 4, "CREATE TABLE calls (id)"), OTHER),
        (lambda path: path.touch(), CUT.format(0)),
        (lambda path: path.write_text("something else entirely" * 100), NO_DATABASE),
    ],
)
@pytest.mark.parametrize("kind", [Ledger, LedgerReader])
def test_a_file_that_is_no_ledger_of_this_version(
    path: Path, make: Any, message: str, kind: type[LedgerReader]
) -> None:
    """It is refused, left as it was, and free again."""
    make(path)
    before = path.read_bytes()
    with pytest.raises(RetgenError) as error:
        kind(path)
    assert str(error.value) == f"{path}{message}"
    assert error.value.exit_code == 2
    assert path.read_bytes() == before
    path.unlink()
    Ledger(path).close()


@pytest.mark.parametrize("kind", [Ledger, LedgerReader])
@pytest.mark.parametrize("cut", [100, 10_000])
def test_a_truncated_ledger_is_refused(path: Path, cut: int, kind: type[LedgerReader]) -> None:
    with closing(Ledger(path)) as ledger:
        fill(ledger, *range(300))
    whole = path.stat().st_size
    os.truncate(path, whole - cut)
    with pytest.raises(OutputError) as error:
        kind(path)
    malformed = "database disk image is malformed"
    words = malformed if cut > 100 else f"it is cut off at {whole - cut:,} bytes"
    assert str(error.value) == f"{path}: the ledger cannot be used: {words}{DAMAGED}"


READ_ONLY = """
mount -t tmpfs tmpfs small || exit 90
cp ledger.sqlite small
mount -o remount,ro small
"$@" ledger --ledger small/ledger.sqlite || exit 91
"$@" run asked.yaml --model openai:m --ledger small/ledger.sqlite --out out
"""


@pytest.mark.slow
def test_a_read_only_disk(path: Path, tmp_path: Path) -> None:
    with closing(Ledger(path)) as ledger:
        fill(ledger, 0)
    (tmp_path / "small").mkdir()
    (tmp_path / "asked.yaml").write_text(recipe_of(12, 50))
    command = [*namespace(), "sh", "-c", READ_ONLY, "sh", sys.executable, "-m", "retgen.cli"]
    env = environment(None) | {"OPENAI_API_KEY": "sk-planted"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[1].split()[0]) == (2, "a")
    assert done.stderr == (
        "gen: cannot write small/ledger.sqlite.lock: Read-only file system. What was "
        "finished before is kept: choose another folder with --out and run the same command "
        "again.\n"
    )


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be kept is paid for again; what was kept is not."""
    (tmp_path / "asked.yaml").write_text(recipe_of(12, 50))
    words = ("run", "asked.yaml", "--model", "openai:m", "--out", "out", "--price", "1,1", "-q")
    with serving_mind(mind) as server:
        server.usage = USAGE
        for name, value in environment(server).items():
            monkeypatch.setenv(name, value)
        text = twice(tmp_path, "192k", *words, "--ledger", "small/ledger.sqlite")
        assert text.splitlines()[0] == (
            "gen: small/ledger.sqlite: the ledger cannot be used: database or disk is full; free "
            "some space or make it writable, close other programs that have it open, and run the "
            "same command again; or name another file with --ledger FILE"
        )
        with closing(LedgerReader(tmp_path / "saved" / "ledger.sqlite")) as ledger:
            answers, (sums,) = len(list(ledger.answers())), ledger.sums(by_agent=False)
        assert 0 <= len(server.requests) - answers <= 64  # what was in flight
        assert len({json.dumps(body, sort_keys=True) for body in server.requests}) == answers
        assert sums.calls >= answers


# --- the command ----------------------------------------------------------------------------------


def test_gen_ledger(path: Path, tmp_path: Path) -> None:
    with closing(Ledger(path)) as ledger:

        async def work() -> None:
            await add_call(ledger, 3)
            for state, cost in (("failed", 0), ("lost", 100)):
                await ledger.end_call(await add_call(ledger, 4), state, cost, Answer(b"", 0, 0))
            judged = await add_call(ledger, 5, agent="judge")
            await ledger.end_call(judged, "answered", 2, Answer(b"x", 7, 3))
            await add_call(ledger, 6, run="b", priced=False)

        fill(ledger, *range(1, 3))
        run(ledger, work())
        find(ledger, 1, "b")
    at = ("--ledger", path)
    done = gen(*at)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split() for line in done.stdout.splitlines() if line.strip(" -")] == [
        "run agent model calls cached failed open tokens in tokens out usd".split(),
        "a 6 0 1 2 9 5 $0.0000".split(),
        "judge m 1 0 0 0 7 3 $0.0000".split(),
        "write m 5 0 1 2 2 2 $0.0000".split(),
        "b 1 1 0 1 0 0 not known".split(),
        "write m 1 1 0 1 0 0 not known".split(),
    ]
    (run_a,) = json.loads(gen("--json", "--run", "a", *at).stdout)["runs"]
    counts = {"calls": 6, "cache_hits": 0, "failed": 1, "open": 2, "tokens_in": 9, "tokens_out": 5}
    assert run_a == {"run": "a", **counts, "usd": 2.22e-07}
    file = tmp_path / "answers.jsonl"
    done = gen("export", file, "--run", "b", *at)
    assert (done.returncode, done.stdout) == (0, f"wrote 1 answer to {file}\n")
    assert [one.answer for one in read_replay(file)] == [Answer(b"answer 1", 1, 1)]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--run", "c"), "{path} has no run 'c'. It has: a"),
        (("export", "no/x"), "there is no folder no: create it, or name another file"),
        (("export", "x", "--run", "a"), "there is no answer of run 'a' to export"),
    ],
)
def test_what_gen_ledger_refuses(path: Path, args: tuple[str, ...], message: str) -> None:
    with closing(Ledger(path)) as ledger:
        run(ledger, add_call(ledger))
    done = gen(*args, "--ledger", path, cwd=path.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gen: {message.format(path=path)}\n"
    assert {one.name.partition(".")[0] for one in path.parent.iterdir()} == {"ledger"}


def test_a_ledger_that_is_not_there_makes_no_folder(tmp_path: Path) -> None:
    done = gen("--ledger", "nope/ledger.sqlite", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "gen: there is no ledger at nope/ledger.sqlite: no run has asked a model there. Name "
        "another with --ledger\n"
    )
    assert list(tmp_path.iterdir()) == []
