"""What the server on loopback says to MultiConIR's agents: the offline baselines, from the prompts.

A prompt is read back into the question that it was rendered from, so a run through the server has to
give the bytes of a run without one. What a baseline has no answer for is answered with no JSON.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from retgen.agents.agent import Agent, GivenUp
from retgen.generators.multiconir.agents import (
    AGENTS,
    Extract,
    Pair,
    Queries,
    Survey,
    Tried,
    Write,
)
from retgen.generators.multiconir.domains import bundled_domains

NO_ANSWER = "I cannot say."


def ladder_mind(body: dict[str, Any]) -> str:
    """The content of an answer, by the title of the schema that is asked for."""
    first = next(m["content"] for m in body["messages"] if m["role"] == "user")
    title = body["response_format"]["json_schema"]["name"]
    agent: Agent[Any, Any] = next(one for one in AGENTS if one.answer.__name__ == title)
    question = _QUESTIONS[title](_variables(agent, first))
    try:
        answer: str = agent.offline(question).model_dump_json()
    except GivenUp:
        return NO_ANSWER
    return answer


def _variables(agent: Agent[Any, Any], prompt: str) -> dict[str, str]:
    """What the variables of a prompt were filled with."""
    found = _pattern(agent.prompt.user).fullmatch(prompt)
    assert found, prompt
    return found.groupdict()


@cache
def _pattern(template: str) -> re.Pattern[str]:
    parts, seen = [], set[str]()
    for place, part in enumerate(re.split(r"\{\{(\w+)\}\}", template)):
        if place % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in seen else f"(?P<{part}>.*?)")
            seen.add(part)
    return re.compile("".join(parts), re.DOTALL)


def _listed(text: str) -> tuple[str, ...]:
    return () if text == "(none)" else tuple(one.removeprefix("- ") for one in text.split("\n"))


def _numbered(text: str) -> tuple[str, ...]:
    return tuple(line.partition(". ")[2] for line in text.split("\n"))


def _extract(v: dict[str, str]) -> Extract:
    return Extract(
        noun=v["noun"], features=_listed(v["features"]), count=int(v["count"]),
        document=v["document"], without=_listed(v["without"]),
    )  # fmt: skip


def _queries(v: dict[str, str]) -> Queries:
    domain = next(
        one
        for one in bundled_domains().values()
        if getattr(one.examples, v["style"])[0] in v["examples"]
    )
    return Queries(
        noun=domain.noun, style=v["style"], examples=(), sentences=_numbered(v["sentences"]),
        faults=_listed(v["faults"]), opening=domain.descriptive, who=domain.who,
        where=domain.where, subject=domain.subject,
    )  # fmt: skip


def _write(v: dict[str, str]) -> Write:
    avoid = [re.fullmatch(r"(.*?[.!?]) \((.*)\)", one) for one in _listed(v["avoid"])]
    return Write(
        noun="", strategy=v["strategy"], examples=(), condition=v["condition"],
        sentence=v["sentence"], fewest=int(v["fewest"]), most=int(v["most"]), kept=int(v["kept"]),
        key_terms=0.8 * (1.0 if v["strategy"] == "reassign" else 0.5),
        avoid=tuple(Tried(rewrite=one[1], fault=one[2]) for one in avoid if one),
    )  # fmt: skip


_QUESTIONS = {
    "Extracted": _extract,
    "Written": _queries,
    "Rewritten": _write,
    "Verified": lambda v: Pair(text=v["text"], condition=v["condition"]),
    "Surveyed": lambda v: Survey(
        sentences=_numbered(v["sentences"]), conditions=_numbered(v["conditions"])
    ),
}
