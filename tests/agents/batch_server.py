"""Servers on loopback that speak the batch APIs of OpenAI and of Gemini, as their references have them.

A batch is worked on when it is first looked at, unless `modes` says otherwise of the first ones:

    done       all its requests are answered
    slow       the same, at the third look
    never      it stays in progress
    expired    every other request was answered when its time was over
    faulty     every third request fails with status 500
    full       it fails, since too much is queued
    invalid    it fails its validation

`faults` are the next calls that fail, one by one: a step and what comes instead of its answer. Steps
are upload (a file was sent), uploaded (it is stored), create, created (there is the batch), list,
poll, download, and errors (the download of OpenAI's second file). What comes is

    an HTTP status     an error
    0                  nothing: the connection breaks
    bytes              these, with status 200
    a function         what it makes of the bytes of a file

A batch is listed when the list has been asked for `unlisted` times, and `unlisted_seconds` after it
was made. `steps` counts calls.

`worked` counts how often each request was worked on, so was paid for: by what decides its answer.
`at` is told each step as it happens, so that a test can kill whoever asks.
"""

from __future__ import annotations

import email.parser
import email.policy
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.agents.loopback import Handler, Loopback, running
from tests.agents.server import as_openai, completion, counted, generated

Body = dict[str, Any]


class BatchServer(Loopback):
    """What both protocols have in common."""

    def __init__(self, handler: type[_Handler], say: Callable[[Body], str]) -> None:
        super().__init__(handler)
        self.say = say
        self.modes: list[str] = []
        self.at: Callable[[str], None] = lambda step: None
        self.files: dict[str, bytes] = {}
        self.made: dict[str, Body] = {}  # batches by name, the first made first
        self.sizes: list[int] = []
        self.worked: Counter[str] = Counter()
        self.direct = 0  # requests that came one by one
        self.faults: list[tuple[str, int | bytes | Callable[[bytes], bytes]]] = []
        self.steps: Counter[str] = Counter()
        self.unlisted, self.unlisted_seconds = 0, 0.0
        self.usage: tuple[int, int] | None = None  # of each; None: counted
        self.lock = threading.RLock()

    def add_file(self, data: bytes, kind: str) -> str:
        name = f"{kind}{len(self.files) + 1:04}"
        self.files[name] = data
        return name

    def add_rows(self, rows: list[Body], kind: str) -> str:
        return self.add_file("".join(f"{json.dumps(row)}\n" for row in rows).encode(), kind)

    def add_batch(self, name: str, batch: Body, lines: list[Body]) -> Body:
        number = len(self.sizes)
        mode = self.modes[number] if number < len(self.modes) else "done"
        hidden = {"_mode": mode, "_made": time.monotonic(), "_looks": 0, "_lines": lines}
        self.made[name] = {**batch, **hidden}
        self.sizes.append(len(lines))
        return self.shown(name)

    def shown(self, name: str) -> Body:
        return {key: value for key, value in self.made[name].items() if key[0] != "_"}

    def listed(self) -> list[str]:
        """Names of the batches that a list has now, the latest first."""
        self.unlisted -= 1
        if self.unlisted >= 0:
            return []
        latest = time.monotonic() - self.unlisted_seconds
        return [name for name in reversed(self.made) if self.made[name].get("_made", 0.0) <= latest]

    def look(self, name: str) -> Body:
        """A batch as it is now: worked on, unless it has ended."""
        batch = self.made[name]
        mode, batch["_looks"] = batch["_mode"], batch["_looks"] + 1
        waits = mode == "never" or (mode == "slow" and batch["_looks"] < 3)
        if not batch.get("_ended"):
            batch["_ended"] = not waits
            if waits:
                self.go_on(batch)
            elif mode in ("full", "invalid"):
                self.fail(batch, full=mode == "full")
            else:
                self.end(batch, [*enumerate(batch["_lines"])])
        return self.shown(name)

    def go_on(self, batch: Body) -> None:
        raise NotImplementedError

    def fail(self, batch: Body, *, full: bool) -> None:
        raise NotImplementedError

    def end(self, batch: Body, lines: list[tuple[int, Body]]) -> None:
        raise NotImplementedError

    def work(self, body: Body) -> tuple[str, tuple[int, int]]:
        """What the model says, and its tokens; it is paid for."""
        text = self.say(body)
        self.worked[json.dumps([body["model"], body["messages"]], sort_keys=True)] += 1
        return text, self.usage or counted(body, text)

    @property
    def paid_twice(self) -> int:
        """Requests that were worked on more often than once."""
        return sum(count - 1 for count in self.worked.values())


