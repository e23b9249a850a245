"""Answers in a file: written, read again, refused where they were changed, and asked of nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from retgen.agents.chat import Unusable
from retgen.agents.ledger import Answer, Ledger
from retgen.agents.prompt import Message, Request
from retgen.agents.replay import export_replay, read_replay
from retgen.errors import OutputError, UsageError
from tests.agents.ledgers import open_client, spent

NOWHERE = "http://127.0.0.1:9/v1"
HELLO = b'{"choices": [{"message": {"content": "hello"}}]}'
ANSWERS = [HELLO, b'{"broken', "{\u2028käse}\n".encode(), b""]
SCHEMA = {"title": "Things", "type": "object", "properties": {"b": {}, "a": {}}}


def request(number: int) -> Request:
    asked = (Message("system", "Be brief."), Message("user", f'question {number}\n{{"ä": 1}}'))
    return Request("loopback", "small", asked, {"temperature": 1.0}, SCHEMA)


async def add(ledger: Ledger, number: int, raw: bytes, run: str, why: str = "") -> None:
    call = await ledger.add_call(request(number), run, "write", worst=9, max_tokens=9, priced=True)
    state, reason = ("refused", "400: no") if why else ("answered", "")
    await ledger.end_call(call, state, 3, Answer(raw, number, 2, why, reason))


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    """Five answers of run a, of which one is a refusal; one of run b, which used one of a's."""

    async def main(made: Ledger) -> None:
        for number, raw in enumerate(ANSWERS):
            await add(made, number, raw, "a")
        await add(made, 5, b"no\xff", "a", "filtered")
        await add(made, 4, HELLO, "b")
        made.find(request(0).key, run="b")
        await made.add_call(request(6), "b", "write", worst=9, max_tokens=9, priced=True)
        await made.flush()

    with closing(Ledger(path)) as made:
        asyncio.run(main(made))
        yield made


@pytest.fixture
def file(ledger: Ledger, tmp_path: Path) -> Path:
    assert export_replay(ledger, tmp_path / "replay.jsonl") == 6
    return tmp_path / "replay.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_a_line_holds_the_request_and_the_answer_as_it_came(file: Path) -> None:
    result = {line["key"]: line for line in lines(file)}
    assert list(result) == sorted(request(i).key for i in range(6))
    assert result[request(0).key] == {
        "key": request(0).key,
        "agent": "write",
        "model": "small",
        "request": json.loads(request(0).body),
        "tokens_in": 0,
        "tokens_out": 2,
        "answer": HELLO.decode(),
    }
    assert "refused" not in result[request(1).key]
    refused = result[request(5).key]
    assert refused["answer"] == "no\ufffd"
    assert refused["refused"] == {"why": "filtered", "reason": "400: no"}


def test_what_was_written_is_read_again(ledger: Ledger, file: Path, tmp_path: Path) -> None:
    """Refusals too: what a run had to do without, its replay does without."""
    refusal = ledger.find(request(5).key, "a")
    assert refusal == Answer(b"no\xff", 5, 2, "filtered", "400: no")
    readable = refusal._replace(raw="no\ufffd".encode())
    assert list(read_replay(file)) == [
        one._replace(answer=readable) if one.answer == refusal else one for one in ledger.answers()
    ]
    with closing(Ledger(tmp_path / "again.sqlite")) as again:
        again.add_answers("r", read_replay(file))
        assert export_replay(again, tmp_path / "again.jsonl") == 6
        assert again.find(request(5).key, "r") == readable
        assert spent(again) == {"r": (6, 0, 15, 12, 0)}
    assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()


@pytest.mark.parametrize(("run", "numbers"), [("a", {0, 1, 2, 3, 5}), ("b", {0, 4})])
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
        (
            lambda line: changed(line, request=line["request"] | {"sample": 1}),
            "its request was changed",
        ),
        (lambda line: changed(line, request=None), "its request was changed"),
        (lambda line: json.dumps({k: v for k, v in line.items() if k != "key"}), "'key'"),
        (
            lambda line: json.dumps({k: v for k, v in line.items() if k != "answer"}),
            "'answer'",
        ),
        (lambda line: changed(line, tokens_in="many"), "its tokens are no numbers"),
        (lambda line: "[]", "list indices must be integers or slices, not str"),
    ],
)
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


def test_order_and_spaces_of_a_line_do_not_matter(file: Path) -> None:
    answers = list(read_replay(file))
    rows = [json.dumps(dict(reversed(line.items())), indent=None) for line in lines(file)]
    file.write_text("\n".join(reversed(rows)))
    assert sorted(read_replay(file)) == answers


def test_a_line_that_is_no_json(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"{")
    with pytest.raises(UsageError) as error:
        list(read_replay(file))
    message = f"{file}, line 7: is no answer as gen ledger export writes it: "
    assert str(error.value).startswith(message)  # what follows are orjson's words


def test_a_model_that_only_knows_the_file(tmp_path: Path, file: Path) -> None:
    """What is in the file is answered; what is not is refused, and nothing is ever sent."""

    async def main(replayed: Ledger) -> None:
        replayed.add_answers("a", read_replay(file))
        async with open_client(replayed, NOWHERE, replay=file) as client:
            for number in (0, 4):
                assert await client.request(request(number), "write") == "hello"
            with pytest.raises(Unusable, match=r"^400: no$"):
                await client.request(request(5), "write")
            with pytest.raises(UsageError, match="holds no answer of loopback to a request"):
                await client.request(request(6), "write")

    with closing(Ledger(tmp_path / "replayed.sqlite")) as replayed:
        asyncio.run(main(replayed))


def test_a_file_without_an_answer(ledger: Ledger) -> None:
    async def main(replayed: Ledger) -> None:
        async with open_client(replayed, NOWHERE, replay=Path("replay.jsonl")) as client:
            with pytest.raises(UsageError) as error:
                await client.request(request(7), "write")
        assert str(error.value) == (
            "replay.jsonl holds no answer of loopback to a request of this recipe ('question 7\\n"
            '{"ä": 1}\' ...): it was written by another recipe or by a run that did not end, or its '
            "answers came from another server, which base_url (or OPENAI_BASE_URL) names"
        )

    with closing(Ledger(ledger.path.with_name("replayed.sqlite"))) as replayed:
        asyncio.run(main(replayed))
