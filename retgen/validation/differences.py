"""In what two JSON values differ, key by key, for messages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

_LONG = 100  # characters of a value in a message


class Difference(NamedTuple):
    """`key`: dotted, with places in lists: "example.rows[3][1]"; `what`: the rest of a sentence."""

    key: str
    what: str


def differences(stated: Any, right: Any, key: str = "") -> Iterator[Difference]:
    """Where `stated` is not `right`. Floats may differ in their last bits, as machines do."""
    if isinstance(stated, dict) and isinstance(right, dict):
        for name, value in right.items():
            inner = f"{key}.{name}" if key else str(name)
            if name in stated:
                yield from differences(stated[name], value, inner)
            else:
                yield Difference(inner, f"is missing; must be {shown(value)}")
        for name in stated.keys() - right.keys():
            inner = f"{key}.{name}" if key else str(name)
            yield Difference(inner, f"is {shown(stated[name])}; must not be there")
    elif isinstance(stated, list) and isinstance(right, list) and len(stated) == len(right):
        for place, both in enumerate(zip(stated, right, strict=True)):
            yield from differences(*both, f"{key}[{place}]")
    elif not _same(stated, right):
        yield Difference(key, f"is {shown(stated, right)}, must be {shown(right, stated)}")


def _same(stated: Any, right: Any) -> bool:
    if isinstance(right, float) and type(stated) in (int, float):
        return math.isclose(stated, right, rel_tol=1e-9, abs_tol=1e-12)
    return type(stated) is type(right) and bool(stated == right)


def shown(value: Any, other: Any = None) -> str:
    """A value for a message; of a long text the part in which it differs from `other`."""
    if isinstance(value, list | dict) and isinstance(other, list | dict):
        return f"{len(value):,} entries" if len(value) != len(other) else _short(value)
    if isinstance(value, str) and isinstance(other, str) and len(value) > _LONG:
        at = next((i for i, (a, b) in enumerate(zip(value, other, strict=False)) if a != b), 0)
        first = max(0, at - _LONG // 3)
        return _short(("..." if first else "") + value[first:])
    return _short(value)


def _short(value: Any) -> str:
    text = orjson.dumps(value, default=str).decode()
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."
