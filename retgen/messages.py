"""Errors in words: where a value stands, what is allowed, the nearest spelling, what differs."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

MOST = 50  # errors of one recipe that are listed
_LONG = 100  # characters of a value that is quoted


@dataclass(frozen=True)
class SourceMap:
    """Where the values of a recipe stand."""

    path: Path
    tree: Any
    overridden: tuple[str, ...]

    def where(self, keys: Sequence[str | int]) -> str:
        """ "FILE, line N, key" of a value, or the option that gave it."""
        dotted = ".".join(map(str, keys))
        for given in self.overridden:
            if dotted == given or dotted.startswith(f"{given}."):
                return _OPTIONS.get(dotted, f"--set {dotted}")
        line, node = None, self.tree
        for key in keys:
            marks: Any = getattr(node, "lc", None)
            with contextlib.suppress(AttributeError, KeyError, TypeError, IndexError):
                line = (marks.key(key) if isinstance(node, dict) else marks.item(key))[0] + 1
            try:
                node = node[key]
            except (KeyError, IndexError, TypeError):
                break
        return f"{self.path}{f', line {line}' if line else ''}{f', {dotted}' if dotted else ''}"


_OPTIONS = {"model": "--model", "limit": "--limit"}  # keys that have an option of their own


def validation_messages(
    error: ValidationError, schema: Any, data: Any, origin: SourceMap, prefix: Sequence[str | int]
) -> Iterator[str]:
    """A message for each error, up to `MOST` of them."""
    result = error.errors(include_url=False)
    for item in result[:MOST]:
        # a list whose items were refused is also reported as too short
        if item["type"] == "too_short" and any(
            other["loc"][: len(item["loc"])] == item["loc"] != other["loc"] for other in result
        ):
            continue
        keys = _keys(item["loc"], data, item["type"])
        where = origin.where([*prefix, *keys])
        yield f"{where}: {_sentence(item, keys, schema, data)}"
    if len(result) > MOST:
        yield f"{origin.where(prefix)}: {len(result) - MOST:,} more errors"


def _keys(loc: Sequence[str | int], data: Any, kind: str) -> list[str | int]:
    """The path in the recipe; pydantic's also holds the tags of unions, which are no keys."""
    keys: list[str | int] = []
    node = data
    for i, part in enumerate(loc):
        last = i == len(loc) - 1
        if isinstance(node, dict) and (part in node or (last and kind == "missing")):
            keys.append(part)
            node = node.get(str(part))
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            keys.append(part)
            node = node[part]
    return keys


def _sentence(item: Any, keys: Sequence[str | int], schema: Any, data: Any) -> str:
    given, context = item.get("input"), item.get("ctx", {})
    match item["type"]:
        case "extra_forbidden":
            allowed = list(_node(schema, data, keys[:-1]).get("properties", {}))
            hint = did_you_mean(str(keys[-1]), allowed)
            if not hint and len(keys) == 1 and "params" in allowed:  # of a recipe
                hint = f"; a family's own keys stand under params: params.{keys[0]}?"
            return f"unknown key{hint or '.'} Allowed: {', '.join(allowed)}"
        case "missing":
            return "is missing"
        case "union_tag_not_found":
            tag = str(context["discriminator"]).strip("'")
            choices = _node(schema, data, keys).get("discriminator", {}).get("mapping", {})
            return f"needs {tag}, one of {', '.join(sorted(choices))}"
        case "union_tag_invalid":
            tag = str(context["discriminator"]).strip("'")
            choices = [choice.strip("' ") for choice in str(context["expected_tags"]).split(",")]
            hint = did_you_mean(str(context["tag"]), choices)
            return (
                f"there is no {tag} {context['tag']!r}{hint or '.'} Possible: {', '.join(choices)}"
            )
        case "too_short":
            least = context["min_length"]
            return f"must hold at least {least} value{'s' * (least != 1)}, not {_show(given)}"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"must be a mapping, not {_show(given)}"
        case "value_error":
            return str(context["error"])
        case kind:
            known = re.findall(r"'([^']*)'", context["expected"] if kind == "literal_error" else "")
            hint = did_you_mean(str(given), known)
            text = str(item["msg"]).replace("Input should be", "must be")
            return f"{text[:1].lower()}{text[1:]}, not {_show(given)}{hint}"