class _Handler(Handler):
    server: BatchServer

    def raw(self) -> bytes:
        return self.rfile.read(int(self.headers["content-length"] or 0))

    def send_json(self, tree: Any, status: int = 200, upload_status: str = "") -> None:
        headers = {"x-goog-upload-status": upload_status} if upload_status else {}
        self.reply(status, json.dumps(tree).encode(), headers)

    def step(self, name: str, data: bytes = b"", upload_status: str = "") -> bool:
        """Whether a call goes on: it may be made to fail, or whoever made it may die."""
        self.server.at(name)
        self.server.steps[name] += 1
        one = next((one for one in self.server.faults if one[0] == name), None)
        if one is None:
            return True
        self.server.faults.remove(one)
        headers = {"x-goog-upload-status": upload_status} if upload_status else {}
        match one[1]:
            case 0:
                self.drop()
            case int(status):
                self.send_json({"error": {"code": status, "message": "not now"}}, status)
            case bytes(body):
                self.reply(200, body, headers)
            case change:
                self.reply(200, change(data), headers)
        return False

    def send_file(self, name: str) -> None:
        server = self.server
        if name not in server.files:
            self.send_json({"error": {"code": 404, "message": "no such file"}}, 404)
        elif self.step("errors" if name.startswith("errors-") else "download", server.files[name]):
            self.reply(200, server.files[name], {"content-type": "application/octet-stream"})
            server.at("downloaded")


# --- OpenAI ---------------------------------------------------------------------------------------


class OpenAIServer(BatchServer):
    def __init__(self, say: Callable[[Body], str]) -> None:
        super().__init__(_OpenAI, say)

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def create(self, asked: Body) -> Body:
        """A batch, checked as the reference says."""
        assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
        metadata: dict[str, str] = asked["metadata"]
        assert max(map(len, metadata)) <= 64
        assert max(map(len, metadata.values())) <= 512
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        names = [line["custom_id"] for line in lines]
        assert len({*names}) == len(names) <= 50_000
        assert max(map(len, names)) <= 64
        assert {(line["method"], line["url"]) for line in lines} == {("POST", asked["endpoint"])}
        assert len({line["body"]["model"] for line in lines}) == 1
        name = f"batch_{len(self.made) + 1:04}"
        counts = {"total": len(lines), "completed": 0, "failed": 0}
        batch = {
            "id": name,
            "status": "validating",
            "errors": None,
            "output_file_id": None,
            "error_file_id": None,
            "metadata": metadata,
            "request_counts": counts,
        }
        return self.add_batch(name, batch, lines)

    def go_on(self, batch: Body) -> None:
        batch["status"] = "in_progress"

    def fail(self, batch: Body, *, full: bool) -> None:
        code = "token_limit_exceeded" if full else "model_not_supported"
        message = "Enqueued token limit reached" if full else "no batches for this"
        batch |= {"status": "failed", "errors": {"data": [{"code": code, "message": message}]}}

    def end(self, batch: Body, lines: list[tuple[int, Body]]) -> None:
        mode, good, bad = batch["_mode"], list[Body](), list[Body]()
        for number, line in lines:
            result: Body = {"custom_id": line["custom_id"], "error": None}
            if mode == "expired" and number % 2:
                message = "This request could not be executed before the completion window expired."
                error = {"code": "batch_expired", "message": message}
                bad.append({**result, "response": None, "error": error})
            elif mode == "faulty" and number % 3 == 2:
                body = {"error": {"message": "The server had an error", "type": "server_error"}}
                bad.append({**result, "response": {"status_code": 500, "body": body}})
            else:
                answer = self.completion(line["body"])
                good.append({**result, "response": {"status_code": 200, "body": answer}})
        batch["status"] = "expired" if mode == "expired" else "completed"
        batch["output_file_id"] = self.add_rows(good, "file-") if good else None
        batch["error_file_id"] = self.add_rows(bad, "errors-") if bad else None
        batch["request_counts"] |= {"completed": len(good), "failed": len(bad)}

    def completion(self, body: Body) -> Body:
        text, usage = self.work(body)
        names = ("prompt_tokens", "completion_tokens")
        result: Body = completion(text, usage=dict(zip(names, usage, strict=True))).body
        return result


