"""Answers in a file: written, read again, refused where they were changed, and asked of nobody."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.caller import Caller
from retgen.agents.flow import Flight, Stop
from retgen.agents.ledger import Ledger, Send, StoredAnswer, Writer
from retgen.agents.models import ModelSettings
from retgen.agents.prompt import Message, Request
from retgen.agents.replay import ReplayModel, export_replay, read_replay
from retgen.errors import OutputError, UsageError

HELLO = b'{"choices": [{"message": {"content": "hello"}}]}'
ANSWERS = [HELLO, b'{"broken\xff', "{\u2028käse}\n".encode(), b""]
SCHEMA = {"title": "Things", "type": "object", "properties": {"b": {}, "a": {}}}


def request(number: int) -> Request:
    asked = (Message("system", "Be brief."), Message("user", f'question {number}\n{{"ä": 1}}'))
    return Request("loopback", "small", asked, {"temperature": 1.0}, SCHEMA)


def answer(ledger: Ledger, number: int, raw: bytes, run: str) -> None:
    result = ledger.reserve(request(number), run=run, agent="write", worst=9, lease=9)
    assert isinstance(result, Send)
    ledger.record_answer(result, raw, number, 2, 3)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Four answers to run a; one more to run b, which needed one of a's; one that is out."""
    made = Ledger(tmp_path / "ledger.sqlite")
    for number, raw in enumerate(ANSWERS):
        answer(made, number, raw, "a")
    answer(made, 4, HELLO, "b")
    made.find(request(0), run="b")
    made.reserve(request(5), run="b", agent="write", worst=9, lease=9)
    yield made
    made.close()


@pytest.fixture
def file(ledger: Ledger, tmp_path: Path) -> Path:
    assert export_replay(ledger, tmp_path / "replay.jsonl") == 5
    return tmp_path / "replay.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_a_line_holds_the_request_and_the_answer_as_it_came(file: Path) -> None:
    result = {line["key"]: line for line in lines(file)}
    assert list(result) == sorted(request(i).key for i in range(5))
    assert result[request(0).key] == {
        "key": request(0).key,
        "agent": "write",
        "model": "small",
        "request": json.loads(request(0).body),
        "tokens_in": 0,
        "tokens_out": 2,
        "answer": HELLO.decode(),
    }
    broken = result[request(1).key]
    assert "answer" not in broken
    assert base64.b64decode(broken["answer_base64"]) == b'{"broken\xff'


def test_what_was_written_is_read_again(ledger: Ledger, file: Path, tmp_path: Path) -> None:
    assert list(read_replay(file)) == list(ledger.answers())
    again = Ledger(tmp_path / "again.sqlite")
    again.add_answers("r", read_replay(file))
    assert export_replay(again, tmp_path / "again.jsonl") == 5
    assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()
    again.close()


@pytest.mark.parametrize(("run", "numbers"), [("a", {0, 1, 2, 3}), ("b", {0, 4})])
def test_the_answers_of_one_run(
    ledger: Ledger, tmp_path: Path, run: str, numbers: set[int]
) -> None:
    path = tmp_path / "one.jsonl"
    assert export_replay(ledger, path, run) == len(numbers)
    assert {kept.key for kept in read_replay(path)} == {request(i).key for i in numbers}


def test_a_run_without_an_answer_is_not_exported(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        export_replay(ledger, tmp_path / "one.jsonl", "c")
    assert str(error.value) == "there is no answer of run 'c' to export"
    assert not list(tmp_path.glob("*one*"))


def test_a_file_that_cannot_be_written_or_read(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "none" / "replay.jsonl"
    with pytest.raises(OutputError, match=r"replay\.jsonl: No such file or directory\. What was"):
        export_replay(ledger, path)
    with pytest.raises(UsageError) as error:
        list(read_replay(path))
    assert str(error.value) == f"{path}: cannot be read: No such file or directory"


def changed(line: dict[str, Any], **more: Any) -> str:
    return json.dumps(line | more)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda line: changed(line, key="0" * 64), "its request was changed"),
        (lambda line: changed(line, request=line["request"] | {"sample": 1}),
         "its request was changed"),
        (lambda line: changed(line, request=None), "its request was changed"),
        (lambda line: json.dumps({k: v for k, v in line.items() if k != "key"}), "'key'"),
        (lambda line: json.dumps({k: v for k, v in line.items() if k != "answer"}),
         "'answer_base64'"),
        (lambda line: changed(line, tokens_in="many"),
         "its tokens are no numbers"),
        (lambda line: "[]", "list indices must be integers or slices, not str"),
    ],
)  # fmt: skip
def test_a_line_that_was_changed_is_named(file: Path, change: Any, reason: str) -> None:
    rows = [json.dumps(line) for line in lines(file)]
    third = next(i for i, line in enumerate(lines(file)) if line["key"] == request(0).key)
    rows[third] = change(lines(file)[third])
    file.write_text("\n".join(rows) + "\n")
    result = read_replay(file)
    with pytest.raises(UsageError) as error:
        list(result)
    assert str(error.value) == (
        f"{file}, line {third + 1}: is no answer as gen ledger export writes it: {reason}"
    )


