"""OpenAI's Batch API, through its SDK: files of 50,000 chat completions, done within 24 hours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.batch_api import ApiFailure, Batch, BatchApi, lines_of, rest_of
from retgen.agents.chat import NOT_RUN, NOT_SENT, Response, error_of, one_line, part
from retgen.agents.http_model import no_response
from retgen.agents.prompt import Request

if TYPE_CHECKING:
    from openai.types import Batch as StatedBatch


_TAG = "retgen"
_ENDED = ("completed", "expired", "cancelled", "failed")
_FULL = "token_limit_exceeded"  # of an error: more tokens are queued than the account may have


class OpenAIBatches(BatchApi):
    """See `BatchApi`. A batch carries its tag, and the name of its run, as metadata."""

    most_requests, most_bytes = 50_000, 200_000_000

    def __init__(self, chat: OpenAIChat) -> None:
        self._chat, self._client = chat, chat.client

    def line(self, item: str, request: Request, room: int) -> bytes:
        body = self._chat.body(request, room)
        return orjson.dumps(
            {"custom_id": item, "method": "POST", "url": f"/v1/{self._chat.path}", "body": body}
        )

    async def upload(self, data: bytes, tag: str) -> str:
        with self._failures():
            file = (f"{tag}.jsonl", data, "application/jsonl")
            return (await self._client.files.create(file=file, purpose="batch")).id

    async def create(self, file: str, model: str, tag: str, run: str) -> Batch:
        with self._failures():
            return _batch(
                await self._client.batches.create(
                    input_file_id=file, endpoint="/v1/chat/completions", completion_window="24h",
                    metadata={_TAG: tag, "run": run[-512:]},
                )
            )  # fmt: skip

    async def batches(self) -> AsyncIterator[Batch]:
        with self._failures():
            async for one in self._client.batches.list(limit=100):
                yield _batch(one)

    async def get(self, name: str) -> Batch:
        with self._failures():
            return _batch(await self._client.batches.retrieve(name))

    async def answers(self, batch: Batch) -> dict[str, Response]:
        result = {}
        for file in batch.files:
            with self._failures():
                data = self._chat.secrets.raw((await self._client.files.content(file)).content)
            for tree in lines_of(data):
                result[str(tree.get("custom_id"))] = self._answer(tree)
        return result

    def _answer(self, tree: dict[str, Any]) -> Response:
        response, error = part(tree, "response"), part(tree, "error")
        if not response:
            ended = str(error.get("code")).startswith("batch_")  # batch_expired, batch_cancelled
            return Response(b"", NOT_RUN if ended else 500, error_of({"error": error}))
        raw, status = orjson.dumps(response.get("body")), response.get("status_code")
        if status == 200:
            return self._chat.read(raw)
        return self._chat.failure(raw, status if isinstance(status, int) else 500)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            raw, wait = error.response.content, error.response.headers.get("retry-after")
            raise ApiFailure(self._chat.failure(raw, error.status_code, wait)) from error
        except openai.APIConnectionError as error:
            raise ApiFailure(no_response(error, self._client.base_url.host)) from error


def _batch(one: StatedBatch) -> Batch:
    counts, faults = one.request_counts, (one.errors and one.errors.data) or ()
    codes = [fault.code or "" for fault in faults]
    words = [f"{fault.code}: {fault.message}" for fault in faults]
    rest = Batch._field_defaults["rest"]
    if one.status == "failed":
        rest = Response(b"", NOT_SENT, one_line("; ".join(words) or "the batch failed"))
    elif one.status in ("expired", "cancelled"):
        rest = rest_of(one.status)
    return Batch(
        one.id,
        (one.metadata or {}).get(_TAG, ""),
        one.status.replace("_", " "),
        one.status in _ENDED,
        counts.completed if counts else 0,
        counts.failed if counts else 0,
        tuple(filter(None, (one.output_file_id, one.error_file_id))),
        rest,
        one.status == "failed" and _FULL in codes,
    )