class _OpenAI(_Handler):
    server: OpenAIServer

    def do_POST(self) -> None:
        data, path, server = self.raw(), urlsplit(self.path).path, self.server
        with server.lock:
            if path == "/v1/chat/completions":
                server.direct += 1
                self.send_json(server.completion(json.loads(data)))
            elif path == "/v1/files" and self.step("upload"):
                name = server.add_file(self._uploaded(data), "file-")
                if self.step("uploaded"):
                    self.send_json({"id": name, "object": "file", "purpose": "batch"})
            elif path == "/v1/batches" and self.step("create"):
                made = server.create(json.loads(data))
                if self.step("created"):
                    self.send_json(made)

    def do_GET(self) -> None:
        parts, server = urlsplit(self.path), self.server
        with server.lock:
            match parts.path.removeprefix("/v1/").split("/"):
                case ["batches"] if self.step("list"):
                    query = parse_qs(parts.query)
                    names = server.listed()
                    if "after" in query:
                        names = names[names.index(query["after"][0]) + 1 :]
                    some = names[: int(query["limit"][0])]
                    data = [server.shown(name) for name in some]
                    self.send_json({"data": data, "has_more": len(names) > len(some)})
                case ["batches", name] if self.step("poll"):
                    self.send_json(server.look(name))
                case ["files", name, "content"]:
                    self.send_file(name)

    def _uploaded(self, data: bytes) -> bytes:
        head = f"content-type: {self.headers['content-type']}\r\n\r\n".encode()
        form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + data)
        fields = {
            one.get_param("name", header="content-disposition"): one.get_payload(decode=True)
            for one in form.iter_parts()
        }
        assert fields["purpose"] == b"batch"
        result = fields["file"]
        assert isinstance(result, bytes)
        assert len(result) <= 200_000_000
        return result


# --- Gemini ---------------------------------------------------------------------------------------


