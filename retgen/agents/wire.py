"""What all backends need: what a status means, JSON that may be none, answers without our key."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import orjson

from retgen.agents.chat import Refused, Unanswered

__all__ = ["NO_KEY", "Secrets", "failure", "parsed", "part", "seconds"]

NO_KEY = "none"  # for a server that asks for none, where a client wants one

# said by status code: not now, perhaps later
_LATER = frozenset({409, 425, 429, 500, 502, 503, 529})
# somebody between gave up waiting: nobody knows what the model did
_UNKNOWN = frozenset({408, 504, 524})
_PATIENCE = 600.0  # seconds that a server may have us wait
_LONGEST = 300  # characters of a reason
_SHORTEST = 8  # characters of a key; what is shorter is a stand-in, and may be a word of an answer


def failure(status: int, reason: str, wait: float | None) -> Refused | Unanswered:
    """What a status that is no success stands for. `reason` holds no key any more."""
    told = f"{status}: {' '.join(reason.split())[:_LONGEST] or 'no reason given'}"
    if status in _UNKNOWN:
        return Unanswered(told)
    return Refused(told, retry=status in _LATER, wait=wait)


def seconds(stated: object) -> float | None:
    """Of a Retry-After header, or of a duration as in "3s"; None for a date, or nothing."""
    try:
        found = float(str(stated).removesuffix("s"))
    except ValueError:  # our own delay will do
        return None
    return min(found, _PATIENCE) if found >= 0 and math.isfinite(found) else None


def parsed(raw: bytes) -> dict[str, Any]:
    """A JSON object; empty where the bytes are none."""
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def part(tree: dict[str, Any], name: str) -> dict[str, Any]:
    """An object in an object; empty where there is none."""
    found = tree.get(name)
    return found if isinstance(found, dict) else {}


class Secrets:
    """Keys, and texts and answers without them: servers repeat them, in errors above all."""

    def __init__(self, keys: Iterable[str | None] = ()) -> None:
        self._keys: set[str] = set()
        self.add(keys)

    def add(self, keys: Iterable[str | None]) -> None:
        """Hide these too."""
        self._keys |= {key for key in keys if key and len(key) >= _SHORTEST}

    def text(self, text: str) -> str:
        """A text with [key] in the place of each."""
        for key in self._keys:
            text = text.replace(key, "[key]")
        return text

    def raw(self, raw: bytes) -> bytes:
        """The same of an answer, before it is kept."""
        for key in self._keys:
            raw = raw.replace(key.encode(), b"[key]")
        return raw
