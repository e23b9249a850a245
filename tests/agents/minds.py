"""What the server on loopback says to LIMIT's agents: a function of the request, as a model is not.

Things are made-up words, so no two share one; a few are wrong on purpose. Some descriptions name
the thing at first, some cannot be recognised, and now and then an answer is no JSON.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

NONE = "none of these"
_SYLLABLES = [c + v for c in "bdfgklmnprtvz" for v in ("a", "e", "i", "o", "u", "ai", "oo")]


def number(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8])


def word(*parts: object) -> str:
    left, text = number(*parts), ""
    for _ in range(4):
        left, syllable = divmod(left, len(_SYLLABLES))
        text += _SYLLABLES[syllable]
    return text.capitalize() + "x"


def mind(body: dict[str, Any]) -> str:
    """The content of an answer, by the title of the schema that is asked for."""
    messages = [message["content"] for message in body["messages"]]
    first = next(m["content"] for m in body["messages"] if m["role"] == "user")
    title = body["response_format"]["json_schema"]["name"]
    return {
        "Proposed": propose,
        "Removed": remove,
        "Description": describe,
        "Choice": choose,
    }[title](first, repaired=len(messages) > 2)


def propose(prompt: str, *, repaired: bool) -> str:
    category = re.search(r'category "([^"]+)"', prompt)
    known = set(re.findall(r"^- (.+)$", prompt.partition("by one of them")[2], re.MULTILINE))
    assert category
    result, i = [], len(known)
    while len(result) < 25:
        one = word(category[1], i)
        result.append("Salt and Pepper" if number(one) % 60 == 0 else one)
        i += 1
    if number(prompt) % 15 == 0 and not repaired:
        return "Here is a list, not JSON."
    return json.dumps({"attributes": result})


def remove(prompt: str, *, repaired: bool) -> str:
    listed = re.findall(r"^- (.+)$", prompt.partition("The list:")[2], re.MULTILINE)
    return json.dumps({"remove": [one for one in listed if number(one) % 40 == 0]})


def description(attribute: str) -> str:
    return f"odd objects that come from the valley of {word('valley', attribute)}"


def describe(prompt: str, *, repaired: bool) -> str:
    result = re.search(r'Describe "([^"]+)"', prompt)
    assert result
    kind = number("kind", result[1]) % 10
    if kind == 0 and not repaired:
        return json.dumps({"description": f"well the famous {result[1]} of this world"})
    if kind == 1:
        return json.dumps({"description": "some things which nobody could ever tell apart"})
    return json.dumps({"description": description(result[1])})


def choose(prompt: str, *, repaired: bool) -> str:
    text = re.search(r"^Description: (.+)$", prompt, re.MULTILINE)
    options = re.findall(r"^- (.+)$", prompt, re.MULTILINE)
    assert text
    meant = [one for one in options if description(one) == text[1]]
    if not meant and number(text[1]) % 4 == 0:
        meant = options[:1]  # it guesses
    return json.dumps({"choice": meant[0] if meant else NONE})
