"""A server on loopback that speaks Gemini's generateContent, and can fail in every way.

The model in the path says how: `ok`, `status-429`, `busy` (429, the delay in the body), `page` (503
with a body that is no JSON), `hang`, `drop`, `broken`, `cut`, `filtered`, `blocked`, `silent`,
`too-long`. Every request is kept. `say` makes an answer's text of a request, as OpenAI has it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.agents.loopback import Handler, Loopback, running


class Server(Loopback):
    def __init__(self, say: Callable[[dict[str, Any]], str] | None) -> None:
        super().__init__(_Handler)
        self.say = say
        self.paths: list[str] = []
        self.connections = 0


@contextmanager
def serving(say: Callable[[dict[str, Any]], str] | None = None) -> Iterator[Server]:
    with running(Server(say)) as result:
        yield result


class _Handler(Handler):
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        self.read()
        self.server.paths.append(self.path)
        how = self.path.rpartition("/")[2].partition(":")[0]
        if how == "drop":
            return self.drop()
        if how == "hang":
            time.sleep(2)
        status, answer = self._answer(how)
        data = json.dumps(answer).encode()
        if how in ("broken", "page"):
            data = b'{"candidates": [{"cont\xff'  # no JSON, and no UTF-8
        headers = {"content-type": "application/json; charset=UTF-8"}
        if how == "status-429":
            headers["retry-after"] = "4"
        if how == "status-307":
            headers["location"] = "/v1beta/models/ok:generateContent"
        return self.reply(status, data, headers)

    def _answer(self, how: str) -> tuple[int, dict[str, Any]]:
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 30}
        if how == "blocked":
            blocked = {"blockReason": "PROHIBITED_CONTENT"}
            return 200, {"promptFeedback": blocked, "usageMetadata": {"promptTokenCount": 5}}
        if how == "too-long":
            message = "The input token count (9) exceeds the maximum number of tokens allowed (8)."
            error = {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}
            return 400, {"error": error}
        if how.startswith("status-") or how in ("busy", "page"):
            status = {"busy": 429, "page": 503}.get(how) or int(how.removeprefix("status-"))
            kind = "type.googleapis.com/google.rpc."
            details = [{"@type": f"{kind}Help"}, {"@type": f"{kind}RetryInfo", "retryDelay": "3s"}]
            message = f"not with {self.headers['x-goog-api-key']}"
            error = {
                "code": status,
                "message": message,
                "details": details if how == "busy" else [],
            }
            return status, {"error": error}
        parts = [{"text": "I greet.", "thought": True}, {"text": "hel"}, {"text": "lo"}]
        if self.server.say is not None:
            parts = [{"text": self.server.say(self._as_openai(self.server.requests[-1]))}]
        ended = {"cut": "MAX_TOKENS", "filtered": "SAFETY"}.get(how, "STOP")
        content = {"role": "model", "parts": parts[:1] if how == "silent" else parts}
        return 200, {
            "candidates": [{"content": content, "finishReason": ended, "index": 0}],
            "usageMetadata": usage,
        }

    def _as_openai(self, body: dict[str, Any]) -> dict[str, Any]:
        stated = [(one["role"], one["parts"][0]["text"]) for one in body["contents"]]
        name = body["generationConfig"]["responseJsonSchema"]["title"]
        return {
            "messages": [{"role": role, "content": text} for role, text in stated],
            "response_format": {"json_schema": {"name": name}},
        }
