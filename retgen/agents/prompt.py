"""Prompt files, and the requests that they become.

A prompt file is Markdown whose header says what it is for. It is filled in one pass:

    ---
    purpose: Propose things that a person could like.
    ---
    ## System
    You help to ...
    ## User
    Name {{count}} things of the category {{category}}.

`{{name}}` stands for a variable; any other brace is text. What is filled in is never read again, so
a text that holds braces or JSON stays as it is. A request's answer is kept under its key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from retgen.errors import RecipeError

_VARIABLE = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")
_FILE = re.compile(
    r"---\npurpose: (?P<purpose>[^\n]+)\n---\n"
    r"(?:## System[ \t]*\n(?P<system>.*?))?^## User[ \t]*\n(?P<user>.*)",
    re.DOTALL | re.MULTILINE,
)


class Message(NamedTuple):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Prompt:
    """A prompt as its file has it. `sha256`: of the file's bytes, hex."""

    name: str
    purpose: str
    system: str
    user: str
    sha256: str

    def render(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages with every variable filled in. Raises `RecipeError` naming all at fault."""
        variables = {*_VARIABLE.findall(self.system), *_VARIABLE.findall(self.user)}
        if wrong := sorted(variables ^ values.keys()):
            raise RecipeError(
                f"prompt {self.name}: its variables are not the fields of its question; only one "
                f"of the two has {', '.join(wrong)}"
            )

        def fill(text: str) -> str:
            return _VARIABLE.sub(lambda result: values[result[1]], text)

        user = Message("user", fill(self.user))
        return (Message("system", fill(self.system)), user) if self.system else (user,)


def load_prompt(path: Path, name: str | None = None) -> Prompt:
    """Read and check a prompt file. Raises `RecipeError` for one that is none.

    `name`: what it is called; default the file's.
    """
    try:
        data = path.read_bytes()
        result = _FILE.fullmatch(data.decode().replace("\r\n", "\n"))
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: cannot be read: {error}") from error
    parts = (
        {part: (text or "").strip() for part, text in result.groupdict().items()} if result else {}
    )
    if not parts.get("user"):
        raise RecipeError(
            f"{path}: a prompt begins with the lines '---', 'purpose: ' with a sentence and '---'; "
            "then come '## System' (may be left out) and '## User', each with its text"
        )
    return Prompt(name or path.stem, **parts, sha256=hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class Request:
    """Everything that decides an answer, and nothing else.

    `endpoint`: whom it is sent to (a provider, or the base URL of a server, without credentials).
    `sampling`: temperature, seed, ... `schema`: the JSON Schema of the answer, None for free text.
    `sample`: which of several answers to the same request. Beside these, and no part of the key:
    `max_tokens`, which its answer needs at most (more is no other question; 0: the answer has no
    tokens), and `about`, what a message names it by.
    """

    endpoint: str
    model: str
    messages: tuple[Message, ...]
    sampling: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    sample: int = 0
    max_tokens: int = field(default=1024, compare=False)
    about: str = field(default="", compare=False)

    @cached_property
    def body(self) -> bytes:
        """The request as canonical JSON: keys sorted, no white space."""
        return orjson.dumps(
            {
                "endpoint": self.endpoint,
                "model": self.model,
                "messages": [message._asdict() for message in self.messages],
                "sampling": dict(self.sampling),
                "schema": self.schema,
                "sample": self.sample,
            },
            option=orjson.OPT_SORT_KEYS,
        )

    @cached_property
    def key(self) -> str:
        """SHA-256 of the body, hex: the same request has the same key in every process."""
        return hashlib.sha256(self.body).hexdigest()
