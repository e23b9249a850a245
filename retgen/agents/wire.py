"""What all backends need: JSON that may be none, errors in any form, answers without our key."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import orjson

NO_KEY = "none"  # for a server that asks for none, where a client wants one

_PATIENCE = 600.0  # seconds that a server may have us wait
_LONGEST = 300  # characters of a reason
_METADATA = ("raw", "reasons", "limit_source", "error_type")
_SHORTEST = 8  # characters of a key; what is shorter is a stand-in, and may be a word of an answer


def one_line(text: str) -> str:
    """A server's words, in one line and not too long."""
    return " ".join(text.split())[:_LONGEST]


def error_of(tree: dict[str, Any], raw: bytes = b"") -> str:
    """What a body says of an error, in any of the forms that servers have for it: code and words.

    "" where it states none and `raw`, to be quoted in its place, is empty.
    """
    error = tree.get("error")
    inner = error if isinstance(error, dict) else {}
    words = error if isinstance(error, str) else inner.get("message")
    words = words or tree.get("message") or tree.get("detail") or ""
    if not isinstance(words, str):
        words = orjson.dumps(words, default=str).decode()
    codes = [inner.get(name) for name in ("code", "type", "status")]
    codes += [tree.get("code"), part(inner, "details").get("error_code")]
    named = [one for one in codes if isinstance(one, str) and one and one not in words]
    metadata = part(inner, "metadata")  # OpenRouter's: what its provider said, and moderation
    more = [f"{name}: {metadata[name]}" for name in _METADATA if metadata.get(name)]
    if not words and not named and error:
        words = orjson.dumps(error, default=str).decode()
    result = ": ".join([*dict.fromkeys(named), *filter(None, [words, *more])])
    return one_line(result) or one_line(raw.decode("utf-8", "replace"))


def status_of(tree: dict[str, Any]) -> int:
    """The status that counts of a body of status 200: that of an error which it states, if any."""
    code = part(tree, "error").get("code")
    stated = int(code) if isinstance(code, str) and code.isdecimal() else code
    return stated if isinstance(stated, int) and 400 <= stated < 600 else 200


def seconds(stated: object) -> float | None:
    """Of a Retry-After header, or of a duration as in "3s"; None for a date, or nothing."""
    try:
        result = float(str(stated).removesuffix("s"))
    except ValueError:  # our own delay will do
        return None
    return min(result, _PATIENCE) if result >= 0 and math.isfinite(result) else None


def parse_object(raw: bytes) -> dict[str, Any]:
    """A JSON object; empty where the bytes are none. Of a list that begins with an error, that."""
    try:
        result = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    if isinstance(result, list) and result and isinstance(result[0], dict) and "error" in result[0]:
        result = result[0]  # as Gemini has it where it streams
    return result if isinstance(result, dict) else {}


def part(tree: dict[str, Any], name: str) -> dict[str, Any]:
    """An object in an object; empty where there is none."""
    result = tree.get(name)
    return result if isinstance(result, dict) else {}


def parts(tree: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list in an object; empty where there are none."""
    result = tree.get(name)
    return [one for one in result if isinstance(one, dict)] if isinstance(result, list) else []


class KeyMask:
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
