"""The server on loopback that stands for chat models, in OpenAI's protocol and in Gemini's.

    with serving(mind) as server:           # texts are up to `mind`
    with serving(mind, FAULTS["500"], share=0.3) as server:  # and three of ten requests fail
    with answering(lambda body: Reply(503)) as server:       # bytes and status are up to the function

It keeps every request and a bill of its own, in nano-dollars at `PRICE`: it charges what it has
worked on, and what it then sends and states is up to a fault. A model whose name is one of `MODELS`,
or `status-429` and the like, fails in that way.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from retgen.agents.prices import Price
from tests.agents.loopback import Handler, Loopback, running

PRICE = Price(token_in=1_000, token_out=4_000)
Body = dict[str, Any]
Say = Callable[[Body], str]
Tokens = Callable[[Body, str], tuple[int, int]]


class Reply(NamedTuple):
    """What goes over the wire: JSON, or bytes as they are; status 0 drops the connection.

    `how`: "" all of it; "short", less than is announced; "chunk", a chunk that is not ended; "half",
    hung up within the head; "hang", nothing until the server ends.
    """

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = {}
    how: str = ""
    billed: bool = True


USAGE = {"prompt_tokens": 5, "completion_tokens": 2}
GEMINI_USAGE = {"promptTokenCount": 5, "candidatesTokenCount": 2}


def completion(
    content: Any, ended: str | None = "stop", usage: Any = USAGE, **message: Any
) -> Reply:
    """An answer in OpenAI's protocol."""
    said = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": said, "finish_reason": ended}
    tree: Body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    tree["choices"] = [choice]
    return Reply(body=tree if usage is None else {**tree, "usage": usage})


def generated(
    text: str | None, ended: str | None = "STOP", usage: Any = GEMINI_USAGE, **candidate: Any
) -> Reply:
    """An answer in Gemini's protocol."""
    parts = [] if text is None else [{"text": text}]
    made = {"content": {"role": "model", "parts": parts}, "finishReason": ended, **candidate}
    tree: Body = {"candidates": [made]}
    return Reply(body=tree if usage is None else {**tree, "usageMetadata": usage})


def error(status: int, message: Any, code: Any = None, **more: Any) -> Reply:
    """An error as OpenAI words it."""
    return Reply(status, {"error": {"message": message, "code": code, **more}})


def page(status: int = 200) -> Reply:
    """A page of a proxy in place of an answer."""
    return Reply(status, b"<html>Bad gateway</html>", {"content-type": "text/html"})


class Worked(NamedTuple):
    """What the server did for a request, and bills.

    `asked`: the request as OpenAI has it; `key`: that came with it; `times`: that it came.
    """

    gemini: bool
    text: str
    tokens_in: int
    tokens_out: int
    max_tokens: int
    asked: Mapping[str, Any] = {}
    key: str = ""
    times: int = 1

    @property
    def cut(self) -> bool:
        return self.tokens_out == self.max_tokens

    def usage(self, **changed: Any) -> dict[str, Any]:
        """All that was billed; `changed`: input, output, total; None leaves a count out."""
        stated = {
            "input": self.tokens_in,
            "output": self.tokens_out,
            "total": self.tokens_in + self.tokens_out,
            **changed,
        }
        names = (
            ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")
            if self.gemini
            else ("prompt_tokens", "completion_tokens", "total_tokens")
        )
        pairs = zip(names, stated.values(), strict=True)
        return {name: count for name, count in pairs if count is not None}

    def body(
        self, text: str | None = None, ended: str | None = "stop", usage: Any = None, **more: Any
    ) -> dict[str, Any]:
        """An answer; `more`: of OpenAI's message, or of Gemini's candidate."""
        if ended == "stop" and self.cut:
            ended = "length"
        if self.gemini:
            names = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
            return generated(text, names.get(str(ended), ended), usage, **more).body
        return completion(text, ended, usage, **more).body

    @property
    def usage_name(self) -> str:
        return "usageMetadata" if self.gemini else "usage"

    def whole(self) -> dict[str, Any]:
        """The answer as it should be."""
        return self.body(self.text, usage=self.usage())


Fault = Callable[[Worked], Reply | None]


def status(code: int, words: str = "no", *, billed: bool = True) -> Fault:
    return lambda w: error(code, words, code)._replace(billed=billed)


