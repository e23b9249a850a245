"""A server on loopback that keeps a bill of its own, in OpenAI's protocol and in Gemini's.

It bills what it has worked on: the bytes of a prompt as tokens, and of the room for the answer what
its visible text takes and as many hidden tokens as it likes. What it then sends is up to a fault,
and whether that says what was billed is too.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from retgen.agents.prices import Price
from tests.agents.loopback import Handler, Loopback, running

PRICE = Price(token_in=1_000, token_out=4_000)
Say = Callable[[dict[str, Any]], str]


class Worked(NamedTuple):
    """What the server did for a request, of which it bills all."""

    gemini: bool
    text: str
    tokens_in: int
    tokens_out: int
    room: int

    @property
    def cut(self) -> bool:
        return self.tokens_out == self.room

    def usage(self, **changed: Any) -> dict[str, Any]:
        """All that was billed; `changed`: input, output, total; None leaves a count out."""
        stated = {"input": self.tokens_in, "output": self.tokens_out,
                  "total": self.tokens_in + self.tokens_out, **changed}  # fmt: skip
        names = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount") if self.gemini else (
            "prompt_tokens", "completion_tokens", "total_tokens")  # fmt: skip
        pairs = zip(names, stated.values(), strict=True)
        return {name: count for name, count in pairs if count is not None}

    def body(
        self, text: str | None = None, ended: str | None = "stop", usage: Any = None, **message: Any
    ) -> dict[str, Any]:
        """An answer; `message`: more of OpenAI's message, or of Gemini's candidate."""
        if ended == "stop" and self.cut:
            ended = "length"
        if self.gemini:
            ended = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}.get(
                str(ended), ended
            )
            parts = [] if text is None else [{"text": text}]
            candidate = {"content": {"role": "model", "parts": parts}, "finishReason": ended}
            tree: dict[str, Any] = {"candidates": [{**candidate, **message}]}
        else:
            said = {"role": "assistant", "content": text, **message}
            choice = {"index": 0, "message": said, "finish_reason": ended}
            tree = {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
                    "choices": [choice]}  # fmt: skip
        return tree | ({} if usage is None else {self.usage_name: usage})

    @property
    def usage_name(self) -> str:
        return "usageMetadata" if self.gemini else "usage"

    def whole(self) -> dict[str, Any]:
        """The answer as it should be."""
        return self.body(self.text, usage=self.usage())


class Sends(NamedTuple):
    """What goes over the wire. `how`: "" whole; "short", less than is announced; "chunk", a chunk
    that is not ended; "drop", nothing; "half", hung up within the head."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    how: str = ""
    billed: bool = True


Fault = Callable[[Worked], Sends]


def status(code: int, words: str = "no", *, billed: bool = True, **error: Any) -> Fault:
    return lambda w: Sends(
        {"error": {"message": words, "code": code, **error}}, code, billed=billed
    )


def body(make: Callable[[Worked], Any], **sends: Any) -> Fault:
    return lambda w: Sends(make(w), **sends)


def _encoded(w: Worked) -> bytes:
    return json.dumps(w.whole()).encode()


