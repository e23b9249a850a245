"""A rendered request to a chat model, and the key under which its answer is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from retgen.agents.prompt import Message


@dataclass(frozen=True)
class Request:
    """Everything that decides an answer, and nothing else.

    `endpoint`: whom it is sent to (a provider, or the base URL of a server, without credentials).
    `sampling`: temperature, seed, ... `schema`: the JSON Schema of the answer, None for free text.
    `sample`: which of several answers to the same request. Beside these, and no part of the key:
    `room`, the tokens that its answer needs (more room is no other question), and `about`, what a
    message names it by.
    """

    endpoint: str
    model: str
    messages: tuple[Message, ...]
    sampling: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    sample: int = 0
    room: int = field(default=1024, compare=False)
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
