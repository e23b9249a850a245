"""What a ledger stores, and how it is checked, shrunk and copied."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retgen.agents.calls import CallReport, ModelOptions, call_models
from retgen.agents.ledger import Ledger, LedgerAnswer, Send, StoredAnswer
from retgen.agents.ledger.care import PruneResult, check, copy, prune, recount
from retgen.agents.ledger.file import FileConnection
from retgen.agents.ledger.schema import RequestTexts, create_tables, join_pieces, text_numbers
from retgen.agents.ledger.sidecar import network_drive
from retgen.agents.models import ModelSettings
from retgen.agents.prompt import Message, Request
from retgen.errors import UsageError
from tests.agents.ledgers import fill, gen, request, reserve, send

# --- requests in pieces -------------------------------------------------------------------------

contents = st.text(st.sampled_from('"\\{}[],:é\n\x00 contenrol') | st.characters(codec="utf-8"))


@pytest.mark.slow
@given(
    st.lists(contents.map(lambda text: text * 7), max_size=4),
    st.none() | st.dictionaries(st.text(max_size=9), contents, max_size=3),
)
def test_a_request_is_put_together_as_it_was(texts: list[str], schema: dict[str, str]) -> None:
    body = Request("openai", "m", tuple(Message("user", t) for t in texts), {"a": 0.1}, schema).body
    with closing(sqlite3.connect(":memory:", factory=FileConnection)) as db:
        create_tables(db)
        writer = RequestTexts()
        stored = [writer.pieces(db, body) for _ in range(3)]  # written, found, remembered
        assert len(set(stored)) == 1
        texts_by_id = dict(db.execute("SELECT id, text FROM texts"))
    assert set(texts_by_id) == set(text_numbers(stored[0]))
    assert join_pieces(stored[0], texts_by_id) == body


def test_a_growing_conversation_is_stored_once(ledger: Ledger) -> None:
    prompt, schema = "a long question " * 190, {"type": "object", "title": "A long schema " * 9}
    for record in range(20):
        messages: tuple[Message, ...] = (
            Message("system", "You are careful. " * 20),
            Message("user", f"{record} {prompt}"),
        )
        for turn in range(3):
            one = Request("openai", "m", messages, {"temperature": 1.0}, schema)
            result = ledger.reserve(one, run="a", agent="write", worst=1, lease=60)
            assert isinstance(result, Send)
            ledger.record_answer(result, b"said", 1, 1, 1)
            messages += (
                Message("assistant", f"{record} {turn} an answer that is wrong " * 4),
                Message("user", f"{record} {turn} correct what is wrong with it " * 3),
            )
    kept = list(ledger.answers())
    sent = sum(len(one.request) for one in kept)
    assert len({one.key for one in kept}) == 60
    path = ledger.path
    ledger.close()
    db = sqlite3.connect(path)
    ((texts,),) = db.execute("SELECT sum(length(text)) FROM texts")
    ((pieces,),) = db.execute("SELECT sum(length(request)) FROM sends")
    assert texts + pieces < sent / 2.8
    # a system message, a schema, what stands between; then three texts of each record's own, twice
    # an answer and a repair
    assert db.execute("SELECT count(*) FROM texts").fetchone() == (3 + 20 * (1 + 2 + 2),)
    db.close()


# --- check --------------------------------------------------------------------------------------


def test_what_is_wrong_is_found_and_set_right(ledger: Ledger) -> None:
    fill(ledger, 3)
    ledger.record_failure(send(ledger, 3), "429")
    reserve(ledger, 0, run="b")
    path = ledger.path
    ledger.close()
    done = gen("check", "--ledger", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(
        "3 answered, 1 failed\nsound: nothing is missing, and the sums are those of the requests\n"
    )
    with sqlite3.connect(path) as db:
        db.execute("UPDATE parts SET failed = 7, tokens_in = 0")
        db.execute("UPDATE runs SET nano_usd = 99, hits = 5")
        db.execute("UPDATE texts SET text = 'other' WHERE id = 1")
        db.execute("DELETE FROM sends WHERE id = 3")
    db.close()
    findings = [
        "a, write, small: calls is 4, its requests have 3",
        "a, write, small: failed is 7, its requests have 1",
        "a, write, small: answered is 3, its requests have 2",
        "a, write, small: tokens_in is 0, its requests have 2",
        "a, write, small: tokens_out is 3, its requests have 2",
        "a, write, small: nano_usd is 30, its requests have 20",
        "a: $0.0000 are charged, its requests have $0.0000",
        "a: 5 cache hits, 0 are there",
        "b: $0.0000 are charged, its requests have $0.0000",
        "b: 5 cache hits, 1 are there",
        "a: requests whose text is not that of their key: 1, 2, 4",
    ]
    done = gen("check", "--ledger", path, "--json")
    assert done.returncode == 1
    content = json.loads(done.stdout)
    assert content["findings"] == findings
    assert (content["ok"], content["states"]) == (False, {"answered": 2, "failed": 1})
    done = gen("check", "--ledger", path, "--accept")
    assert done.returncode == 1
    assert done.stdout.splitlines()[1:] == [  # a text does not come back
        f"wrong: {findings[-1]}",
        "to do: have these asked again: gen ledger forget --run RUN --state answered --state "
        "refused --yes, then drop their texts: gen ledger prune --yes",
    ]
    again = Ledger(path)
    assert [(run.run, run.calls, run.cache_hits, run.nano_usd) for run in again.runs()] == [
        ("a", 3, 0, 20), ("b", 0, 1, 0),
    ]  # fmt: skip
    with again.transaction() as db_:
        recount(db_)
    assert len(check(again).findings) == 1
    again.close()
    for words in ("forget --run a --state answered --yes", "prune --yes"):
        assert gen(*words.split(), "--ledger", path).returncode == 0
    assert gen("check", "--ledger", path).stdout.splitlines()[1:] == [
        "sound: nothing is missing, and the sums are those of the requests"
    ]


def test_a_damaged_file_is_found(ledger: Ledger) -> None:
    with ledger.transaction():
        fill(ledger, 300)
    path = ledger.path
    ledger.close()
    with sqlite3.connect(path) as db:
        (page,) = db.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'ix_sends_key'"
        ).fetchone()
    db.close()
    with open(path, "r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(b"\xff" * 4096)
    done = gen("check", "--ledger", path)
    assert done.returncode == 1
    assert "wrong: the file is damaged: " in done.stdout
    assert done.stderr == ""


def test_what_is_missing_is_said_and_accepted(ledger: Ledger, tmp_path: Path) -> None:
    fill(ledger, 3)
    path = tmp_path / "copy" / "ledger.sqlite"
    path.parent.mkdir()
    state = "ledger.sqlite.state"
    (path.parent / state).write_bytes((tmp_path / state).read_bytes())
    for args in (("check",), ("check", "--json")):
        done = gen(*args, "--ledger", path)
        assert done.returncode == 1
        assert f"{path} is empty or gone; it held 3 answers. Nothing was sent." in done.stdout
    assert gen("--ledger", path).returncode == 2
    assert gen("check", "--accept", "--ledger", path).returncode == 0
    assert gen("--ledger", path).stdout.endswith("nothing has been asked yet\n")


# --- prune and copy -----------------------------------------------------------------------------


def test_what_nobody_reads_goes_and_the_sums_stay(ledger: Ledger) -> None:
    with ledger.transaction():
        for number in range(60):
            first = send(ledger, number)
            ledger.record_spoiled(first, b"<html>" * 500, "void", "a page", 1, 1, 5)
            ledger.record_answer(send(ledger, number), b"answer %d" % number, 1, 1, 10)
        ledger.record_failure(send(ledger, 99), "429")
        out = send(ledger, 100)
    runs, parts, answers = ledger.runs(), ledger.parts(), list(ledger.answers())
    about = prune(ledger, dry=True)
    assert about[:2] == (61, 0)
    assert about.before - about.after > 60 * 3000
    done = prune(ledger)
    assert done == PruneResult(61, 0, done.before, ledger.database.size())
    assert done.after < done.before / 2
    assert (ledger.runs(), ledger.parts(), list(ledger.answers())) == (runs, parts, answers)
    assert check(ledger).findings == []
    assert prune(ledger)[:2] == (0, 0)
    ledger.record_answer(out, b"late", 1, 1, 1)  # what is out still has its request
    assert StoredAnswer(
        request(100).key, "write", "small", request(100).body, b"late", 1, 1
    ) in list(ledger.answers())


def test_whole_runs_go_but_for_what_others_used(ledger: Ledger) -> None:
    fill(ledger, 4)
    ledger.record_failure(send(ledger, 4), "429")
    reserve(ledger, 0, run="b")
    ledger.record_answer(send(ledger, 5, run="b"), b"of b", 1, 1, 7)
    reserve(ledger, 5)
    runs, parts = ledger.runs(), ledger.parts()
    assert prune(ledger, ["a"], dry=True)[:2] == (0, 4)
    assert prune(ledger, ["a"])[:2] == (0, 4)
    assert (ledger.runs(), ledger.parts()) == (runs, parts)
    assert check(ledger).findings == []
    assert {one.answer for one in ledger.answers()} == {b"answer 0", b"of b"}
    assert isinstance(reserve(ledger, 1), Send)  # what is gone is paid for again
    assert reserve(ledger, 0) == LedgerAnswer(b"answer 0", 1, 1)
    assert prune(ledger, ["b"])[:2] == (0, 1)  # a no longer says that it used it
    assert {one.answer for one in ledger.answers()} == {b"answer 0"}
    assert check(ledger).findings == []


def test_texts_are_written_again_after_a_prune(ledger: Ledger) -> None:
    long = Request("openai", "small", (Message("user", "long " * 99),))
    for _ in range(3):
        result = ledger.reserve(long, run="a", agent="write", worst=1, lease=60)
        assert isinstance(result, Send)
        ledger.record_failure(result, "429")
    prune(ledger)
    result = ledger.reserve(long, run="a", agent="write", worst=1, lease=60)
    assert isinstance(result, Send)
    ledger.record_answer(result, b"x", 1, 1, 1)
    assert [one.request for one in ledger.answers()] == [long.body]


def test_nothing_is_pruned_while_another_has_it_open(ledger: Ledger) -> None:
    fill(ledger, 1)
    other = Ledger(ledger.path)
    with pytest.raises(UsageError) as error:
        prune(ledger)
    assert str(error.value) == f"{ledger.path} is in use: end the runs that have it open first"
    other.close()
    prune(ledger)


def test_a_copy_is_whole_while_the_ledger_is_in_use(ledger: Ledger, tmp_path: Path) -> None:
    fill(ledger, 5)
    copy(ledger, tmp_path / "copy.sqlite")
    assert sorted(one.name for one in tmp_path.glob("copy*")) == ["copy.sqlite"]
    copied = Ledger(tmp_path / "copy.sqlite")
    assert check(copied).findings == []
    assert list(copied.answers()) == list(ledger.answers())
    copied.close()
    with pytest.raises(UsageError) as error:
        copy(ledger, tmp_path / "copy.sqlite")
    assert str(error.value) == f"{tmp_path / 'copy.sqlite'} is there already: name a new file"


# --- where it lies ------------------------------------------------------------------------------

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/me/disk ext4 rw 0 0
host: /mnt/my\\040drive fuse.sshfs rw 0 0
C: /mnt/c 9p rw 0 0
/dev/sdc1 /mnt/ntfs fuse.ntfs-3g rw 0 0
//nas/share /mnt/nas cifs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/ledger.sqlite", None), ("/home/me/ledger.sqlite", "nfs4"),
        ("/homes/ledger.sqlite", None), ("/home/me/disk/x/ledger.sqlite", None),
        ("/mnt/my drive/ledger.sqlite", "fuse.sshfs"), ("/mnt/c/ledger.sqlite", "9p"),
        ("/mnt/ntfs/ledger.sqlite", None), ("/mnt/nas/ledger.sqlite", "cifs"),
    ],
)  # fmt: skip
def test_a_network_drive_is_known(path: str, kind: str | None) -> None:
    assert network_drive(Path(path), MOUNTS) == kind
    assert network_drive(Path(path), "") is None


def test_a_run_warns_of_a_network_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"server:/x {tmp_path} nfs4 rw 0 0\n")
    # reason: a test cannot mount a drive
    monkeypatch.setattr("retgen.agents.ledger.sidecar.MOUNTS", mounts)
    settings = ModelSettings(provider="openai", name="small", base_url="http://127.0.0.1:9/v1")

    async def work(_: object) -> None: ...

    for model_options in (ModelOptions(), ModelOptions(replay=mounts)):  # a replay sends nothing
        mounts.write_text(f"server:/x {tmp_path} nfs4 rw 0 0\n" if not model_options.replay else "")
        folder = tmp_path / "runs" / "a"
        call_models(
            work,
            folder,
            folder,
            {"write": settings},
            model_options,
            CallReport(),
            None,
            lambda *_: None,
        )
    assert capsys.readouterr().err == (
        f"gen: {tmp_path / 'runs' / 'ledger.sqlite'} lies on a network drive (nfs4), where SQLite "
        "is safe only while one machine uses it: let no other do so, or name a local file with "
        "--ledger\n"
    )
