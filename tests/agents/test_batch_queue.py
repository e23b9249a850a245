"""Requests in batches, through a client and its ledger, at servers of both protocols that fail."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from retgen.agents.batch_queue import BatchQueue
from retgen.agents.batches import batch_apis
from retgen.agents.chat import ChatModel
from retgen.agents.ledger import Ledger
from retgen.agents.limits import Session, Stop, Stopped
from retgen.errors import EndpointFailed
from tests.agents import batch_server
from tests.agents.ledgers import PRICE, WORST, request, request_all

pytestmark = pytest.mark.slow
NAMES = {"openai": "batch_0001", "google_genai": "batches/0001"}
COST = PRICE.of(40, 10)
# bodies of status 200 that no batch API sends
PAGE, NULLS = (
    b"<html>sign in</html>",
    b'{"id": null, "name": null, "status": 3, "metadata": "x", "data": {}, "operations": 3}',
)
AGAIN = (
    "Batches stay there and are not paid for again: when this is set right, the same command takes "
    "them up"
)


@pytest.fixture(params=NAMES)
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(protocol: str) -> Iterator[Any]:
    def say(body: dict[str, Any]) -> str:
        return "answer to " + str(body["messages"][-1]["content"])

    with batch_server.serving(protocol, say) as made:
        made.protocol, made.usage = protocol, (40, 10)
        yield made


def answers(count: int) -> list[str]:
    return [f"answer to question {number}." for number in range(10, 10 + count)]


class Asked(NamedTuple):
    """What came of some questions, in order; what the user was told, and the progress line then."""

    results: list[Any]
    notices: list[str]
    notes: list[str]

    @property
    def error(self) -> str:
        """The error of all questions that were not answered."""
        (error,) = {str(one) for one in self.results if isinstance(one, EndpointFailed)}
        return error


def ask(
    server: Any,
    path: Path,
    count: int,
    *,
    hours: float = 1.0,
    seconds: float = 60.0,
    stop_at: str = "",
    **limits: int,
) -> Asked:
    """Ask so many questions at once, as a process of its own that begins with the ledger.

    `stop_at`: words of the notice at which nothing more is sent. `limits`: of a batch.
    """
    stop, queues, asked = Stop(), list[BatchQueue](), Asked([], [], [])

    def notice(text: str) -> None:
        asked.notices.append(text)
        asked.notes.append(queues[0].note())
        if stop_at and stop_at in text:
            stop.set()

    def batches(chat: ChatModel, session: Session) -> BatchQueue:
        api = type("Limited", (batch_apis()[server.protocol],), limits)
        queues.append(BatchQueue(api(chat), session, "the model"))
        queues[0].hours, queues[0].listing_seconds = hours, seconds
        return queues[0]

    settings = {"provider": server.protocol, "outage_attempts": 100}
    options = {"stop": stop, "notice": notice, "batches": batches, "settings": settings}
    with closing(Ledger(path)) as ledger:
        requests = (request(number) for number in range(10, 10 + count))
        asked.results.extend(request_all(ledger, server.url, *requests, **options))
    return asked


def query(path: Path, text: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(text).fetchall()


def states(path: Path) -> dict[str, tuple[int, int]]:
    """Calls by state: how many, and what they cost."""
    rows = query(path, "select state, count(*), sum(cost) from calls group by state")
    return {state: (count, cost) for state, count, cost in rows}


def goes_on(server: Any, path: Path, count: int) -> None:
    """The same command, at a server that works, asks for nothing that it has asked for before."""
    server.faults = []
    assert ask(server, path, count).results == answers(count)
    assert (server.sizes, server.paid_twice, server.direct) == ([count], 0, 0)
    assert states(path)["answered"] == (count, count * COST)


def test_one_batch_of_all_that_wait(server: Any, path: Path) -> None:
    asked = ask(server, path, 30)
    name = NAMES[server.protocol]
    assert asked.results == answers(30)
    assert (server.sizes, server.direct, server.paid_twice) == ([30], 0, 0)
    assert states(path) == {"answered": (30, 30 * COST)}
    ended = {"openai": "completed", "google_genai": "succeeded"}[server.protocol]
    assert asked.notices == [f"the model: requests in {name}: 30", f"the model: {name} {ended}"]
    # it carries its tag, and the ledger has that and its name
    metadata = server.made[name]["metadata"]
    tag = metadata["retgen" if server.protocol == "openai" else "displayName"]
    assert query(path, "select distinct tag, batch from calls") == [(tag, name)]
    assert ask(server, path, 30) == (answers(30), [], [])  # from the ledger


def test_what_expired_costs_nothing_and_is_submitted_again(server: Any, path: Path) -> None:
    server.modes = ["expired"]
    asked = ask(server, path, 10)
    assert asked.results == answers(10)
    assert (server.sizes, server.paid_twice) == ([10, 5], 0)
    assert states(path) == {"answered": (10, 10 * COST), "failed": (5, 0)}
    words = {
        "openai": "This request could not be executed before the completion window expired.",
        "google_genai": "the batch expired before this request was worked on",
    }
    assert any(words[server.protocol] in one for one in asked.notices)


def test_an_expired_batch_without_its_results_is_charged(server: Any, path: Path) -> None:
    server.modes = ["expired"]
    look_before = server.look

    def look(name: str) -> Any:
        look_before(name)
        batch = server.made[name]
        for tree in (batch, batch["metadata"]) if name == NAMES[server.protocol] else ():
            for file in ("response", "output", "output_file_id", "error_file_id"):
                tree.pop(file, None)
        return server.shown(name)

    server.look = look
    asked = ask(server, path, 4)
    assert asked.results == answers(4)
    assert any("the batch expired, and its results with it" in one for one in asked.notices)
    assert states(path) == {"answered": (4, 4 * COST), "lost": (4, 4 * WORST)}


def test_errors_stand_beside_answers(server: Any, path: Path) -> None:
    """A request that failed is charged at its most, as nobody documents that it is free."""
    server.modes = ["faulty"]
    assert ask(server, path, 9).results == answers(9)
    assert (server.sizes, server.paid_twice) == ([9, 3], 0)
    assert states(path) == {"answered": (9, 9 * COST), "failed": (3, 3 * WORST)}


def test_half_as_many_where_too_much_is_queued(server: Any, path: Path) -> None:
    """And while one of our batches is in the queue, the end of that is waited for."""
    server.modes = ["full", "full", "slow"]
    asked = ask(server, path, 8)
    assert asked.results == answers(8)
    assert (server.sizes, server.paid_twice) == ([8, 4, 4, 4], 0)
    assert states(path) == {"answered": (8, 8 * COST), "failed": (12, 0)}
    assert any(one.endswith("What is left is submitted later") for one in asked.notices)


def test_a_batch_that_is_not_valid_is_refused(server: Any, path: Path) -> None:
    server.modes = ["invalid"]
    results = ask(server, path, 3).results
    assert all("no batches for this" in str(one) for one in results), results
    assert states(path) == {"failed": (3, 0)}


@pytest.mark.parametrize(("step", "status"), [("upload", 404), ("create", 501), ("create", 400)])
def test_a_submission_that_is_refused_for_good(
    server: Any, path: Path, step: str, status: int
) -> None:
    server.faults = [(step, status)]
    error = ask(server, path, 3).error
    assert error == f"the model: its batch API fails: {status}: not now. {AGAIN}"
    assert query(path, "select distinct tag, batch from calls") == [("", None)]
    goes_on(server, path, 3)
    assert states(path)["failed"] == (3, 0)


def test_a_batch_that_never_ends_is_taken_up_by_its_id(server: Any, path: Path) -> None:
    server.modes = ["never"]
    state = {"openai": "in progress", "google_genai": "running"}[server.protocol]
    name = NAMES[server.protocol]
    error = ask(server, path, 4, hours=0).error
    assert error == f"the model: its batch API fails: {name} is {state} after 0 hours. {AGAIN}"
    assert states(path) == {"sent": (4, 4 * WORST)}

    server.made[name]["_mode"], server.faults = "done", [("poll", 503)]
    asked = ask(server, path, 5)
    assert asked.results == answers(5)
    assert asked.notices[0] == f"the model: requests in {name}: 4"
    assert "batches: 1, 0 of 4 done" in asked.notes
    assert asked.notes[-1] == ""
    assert (server.sizes, server.paid_twice, server.steps["list"]) == ([4, 1], 0, 0)
    assert states(path) == {"answered": (5, 5 * COST)}


# --- between the tag and the id -------------------------------------------------------------------


@pytest.mark.parametrize("fault", [0, 500, 408, b"", PAGE])
def test_a_batch_whose_creation_was_not_heard_of_is_found(
    server: Any, path: Path, fault: int | bytes
) -> None:
    server.faults, server.unlisted = [("created", fault)], 2
    asked = ask(server, path, 3)
    assert asked.results == answers(3)
    assert (server.sizes, server.paid_twice, server.steps["list"]) == ([3], 0, 3)
    assert query(path, "select distinct batch from calls") == [(NAMES[server.protocol],)]
    assert asked.notices[0].startswith("the model: looking for batch retgen-")


def test_a_tag_of_an_earlier_process_is_looked_for(server: Any, path: Path) -> None:
    """Behind many other batches, too."""
    server.faults = [("created", 0)]
    asked = ask(server, path, 3, stop_at="looking for")
    assert [type(one) for one in asked.results] == [Stopped] * 3
    assert query(path, "select distinct tag != '', batch from calls") == [(True, None)]
    (name, first), *_ = server.made.items()
    for number in range(250):
        other = {"id": f"{name}-{number}", "name": f"{name}-{number}"}
        metadata = {**first["metadata"], "retgen": "", "displayName": ""}
        server.made[f"{name}-{number}"] = {**first, **other, "metadata": metadata}
    server.faults = [("list", 503), ("list", PAGE), ("list", NULLS), ("list", 0)]
    asked = ask(server, path, 3)
    assert asked.results == answers(3)
    assert (server.sizes, server.paid_twice, server.steps["list"]) == ([3], 0, 7)
    assert states(path) == {"answered": (3, 3 * COST)}


def test_a_batch_that_is_never_listed_stays_charged(server: Any, path: Path) -> None:
    server.faults = [("created", 0)]
    ask(server, path, 3, stop_at="looking for")
    ((tag,),) = query(path, "select distinct tag from calls")
    server.unlisted = 1_000_000
    asked = ask(server, path, 3, seconds=0.1)
    assert asked.results == answers(3)
    assert any(f"batch {tag} was never listed" in one for one in asked.notices)
    assert server.sizes == [3, 3]
    assert states(path) == {"answered": (3, 3 * COST), "lost": (3, 3 * WORST)}


def test_what_was_never_submitted_costs_nothing(server: Any, path: Path) -> None:
    server.faults = [("upload", 503)] * 3
    asked = ask(server, path, 3, stop_at="It is tried again")
    assert [type(one) for one in asked.results] == [Stopped] * 3
    goes_on(server, path, 3)
    assert states(path)["failed"] == (3, 0)
    assert server.steps["list"] == 0


# --- faults on the way ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "faults",
    [
        {"upload": 0, "uploaded": b"", "poll": 302, "download": 404},
        {"upload": 429, "uploaded": PAGE, "poll": 503, "download": 0},
        {"upload": 408, "uploaded": NULLS, "poll": b"[3]", "download": 500},
        {"upload": PAGE, "uploaded": b"\xff\xfe", "poll": NULLS, "download": b"null"},
    ],
)
def test_a_call_that_fails_is_made_again(
    server: Any, path: Path, faults: dict[str, int | bytes]
) -> None:
    """Also where the answer is none of a batch API."""
    server.faults = [*faults.items()]
    assert ask(server, path, 3).results == answers(3)
    assert (server.faults, server.sizes, server.paid_twice) == ([], [3], 0)
    assert states(path) == {"answered": (3, 3 * COST)}


@pytest.mark.parametrize(
    ("step", "fault", "words"),
    [
        ("poll", 401, "401: not now"),
        ("upload", PAGE, "not an answer of a batch API: "),
        ("list", NULLS, "not an answer of a batch API: "),
        ("poll", PAGE, "not an answer of a batch API: "),
        ("download", PAGE, "of the results of {} only 0 could be read"),
    ],
)
def test_what_fails_for_good_leaves_batches_where_they_are(
    server: Any, path: Path, step: str, fault: int | bytes, words: str
) -> None:
    server.faults = [(step, fault)] * 50 + [("created", 0)] * (step == "list")
    error = ask(server, path, 3, seconds=0.1).error
    assert error.startswith("the model: its batch API fails: ")
    assert words.format(NAMES[server.protocol]) in error
    assert states(path) == {"sent": (3, 3 * WORST)}
    goes_on(server, path, 3)


# --- files of results -----------------------------------------------------------------------------


def without_last(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:-1])


def with_first(**changed: Any) -> Callable[[bytes], bytes]:
    """A first line whose result has another shape."""

    def change(data: bytes) -> bytes:
        first, *lines = data.splitlines(keepends=True)
        tree = json.loads(first)
        kept = {name: tree[name] for name in ("custom_id", "key") if name in tree}
        return b"".join([json.dumps(kept | changed).encode() + b"\n", *lines])

    return change


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-20],
        without_last,
        lambda data: b"[]\n[3]\nnull\n7",
        with_first(response="x", error=None),
        with_first(response={}, error={}),
        with_first(custom_id=[1], key={"a": 1}),
    ],
    ids=["cut", "a line missing", "lists", "a string", "empty objects", "a list of names"],
)
def test_a_damaged_file_is_downloaded_again(server: Any, path: Path, damage: Any) -> None:
    server.faults = [("download", damage)]
    assert ask(server, path, 4).results == answers(4)
    assert (server.sizes, server.paid_twice, server.steps["download"]) == ([4], 0, 2)


def test_answers_that_are_there_are_kept(server: Any, path: Path) -> None:
    server.faults = [("download", lambda data: data[: len(data) // 2])] * 50
    asked = ask(server, path, 4, seconds=0.1)
    assert asked.results[:2] == answers(4)[:2]
    assert "only 2 could be read" in asked.error
    assert states(path) == {"answered": (2, 2 * COST), "sent": (2, 2 * WORST)}
    goes_on(server, path, 4)


@pytest.mark.parametrize("protocol", ["openai"], indirect=True)
@pytest.mark.parametrize(("mode", "fault"), [("faulty", 404), ("expired", without_last)])
def test_a_missing_error_file_takes_no_answers(
    server: Any, path: Path, mode: str, fault: Any
) -> None:
    server.modes, server.faults = [mode], [("errors", fault)] * 50
    asked = ask(server, path, 6, seconds=0.1)
    good = [isinstance(one, str) for one in asked.results]
    assert good == ([True, True, False] * 2 if mode == "faulty" else [True, False] * 3)
    count = sum(good)
    assert states(path) == {
        "answered": (count, count * COST),
        "sent": (6 - count, (6 - count) * WORST),
    }
    server.faults = []
    assert ask(server, path, 6).results == answers(6)
    assert (server.sizes, server.paid_twice) == ([6, 6 - count], 0)


@pytest.mark.parametrize("where", ["before it", "behind it"])
def test_an_answer_is_not_replaced_in_its_file(server: Any, path: Path, where: str) -> None:
    """By an error, or by a second answer."""

    def change(data: bytes) -> bytes:
        first = json.loads(data.splitlines()[0])
        second = json.dumps(first).replace("question 10", "question 99").encode() + b"\n"
        fault = {name: first[name] for name in ("custom_id", "key") if name in first}
        fault |= {"response": None, "error": {"code": 13, "message": "internal"}}
        error = json.dumps(fault).encode() + b"\n"
        return error + data if where == "before it" else data + error + second

    server.faults = [("download", change)]
    assert ask(server, path, 3).results == answers(3)
    assert (server.sizes, server.paid_twice, server.steps["download"]) == ([3], 0, 1)


@pytest.mark.parametrize("protocol", ["openai"], indirect=True)
@pytest.mark.parametrize("late", [[], [("download", 503)]], ids=["output first", "errors first"])
def test_an_answer_is_not_replaced_by_another_file(server: Any, path: Path, late: Any) -> None:
    """Each of the two files may be the one that comes first."""

    def change(data: bytes) -> bytes:
        lines = [json.loads(line) for line in next(iter(server.files.values())).splitlines()]
        error = {"code": "batch_expired", "message": "too late"}
        faults = [{"custom_id": line["custom_id"], "error": error} for line in lines]
        return "".join(json.dumps(fault) + "\n" for fault in faults).encode()

    server.modes, server.faults = ["expired"], [("errors", change), *late]
    assert ask(server, path, 4).results == answers(4)
    assert (server.sizes, server.paid_twice) == ([4, 2], 0)


def test_batches_keep_to_the_limits_of_a_file(server: Any, path: Path) -> None:
    assert ask(server, path, 7, most_requests=3).results == answers(7)
    assert server.sizes == [3, 2, 2]
    lines = [data.splitlines() for data in server.files.values() if b"question 10" in data]
    longest = max(len(line) for line in lines[0]) + 1

    server.sizes.clear()
    other = path.with_name("other.sqlite")
    assert ask(server, other, 7, most_bytes=2 * longest + 8).results == answers(7)
    assert server.sizes == [1, 2, 2, 2]
