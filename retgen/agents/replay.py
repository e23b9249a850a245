"""A run without its models: the answers of a ledger in a file, and a model that knows only these.

A replay file is JSON Lines, one answered request a line: its key, the request, the answer as it
came. A line whose request does not have the key that it states is refused.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from retgen.agents.chat import ChatModel, Response, count, parse_object
from retgen.agents.ledger import Ledger, StoredAnswer
from retgen.agents.prompt import Request
from retgen.errors import UsageError
from retgen.write import AtomicFile


class ReplayModel:
    """A chat model that sends nothing; `chat` reads the answers of `file`, which `ledger` holds."""

    def __init__(self, chat: ChatModel, file: Path, ledger: Ledger) -> None:
        self._chat, self._file, self._ledger = chat, file, ledger

    async def send(self, request: Request, room: int) -> Response:
        """Refuse: what is not in the ledger is not in the file either."""
        came_from = {
            str(parse_object(kept.request).get("endpoint")) for kept in self._ledger.answers()
        }
        if request.endpoint not in came_from:
            there = ", ".join(sorted(came_from)) or "nowhere"
            why = (
                f"its answers came from {there}, and this recipe asks {request.endpoint}: give it "
                "that base_url (or OPENAI_BASE_URL)"
            )
        else:
            why = "it was written by another recipe, or by a run that did not end"
        question = request.messages[-1].content[:60]
        raise UsageError(
            f"{self._file} holds no answer to a request of this recipe ({question!r} ...): {why}"
        )

    def read(self, raw: bytes) -> Response:
        """See `ChatModel`."""
        return self._chat.read(raw)

    async def close(self) -> None:
        """See `ChatModel`."""
        await self._chat.close()


def export_replay(ledger: Ledger, path: Path, run: str | None = None) -> int:
    """Write the answers of a run, or of all, in the order of their keys; returns their number.

    Raises `UsageError` where there is none, and writes nothing then.
    """
    count = 0
    with AtomicFile(path) as file:
        for kept in ledger.answers(run):
            file.write(orjson.dumps(_line(kept), option=orjson.OPT_APPEND_NEWLINE))
            count += 1
        if not count:
            whose = f" of run {run!r}" if run is not None else ""
            raise UsageError(f"there is no answer{whose} to export")
    return count


def read_replay(path: Path) -> Iterator[StoredAnswer]:
    """The answers of a replay file. Raises `UsageError` naming the first line that is none."""
    try:
        with open(path, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    kept = _stored_answer(orjson.loads(line))
                except (ValueError, KeyError, TypeError) as error:
                    raise UsageError(
                        f"{path}, line {number}: is no answer as gen ledger export writes it: "
                        f"{error}"
                    ) from error
                yield kept
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _line(kept: StoredAnswer) -> dict[str, Any]:
    line: dict[str, Any] = {
        "key": kept.key,
        "agent": kept.agent,
        "model": kept.model,
        "request": orjson.Fragment(kept.request),
        "tokens_in": kept.tokens_in,
        "tokens_out": kept.tokens_out,
    }
    if kept.why:
        line["refused"] = {"why": kept.why, "reason": kept.reason}
    try:
        line["answer"] = kept.answer.decode()
    except UnicodeDecodeError:
        line["answer_base64"] = base64.b64encode(kept.answer).decode()
    return line


def _stored_answer(line: dict[str, Any]) -> StoredAnswer:
    body = orjson.dumps(line["request"], option=orjson.OPT_SORT_KEYS)
    if hashlib.sha256(body).hexdigest() != line["key"]:
        raise ValueError("its request was changed")
    answer = line.get("answer")
    if not isinstance(answer, str | None):
        raise ValueError("its answer is no text")
    raw = base64.b64decode(line["answer_base64"]) if answer is None else answer.encode()
    tokens = [count(line[name]) for name in ("tokens_in", "tokens_out")]
    if any(number is None or number >= 2**63 for number in tokens):
        raise ValueError("its tokens are no numbers")
    refused = line.get("refused") or {"why": "", "reason": ""}
    return StoredAnswer(
        line["key"], str(line["agent"]), str(line["model"]), body, raw,
        tokens[0] or 0, tokens[1] or 0, str(refused["why"]), str(refused["reason"]),
    )  # fmt: skip
