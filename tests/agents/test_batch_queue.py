"""Requests in batches, through a ledger, at servers of both protocols that fail in every way."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from retgen.agents.backends import backends
from retgen.agents.batch_queue import BatchQueue
from retgen.agents.batches import batch_apis
from retgen.agents.chat import NOT_RUN, NOT_SENT, SILENCE, Response
from retgen.agents.ledger import Answer, Call, Ledger
from retgen.agents.limits import Budget, Session, Stop, Stopped
from retgen.agents.prompt import Message, Request
from retgen.errors import EndpointFailed
from tests.agents import batch_server

NAMES = {"openai": "batch_", "google_genai": "batches/"}
WORST, COST = 100, 50  # nano-dollars of each request
# bodies of status 200 that no batch API sends
FOREIGN = [
    b"",
    b"<html>sign in</html>",
    b"null",
    b"[]",
    b"[3]",
    b"3",
    b'"ok"',
    b'{"id": "batch_00',
    b'{"id": null, "name": null, "status": 3, "metadata": "x", "data": {}, "operations": 3}',
    b'{"id": [1], "name": {}, "status": null, "metadata": {"state": 7}, "data": "x", "operations": "y"}',
    b"\xff\xfe",
]


@pytest.fixture(params=NAMES)
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(protocol: str) -> Iterator[Any]:
    with serving(protocol) as made:
        yield made


def serving(protocol: str) -> Any:
    def say(body: dict[str, Any]) -> str:
        return "answer to " + str(body["messages"][-1]["content"])

    return batch_server.serving(protocol, say)


def question(number: int) -> Request:
    return Request("x", "m", (Message("user", f"question {number}"),), max_tokens=20)


class Asked(NamedTuple):
    """What came of some questions, in order, and what the user was told."""

    results: list[Any]
    notices: list[str]

    @property
    def texts(self) -> list[str]:
        return [one.text if isinstance(one, Response) else repr(one) for one in self.results]

    @property
    def statuses(self) -> list[int]:
        return [one.status for one in self.results]

    @property
    def errors(self) -> set[str]:
        return {one.error if isinstance(one, Response) else str(one) for one in self.results}


def ask(
    server: Any,
    path: Path,
    count: int,
    *,
    hours: float = 1.0,
    seconds: float = 60.0,
    limits: dict[str, int] | None = None,
    stop_at: str = "",
    again: bool = False,
    notes: list[str] | None = None,
) -> Asked:
    """Ask so many questions at once, as a process of its own that begins with the ledger.

    `stop_at`: words of the notice at which nothing more is sent. `again`: ask again what was not run.
    """
    notices: list[str] = []

    async def run() -> list[Any]:
        stop = Stop()
        protocol = "openai" if isinstance(server, batch_server.OpenAIServer) else "google_genai"
        chat = backends()[protocol](
            protocol, base_url=server.url, api_key="k" * 20, timeout=120.0, connections=9
        )

        def notice(text: str) -> None:
            notices.append(text)
            if notes is not None:
                notes.append(queue.note())
            if stop_at and stop_at in text:
                stop.set()

        async def one(number: int) -> Any:
            request = question(number)
            known = ledger.find(request.key, "a")
            if isinstance(known, Answer):
                return chat.read(known.raw)
            call = known if known is not None else await add(request)
            response = await queue.send(call, request)
            await end(call, response)
            return await one(number) if again and response.status == NOT_RUN else response

        async def add(request: Request) -> Call:
            return await ledger.add_call(
                request, "a", "write", worst=WORST, max_tokens=20, priced=True, batched=True
            )

        async def end(call: Call, response: Response) -> None:
            state, cost = "failed", 0
            if response.status == 200:
                state, cost = "answered", COST
            elif response.status == SILENCE:
                state, cost = "lost", call.worst
            answer = Answer(response.raw, 40, 10, "", response.error)
            await ledger.end_call(call, state, cost, answer)

        with closing(Ledger(path)) as ledger:
            ledger.begin("a")
            queue = BatchQueue(
                type("Limited", (batch_apis()[protocol],), limits or {})(chat),
                Session(ledger, "a", stop, Budget(None, 0, stop), notice=notice),
                "the model",
            )
            queue.hours, queue.listing_seconds = hours, seconds
            try:
                async with asyncio.timeout(120):
                    return await asyncio.gather(
                        *(one(number) for number in range(count)), return_exceptions=True
                    )
            finally:
                await queue.close()
                await chat.close()
                await ledger.flush()

    return Asked(asyncio.run(run()), notices)


def answers(count: int) -> list[str]:
    return [f"answer to question {number}" for number in range(count)]


def states(path: Path) -> dict[str, tuple[int, int]]:
    """Calls by state: how many, and what they cost."""
    with closing(sqlite3.connect(path)) as database:
        query = "select state, count(*), sum(cost) from calls group by state order by state"
        return {state: (count, cost) for state, count, cost in database.execute(query)}


def batch_columns(path: Path) -> set[tuple[bool, str | None]]:
    """Whether calls have a tag, and their batch."""
    with closing(sqlite3.connect(path)) as database:
        return set(database.execute("select tag != '', batch from calls"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.mark.slow
def test_one_batch_of_all_that_wait(server: Any, protocol: str, path: Path) -> None:
    asked = ask(server, path, 30)
    name = NAMES[protocol] + "0001"
    assert asked.texts == answers(30)
    assert (server.sizes, server.direct, server.paid_twice) == ([30], 0, 0)
    assert states(path) == {"answered": (30, 30 * COST)}
    assert batch_columns(path) == {(True, name)}
    ended = {"openai": "completed", "google_genai": "succeeded"}[protocol]
    assert asked.notices == [
        f"the model: requests in {name}: 30",
        f"the model: {name} {ended}",
    ]
    assert ask(server, path, 30) == (asked.results, [])  # from the ledger


@pytest.mark.slow
def test_a_batch_is_tagged(server: Any, protocol: str, path: Path) -> None:
    ask(server, path, 2)
    (made,) = server.made.values()
    if protocol == "openai":
        assert made["metadata"]["run"] == "a"
    tag = made["metadata"]["retgen" if protocol == "openai" else "displayName"]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("select distinct tag from calls").fetchall() == [(tag,)]


@pytest.mark.slow
def test_what_expired_costs_nothing(server: Any, path: Path) -> None:
    server.modes = ["expired"]
    asked = ask(server, path, 10)
    assert asked.statuses == [200, NOT_RUN] * 5
    assert (
        asked.results[1].error
        == {
            batch_server.OpenAIServer: "batch_expired: This request could not be executed before the "
            "completion window expired.",
            batch_server.GeminiServer: "the batch expired before this request was worked on",
        }[type(server)]
    )
    assert ask(server, path, 10).texts == answers(10)
    assert (server.sizes, server.paid_twice) == ([10, 5], 0)
    assert states(path) == {"answered": (10, 10 * COST), "failed": (5, 0)}


@pytest.mark.slow
def test_an_expired_batch_without_results_of_what_it_worked_on_is_charged(
    server: Any, path: Path
) -> None:
    server.modes = ["expired"]
    look_before = server.look

    def look(name: str) -> Any:
        look_before(name)
        batch = server.made[name]
        for tree in (batch, batch["metadata"]):
            for file in ("response", "output", "output_file_id", "error_file_id"):
                tree.pop(file, None)
        return server.shown(name)

    server.look = look
    asked = ask(server, path, 4)
    assert asked.statuses == [SILENCE] * 4
    assert asked.errors == {"the batch expired, and its results with it"}
    assert states(path) == {"lost": (4, 4 * WORST)}


@pytest.mark.slow
def test_errors_stand_beside_answers(server: Any, path: Path) -> None:
    server.modes = ["faulty"]
    asked = ask(server, path, 9)
    assert asked.statuses == [200, 200, 500] * 3
    assert ask(server, path, 9).texts == answers(9)
    assert (server.sizes, server.paid_twice) == ([9, 3], 0)


@pytest.mark.slow
def test_half_as_many_where_too_much_is_queued(server: Any, path: Path) -> None:
    server.modes = ["full", "full"]
    words = {
        batch_server.OpenAIServer: "token_limit_exceeded: Enqueued token limit reached",
        batch_server.GeminiServer: "too many enqueued tokens",
    }[type(server)]
    asked = ask(server, path, 8)
    assert (asked.statuses, asked.errors) == ([NOT_RUN] * 8, {words})
    assert states(path) == {"failed": (8, 0)}
    assert ask(server, path, 8, again=True).texts == answers(8)
    assert (server.sizes, server.paid_twice) == ([8, 8, 4, 4], 0)
    assert states(path) == {"answered": (8, 8 * COST), "failed": (16, 0)}


@pytest.mark.slow
@pytest.mark.parametrize("refusal", ["at the submission", "by the batch"])
def test_what_has_no_room_waits_for_the_end_of_a_batch(
    server: Any, path: Path, refusal: str
) -> None:
    server.modes = ["slow"]
    if refusal == "by the batch":
        server.modes.append("full")
    else:

        def at(step: str) -> None:
            if step == "create" and len(server.sizes) == 1 and not server.steps["created twice"]:
                server.steps["created twice"] += 1
                server.faults.append(("create", 429))

        server.at = at
    asked = ask(server, path, 6, limits={"most_requests": 4}, again=True)
    assert asked.texts == answers(6)
    assert server.sizes == ([3, 3, 3] if refusal == "by the batch" else [3, 3])
    assert server.paid_twice == 0
    assert states(path) == {"answered": (6, 6 * COST), "failed": (3, 0)}
    assert any(one.endswith("What is left is submitted later") for one in asked.notices)


@pytest.mark.slow
def test_a_batch_that_is_not_valid_is_refused(server: Any, path: Path) -> None:
    server.modes = ["invalid"]
    asked = ask(server, path, 3)
    assert asked.statuses == [NOT_SENT] * 3
    assert len(asked.errors) == 1
    assert asked.errors.pop().endswith("no batches for this")
    assert states(path) == {"failed": (3, 0)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "status"), [("upload", 404), ("create", 501), ("upload", 401), ("create", 400)]
)
def test_a_submission_that_is_refused_for_good(
    server: Any, path: Path, step: str, status: int
) -> None:
    server.faults = [(step, status)]
    asked = ask(server, path, 3)
    assert {type(one) for one in asked.results} == {EndpointFailed}
    (error,) = asked.errors
    assert error.startswith(f"the model: its batch API fails: {status}: not now. Batches stay")
    assert batch_columns(path) == {(False, None)}
    assert server.sizes == []
    assert ask(server, path, 3).texts == answers(3)  # and the first calls cost nothing
    assert states(path) == {"answered": (3, 3 * COST), "failed": (3, 0)}


@pytest.mark.slow
def test_a_batch_that_never_ends_is_taken_up_by_its_id(
    server: Any, protocol: str, path: Path
) -> None:
    server.modes, notes = ["never"], list[str]()
    asked = ask(server, path, 4, hours=0)
    state = {"openai": "in progress", "google_genai": "running"}[protocol]
    name = NAMES[protocol] + "0001"
    assert {type(one) for one in asked.results} == {EndpointFailed}
    assert asked.errors == {
        f"the model: its batch API fails: {name} is {state} after 0 hours. Batches stay there and "
        "are not paid for again: when this is set right, the same command takes them up"
    }
    assert states(path) == {"sent": (4, 4 * WORST)}

    server.made[name]["_mode"], server.faults = "done", [("poll", 503)]
    asked = ask(server, path, 5, notes=notes)
    assert asked.texts == answers(5)
    assert asked.notices[0] == f"the model: requests in {name}: 4"
    assert "batches: 1, 0 of 4 done" in notes
    assert notes[-1] == ""
    assert (server.sizes, server.paid_twice, server.steps["list"]) == ([4, 1], 0, 0)
    assert states(path) == {"answered": (5, 5 * COST)}


@pytest.mark.slow
def test_a_stop_leaves_batches_where_they_are(server: Any, path: Path) -> None:
    server.modes = ["never"]
    asked = ask(server, path, 3, stop_at="requests in")
    assert [type(one) for one in asked.results] == [Stopped] * 3
    assert states(path) == {"sent": (3, 3 * WORST)}
    assert len(server.sizes) == 1


# --- between the tag and the id -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("fault", [0, 500, 504, 408, *FOREIGN[:3]])
def test_a_batch_whose_creation_was_not_heard_of_is_found(
    protocol: str, path: Path, fault: int | bytes
) -> None:
    with serving(protocol) as server:
        server.faults, server.unlisted = [("created", fault)], 2
        asked = ask(server, path, 3)
        assert asked.texts == answers(3)
        assert (server.sizes, server.paid_twice, server.steps["list"]) == ([3], 0, 3)
        assert batch_columns(path) == {(True, NAMES[protocol] + "0001")}
        assert asked.notices[0].startswith("the model: looking for batch retgen-")


@pytest.mark.slow
def test_a_tag_of_an_earlier_process_is_looked_for(server: Any, protocol: str, path: Path) -> None:
    server.faults = [("created", 0)]
    asked = ask(server, path, 3, stop_at="looking for")
    assert [type(one) for one in asked.results] == [Stopped] * 3
    assert batch_columns(path) == {(True, None)}

    server.unlisted, server.faults = 2, [("list", 503), ("list", b"<html>"), ("list", 0)]
    assert ask(server, path, 4).texts == answers(4)
    assert (server.sizes, server.paid_twice) == ([3, 1], 0)
    assert states(path) == {"answered": (4, 4 * COST)}


@pytest.mark.slow
def test_a_batch_that_is_never_listed_stays_charged(server: Any, path: Path) -> None:
    server.faults = [("created", 0)]
    ask(server, path, 3, stop_at="looking for")
    server.unlisted = 1_000_000
    asked = ask(server, path, 3, seconds=0.1)
    with closing(sqlite3.connect(path)) as database:
        (tag,) = database.execute("select distinct tag from calls").fetchone()
    assert (asked.statuses, asked.errors) == ([SILENCE] * 3, {f"batch {tag} was never listed"})
    assert states(path) == {"lost": (3, 3 * WORST)}

    server.unlisted = 0
    assert ask(server, path, 3).texts == answers(3)
    assert server.sizes == [3, 3]
    assert states(path) == {"answered": (3, 3 * COST), "lost": (3, 3 * WORST)}


@pytest.mark.slow
def test_what_was_never_submitted_costs_nothing(server: Any, path: Path) -> None:
    server.faults = [("upload", 503)] * 3
    asked = ask(server, path, 3, stop_at="It is tried again")
    assert [type(one) for one in asked.results] == [Stopped] * 3
    server.faults = []
    assert ask(server, path, 3).texts == answers(3)
    assert states(path) == {"answered": (3, 3 * COST), "failed": (3, 0)}
    assert (server.sizes, server.steps["list"]) == ([3], 0)


@pytest.mark.slow
def test_a_batch_is_found_behind_many_others(server: Any, path: Path) -> None:
    server.faults = [("created", 0)]
    ask(server, path, 2, stop_at="looking for")
    (name, first), *_ = server.made.items()
    for number in range(250):
        server.made[f"{name}-{number}"] = {
            **first,
            "id": f"{name}-{number}",
            "name": f"{name}-{number}",
            "metadata": {**first["metadata"], "retgen": "", "displayName": ""},
        }
    assert ask(server, path, 2).texts == answers(2)
    assert (server.sizes, server.paid_twice, server.steps["list"]) == ([2], 0, 3)


# --- faults on the way ----------------------------------------------------------------------------


def at_once(check: Callable[[Any], None], cases: Sequence[Any]) -> None:
    with ThreadPoolExecutor(len(cases)) as pool:
        list(pool.map(check, cases))


@pytest.mark.slow
@pytest.mark.parametrize("step", ["upload", "poll", "download"])
def test_a_call_that_fails_is_made_again(protocol: str, tmp_path: Path, step: str) -> None:
    def once(fault: int) -> None:
        path = tmp_path / f"{fault}.sqlite"
        with serving(protocol) as server:
            server.faults = [(step, fault)]
            assert ask(server, path, 3).texts == answers(3), fault
            assert (server.faults, server.sizes, server.paid_twice) == ([], [3], 0)
            assert states(path) == {"answered": (3, 3 * COST)}

    faults = [0, 302, 407, 408, 429, 500, 503]
    at_once(once, faults if step == "upload" else [*faults, 404])


@pytest.mark.slow
@pytest.mark.parametrize("step", ["upload", "uploaded", "created", "list", "poll", "download"])
def test_a_foreign_answer_is_a_failure_that_passes(
    protocol: str, tmp_path: Path, step: str
) -> None:
    def once(number: int) -> None:
        path = tmp_path / f"{number}.sqlite"
        with serving(protocol) as server:
            server.faults = [(step, FOREIGN[number])]
            if step == "list":
                server.faults.append(("created", 0))
            asked = ask(server, path, 3)
            assert asked.texts == answers(3), FOREIGN[number]
            assert (server.faults, server.sizes, server.paid_twice) == ([], [3], 0)
            assert states(path) == {"answered": (3, 3 * COST)}

    at_once(once, range(len(FOREIGN)))


@pytest.mark.slow
@pytest.mark.parametrize("step", ["upload", "list", "poll", "download"])
def test_foreign_answers_for_ever_end_the_run(protocol: str, tmp_path: Path, step: str) -> None:
    def ever(number: int) -> None:
        path = tmp_path / f"{number}.sqlite"
        with serving(protocol) as server:
            server.faults = [(step, FOREIGN[number])] * 50
            if step == "list":
                server.faults.append(("created", 0))
            asked = ask(server, path, 3, seconds=0.1)
            assert {type(one) for one in asked.results} == {EndpointFailed}
            (error,) = asked.errors
            assert error.startswith("the model: its batch API fails: ")
            words = "not an answer of a batch API: "
            if step == "download":
                words = f"of the results of {NAMES[protocol]}0001 only 0 could be read"
            assert words in error
            assert states(path) == {"sent": (3, 3 * WORST)}
            server.faults = []
            assert ask(server, path, 3).texts == answers(3)
            assert (server.sizes, server.paid_twice) == ([3], 0)

    at_once(ever, range(len(FOREIGN)))


@pytest.mark.slow
def test_a_key_that_is_refused_leaves_batches_where_they_are(server: Any, path: Path) -> None:
    server.faults = [("poll", 401)]
    asked = ask(server, path, 3)
    assert asked.errors == {
        "the model: its batch API fails: 401: not now. Batches stay there and are not paid for "
        "again: when this is set right, the same command takes them up"
    }
    assert states(path) == {"sent": (3, 3 * WORST)}
    assert ask(server, path, 3).texts == answers(3)
    assert (server.sizes, server.paid_twice) == ([3], 0)


# --- files of results -----------------------------------------------------------------------------


def without_last(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:-1])


def with_bodies(body: bytes) -> Callable[[bytes], bytes]:
    """A line whose result has another shape."""

    def change(data: bytes) -> bytes:
        first, *lines = data.splitlines(keepends=True)
        tree = json.loads(first)
        kept = {name: tree[name] for name in ("custom_id", "key") if name in tree}
        return b"".join([json.dumps(kept | json.loads(body)).encode() + b"\n", *lines])

    return change


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "cut in its last line": lambda data: data[:-20],
    "a line missing": without_last,
    "a page": lambda data: b"<html>\n<body>sign in</body>\n</html>",
    "lists": lambda data: b"[]\n[3]\nnull\n7",
    "strings": with_bodies(b'{"response": "x", "error": null}'),
    "numbers": with_bodies(b'{"response": 7, "error": null}'),
    "nothing": with_bodies(b'{"response": null, "error": null}'),
    "empty objects": with_bodies(b'{"response": {}, "error": {}}'),
    "a list of names": with_bodies(b'{"custom_id": [1], "key": {"a": 1}}'),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_downloaded_again(server: Any, path: Path, damage: str) -> None:
    server.faults = [("download", DAMAGES[damage])]
    assert ask(server, path, 4).texts == answers(4)
    assert (server.sizes, server.paid_twice, server.steps["download"]) == ([4], 0, 2)
    assert states(path) == {"answered": (4, 4 * COST)}


@pytest.mark.slow
@pytest.mark.parametrize(("damage", "good"), [("a line missing", 3), ("half", 2), ("empty", 0)])
def test_answers_that_are_there_are_kept(server: Any, path: Path, damage: str, good: int) -> None:
    server.faults = [("download", DAMAGES[damage])] * 50
    asked = ask(server, path, 4, seconds=0.1)
    assert asked.texts[:good] == answers(4)[:good]
    assert {type(one) for one in asked.results[good:]} == {EndpointFailed}
    kept = {"answered": (good, good * COST)} if good else {}
    assert states(path) == kept | {"sent": (4 - good, (4 - good) * WORST)}
    server.faults = []
    assert ask(server, path, 4).texts == answers(4)
    assert (server.sizes, server.paid_twice) == ([4], 0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["faulty", "expired"])
@pytest.mark.parametrize("fault", [404, 500, b"", b"<html>", without_last])
def test_a_missing_error_file_takes_no_answers(path: Path, mode: str, fault: Any) -> None:
    with serving("openai") as server:
        server.modes, server.faults = [mode], [("errors", fault)] * 50
        asked = ask(server, path, 6, seconds=0.1)
        good = [isinstance(one, Response) for one in asked.results]
        whole = [True, True, False] * 2 if mode == "faulty" else [True, False] * 3
        assert good == whole
        count = sum(whole)
        left = 6 - count
        assert states(path) == {"answered": (count, count * COST), "sent": (left, left * WORST)}
        server.faults = []
        asked = ask(server, path, 6)
        assert asked.statuses == [
            200 if one else (500 if mode == "faulty" else NOT_RUN) for one in whole
        ]
        assert (server.sizes, server.paid_twice) == ([6], 0)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["before it", "behind it"])
def test_an_answer_is_not_replaced_in_its_file(server: Any, path: Path, where: str) -> None:
    """By an error, or by a second answer."""

    def change(data: bytes) -> bytes:
        first = json.loads(data.splitlines()[0])
        second = json.dumps(first).replace("question 0", "question 9").encode() + b"\n"
        fault = {name: first[name] for name in ("custom_id", "key") if name in first}
        fault |= {"response": None, "error": {"code": 13, "message": "internal"}}
        error = json.dumps(fault).encode() + b"\n"
        return error + data if where == "before it" else data + error + second

    server.faults = [("download", change)]
    assert ask(server, path, 3).texts == answers(3)
    assert (server.sizes, server.paid_twice, server.steps["download"]) == ([3], 0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("first", ["output", "errors"])
def test_an_answer_is_not_replaced_by_another_file(path: Path, first: str) -> None:
    """Each of the two files may be the one that comes first."""
    server: Any

    def change(data: bytes) -> bytes:
        lines = [json.loads(line) for line in next(iter(server.files.values())).splitlines()]
        error = {"code": "batch_expired", "message": "too late"}
        faults = [{"custom_id": line["custom_id"], "error": error} for line in lines]
        return "".join(json.dumps(fault) + "\n" for fault in faults).encode()

    with serving("openai") as server:
        server.modes, server.faults = ["expired"], [("errors", change)]
        if first == "errors":
            server.faults.append(("download", 503))
        asked = ask(server, path, 4)
        assert asked.statuses == [200, NOT_RUN] * 2
        assert asked.texts[::2] == answers(4)[::2]


@pytest.mark.slow
def test_batches_keep_to_the_limits_of_a_file(server: Any, tmp_path: Path) -> None:
    assert ask(server, tmp_path / "a.sqlite", 7, limits={"most_requests": 3}).texts == answers(7)
    assert server.sizes == [3, 2, 2]
    lines = [data.splitlines() for data in server.files.values() if b"question 0" in data]
    longest = max(len(line) for line in lines[0]) + 1

    server.sizes.clear()
    asked = ask(server, tmp_path / "b.sqlite", 7, limits={"most_bytes": 2 * longest + 8})
    assert asked.texts == answers(7)
    assert server.sizes == [1, 2, 2, 2]
