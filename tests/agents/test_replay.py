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
from retgen.errors import UsageError
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


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda line: line | {"key": "0" * 64}, "its request was changed"),
        (lambda line: line | {"request": None}, "its request was changed"),
        (lambda line: {k: v for k, v in line.items() if k != "answer"}, "'answer'"),
        (lambda line: line | {"tokens_in": "many"}, "its tokens are no numbers"),
        (lambda line: [], "list indices must be integers or slices, not str"),
    ],
)
def test_a_line_that_was_changed_is_named(file: Path, change: Any, reason: str) -> None:
    rows = lines(file)
    third = next(i for i, line in enumerate(rows) if line["key"] == request(0).key)
    rows[third] = change(rows[third])
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UsageError) as error:
        list(read_replay(file))
    assert str(error.value) == (
        f"{file}, line {third + 1}: is no answer as gen ledger export writes it: {reason}"
    )


def test_a_model_that_only_knows_the_file(tmp_path: Path, file: Path) -> None:
    """What is in the file is answered; what is not is refused, and nothing is ever sent."""

    async def main(replayed: Ledger) -> None:
        replayed.add_answers("a", read_replay(file))
        async with open_client(replayed, NOWHERE, replay=file) as client:
            for number in (0, 4):
                assert await client.request(request(number), "write") == "hello"
            with pytest.raises(Unusable, match=r"^400: no$"):
                await client.request(request(5), "write")
            with pytest.raises(UsageError) as error:
                await client.request(request(6), "write")
        assert str(error.value) == (
            f"{file} holds no answer of loopback to a request of this recipe ('question 6\\n"
            '{"ä": 1}\' ...): it was written by another recipe or by a run that did not end, or its '
            "answers came from another server, which base_url (or OPENAI_BASE_URL) names"
        )

    with closing(Ledger(tmp_path / "replayed.sqlite")) as replayed:
        asyncio.run(main(replayed))