PAGE = {"content-type": "text/html"}
CALL = {"name": "answer", "arguments": '{"a": "b"}'}
TEXT: dict[str, Fault] = {
    # a text, and usage that is not all or not there
    "no usage": body(lambda w: w.body(w.text)),
    "usage null": body(lambda w: {**w.body(w.text), w.usage_name: None}),
    "usage empty": body(lambda w: w.body(w.text, usage={})),
    "usage of zeros": body(lambda w: w.body(w.text, usage=w.usage(input=0, output=0, total=0))),
    "no completion tokens": body(lambda w: w.body(w.text, usage=w.usage(output=None, total=None))),
    "completion tokens 0": body(lambda w: w.body(w.text, usage=w.usage(output=0, total=None))),
    "completion tokens 1": body(lambda w: w.body(w.text * 20, usage=w.usage(output=1, total=None))),
    "no prompt tokens": body(lambda w: w.body(w.text, usage=w.usage(input=None, total=None))),
    "prompt tokens 1": body(lambda w: w.body(w.text, usage=w.usage(input=1, total=None))),
    "negative usage": body(lambda w: w.body(w.text, usage=w.usage(input=-5, output=-7, total=-12))),
    "usage in words": body(lambda w: w.body(w.text, usage=w.usage(input="5", output="7", total="12"))),
    "usage a list": body(lambda w: w.body(w.text, usage=[1, 2])),
    "total alone": body(lambda w: w.body(w.text, usage=w.usage(input=None, output=None))),
    "total of the prompt": body(lambda w: w.body(w.text, usage=w.usage(output=None, total=w.tokens_in))),
    "usage over 64 bits": body(lambda w: w.body(w.text, usage=w.usage(input=10**30, total=None))),
    "a lone surrogate": body(lambda w: w.body(f"\ud800{w.text}")),
    "unknown finish": body(lambda w: w.body(w.text, ended="ended_well")),
    "no finish": body(lambda w: w.body(w.text, ended=None)),
    "cut, no usage": body(lambda w: w.body(w.text[: len(w.text) // 2], ended="length")),
    "filtered, no usage": body(lambda w: w.body(w.text[:9], ended="content_filter")),
}  # fmt: skip
NO_TEXT: dict[str, Fault] = {
    "content null": body(lambda w: w.body(None)),
    "content null, usage of zeros": body(lambda w: w.body(None, usage=w.usage(input=0, output=0, total=0))),
    "content null, no completion": body(lambda w: w.body(None, usage=w.usage(output=0, total=None))),
    "content empty": body(lambda w: w.body("")),
    "content a number": body(lambda w: w.body(7)),  # type: ignore[arg-type]
    "content in parts": body(lambda w: w.body([{"type": "image"}])),  # type: ignore[arg-type]
    "cut without text": body(lambda w: w.body("", ended="length")),
    "finish error": body(lambda w: w.body(w.text[:5], ended="error")),
    "finish abort": body(lambda w: w.body("", ended="abort")),
    "refusal": body(lambda w: w.body(None, refusal="I cannot.")),
    "tool calls": body(lambda w: w.body(None, ended="tool_calls", tool_calls=[
        {"id": "call_1", "type": "function", "function": CALL}])),
    "no message": body(lambda w: {"choices": [{"index": 0, "finish_reason": "stop"}], "candidates": [{}]}),
    "no choices": body(lambda w: {"choices": [], "candidates": []}),
    "choices null": body(lambda w: {"choices": None, "candidates": None}),
    "choices a text": body(lambda w: {"choices": "no", "candidates": "no"}),
    "an error in a 200": body(lambda w: {"error": {"message": "upstream failed"}}),
    "a 401 in a 200": body(lambda w: {"error": {"message": "upstream failed", "code": 401}}),
    "a 429 in a 200": body(lambda w: {"error": {"message": "slow down", "code": 429}}),
    "a 500 in a 200": body(lambda w: {"error": {"message": "boom", "code": 500}}),
    "an empty object": body(lambda w: {}),
    "null": body(lambda w: b"null"),
    "a text": body(lambda w: b'"hello"'),
    "a list": body(lambda w: [w.whole()]),
    "nothing": body(lambda w: b""),
    "a page": body(lambda w: b"<html>Bad gateway</html>", headers=PAGE),
    "an event stream": body(
        lambda w: b"data: " + _encoded(w) + b"\n\ndata: [DONE]\n\n",
        headers={"content-type": "text/event-stream"}),
    "JSON cut": body(lambda w: _encoded(w)[: len(_encoded(w)) // 2]),
    "JSON cut before its usage": body(lambda w: _encoded(w)[:-60]),
    "not UTF-8": body(lambda w: _encoded(w)[:40] + b"\xff\xfe"),
    "a charset with lone surrogates": body(
        lambda w: b'{"\\ud800": 1}',
        headers={"content-type": "application/json; charset=unicode_escape"}),
    "204": body(lambda w: b"", status=204),
}  # fmt: skip
TRANSFER: dict[str, Fault] = {
    "hung up": body(lambda w: b"", how="drop"),
    "hung up within the head": body(lambda w: b"", how="half"),
    "body shorter than announced": body(_encoded, how="short"),
    "chunked body cut": body(_encoded, how="chunk"),
    "no gzip": body(_encoded, headers={"content-encoding": "gzip"}),
}
STATUS: dict[str, Fault] = {
    "500": status(500, "boom"),
    "500 with usage": body(lambda w: {"error": "boom", "usage": {"prompt_tokens": 1, "completion_tokens": 1}}, status=500),
    "502 page": body(lambda w: b"<html>Bad gateway</html>", status=502, headers=PAGE),
    "503": status(503, "overloaded"),
    "504": status(504, "deadline"),
    "529": status(529, "overloaded"),
    "400": status(400, "cannot be processed"),
    "400 with a lone surrogate": status(400, "\ud800 cannot be processed"),
    "400 filtered": status(400, "flagged by our usage policy"),
    "400 too long": status(400, "maximum context length is 9 tokens"),
    "403": status(403, "no"),
    "408": status(408, "too slow"),
    "413": status(413, "too large"),
    "422": status(422, "cannot be processed"),
    "429": lambda w: Sends({"error": {"message": "slow", "code": 429}}, 429, billed=False),
    "401": status(401, billed=False),
    "404": status(404, billed=False),
}  # fmt: skip
_PROMPT = {"promptTokenCount": 9}
GEMINI: dict[str, Fault] = {
    "prompt blocked": body(lambda w: {"promptFeedback": {"blockReason": "SAFETY"}}),
    "prompt blocked, part of the usage": body(
        lambda w: {"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": w.usage(output=None, total=None)}),
    "candidate without content": body(lambda w: {"candidates": [{"finishReason": "STOP", "index": 0}],
                                                 "usageMetadata": w.usage(output=None, total=None)}),
    "content without parts": body(lambda w: {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}),
    "thoughts alone": body(lambda w: {
        "candidates": [{"content": {"parts": [{"text": "Well...", "thought": True}]}, "finishReason": "MAX_TOKENS"}],
        "usageMetadata": {"promptTokenCount": w.tokens_in, "thoughtsTokenCount": w.tokens_out,
                          "totalTokenCount": w.tokens_in + w.tokens_out}}),
    "thoughts counted, the text not": body(lambda w: {
        **w.body(w.text), "usageMetadata": {"promptTokenCount": w.tokens_in, "thoughtsTokenCount": 3}}),
    "MALFORMED_FUNCTION_CALL": body(lambda w: w.body(None, ended="MALFORMED_FUNCTION_CALL", finishMessage="no such call")),
    "UNEXPECTED_TOOL_CALL": body(lambda w: w.body(None, ended="UNEXPECTED_TOOL_CALL", usage=w.usage(output=None, total=None))),
    "RECITATION": body(lambda w: w.body(None, ended="RECITATION")),
    "SAFETY": body(lambda w: w.body(w.text[:3], ended="SAFETY", usage=w.usage(output=None, total=None))),
    "PROHIBITED_CONTENT": body(lambda w: w.body(None, ended="PROHIBITED_CONTENT")),
    "NO_IMAGE": body(lambda w: w.body(None, ended="NO_IMAGE")),
    "parts empty": body(lambda w: w.body(None, content={"role": "model", "parts": [{}]})),
    "parts null": body(lambda w: w.body(None, content={"role": "model", "parts": None})),
    "a function call": body(lambda w: w.body(None, content={"parts": [{"functionCall": {"name": "answer", "args": {}}}]})),
    "a stream as a list": body(lambda w: [w.body(w.text[:5], ended=None), w.body(w.text[5:], usage=w.usage())]),
    "a list with a 503": body(lambda w: [{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}]),
    "503 as a list": body(lambda w: [{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}], status=503),
    "429 with RetryInfo": lambda w: Sends([{"error": {
        "code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.01s"}]}}], 429, billed=False),
}  # fmt: skip
FAULTS = {**TEXT, **NO_TEXT, **TRANSFER, **STATUS}
# what Gemini's shapes stand for: outcomes of the table, in the order of `GEMINI`
GEMINI_OUTCOMES = (
    "reject reject retry room room answer retry retry reject reject reject retry retry retry retry "
    "retry later later later"
).split()


class Server(Loopback):
    """`say`: what is answered; `fault`: what goes wrong of a share of the requests (1: of all)."""

    def __init__(self, say: Say, fault: Fault, share: float, hidden: int, seed: int) -> None:
        super().__init__(_Handler)
        self.say, self.fault, self.share, self.hidden = say, fault, share, hidden
        self.random, self.lock = random.Random(seed), threading.Lock()
        self.bill = 0  # nano-dollars
        self.faults = 0


@contextmanager
def serving(
    say: Say, fault: Fault, *, share: float = 1.0, hidden: int = 0, seed: int = 0
) -> Iterator[Server]:
    with running(Server(say, fault, share, hidden, seed)) as result:
        yield result


class _Handler(Handler):
    server: Server

    def do_POST(self) -> None:
        asked = self.read()
        gemini = "contents" in asked
        worked = self._work(as_openai(asked) if gemini else asked, asked, gemini)
        with self.server.lock:
            bad = self.server.random.random() < self.server.share
            sends = self.server.fault(worked) if bad else Sends(worked.whole())
            self.server.faults += bad
            if sends.billed:
                self.server.bill += PRICE.of(worked.tokens_in, worked.tokens_out)
        data = sends.body if isinstance(sends.body, bytes) else json.dumps(sends.body).encode()
        match sends.how:
            case "drop":
                self.drop()
            case "half":
                self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-le")
                self.drop()
            case "short":
                self.reply(sends.status, data + b"}", sends.headers, shorter=9)
            case "chunk":
                self.send_response(200)
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")
                self.drop()
            case _:
                self.reply(sends.status, data, sends.headers)

    def reply(self, status: int, data: bytes, headers: Any, shorter: int = 0) -> None:
        if not shorter:
            return super().reply(status, data, headers)
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:-shorter])
        return self.drop()

    def _work(self, talk: dict[str, Any], asked: dict[str, Any], gemini: bool) -> Worked:
        config = asked.get("generationConfig", asked)
        names = ("maxOutputTokens", "max_completion_tokens", "max_tokens")
        room = next(config[name] for name in names if name in config)
        text = self.server.say(talk)
        visible = -(-len(text.encode()) // 4)
        with self.server.lock:
            needed = visible + self.server.random.randint(0, self.server.hidden)
        if needed >= room:
            text = text[: max(0, 4 * (room - (needed - visible)))]
        prompt = sum(len(one["content"].encode()) for one in talk["messages"])
        return Worked(gemini, text, prompt, min(room, needed), room)


def as_openai(asked: dict[str, Any]) -> dict[str, Any]:
    """A request of Gemini's as OpenAI has it."""
    roles = {"user": "user", "model": "assistant"}
    talk = [
        {"role": roles[one["role"]], "content": one["parts"][0]["text"]}
        for one in asked["contents"]
    ]
    if "systemInstruction" in asked:
        talk.insert(
            0, {"role": "system", "content": asked["systemInstruction"]["parts"][0]["text"]}
        )
    schema = asked["generationConfig"]["responseJsonSchema"]
    return {
        "messages": talk,
        "response_format": {"json_schema": {"name": schema["title"], "schema": schema}},
    }
