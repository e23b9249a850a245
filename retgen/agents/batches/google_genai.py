"""Gemini's batches (https://ai.google.dev/api/batch-api): a file each.

They are done within 24 hours, and expire after 48.
"""

from __future__ import annotations

import io
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson

from retgen.agents.backends.google_genai import GoogleChat
from retgen.agents.batches import Batch, BatchApi, CallFailed, expect
from retgen.agents.chat import NOT_SENT, SILENCE, Response, part
from retgen.agents.http_model import no_response
from retgen.agents.prompt import Request

# statuses of HTTP for gRPC's codes 0 to 16, in which errors of requests and batches are stated
_HTTP = (200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401)


class GoogleBatches(BatchApi):
    """See `BatchApi`. A batch carries its tag as its display name."""

    chat: GoogleChat
    name = "key"
    version = "/v1beta"

    def line(self, name: str, request: Request, max_tokens: int) -> bytes:
        return orjson.dumps({"key": name, "request": self.chat.body(request, max_tokens)})

    async def upload(self, data: bytes, tag: str) -> str:
        import aiohttp
        import httpx2
        from google.genai import errors, types

        config = types.UploadFileConfig(display_name=tag, mime_type="application/jsonl")
        try:
            files = self.chat.client.aio.files
            file = await files.upload(file=io.BytesIO(data), config=config)
            return expect(str, file.name)
        except errors.APIError as error:
            answer: Any = error.response
            wait = answer.headers.get("retry-after")
            raise CallFailed(self.chat.failure(answer.content, error.code, wait)) from error
        except (httpx2.RequestError, aiohttp.ClientError, OSError) as error:
            raise CallFailed(no_response(error, urlsplit(self.chat.url).hostname)) from error
        except Exception as error:  # of the SDK, over something that it does not expect
            words = self.chat.mask_text(f"not an answer of a batch API: {error!r}")
            raise CallFailed(Response(b"", SILENCE, words)) from error

    async def create(self, file: str, model: str, tag: str, run: str) -> Batch:
        name = model if "/" in model else f"models/{model}"
        body = {"batch": {"displayName": tag, "inputConfig": {"fileName": file}}}
        return await self.call(self._batch, f"{self.root}/{name}:batchGenerateContent", json=body)

    async def list(self, token: str) -> tuple[list[Batch], str]:
        def page(tree: dict[str, Any]) -> tuple[list[Batch], str]:
            operations = expect(list, tree.get("operations", []))  # it leaves out an empty list
            next_token = expect(str, tree.get("nextPageToken", ""))
            return [self._batch(one) for one in operations], next_token

        query = urlencode({"pageSize": 100, "pageToken": token})
        return await self.call(page, f"{self.root}/batches?{query}")

    async def get(self, batch: str) -> Batch:
        return await self.call(self._batch, f"{self.root}/{quote(batch)}")

    def read(self, line: dict[str, Any]) -> Response | None:
        error, answer = part(line, "error") or part(line, "status"), part(line, "response")
        if error:
            return self._error(error)
        return self.chat.read(orjson.dumps(answer)) if answer else None

    def _error(self, error: dict[str, Any]) -> Response:
        code = error.get("code")
        status = code if isinstance(code, int) and code >= 0 else 500
        status = _HTTP[status] if status < len(_HTTP) else status
        return self.chat.failure(orjson.dumps({"error": error}), status)

    def _batch(self, tree: dict[str, Any]) -> Batch:
        stated = tree["metadata"]
        error = self._error(part(tree, "error") or {"message": "the batch failed"})
        if error.status < 500 and error.status != 429:  # the batch is at fault, and no request
            error = error._replace(status=NOT_SENT)
        stats = part(stated, "batchStats")
        file = (part(stated, "output") or part(tree, "response")).get("responsesFile")
        return Batch(
            id=expect(str, tree["name"]),
            tag=str(stated.get("displayName") or ""),
            state=stated["state"].partition("STATE_")[2].casefold().replace("_", " "),
            done=int(stats.get("successfulRequestCount") or 0),
            failed=int(stats.get("failedRequestCount") or 0),
            files=(f"{self.root}/{quote(file)}:download?alt=media",) if file else (),
            error=error,
        )
