"""What the server on loopback says to MultiConIR's agents: sentences with figures, and other figures.

    "The hold took 310 tons of timber."  ->  "The hold took 311 tons of timber."

A sentence is its own condition. The verdict on a text follows from its figures: all else is the same.
"""

from __future__ import annotations

import json
import re
from typing import Any

_FIGURE = re.compile(r"\d[\d,]*")


def ladder_mind(body: dict[str, Any]) -> str:
    """The content of an answer, by the title of the schema that is asked for."""
    prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
    title = body["response_format"]["json_schema"]["name"]
    return json.dumps(_ANSWERS[title](prompt))


def _between(prompt: str, start: str, stop: str = "\n\n") -> list[str]:
    """The lines of a list in a prompt, without hyphens and numbers."""
    text = prompt.partition(start)[2].partition(stop)[0].strip()
    return [re.sub(r"^(- |\d+\. )", "", line) for line in text.split("\n")]


def _extracted(prompt: str) -> dict[str, Any]:
    count = int(re.findall(r"Copy (\d+) sentences", prompt)[0])
    sentences = re.findall(r"[^.]+\.", prompt.partition("The text:\n")[2])
    found = [one.strip() for one in sentences if _FIGURE.search(one)][:count]
    return {"found": [{"sentence": one, "condition": one.rstrip(".")} for one in found]}


def _rewrites(prompt: str) -> dict[str, Any]:
    made = []
    for line in _between(prompt, "| sentence):\n"):
        number, _, sentence = line.split(" | ")
        figure = [*_FIGURE.finditer(sentence)][-1]
        other = f"{int(figure[0].replace(',', '')) ^ 1}"  # neither larger nor smaller for sure
        rewrite = sentence[: figure.start()] + other + sentence[figure.end() :]
        made.append({"condition": int(number), "rewrite": rewrite})
    return {"rewrites": made}


def _verdicts(prompt: str) -> dict[str, Any]:
    texts = _between(prompt, "The texts:\n")
    made = []
    for number, condition in enumerate(_between(prompt, "The conditions:\n"), 1):
        alike = [
            (place, text)
            for place, text in enumerate(texts, 1)
            if _FIGURE.sub("", text.rstrip(".")) == _FIGURE.sub("", condition)
        ]
        for place, text in alike or [(0, "")]:
            verdict = "satisfied" if text.rstrip(".") == condition else "violated"
            verdict = verdict if alike else "cannot_tell"
            quote = "".join(_FIGURE.findall(text)[-1:])
            made.append({"condition": number, "text": place, "verdict": verdict, "quote": quote})
    return {"verdicts": made}


def _written(prompt: str) -> dict[str, Any]:
    conditions = _between(prompt, "The conditions:\n")
    clauses = [f"where {one[:1].lower()}{one[1:]}" for one in conditions]
    return {
        "queries": [
            {"number": n, "text": f"I am looking for one {' and '.join(clauses[:n])}."}
            for n in range(1, len(conditions) + 1)
        ]
    }


_ANSWERS = {
    "Extracted": _extracted,
    "Rewrites": _rewrites,
    "Verdicts": _verdicts,
    "Written": _written,
}
