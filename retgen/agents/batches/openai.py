"""OpenAI's Batch API (https://platform.openai.com/docs/api-reference/batch).

A file holds 50,000 chat completions at most, and is done within 24 hours.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import orjson

from retgen.agents.batches import Batch, BatchApi, expect
from retgen.agents.chat import NOT_RUN, NOT_SENT, Response, error_of, one_line, part, parts
from retgen.agents.prompt import Request

_TAG = "retgen"
_ENDPOINT = "/v1/chat/completions"
_FULL = "token_limit_exceeded"  # of an error: more tokens are queued than the account may have


class OpenAIBatches(BatchApi):
    """See `BatchApi`. A batch carries its tag, and the name of its run, as metadata."""

    name = "custom_id"

    def line(self, name: str, request: Request, max_tokens: int) -> bytes:
        body, url = self.chat.body(request, max_tokens), _ENDPOINT
        return orjson.dumps({"custom_id": name, "method": "POST", "url": url, "body": body})

    async def upload(self, data: bytes, tag: str) -> str:
        form = {"data": {"purpose": "batch"}, "files": {"file": (f"{tag}.jsonl", data)}}
        return await self.call(lambda tree: expect(str, tree["id"]), f"{self.root}/files", **form)

    async def create(self, file: str, model: str, tag: str, run: str) -> Batch:
        body = {
            "input_file_id": file,
            "endpoint": _ENDPOINT,
            "completion_window": "24h",
            "metadata": {_TAG: tag, "run": run[-512:]},
        }
        return await self.call(self._batch, f"{self.root}/batches", json=body)

    async def list(self, token: str) -> tuple[list[Batch], str]:
        def page(tree: dict[str, Any]) -> tuple[list[Batch], str]:
            batches = [self._batch(one) for one in expect(list, tree["data"])]
            return batches, batches[-1].id if batches and tree.get("has_more") else ""

        query = urlencode({"limit": 100, **({"after": token} if token else {})})
        return await self.call(page, f"{self.root}/batches?{query}")

    async def get(self, batch: str) -> Batch:
        return await self.call(self._batch, f"{self.root}/batches/{quote(batch)}")

    def read(self, line: dict[str, Any]) -> Response | None:
        response, error = part(line, "response"), part(line, "error")
        status, body = response.get("status_code"), response.get("body")
        if isinstance(status, int) and (status != 200 or isinstance(body, dict)):
            raw = orjson.dumps(body)
            return self.chat.read(raw) if status == 200 else self.chat.failure(raw, status)
        ended = str(error.get("code")).startswith("batch_")  # _expired, _cancelled
        return Response(b"", NOT_RUN if ended else 500, error_of(line)) if error else None

    def _batch(self, tree: dict[str, Any]) -> Batch:
        counts, faults = part(tree, "request_counts"), parts(part(tree, "errors"), "data")
        full = any(one.get("code") == _FULL for one in faults)
        words = "; ".join(error_of({"error": one}) for one in faults) or "the batch failed"
        files = (tree.get("output_file_id"), tree.get("error_file_id"))
        return Batch(
            id=expect(str, tree["id"]),
            tag=str(part(tree, "metadata").get(_TAG) or ""),
            state=expect(str, tree["status"]).replace("_", " "),
            done=int(counts.get("completed") or 0),
            failed=int(counts.get("failed") or 0),
            files=tuple(f"{self.root}/files/{quote(file)}/content" for file in files if file),
            error=Response(b"", 429 if full else NOT_SENT, one_line(words)),
        )