def _show(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."


def did_you_mean(given: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    """A question to append, or nothing where no known word is near."""
    from rapidfuzz import fuzz, process

    result = process.extractOne(given, list(known), scorer=fuzz.ratio, score_cutoff=60)
    return f"; did you mean {result[0]}?" if result and result[0] != given else ""


def _node(schema: Any, data: Any, keys: Sequence[str | int]) -> Any:
    """The part of a JSON Schema that a path through the data leads to."""
    node, value = _object(schema, schema, data), data
    for key in keys:
        value = value[key] if isinstance(value, dict | list) else None  # type: ignore[index]
        inner = _property(node, key) if isinstance(key, str) else node.get("items")
        node = _object(schema, inner or {}, value)
    return node


def _property(node: Any, key: str) -> Any:
    """What stands under a key; in a mapping of any names, what stands under each."""
    others = [*node.get("patternProperties", {}).values(), node.get("additionalProperties")]
    return node.get("properties", {}).get(key) or next(filter(None, others), None)


def _object(schema: Any, node: Any, value: Any) -> Any:
    """Follow references, and the branch of a union that the data chose."""
    while True:
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
        elif "discriminator" in node:
            tag = node["discriminator"]["propertyName"]
            chosen = value.get(tag) if isinstance(value, dict) else None
            mapping = node["discriminator"]["mapping"]
            if chosen not in mapping:
                return node
            node = {"$ref": mapping[chosen]}
        elif "anyOf" in node or "oneOf" in node:
            branches = [
                one for one in node.get("anyOf") or node["oneOf"] if one.get("type") != "null"
            ]
            wanted = isinstance(value, dict)  # a mapping is described by a reference
            node = next((one for one in branches if ("$ref" in one) == wanted), branches[0])
        else:
            return node


# --- two values ---------------------------------------------------------------------------------


def differences(stated: Any, right: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Where `stated` is not `right`. Floats may differ in their last bits, as machines do.

    Each: (key, dotted and with places in lists: "example.rows[3][1]", the rest of a sentence).
    """
    if isinstance(stated, dict) and isinstance(right, dict):
        for name in dict.fromkeys([*right, *stated]):
            inner = f"{key}.{name}" if key else str(name)
            if name not in stated:
                yield inner, f"is missing; must be {quote(right[name])}"
            elif name not in right:
                yield inner, f"is {quote(stated[name])}; must not be there"
            else:
                yield from differences(stated[name], right[name], inner)
    elif isinstance(stated, list) and isinstance(right, list) and len(stated) == len(right):
        for place, both in enumerate(zip(stated, right, strict=True)):
            yield from differences(*both, f"{key}[{place}]")
    elif not _same(stated, right):
        yield key or "value", f"is {quote(stated, right)}, must be {quote(right, stated)}"


def _same(stated: Any, right: Any) -> bool:
    if isinstance(right, float) and type(stated) in (int, float):
        return math.isclose(stated, right, rel_tol=1e-9, abs_tol=1e-12)
    return type(stated) is type(right) and bool(stated == right)


def quote(value: Any, other: Any = None) -> str:
    """A value as JSON; of a long one the part in which it differs from `other`."""
    text, second = (orjson.dumps(one, default=str).decode() for one in (value, other))
    pairs = enumerate(zip(text, second, strict=False))
    at = next((place for place, (a, b) in pairs if a != b), 0) if len(text) > _LONG else 0
    start = max(0, at - _LONG // 3)
    text = ("..." if start else "") + text[start:]
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."
