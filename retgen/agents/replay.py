"""A run without its models: the answers of a ledger in a file, which another run uses.

A replay file is JSON Lines, one answered request a line: its key, the request, the answer as it
came. A line whose request does not have the key that it states is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from retgen.agents.chat import count
from retgen.agents.ledger import Answer, LedgerReader, StoredAnswer
from retgen.agents.prompt import Request
from retgen.errors import UsageError
from retgen.write import write_rows


def missing_answer(file: Path, request: Request) -> UsageError:
    """The error of a request without an answer in a replay file."""
    question = request.messages[-1].content[:60]
    return UsageError(
        f"{file} holds no answer of {request.endpoint} to a request of this recipe ({question!r} "
        "...): it was written by another recipe or by a run that did not end, or its answers came "
        "from another server, which base_url (or OPENAI_BASE_URL) names"
    )


def export_replay(ledger: LedgerReader, path: Path, run: str | None = None) -> int:
    """Write the answers of a run, or of all, in the order of their keys; returns their number.

    Raises `UsageError` where there is none, and writes nothing then.
    """

    def rows() -> Iterator[dict[str, Any]]:
        kept = None
        for kept in ledger.answers(run):
            yield _row(kept)
        if kept is None:
            whose = f" of run {run!r}" if run is not None else ""
            raise UsageError(f"there is no answer{whose} to export")

    return write_rows(path, rows())[1]


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
            if not lines.tell():
                raise UsageError(f"{path} is empty: it holds no answers")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _row(kept: StoredAnswer) -> dict[str, Any]:
    raw, tokens_in, tokens_out, why, reason = kept.answer
    line: dict[str, Any] = {
        "key": kept.key,
        "agent": kept.agent,
        "model": kept.model,
        "request": orjson.Fragment(kept.request),
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "answer": raw.decode("utf-8", "replace"),  # a refusal may be a page in any encoding
    }
    return {**line, "refused": {"why": why, "reason": reason}} if why else line


def _stored_answer(line: dict[str, Any]) -> StoredAnswer:
    body = orjson.dumps(line["request"], option=orjson.OPT_SORT_KEYS)
    if hashlib.sha256(body).hexdigest() != line["key"]:
        raise ValueError("its request was changed")
    if not isinstance(line["answer"], str):
        raise ValueError("its answer is no text")
    tokens_in, tokens_out = (count(line[name]) for name in ("tokens_in", "tokens_out"))
    if tokens_in is None or tokens_out is None:
        raise ValueError("its tokens are no numbers")
    refused = line.get("refused") or {"why": "", "reason": ""}
    end = Answer(
        line["answer"].encode(), tokens_in, tokens_out, str(refused["why"]), str(refused["reason"])
    )
    return StoredAnswer(line["key"], str(line["agent"]), str(line["model"]), body, end)
