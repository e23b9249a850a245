"""Prompt files, and the requests that they become.

A prompt file is Markdown with a small header, filled in one pass:

    ---
    purpose: Propose things that a person could like.
    variables: [category, count]
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retgen.errors import RecipeError
from retgen.yaml_text import parse_yaml

_VARIABLE = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")
_FILE = re.compile(r"---\n(?P<header>.*?)\n---\n(?P<body>.*)", re.DOTALL)
_PART = re.compile(r"^## (System|User)[ \t]*\n", re.MULTILINE)


class _Header(BaseModel):
    model_config = ConfigDict(extra="forbid")

    purpose: str
    variables: tuple[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], ...]


class Message(NamedTuple):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Prompt:
    """A prompt as its file has it. `sha256`: of the file's bytes, hex."""

    name: str
    purpose: str
    variables: tuple[str, ...]
    system: str
    user: str
    sha256: str

    def render(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages with every variable filled in. Raises `RecipeError` naming all at fault."""
        missing = [name for name in self.variables if name not in values]
        unknown = [name for name in values if name not in self.variables]
        if faults := _list({"lacks": missing, "does not know": unknown}):
            raise RecipeError(f"prompt {self.name}: {faults}")

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
    if not result:
        raise RecipeError(f"{path}: a prompt begins with a header between two lines of ---")
    try:
        header = _Header.model_validate(parse_yaml(result["header"], f"{path}: the header"))
    except ValidationError as error:
        raise RecipeError(
            f"{path}: the header has purpose, a sentence, and variables, a list of names of a-z, "
            "0-9 and _"
        ) from error
    before, *pieces = _PART.split(result["body"])
    parts = dict(zip(pieces[::2], map(str.strip, pieces[1::2]), strict=True))
    if before.strip() or len(pieces) != 2 * len(parts) or not parts.get("User"):
        raise RecipeError(
            f"{path}: below the header stand '## System' (may be left out) and '## User', each once"
        )
    used = {name for part in parts.values() for name in _VARIABLE.findall(part)}
    undeclared = sorted(used.difference(header.variables))
    unused = [name for name in header.variables if name not in used]
    if faults := _list({"uses undeclared": undeclared, "never uses": unused}):
        raise RecipeError(f"{path}: {faults}")
    digest, system = hashlib.sha256(data).hexdigest(), parts.get("System", "")
    name = name or path.stem
    return Prompt(name, header.purpose, header.variables, system, parts["User"], digest)


def _list(faults: Mapping[str, Sequence[str]]) -> str:
    """List names by what is wrong with them; "" if nothing is."""
    return "; ".join(f"{fault} {', '.join(names)}" for fault, names in faults.items() if names)


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