def test_order_and_spaces_of_a_line_do_not_matter(ledger: Ledger, file: Path) -> None:
    rows = [json.dumps(dict(reversed(line.items())), indent=None) for line in lines(file)]
    file.write_text("\n".join(reversed(rows)))
    assert sorted(read_replay(file)) == list(ledger.answers())


def test_a_line_that_is_no_json(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"{")
    with pytest.raises(UsageError) as error:
        list(read_replay(file))
    message = f"{file}, line 6: is no answer as gen ledger export writes it: "
    assert str(error.value).startswith(message)  # what follows are orjson's words


def test_a_model_that_only_knows_the_file(tmp_path: Path, file: Path) -> None:
    """What is in the file is answered; what is not is refused, and nothing is ever sent."""
    replayed = Ledger(tmp_path / "replayed.sqlite")
    replayed.add_answers("a", read_replay(file))

    async def run() -> None:
        backend = OpenAIChat(base_url="http://127.0.0.1:9/v1", api_key="none")
        writer, model = Writer(replayed), ModelSettings(provider="openai", name="small")
        caller = Caller(
            replayed, writer, ReplayModel(backend, file, replayed), model,
            run="a", stop=Stop(), flight=Flight(),
        )  # fmt: skip
        assert [await caller.ask(request(i), "write") for i in (0, 4)] == ["hello"] * 2
        with pytest.raises(UsageError, match=r"a run that did not end$"):
            await caller.ask(request(1), "write")  # what was kept is no answer
        await caller.close()
        writer.close()

    asyncio.run(run())
    replayed.close()


def test_a_refusal_is_replayed_too(tmp_path: Path, ledger: Ledger) -> None:
    result = ledger.reserve(request(6), run="a", agent="write", worst=9, lease=9)
    assert isinstance(result, Send)
    ledger.record_refusal(
        result, b"no\xff", "filtered", "the request was filtered (400: no)", 0, 0, 0
    )
    path = tmp_path / "refused.jsonl"
    assert export_replay(ledger, path, "a") == 5
    (line,) = [line for line in lines(path) if line["key"] == request(6).key]
    assert line["refused"] == {"why": "filtered", "reason": "the request was filtered (400: no)"}
    replayed = Ledger(tmp_path / "replayed.sqlite")
    replayed.add_answers("a", read_replay(path))
    assert replayed.find(request(6), run="a") == ledger.find(request(6), run="a") == (
        "filtered", "the request was filtered (400: no)", 0, 0,
    )  # fmt: skip
    assert sorted(replayed.answers()) == sorted(ledger.answers("a"))
    assert [part[3:] for part in replayed.parts()] == [(5, 0, 0, 6, 8, 0, True, 4)]
    replayed.close()


@pytest.mark.parametrize(
    ("endpoints", "why"),
    [
        ({"loopback"}, "it was written by another recipe, or by a run that did not end"),
        (
            {"openai", "google_genai"},
            "its answers came from google_genai, openai, and this recipe asks loopback: give it "
            "that base_url (or OPENAI_BASE_URL)",
        ),
        (
            set(),
            "its answers came from nowhere, and this recipe asks loopback: give it that base_url "
            "(or OPENAI_BASE_URL)",
        ),
    ],
)
def test_why_a_file_has_no_answer(tmp_path: Path, endpoints: set[str], why: str) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    there = [Request(one, "small", (Message("user", "x"),)) for one in endpoints]
    ledger.add_answers(
        "a", (StoredAnswer(one.key, "write", "small", one.body, b"x", 1, 1) for one in there)
    )

    async def run() -> None:
        backend = OpenAIChat(base_url="http://127.0.0.1:9/v1", api_key="none")
        chat = ReplayModel(backend, Path("replay.jsonl"), ledger)
        with pytest.raises(UsageError) as error:
            await chat.send(request(7), 9)
        assert str(error.value) == (
            "replay.jsonl holds no answer to a request of this recipe ('question 7\\n"
            f'{{"ä": 1}}\' ...): {why}'
        )
        await chat.close()

    asyncio.run(run())
    ledger.close()
