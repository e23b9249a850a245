"""Refusals, answers that are none, what is learned of a model, and what is forgotten."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from retgen.agents.ledger import (
    Busy,
    LearnedBudget,
    Ledger,
    LedgerAnswer,
    OverCap,
    PartSums,
    Refusal,
    Send,
    Spent,
)
from retgen.agents.ledger.care import ForgottenRequests, check, forget
from retgen.errors import UsageError
from tests.agents.ledgers import request, reserve, send
from tests.agents.test_ledger_owners import owned_by


@pytest.fixture
def ledger(place: Path | str) -> Iterator[Ledger]:
    made = Ledger(place)
    yield made
    checked = check(made)
    assert checked.findings == []  # whatever was done, the sums are those of the rows
    made.close()


def test_a_refusal_is_final(ledger: Ledger) -> None:
    ledger.record_refusal(send(ledger), b'{"error":1}', "invalid_prompt", "400: no", 3, 0, 20)
    refusal = Refusal("invalid_prompt", "400: no", 3, 0)
    assert reserve(ledger) == refusal
    assert reserve(ledger, run="b", cap=0) == refusal
    assert ledger.find(request(), run="c") == refusal
    assert ledger.runs() == [
        Spent("a", 1, 0, 3, 0, 20), Spent("b", 0, 1, 0, 0, 0), Spent("c", 0, 1, 0, 0, 0),
    ]  # fmt: skip
    (kept,) = ledger.answers()  # a replay needs it too
    assert (kept.why, kept.reason, kept.answer) == ("invalid_prompt", "400: no", b'{"error":1}')


def test_what_failed_can_be_refused_for_good(ledger: Ledger) -> None:
    first = send(ledger)
    ledger.record_failure(first, "500")
    assert ledger.parts()[0].failed == 1
    ledger.record_refusal(first, b"", "server_error", "500 six times", 0, 0, 5)
    assert ledger.parts() == [PartSums("a", "write", "small", 1, 0, 0, 0, 0, 5, True, 0)]
    assert reserve(ledger) == Refusal("server_error", "500 six times", 0, 0)
    with pytest.raises(ValueError, match="has ended before"):
        ledger.record_refusal(first, b"", "server_error", "again", 0, 0, 5)


@pytest.mark.parametrize("state", ["cut", "void"])
def test_what_is_no_answer_is_charged_and_asked_again(ledger: Ledger, state: str) -> None:
    ledger.record_spoiled(send(ledger), b"<html>", state, "an HTML page", 7, 3, 40)
    assert ledger.spent("a") == Spent("a", 1, 0, 7, 3, 40)
    assert ledger.find(request(), run="a") is None
    assert list(ledger.answers()) == []
    ledger.record_answer(send(ledger), b"fine", 7, 1, 30)
    assert ledger.spent("a") == Spent("a", 2, 0, 14, 4, 70)
    assert reserve(ledger) == LedgerAnswer(b"fine", 7, 1)
    with pytest.raises(ValueError, match=r"^'spare' is none of cut, void$"):
        ledger.record_spoiled(send(ledger, 1), b"", "spare", "", 0, 0, 0)


def test_an_answer_is_withdrawn_once(ledger: Ledger) -> None:
    ledger.record_answer(send(ledger), b"bad", 7, 3, 40)
    ledger.withdraw(request(), "void", "no choices", raw=b"bad")
    assert ledger.parts() == [PartSums("a", "write", "small", 1, 0, 0, 7, 3, 40, True, 0)]
    ledger.record_answer(send(ledger), b"good", 7, 3, 40)
    ledger.withdraw(request(), "void", "no choices", raw=b"bad")  # another had seen that, too
    assert reserve(ledger) == LedgerAnswer(b"good", 7, 3)
    ledger.withdraw(request(), "cut", "at 3")
    assert isinstance(reserve(ledger), Send)
    ledger.withdraw(request(), "cut", "at 3")  # none is there


def test_a_refusal_does_not_hide_an_answer(ledger: Ledger) -> None:
    slow = send(ledger)
    ledger.record_lost(slow, "timeout")
    ledger.record_refusal(send(ledger), b"", "invalid_prompt", "400", 0, 0, 0)
    assert ledger.record_answer(slow, b"late", 1, 1, 10) == b"late"
    assert reserve(ledger) == LedgerAnswer(b"late", 1, 1)


def test_rooms_only_grow(ledger: Ledger) -> None:
    assert ledger.learned_budgets("openai", "small") == {}
    ledger.learn("openai", "small", "write", 512, 400)
    ledger.learn("openai", "small", "write", 256, 450)
    ledger.learn("openai", "small", "judge", 64, 0)
    ledger.learn("openai", "large", "write", 9, 9)
    ledger.learn("other", "small", "write", 8, 8)
    assert ledger.learned_budgets("openai", "small") == {
        "write": LearnedBudget(512, 450),
        "judge": LearnedBudget(64, 0),
    }


# --- forgetting ---------------------------------------------------------------------------------


@pytest.fixture
def mixed(ledger: Ledger) -> Ledger:
    """Two refused requests, two answers of which another run used one, one that failed."""
    for number in (0, 1):
        ledger.record_refusal(send(ledger, number), b"", "filtered", "content filter", 1, 0, 10)
    for number in (2, 3):
        ledger.record_answer(send(ledger, number), b"x", 1, 1, 30)
    reserve(ledger, 2, run="b")
    ledger.record_failure(send(ledger, 4), "429")
    return ledger


def test_what_is_forgotten_is_asked_again_and_stays_charged(mixed: Ledger) -> None:
    before = mixed.runs()
    rows = [ForgottenRequests("a", "write", "small", "refused", 2, 0, 20, "content filter")]
    assert forget(mixed, run="a", dry=True) == rows
    assert reserve(mixed, 0) == Refusal("filtered", "content filter", 1, 0)
    assert forget(mixed, run="a") == rows
    assert mixed.runs() == before
    assert isinstance(reserve(mixed, 0), Send)
    assert reserve(mixed, 2) == LedgerAnswer(b"x", 1, 1)
    assert forget(mixed, run="a") == []


@pytest.mark.parametrize(
    ("chosen", "number"),
    [
        ({"run": "a"}, 2), ({"run": "b"}, 0), ({"agent": "write"}, 2), ({"agent": "judge"}, 0),
        ({"model": "small", "run": "a"}, 2), ({"model": "large"}, 0),
        ({"states": ["answered", "refused"]}, 4), ({"states": ["open"]}, 0),
    ],
)  # fmt: skip
def test_what_is_chosen(mixed: Ledger, chosen: dict[str, object], number: int) -> None:
    assert sum(row.requests for row in forget(mixed, **chosen)) == number  # type: ignore[arg-type]


def test_nothing_is_forgotten_while_another_has_it_open(mixed: Ledger) -> None:
    other = Ledger(mixed.where)
    reserve(other, 2)  # on a server nobody is kept out by who only reads
    with pytest.raises(UsageError) as error:
        forget(mixed, run="a")
    assert str(error.value) == f"{mixed.where} is in use: end the runs that have it open first"
    assert len(forget(mixed, run="a", dry=True)) == 1  # looking is allowed
    other.close()
    assert len(forget(mixed, run="a")) == 1


def test_an_answer_that_others_used_is_said_to_be(mixed: Ledger) -> None:
    assert forget(mixed, run="a", states=["answered"]) == [
        ForgottenRequests("a", "write", "small", "answered", 2, 1, 60, None)
    ]
    assert mixed.parts("a")[0].answered == 0
    assert isinstance(reserve(mixed, 2, run="b"), Send)


def test_only_what_nobody_can_be_seen_to_send_is_taken_from_them(ledger: Ledger) -> None:
    send(ledger)
    assert forget(ledger, run="a", states=["open"]) == []  # this process runs
    owned_by(ledger, boot="elsewhere", name="node7")
    assert isinstance(reserve(ledger), Busy)
    assert forget(ledger, run="a", states=["open"]) == [
        ForgottenRequests("a", "write", "small", "open", 1, 0, 100, None)
    ]
    assert reserve(ledger, cap=100) == OverCap(100, 0)  # it stays charged
    assert isinstance(reserve(ledger), Send)


@pytest.mark.parametrize("version", [1, 3])
def test_a_ledger_of_another_version_is_refused(version: int, tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET version = ?", (version,))
    db.close()
    before = path.read_bytes()
    with pytest.raises(UsageError) as error:
        Ledger(path)
    assert str(error.value) == (
        f"{path} is a ledger of version {version}, and this retgen reads 2: use the retgen that "
        "wrote it, or name another --ledger"
    )
    assert path.read_bytes() == before
