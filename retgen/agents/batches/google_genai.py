"""Gemini's batches, through Google's SDK: a file each, done within 24 hours, expired after 48."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import orjson

from retgen.agents.backends.google_genai import GoogleChat, NotOK
from retgen.agents.batch_api import ApiFailure, Batch, BatchApi, lines_of, rest_of
from retgen.agents.chat import NOT_SENT, SILENCE, Response, one_line, parse_object, part, parts
from retgen.agents.prompt import Request

_ENDED = ("succeeded", "failed", "cancelled", "expired", "partially succeeded")
_PAGE = 100
# codes of gRPC, which the errors of requests and of batches have, as HTTP has them
_HTTP = {
    1: 499, 2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400,
    12: 501, 13: 500, 14: 503, 15: 500, 16: 401,
}  # fmt: skip


class GoogleBatches(BatchApi):
    """See `BatchApi`. A batch carries its tag as its display name."""

    most_requests, most_bytes = 50_000, 200_000_000  # it may be 2 GB, which we hold in memory

    def __init__(self, chat: GoogleChat) -> None:
        self._chat = chat

    def line(self, item: str, request: Request, room: int) -> bytes:
        return orjson.dumps({"key": item, "request": self._chat.body(request, room)})

    async def upload(self, data: bytes, tag: str) -> str:
        from google.genai import types

        config = types.UploadFileConfig(display_name=tag, mime_type="application/jsonl")
        with self._failures():
            files = self._chat.connect().aio.files
            return (await files.upload(file=io.BytesIO(data), config=config)).name or ""

    async def create(self, file: str, model: str, tag: str, run: str) -> Batch:
        from google.genai import types

        config = types.CreateBatchJobConfig(display_name=tag)
        with self._failures():
            made = await self._chat.connect().aio.batches.create(
                model=model, src=file, config=config
            )
        return Batch(made.name or "", tag, "pending")

    async def batches(self) -> AsyncIterator[Batch]:
        query = {"pageSize": str(_PAGE)}
        while True:
            tree = await self._get(f"batches?{urlencode(query)}")
            for one in parts(tree, "operations"):
                yield self._batch(one)
            if not (token := tree.get("nextPageToken")):
                return
            query["pageToken"] = str(token)

    async def get(self, name: str) -> Batch:
        return self._batch(await self._get(name))

    async def answers(self, batch: Batch) -> dict[str, Response]:
        result = {}
        for file in batch.files:
            with self._failures():
                data = await self._chat.connect().aio.files.download(file=file)
            for tree in lines_of(self._chat.secrets.raw(data)):
                result[str(tree.get("key"))] = self._answer(tree)
        return result

    def _answer(self, tree: dict[str, Any]) -> Response:
        error = part(tree, "error") or part(tree, "status")
        if error:
            return self._error(error)
        return self._chat.read(orjson.dumps(part(tree, "response")))

    def _error(self, error: dict[str, Any]) -> Response:
        code = error.get("code")
        status = _HTTP.get(code, code) if isinstance(code, int) else 500
        return self._chat.failure(orjson.dumps({"error": error}), status)

    async def _get(self, path: str) -> dict[str, Any]:
        # the SDK's method drops how many requests are done
        call: Awaitable[Any] = self._chat.connect()._api_client.async_request("get", path, {})
        with self._failures():
            return parse_object((await call).body.encode())

    def _batch(self, tree: dict[str, Any]) -> Batch:
        stated = part(tree, "metadata")
        output = part(stated, "output") or part(tree, "response")
        stats = part(stated, "batchStats")
        state = str(stated.get("state")).partition("STATE_")[2].casefold().replace("_", " ")
        error, rest = part(tree, "error"), Batch._field_defaults["rest"]
        if error:
            rest = self._error(error)
            if rest.status < 500 and rest.status != 429:  # the batch is at fault, and no request
                rest = rest._replace(status=NOT_SENT)
        elif state in ("expired", "cancelled"):
            rest = rest_of(state)
        done, failed = (
            int(stats.get(name) or 0) for name in ("successfulRequestCount", "failedRequestCount")
        )
        return Batch(
            str(tree.get("name")), str(stated.get("displayName")), state, state in _ENDED, done,
            failed, tuple(filter(None, [output.get("responsesFile")])), rest,
            bool(error) and rest.status == 429,
        )  # fmt: skip

    @contextmanager
    def _failures(self) -> Iterator[None]:
        import aiohttp

        try:
            yield
        except (NotOK, TimeoutError, aiohttp.ClientError, OSError) as error:
            raise ApiFailure(self._chat.no_answer(error)) from error
        except (KeyError, ValueError) as error:  # the SDK's words for an upload that broke off
            words = one_line(self._chat.secrets.text(str(error)))
            raise ApiFailure(Response(b"", SILENCE, words)) from error
