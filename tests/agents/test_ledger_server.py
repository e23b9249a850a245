"""The ledger on a real PostgreSQL server: other machines, broken connections, and its password."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from retgen.agents.calls import ModelOptions, run_name
from retgen.agents.ledger import Busy, Ledger, LedgerAnswer, Send, Writer
from retgen.agents.ledger.address import ServerAddress, ledger_address, without_password
from retgen.agents.ledger.care import check, forget, prune
from retgen.errors import OutputError, UsageError
from tests.agents.ledgers import Clock, fill, gen, read_to, request, reserve, send, worker
from tests.agents.postgres import PASSWORD, USER, Postgres
from tests.agents.test_ledger_owners import owned_by


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    made = Ledger(url)
    yield made
    made.close()


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    # reason: a test does not wait for half a minute
    monkeypatch.setattr("retgen.agents.ledger.server.GRACE", 0.0)


# --- the same ledger ------------------------------------------------------------------------------

TABLES = ("meta", "sends", "parts", "runs", "uses", "texts", "owners", "rooms")


def rows(place: Path | str) -> dict[str, list[Any]]:
    with closing(Ledger(place)) as ledger, ledger.read_transaction() as db:
        return {
            table: [tuple(row) for row in db.execute(f"SELECT * FROM {table} ORDER BY 1, 2")]
            for table in TABLES
        }


def mixed(ledger: Ledger) -> None:
    """Answers, a refusal that says odd things, failures, what is out, answers of another run."""
    fill(ledger, 3)
    ledger.record_refusal(send(ledger, 3), b"\xff\0", "filtered", "400: é", 1, 0, 5)
    ledger.record_failure(send(ledger, 4), "429")
    ledger.record_spoiled(send(ledger, 4), b"", "void", "nothing", 2**40, 0, 2**40)
    send(ledger, 5)
    reserve(ledger, 0, run="Übung/b")
    long = replace(request(6), sampling={"long": "x" * 99})
    assert isinstance(ledger.reserve(long, run="Z", agent="judge", worst=1, lease=60), Send)
    ledger.learn("openai", "small", "write", 512, 400)
    ledger.learn("openai", "small", "write", 256, 450)


@pytest.mark.slow
def test_a_copy_there_and_back_has_the_same_rows(path: Path, url: str, tmp_path: Path) -> None:
    with closing(Ledger(path)) as ledger:
        mixed(ledger)
        recorded = rows(path)
    back = tmp_path / "back.sqlite"
    shown = str(ledger_address(url))
    done = gen("copy", path, url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f" to {shown}\n")
    assert gen("copy", back, "--ledger", url).returncode == 0
    copied = rows(back)
    assert [row[:4] for row in copied.pop("meta")] == [row[:4] for row in recorded.pop("meta")]
    assert copied == recorded
    reports = []
    for place in (path, url, back):
        listed = json.loads(gen("--json", "--ledger", place).stdout)
        assert gen("check", "--ledger", place).stdout.endswith(
            "sound: nothing is missing, and the sums are those of the requests\n"
        )
        export = tmp_path / "answers.jsonl"
        assert gen("export", export, "--ledger", place).returncode == 0
        text = gen("--ledger", place).stdout
        reports.append((listed["runs"], listed["parts"], text, export.read_bytes()))
        export.unlink()
    assert reports[0] == reports[1] == reports[2]
    assert listed["runs"][-1]["run"] == "Übung/b"  # by code points, as SQLite sorts
    with closing(Ledger(url)) as ledger:  # numbers go on where those of the copy end
        assert send(ledger, 9).id == len(recorded["sends"]) + 1
    done = gen("copy", path, url)
    assert (done.returncode, done.stdout, done.stderr) == (
        2, "", f"gen: {shown} holds a ledger already: name another database\n",
    )  # fmt: skip
    for words in (("copy", path, url, url), ("copy", path, path)):
        assert gen(*words).returncode == 2


def test_what_is_written_there_is_what_a_file_has(path: Path, url: str) -> None:
    for place in (path, url):
        with closing(Ledger(place)) as ledger:
            mixed(ledger)
    kept, served = rows(path), rows(url)
    assert all(abs(row[4] - time.time()) < 600 for row in served["sends"])
    # but the time, and the numbers of texts, of which the server leaves some out
    left_out = {"sends": (4, 14), "texts": (0,)}
    for table in TABLES[1:]:
        for columns in (kept, served):
            columns[table] = sorted(
                tuple(cell for i, cell in enumerate(row) if i not in left_out.get(table, ()))
                for row in columns[table]
            )
        assert served[table] == kept[table]


def test_what_it_cannot_store_harms_nothing(ledger: Ledger) -> None:
    writer = Writer(ledger)
    first, second = send(ledger, 0), send(ledger, 1)
    lost = writer.submit(lambda: ledger.record_lost(first, "a zero: \0."))
    large = writer.submit(lambda: ledger.record_answer(second, b"x", 2**63, 1, 1))
    fine = writer.submit(lambda: ledger.record_answer(second, b"\0", 2**62, 1, 1))
    writer.close()
    assert (lost.result(), fine.result()) == (None, b"\0")
    with pytest.raises(OverflowError):
        large.result()
    assert ledger.find(request(1), run="a") == LedgerAnswer(b"\0", 2**62, 1)


def test_care_of_a_server(ledger: Ledger) -> None:
    for number in range(60):
        first = send(ledger, number)
        page = random.Random(number).randbytes(9000)
        ledger.record_spoiled(first, page, "void", "a page", 1, 1, 5)
        ledger.record_answer(send(ledger, number), b"answer %d" % number, 1, 1, 10)
    runs = ledger.runs()
    reserve(ledger, 0, run="b")
    with ledger.transaction() as db:
        db.execute("UPDATE runs SET hits = 7")
        db.execute("UPDATE sends SET answer = ? WHERE id = 2", (b"other",))
    found = check(ledger)
    assert found.findings == [
        "a: 7 cache hits, 0 are there", "b: 7 cache hits, 1 are there",
        "answers that have changed: those of requests 2",
    ]  # fmt: skip
    with pytest.raises(OutputError, match="the answer of request 2 has changed"):
        reserve(ledger, 0)
    assert gen("check", "--accept", "--ledger", ledger.where.url).returncode == 1
    with closing(Ledger(ledger.where)) as other:
        reserve(other, 1)
        with pytest.raises(UsageError, match="is in use: end the runs that have it open first"):
            prune(ledger)
    assert len(forget(ledger, agent="write", states=["answered"])) == 1
    done = prune(ledger, ["b"])
    assert done[:2] == (120, 0)
    assert done.after < done.before / 2
    assert check(ledger).findings == []
    assert ledger.runs()[0] == runs[0]


# --- other machines -------------------------------------------------------------------------------


def test_another_machine_is_waited_for_while_it_is_connected(
    url: str, ledger: Ledger, no_grace: None
) -> None:
    process = worker(url, "hold", 2)
    read_to(process, 1)
    assert reserve(ledger, 1) == Busy(
        f"process {process.pid} on this machine", pytest.approx(60, abs=5)
    )
    owned_by(ledger, boot="other", name="node7")
    time.sleep(0.1)
    busy = Busy(f"node7, process {process.pid}", pytest.approx(60, abs=5))
    assert reserve(ledger, 1) == busy
    assert ledger.abandon("a") == 0
    assert check(ledger).notes == [
        f"2 requests are open, charged $0.0000; node7, process {process.pid} may still run"
    ]
    os.kill(process.pid, signal.SIGSTOP)  # it says nothing any more, but its lock is there
    time.sleep(0.1)
    assert reserve(ledger, 1) == busy
    process.kill()
    process.communicate()
    until = time.monotonic() + 20
    while isinstance(reserve(ledger, 1), Busy):  # until the server has seen that it is gone
        assert time.monotonic() < until
        time.sleep(0.02)
    assert ledger.spent("a").nano_usd == 300


def test_a_process_has_time_to_come_back(
    url: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    # reason: half an hour in place of half a minute, so that the server began later
    monkeypatch.setattr("retgen.agents.ledger.server.GRACE", 1800.0)
    database = url.rpartition("/")[2]
    with closing(Ledger(url)) as other:
        send(other)
        owned_by(other, boot="other", name="node7")
        postgres.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            f"WHERE datname = '{database}'"
        )
        who = f"node7, process {os.getpid()}"
        with closing(Ledger(url)) as ledger:
            assert reserve(ledger)[0] == who  # its lock is gone, and it was there just now
            postgres.execute(
                "UPDATE retgen.processes SET seen = now() - '1 hour'::interval", database
            )
            assert reserve(ledger)[0] == who  # the server itself began not long ago
            monkeypatch.setattr("retgen.agents.ledger.server.GRACE", 0.0)
            assert isinstance(reserve(ledger), Send)


def test_a_lease_ends_by_the_clock_of_the_server(ledger: Ledger) -> None:
    first = send(ledger)
    with ledger.transaction() as db:
        db.execute("UPDATE sends SET sent_at = sent_at - 50")
    assert reserve(ledger, run="b").left == pytest.approx(10, abs=3)
    with ledger.transaction() as db:
        db.execute("UPDATE sends SET sent_at = sent_at - 10")
    second = send(ledger, run="b")
    assert ledger.record_answer(second, b"fast", 1, 1, 10) == b"fast"
    assert ledger.record_answer(first, b"slow", 1, 1, 10) == b"fast"


def test_turns_of_a_rate(path: Path, clock: Clock) -> None:
    with closing(Ledger(path, clock)) as ledger:
        waits = []
        for seconds, now in ((0.5, 100.0), (0.5, 100.0), (0.5, 100.25), (2, 102.0), (0.5, 102.0),
                             (0.5, 110.0), (0.5, 110.0)):  # fmt: skip
            clock.now = now
            waits.append(ledger.take_turns({"requests": seconds}))
        assert waits == [0.0, 0.5, 0.75, 0.0, 2.0, 0.0, 0.5]  # spaces, and saves nothing up
        assert ledger.take_turns({"requests": 1.0, "tokens": 9.0}) == 1.0
        assert ledger.take_turns({"requests": 1.0, "tokens": 9.0}) == 9.0
        assert ledger.take_turns({}) == 0.0


def test_turns_are_shared_by_all_processes(ledger: Ledger, url: str) -> None:
    with closing(Ledger(url)) as other:
        waits = [one.take_turns({"requests": 10.0}) for one in (ledger, other, ledger, other)]
    assert waits == pytest.approx([0, 10, 20, 30], abs=2)
    assert ledger.take_turns({"tokens": 1.0}) == 0.0


# --- broken connections ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_server_that_crashes_loses_nothing(url: str, postgres: Postgres) -> None:
    said: list[str] = []
    ledger = Ledger(url, notice=said.append)
    writer = Writer(ledger)
    futures = [writer.submit(lambda i=i: reserve(ledger, i)) for i in range(100)]
    sent = [future.result(60) for future in futures]
    answers = [
        writer.submit(lambda one=one: ledger.record_answer(one, b"answer", 1, 1, 10))
        for one in sent
    ]
    postgres.stop()
    more = writer.submit(lambda: reserve(ledger, 100))
    time.sleep(1.5)
    postgres.start()
    assert {future.result(60) for future in answers} == {b"answer"}
    assert isinstance(more.result(60), Send)
    writer.close()
    assert ledger.spent("a").nano_usd == 100 * 10 + 100
    assert ledger.spent("a").calls == 101
    assert check(ledger).findings == []
    assert len(said) in (1, 2)  # once a transaction
    assert "does not answer (" in said[0]
    assert said[0].endswith("Waiting for it, 120 s at most.")
    with closing(Ledger(url)) as other:  # the process is there again, for all to see
        owned_by(other, boot="other", name="node7")
        assert isinstance(reserve(other, 100, run="b"), Busy)
    ledger.close()


@contextmanager
def breaking_proxy(port: int, breaks: list[str]) -> Iterator[int]:
    """A way to the server that breaks off at a COMMIT: `before` it, or `after` it was done."""
    listener = socket.create_server(("127.0.0.1", 0))

    def forward(client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", port))
        threading.Thread(target=back, args=(client, server), daemon=True).start()
        with suppress(OSError):
            while data := client.recv(1 << 16):
                if b"; COMMIT" in data and breaks:
                    how = breaks.pop()
                    if how == "after":
                        answers[server] = threading.Event()
                        server.sendall(data)
                        assert answers[server].wait(10)
                    client.shutdown(socket.SHUT_RDWR)
                    break
                server.sendall(data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        client.close()
        server.close()

    answers: dict[socket.socket, threading.Event] = {}

    def back(client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if server in answers:  # it is done, and nobody hears of it
                    answers[server].set()
                    return
                client.sendall(data)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=forward, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["before", "after"])
def test_a_connection_that_breaks_at_a_commit(url: str, postgres: Postgres, how: str) -> None:
    """What was written is not written again, and what was not is."""
    breaks: list[str] = []
    with breaking_proxy(postgres.port, breaks) as port:
        ledger = Ledger(url.replace(f":{postgres.port}/", f":{port}/"))
        writer = Writer(ledger)
        breaks.append(how)
        sent = writer.submit(lambda: reserve(ledger)).result(30)
        assert isinstance(sent, Send)
        breaks += [how, how]
        answers = [
            writer.submit(lambda: ledger.record_answer(sent, b"answer", 1, 1, 10)).result(30),
            writer.submit(lambda: reserve(ledger)).result(30),
        ]
        writer.close()
        assert breaks == []
        assert answers == [b"answer", LedgerAnswer(b"answer", 1, 1)]
        assert (ledger.spent("a").calls, ledger.spent("a").nano_usd) == (1, 10)
        assert check(ledger).findings == []
        ledger.close()


@pytest.mark.slow
def test_a_server_that_stays_away_is_one_error(
    url: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retgen.agents.ledger.server.PATIENCE", 0.5)  # reason: two minutes
    ledger = Ledger(url)
    writer = Writer(ledger)
    assert isinstance(writer.submit(lambda: reserve(ledger)).result(30), Send)
    postgres.stop("fast")
    try:
        with pytest.raises(OutputError) as error:
            writer.submit(lambda: reserve(ledger, 1)).result(30)
    finally:
        postgres.start()
    message = str(error.value)
    assert message.startswith(f"{ledger.where}: the ledger does not answer (")
    assert message.endswith(
        "What it holds is kept. See that it runs and can be reached, or name another with --ledger."
    )
    assert isinstance(writer.submit(lambda: reserve(ledger, 1)).result(30), Send)
    writer.close()
    ledger.close()


# --- bad input, and the password ------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_no_ledger(postgres: Postgres, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = free.getsockname()[1]
    empty, old, strange = (postgres.new_database() for _ in range(3))
    Ledger(postgres.url(old)).close()
    postgres.execute("UPDATE retgen.meta SET version = 3", old)
    postgres.execute("CREATE SCHEMA retgen; CREATE TABLE retgen.meta (other INT)", strange)
    good = postgres.url(old)
    for url, message in (
        (good.replace(str(postgres.port), str(nobody)),
         f"postgresql://{USER}@127.0.0.1:{nobody}/{old}: the ledger cannot be used (connection to "
         f'server at "127.0.0.1", port {nobody} failed: Connection refused). What it holds is kept. '
         "See that it runs and can be reached, or name another with --ledger."),
        (postgres.url(old, password="wr0ng-w0rd"),
         f'{postgres.shown(old)}: the ledger cannot be used (connection to server at "127.0.0.1", '
         f'port {postgres.port} failed: FATAL:  password authentication failed for user "{USER}"). '
         "What it holds is kept. Put the password into the URL, PGPASSWORD or ~/.pgpass."),
        (postgres.url("nowhere"),
         f'{postgres.shown("nowhere")}: the ledger cannot be used (connection to server at '
         f'"127.0.0.1", port {postgres.port} failed: FATAL:  database "nowhere" does not exist). '
         "What it holds is kept. Make it (createdb), or name another with --ledger."),
        (good, f"{postgres.shown(old)} is a ledger of version 3, and this retgen reads 2: use the "
               "retgen that wrote it, or name another --ledger"),
        (postgres.url(empty), f"{postgres.shown(empty)} is empty: it holds no ledger. Name another "
                              "with --ledger"),
        (postgres.url(strange), f"{postgres.shown(strange)} is no ledger (its schema retgen is "
                                "something else's): name another with --ledger"),
        *((f"postgresql://{USER}:{PASSWORD}{special}@127.0.0.1/db",
           "--ledger: this is no URL of PostgreSQL. Write postgresql://USER:PASSWORD@HOST:PORT/"
           "DATABASE, and what is special in a password as %XX (@ is %40, / is %2F)")
          for special in ("@x", "%zz")),
        (f"mysql://{USER}:{PASSWORD}@127.0.0.1/db",
         "--ledger: a ledger is a file, or postgresql://USER:PASSWORD@HOST:PORT/DATABASE; not "
         "mysql://"),
    ):  # fmt: skip
        for words in (["check"], [], ["copy", "there.sqlite"]):
            done = gen(*words, "--ledger", url, cwd=tmp_path)
            assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gen: {message}\n")
    assert list(tmp_path.iterdir()) == []


def test_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    # reason: the tests have it
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = gen("--ledger", "postgresql://me:word@host/db")
    assert (done.returncode, done.stdout, done.stderr) == (
        2, "", "gen: a ledger on PostgreSQL needs the package psycopg: pip install "
        "'retgen[postgresql]'\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("postgresql://me:pw@host/db", "postgresql://me@host/db"),
        ("--ledger=postgres://me:pw@host:5432/db?sslmode=require", "--ledger=postgresql://me@host:5432/db"),
        ("postgresql://host/db?user=me&password=pw", "postgresql://host/db"),
        ("postgresql:///db?host=/tmp", "postgresql:///db"),
        ("postgresql://me:p%40w@[::1]:5432/db", "postgresql://me@[::1]:5432/db"),
        ("postgresql://me:p@w@host/db", "postgresql://..."),
        ("postgresql://me:p/w@host/db", "postgresql://..."),
        ("postgresql://me:pw/db", "postgresql://..."),
        ("postgresql://me:p%zz@host/db", "postgresql://me@host/db"),
        ("openai:gpt-5-mini", "openai:gpt-5-mini"),
    ],
)  # fmt: skip
def test_what_is_shown_of_an_address(word: str, shown: str) -> None:
    assert without_password(word) == shown
    if not shown.endswith("..."):
        return
    with pytest.raises(UsageError) as error:
        ledger_address(word)
    assert "p@w" not in str(error.value)


def test_the_password_is_in_no_text(url: str) -> None:
    address = ledger_address(url)
    assert isinstance(address, ServerAddress)
    options = ModelOptions(ledger=address)
    for text in (str(address), repr(address), repr(options), f"{address}"):
        assert USER in text
        assert PASSWORD not in text


def test_a_run_has_one_name_on_all_machines(tmp_path: Path) -> None:
    address = ServerAddress("postgresql://host/db", "postgresql://host/db")
    (tmp_path / "movies" / "eval").mkdir(parents=True)
    assert run_name(tmp_path / "movies", address) == "movies"
    (tmp_path / "movies" / "recipe.yaml").touch()
    assert run_name(tmp_path / "movies", address) == "movies"
    assert run_name(tmp_path / "movies" / "eval", address) == "movies/eval"
    beside = tmp_path / "ledger.sqlite"
    assert run_name(tmp_path / "movies" / "eval", beside) == "movies/eval"
