"""A ledger of version 1 is brought up to date as it is opened."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest

from retgen.agents.ledger import Answer, Ledger, Part, Send, Spent
from retgen.agents.ledger.check import check
from retgen.agents.prompt import Message
from retgen.agents.request import Request
from retgen.errors import OutputError, UsageError

# as version 1 made them
TABLES = """
CREATE TABLE sends (id INTEGER NOT NULL, "key" VARCHAR(64) NOT NULL, run VARCHAR NOT NULL,
  agent VARCHAR NOT NULL, model VARCHAR NOT NULL, request BLOB NOT NULL, state VARCHAR(8) NOT NULL,
  sent_at FLOAT NOT NULL, lease_until FLOAT NOT NULL, nano_usd BIGINT NOT NULL,
  priced BOOLEAN NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, answer BLOB,
  reason VARCHAR, PRIMARY KEY (id));
CREATE INDEX ix_sends_key ON sends ("key");
CREATE INDEX ix_sends_run ON sends (run);
CREATE TABLE runs (run VARCHAR NOT NULL, nano_usd BIGINT NOT NULL, PRIMARY KEY (run));
CREATE TABLE uses (run VARCHAR NOT NULL, "key" VARCHAR(64) NOT NULL, cached BOOLEAN NOT NULL,
  PRIMARY KEY (run, "key"));
"""


def request(number: int, **sampling: Any) -> Request:
    return Request("openai", "small", (Message("user", f"question {number}"),), sampling)


# run, number, room, state, nano-dollars, tokens, answer
ROWS: list[tuple[str, int, int, str, int, tuple[int, int], bytes | None]] = [
    ("a", 0, 10, "answered", 5, (1, 10), b"cut off"),
    ("a", 0, 40, "answered", 8, (1, 20), b"whole"),
    ("a", 0, 20, "answered", 6, (1, 20), b"cut off again"),
    ("a", 1, 10, "failed", 0, (0, 0), None),
    ("a", 1, 10, "answered", 7, (2, 3), b"one"),
    ("b", 1, 10, "spare", 7, (2, 3), b"also one"),
    ("b", 2, 10, "sent", 100, (0, 0), None),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(TABLES)
    for run, number, room, state, nano, tokens, answer in ROWS:
        one = request(number, max_tokens=room, temperature=1.0)
        db.execute(
            "INSERT INTO sends VALUES (NULL, ?, ?, 'write', 'small', ?, ?, 1e9, 2e9, ?, 1, ?, ?, "
            "?, NULL)",
            (one.key, run, one.body, state, nano, *tokens, answer),
        )
        db.execute("INSERT OR IGNORE INTO uses VALUES (?, ?, 0)", (run, one.key))
    # c took three answers from others, two of which are one question now
    for number, room in ((0, 10), (0, 40), (1, 10)):
        key = request(number, max_tokens=room, temperature=1.0).key
        db.execute("INSERT INTO uses VALUES ('c', ?, 1)", (key,))
    db.executemany("INSERT INTO runs VALUES (?, ?)", [("a", 26), ("b", 107)])
    db.commit()
    db.close()
    return path


def test_everything_is_taken_over(path: Path) -> None:
    ledger = Ledger(path)
    assert check(ledger).findings == []
    assert ledger.runs() == [
        Spent("a", 5, 0, 5, 53, 26), Spent("b", 2, 0, 2, 3, 107), Spent("c", 0, 2, 0, 0, 0),
    ]  # fmt: skip
    assert ledger.parts() == [
        Part("a", "write", "small", 5, 1, 0, 5, 53, 26, True, answered=2),
        Part("b", "write", "small", 2, 0, 1, 2, 3, 107, True),
    ]
    kept = {one.key: one for one in ledger.answers()}
    assert {one.answer for one in kept.values()} == {b"whole", b"one"}
    for key, one in kept.items():
        assert hashlib.sha256(one.request).hexdigest() == key
        assert b"max_tokens" not in one.request
        assert orjson.dumps(orjson.loads(one.request), option=orjson.OPT_SORT_KEYS) == one.request
    result = ledger.find(request(0, temperature=1.0), run="d")
    assert result == Answer(b"whole", 1, 20)
    assert {one.answer for one in ledger.answers("c")} == {b"whole", b"one"}
    ledger.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT version FROM meta").fetchone() == (2,)
        assert db.execute("SELECT room FROM sends ORDER BY id").fetchall() == [
            (room,) for _, _, room, *_ in ROWS
        ]
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE sql > ''")}
    db.close()
    assert names == {
        "meta", "sends", "ix_sends_key", "sends_out", "parts", "runs", "uses", "texts", "owners",
        "rooms",
    }  # fmt: skip


def test_what_was_out_may_be_sent_again(path: Path) -> None:
    ledger = Ledger(path)
    one = request(2, temperature=1.0)
    assert isinstance(ledger.reserve(one, run="c", agent="write", worst=1, lease=60), Send)
    ledger.close()


def test_an_upgrade_that_fails_changes_nothing(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE sends SET request = 'no JSON' WHERE id = 7")
    db.close()
    before = path.read_bytes()
    with pytest.raises(OutputError, match=r"\(its request 7 cannot be read: invalid literal"):
        Ledger(path)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM sends").fetchone() == (7,)
        assert db.execute("SELECT count(*) FROM uses").fetchone() == (9,)
    db.close()
    assert path.read_bytes() == before


def test_a_newer_ledger_is_refused(path: Path) -> None:
    Ledger(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET version = 3")
    db.close()
    with pytest.raises(UsageError) as error:
        Ledger(path)
    assert str(error.value) == (
        f"{path} was written by a newer retgen (its version is 3, this one reads up to 2): upgrade "
        "retgen, or name another --ledger"
    )