def body(make: Callable[[Worked], Any], **more: Any) -> Fault:
    return lambda w: Reply(body=make(w), **more)


def stating(usage: Any = None, **counts: Any) -> Fault:
    """The text, and this usage; `counts`: what `Worked.usage` states otherwise."""
    return body(lambda w: w.body(w.text, usage=w.usage(**counts) if counts else usage))


def blank(text: Any = None, **more: Any) -> Fault:
    """An answer that ends as usual, with this in place of its text, and no usage."""
    return body(lambda w: w.body(text, **more))


def for_good(w: Worked) -> None:
    """No fault."""


def _encoded(w: Worked) -> bytes:
    return json.dumps(w.whole()).encode()


STREAM = {"content-type": "text/event-stream"}
ODD = {"content-type": "application/json; charset=unicode_escape"}
CALL = {"id": "1", "type": "function", "function": {"name": "answer", "arguments": "{}"}}
TEXT: dict[str, Fault] = {
    # a text, and usage that is not all or not there
    "no usage": stating(),
    "usage null": body(lambda w: {**w.body(w.text), w.usage_name: None}),
    "usage of zeros": stating(input=0, output=0, total=0),
    "no completion tokens": stating(output=None, total=None),
    "completion tokens 1": body(lambda w: w.body(w.text * 20, usage=w.usage(output=1, total=None))),
    "no prompt tokens": stating(input=None, total=None),
    "prompt tokens 1": stating(input=1, total=None),
    "negative usage": stating(input=-5, output=-7, total=-12),
    "usage in words": stating(input="5", output="7", total="12"),
    "usage a list": stating([1, 2]),
    "total alone": stating(input=None, output=None),
    "total of the prompt": body(
        lambda w: w.body(w.text, usage=w.usage(output=None, total=w.tokens_in))
    ),
    "usage over 64 bits": stating(input=10**30, total=None),
    "a lone surrogate": body(lambda w: w.body(f"\ud800{w.text}")),
    "no finish": body(lambda w: w.body(w.text, ended=None)),
    "cut, no usage": body(lambda w: w.body(w.text[: len(w.text) // 2], ended="length")),
    "filtered, no usage": body(lambda w: w.body(w.text[:9], ended="content_filter")),
}
NO_TEXT: dict[str, Fault] = {
    "content null": blank(),
    "content null, no completion": body(
        lambda w: w.body(None, usage=w.usage(output=0, total=None))
    ),
    "content a number": blank(7),
    "content in parts": blank([{"type": "image"}]),
    "cut without text": blank("", ended="length"),
    "finish error": body(lambda w: w.body(w.text[:5], ended="error")),
    "refusal": blank(refusal="I cannot."),
    "tool calls": blank(ended="tool_calls", tool_calls=[CALL]),
    "no message": body(lambda w: {"choices": [{"finish_reason": "stop"}], "candidates": [{}]}),
    "no choices": body(lambda w: {"choices": [], "candidates": []}),
    "choices a text": body(lambda w: {"choices": "no", "candidates": "no"}),
    "an error in a 200": body(lambda w: {"error": {"message": "upstream failed"}}),
    "a 401 in a 200": body(lambda w: {"error": {"message": "upstream failed", "code": 401}}),
    "a 429 in a 200": body(lambda w: {"error": {"message": "slow down", "code": 429}}),
    "a 500 in a 200": body(lambda w: {"error": {"message": "boom", "code": 500}}),
    "null": body(lambda w: b"null"),
    "a list": body(lambda w: [w.whole()]),
    "nothing": body(lambda w: b""),
    "a page": lambda w: page(),
    "an event stream": body(lambda w: b"data: " + _encoded(w) + b"\n\n", headers=STREAM),
    "JSON cut": body(lambda w: _encoded(w)[: len(_encoded(w)) // 2]),
    "JSON cut before its usage": body(lambda w: _encoded(w)[:-60]),
    "not UTF-8": body(lambda w: _encoded(w)[:40] + b"\xff\xfe"),
    "a charset with lone surrogates": body(lambda w: b'{"\\ud800": 1}', headers=ODD),
    "204": body(lambda w: b"", status=204),
}
TRANSFER: dict[str, Fault] = {
    "hung up": lambda w: Reply(0),
    "hung up within the head": body(lambda w: b"", how="half"),
    "body shorter than announced": body(_encoded, how="short"),
    "chunked body cut": body(_encoded, how="chunk"),
    "no gzip": body(_encoded, headers={"content-encoding": "gzip"}),
}
STATUS: dict[str, Fault] = {
    "500": status(500, "boom"),
    "500 with usage": body(lambda w: {"error": "boom", "usage": {"prompt_tokens": 1}}, status=500),
    "502 page": lambda w: page(502),
    "503": status(503, "overloaded"),
    "400": status(400, "cannot be processed"),
    "400 with a lone surrogate": status(400, "\ud800 cannot be processed"),
    "400 filtered": status(400, "flagged by our usage policy"),
    "400 too long": status(400, "maximum context length is 9 tokens"),
    "403": status(403, "no"),
    "408": status(408, "too slow"),
    "413": status(413, "too large"),
    "422": status(422, "cannot be processed"),
    "429": status(429, "slow", billed=False),
    "401": status(401, billed=False),
    "404": status(404, billed=False),
}
BUSY = {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.01s"}
QUOTA = {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [RETRY]}
THOUGHT = {"parts": [{"text": "Well...", "thought": True}]}


def _thoughts(w: Worked) -> dict[str, Any]:
    """An answer whose tokens all went into thoughts."""
    usage = w.usage(output=None) | {"thoughtsTokenCount": w.tokens_out}
    return w.body(None, ended="MAX_TOKENS", usage=usage, content=THOUGHT)


# Gemini's own, with the action that the table of outcomes has for each
GEMINI: dict[str, tuple[Fault, str]] = {
    "prompt blocked": (body(lambda w: {"promptFeedback": {"blockReason": "SAFETY"}}), "reject"),
    "candidate without content": (
        body(lambda w: {"candidates": [{"finishReason": "STOP"}]}),
        "answer",
    ),
    "content without parts": (blank(ended="MAX_TOKENS", content={"role": "model"}), "more"),
    "thoughts alone": (body(_thoughts), "more"),
    "thoughts counted, the text not": (
        body(
            lambda w: w.body(
                w.text, usage={"promptTokenCount": w.tokens_in, "thoughtsTokenCount": 3}
            )
        ),
        "answer",
    ),
    "MALFORMED_FUNCTION_CALL": (
        blank(ended="MALFORMED_FUNCTION_CALL", finishMessage="no such call"),
        "retry",
    ),
    "RECITATION": (blank(ended="RECITATION"), "reject"),
    "SAFETY": (
        body(lambda w: w.body(w.text[:3], "SAFETY", w.usage(output=None, total=None))),
        "reject",
    ),
    "parts null": (blank(content={"role": "model", "parts": None}), "answer"),
    "a function call": (blank(content={"parts": [{"functionCall": {"name": "a"}}]}), "answer"),
    "a stream as a list": (body(lambda w: [w.body(w.text[:5]), w.whole()]), "retry"),
    "503 in a list": (body(lambda w: [{"error": BUSY}]), "retry"),
    "503 as a list": (body(lambda w: [{"error": BUSY}], status=503), "retry"),
    "429 with RetryInfo": (body(lambda w: [{"error": QUOTA}], status=429, billed=False), "retry"),
}
FAULTS = {**TEXT, **NO_TEXT, **TRANSFER, **STATUS}
MODELS: dict[str, Fault] = {
    "drop": TRANSFER["hung up"],
    "hang": lambda w: Reply(how="hang"),
    "broken": body(lambda w: b'{"choices": [{"mess'),
    "cut": body(lambda w: w.body(w.text, ended="length", usage=w.usage())),
    "filtered": body(lambda w: w.body(w.text, ended="content_filter", usage=w.usage())),
    "too-long": STATUS["400 too long"],
}


def failing(model: str) -> Fault:
    """The fault that a model's name asks for."""
    if not model.startswith("status-"):
        return MODELS.get(model, for_good)
    code = int(model.removeprefix("status-"))
    headers = {429: {"retry-after": "3"}, 307: {"location": "/elsewhere"}}.get(code, {})
    return lambda w: Reply(code, {"error": {"message": f"not with {w.key}", "code": "no"}}, headers)


def counted(asked: Body, text: str, each: int = 4) -> tuple[int, int]:
    """Tokens of a prompt, with the schema that it asks for, and of an answer: four bytes each."""
    parts = [message["content"] for message in asked["messages"]]
    if "response_format" in asked:
        schema = asked["response_format"]["json_schema"]["schema"]
        parts.append(json.dumps(schema, separators=(",", ":")))
    return sum(len(part.encode()) for part in parts) // each, -(-len(text.encode()) // 4)


def by_bytes(asked: Body, text: str) -> tuple[int, int]:
    """As many tokens as a prompt can have at the most."""
    return counted(asked, text, 1)


class Server(Loopback):
    """`answer`: what comes back for a request; in its place `say` makes the texts, and `fault` what
    comes instead of a share of the answers.

    `usage`: tokens of each prompt and answer; `hidden`: at most so many more for reasoning.
    """

    def __init__(
        self,
        say: Say = lambda asked: "hello",
        fault: Fault = for_good,
        *,
        share: float = 1.0,
        hidden: int = 0,
        usage: tuple[int, int] | Tokens = (5, 2),
        delay: float = 0.0,
        seed: int = 0,
        answer: Callable[[Body], Reply] | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(_Handler, port)
        self.say, self.fault, self.share, self.hidden = say, fault, share, hidden
        self.usage, self.delay, self.answer = usage, delay, answer
        self.random, self.lock = random.Random(seed), threading.Lock()
        self.worked = Counter[str]()  # how often each request came
        self.bill = 0  # nano-dollars

    @property
    def url(self) -> str:
        return f"{super().url}/v1"


@contextmanager
def serving(
    say: Say = lambda asked: "hello", fault: Fault = for_good, **options: Any
) -> Iterator[Server]:
    """`options`: see `Server`."""
    with running(Server(say, fault, **options)) as result:
        yield result


@contextmanager
def answering(answer: Callable[[Body], Reply]) -> Iterator[Server]:
    with running(Server(answer=answer)) as result:
        yield result


class _Handler(Handler):
    server: Server

    def do_POST(self) -> None:
        asked = self.read()
        if self.server.delay:
            time.sleep(self.server.delay)
        reply = self._work(asked) if self.server.answer is None else self.server.answer(asked)
        data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        if reply.how == "hang":
            self.hang()
        if not reply.status:
            return self.drop()
        if not reply.how:
            return self.reply(reply.status, data, reply.headers)
        if reply.how == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-le")
            return self.drop()
        self.send_response(reply.status)
        if reply.how == "short":
            self.send_header("content-length", str(len(data) + 1))
        else:
            self.send_header("transfer-encoding", "chunked")
            data = b"%x\r\n" % len(data) + data + b"\r\n"
        self.end_headers()
        self.wfile.write(data[:-8] if reply.how == "short" else data)
        return self.drop()

    def _work(self, body: Body) -> Reply:
        """The reply to a request, which is billed."""
        server, gemini = self.server, "contents" in body
        asked = as_openai(body) if gemini else body
        model = self.path.rpartition("/")[2].partition(":")[0] if gemini else body["model"]
        config = body.get("generationConfig", body)
        names = ("maxOutputTokens", "max_completion_tokens", "max_tokens")
        most = next((config[name] for name in names if name in config), 1 << 30)
        text = server.say(asked)
        key = self.headers["x-goog-api-key"] or self.headers["authorization"] or ""
        with server.lock:
            same = json.dumps(body, sort_keys=True)
            server.worked[same] += 1
            if callable(server.usage):
                tokens_in, visible = server.usage(asked, text)
                tokens_out = visible + server.random.randint(0, server.hidden)
                if tokens_out >= most:
                    text = text[: max(0, 4 * (most - (tokens_out - visible)))]
                    tokens_out = most
            else:
                tokens_in, tokens_out = server.usage
            fails = server.random.random() < server.share
            worked = Worked(
                gemini,
                text,
                tokens_in,
                tokens_out,
                most,
                asked,
                key.removeprefix("Bearer "),
                server.worked[same],
            )
            reply = (server.fault(worked) if fails else None) or failing(model)(worked)
            reply = reply or Reply(body=worked.whole())
            if reply.billed:
                server.bill += PRICE.of(tokens_in, tokens_out)
        return reply


def as_openai(asked: Body) -> Body:
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
    schema = asked["generationConfig"].get("responseJsonSchema")
    if schema is None:
        return {"messages": talk}
    form = {"json_schema": {"name": schema["title"], "schema": schema}}
    return {"messages": talk, "response_format": form}