class GeminiServer(BatchServer):
    def __init__(self, say: Callable[[Body], str]) -> None:
        super().__init__(_Gemini, say)

    def create(self, asked: Body, model: str) -> Body:
        batch = asked["batch"]
        file = batch["inputConfig"]["fileName"].removeprefix("files/")
        lines = [json.loads(line) for line in self.files[file].splitlines()]
        assert len({line["key"] for line in lines}) == len(lines)
        name = f"batches/{len(self.made) + 1:04}"
        metadata = {
            "model": f"models/{model}",
            "displayName": batch["displayName"],
            "state": "BATCH_STATE_PENDING",
            "batchStats": {"requestCount": str(len(lines))},
        }
        return self.add_batch(name, {"name": name, "metadata": metadata, "_model": model}, lines)

    def go_on(self, batch: Body) -> None:
        batch["metadata"]["state"] = "BATCH_STATE_RUNNING"

    def fail(self, batch: Body, *, full: bool) -> None:
        message = "too many enqueued tokens" if full else "no batches for this"
        batch["metadata"]["state"] = "BATCH_STATE_FAILED"
        batch |= {"done": True, "error": {"code": 8 if full else 3, "message": message}}

    def end(self, batch: Body, lines: list[tuple[int, Body]]) -> None:
        mode, rows = batch["_mode"], list[Body]()
        for number, line in lines:
            if mode == "faulty" and number % 3 == 2:
                rows.append({"key": line["key"], "error": {"code": 13, "message": "internal"}})
            elif mode != "expired" or number % 2 == 0:
                answer = self.generated(line["request"], batch["_model"])
                rows.append({"key": line["key"], "response": answer})
        good = sum("response" in row for row in rows)
        counts = {"successfulRequestCount": good, "failedRequestCount": len(rows) - good}
        ended = "EXPIRED" if mode == "expired" else "SUCCEEDED"
        output = {"responsesFile": f"files/{self.add_rows(rows, 'batch-')}"}
        batch["metadata"] |= {"state": f"BATCH_STATE_{ended}", "output": output}
        batch["metadata"]["batchStats"] |= {name: str(count) for name, count in counts.items()}
        batch |= {"done": True, "response": output}

    def generated(self, request: Body, model: str) -> Body:
        text, usage = self.work({"model": model, **as_openai(request)})
        names = ("promptTokenCount", "candidatesTokenCount")
        result: Body = generated(text, usage=dict(zip(names, usage, strict=True))).body
        return result


class _Gemini(_Handler):
    server: GeminiServer

    def do_POST(self) -> None:
        data, path, server = self.raw(), urlsplit(self.path).path, self.server
        command = self.headers.get("x-goog-upload-command", "")
        model, _, method = path.removeprefix("/v1beta/models/").partition(":")
        with server.lock:
            if path == "/upload/v1beta/files" and command == "start" and self.step("upload"):
                url = f"{server.url}/upload/v1beta/files?upload_id=1"
                self.reply(200, b"", {"x-goog-upload-url": url})
            elif path == "/upload/v1beta/files" and command == "upload, finalize":
                name = server.add_file(data, "in-")
                if self.step("uploaded", upload_status="final"):
                    file = {"name": f"files/{name}", "mimeType": "application/jsonl"}
                    self.send_json({"file": file}, upload_status="final")
            elif method == "generateContent":
                server.direct += 1
                self.send_json(server.generated(json.loads(data), model))
            elif method == "batchGenerateContent" and self.step("create"):
                made = server.create(json.loads(data), model)
                if self.step("created"):
                    self.send_json(made)

    def do_GET(self) -> None:
        parts, server = urlsplit(self.path), self.server
        path, query = parts.path.removeprefix("/v1beta/"), parse_qs(parts.query)
        with server.lock:
            if path == "batches" and self.step("list"):
                names, start = server.listed(), int(query.get("pageToken", ["0"])[0] or 0)
                stop = start + int(query["pageSize"][0])
                tree: Body = {"operations": [server.shown(name) for name in names[start:stop]]}
                self.send_json(tree | ({"nextPageToken": str(stop)} if stop < len(names) else {}))
            elif path.startswith("batches/") and self.step("poll"):
                self.send_json(server.look(path))
            elif path.endswith(":download"):
                self.send_file(path.removeprefix("files/").removesuffix(":download"))


@contextmanager
def serving(protocol: str, say: Callable[[Body], str] = lambda body: "hello") -> Iterator[Any]:
    """A server of "openai" or "google_genai"."""
    kind: Any = {"openai": OpenAIServer, "google_genai": GeminiServer}[protocol]
    with running(kind(say)) as result:
        yield result


def environment(protocol: str, server: BatchServer) -> dict[str, str]:
    """What names the server to `gen`."""
    if protocol == "openai":
        return {"OPENAI_API_KEY": "sk-planted-4f7a0c2e9b", "OPENAI_BASE_URL": server.url}
    return {"GOOGLE_API_KEY": "AI-planted-4f7a0c2e9b", "GOOGLE_GEMINI_BASE_URL": server.url}
