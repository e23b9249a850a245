"""What the server on loopback says to MultiConIR's agents: the offline baselines, from the prompts.

A prompt is read back into the question that it was rendered from, so a run through the server has to
give the bytes of a run without one.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from retgen.agents.agent import Agent, Question
from retgen.generators.multiconir.agents import AGENTS, SentenceToRewrite
from retgen.generators.multiconir.params import bundled_domains


def ladder_mind(body: dict[str, Any]) -> str:
    """The content of an answer, by the title of the schema that is asked for."""
    first = next(m["content"] for m in body["messages"] if m["role"] == "user")
    title = body["response_format"]["json_schema"]["name"]
    agent: Agent[Any, Any] = next(one for one in AGENTS if one.answer.__name__ == title)
    answer: str = agent.offline(_question(agent, _variables(agent, first))).model_dump_json()
    return answer


def _variables(agent: Agent[Any, Any], prompt: str) -> dict[str, str]:
    """What the variables of a prompt were filled with."""
    result = _pattern(agent.prompt.user).fullmatch(prompt)
    assert result, prompt
    return result.groupdict()


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


def _question(agent: Agent[Any, Any], variables: dict[str, str]) -> Question:
    """The question whose variables these are, with what the prompt does not show."""
    fields = agent.question.model_fields
    values = {name: _value(text, fields[name]) for name, text in variables.items()}
    match agent.question.__name__:
        case "AskRewrites":
            values["key_terms"] = 0.8 if values["strategy"] == "reassign" else 0.4
        case "AskLadderQueries":
            domains = bundled_domains().values()
            domain = next(one for one in domains if one.noun == values["noun"])
            values |= {"opening": domain.descriptive, "where": domain.where}
    return agent.question(**values)


def _value(text: str, field: FieldInfo) -> Any:
    """The value of a field, as text or as texts, which pydantic takes for numbers where it is one."""
    if "numbered" in field.metadata:
        return [line.partition(". ")[2] for line in text.split("\n")]
    if get_origin(field.annotation) is not tuple:
        return text
    kind = get_args(field.annotation)[0]
    if kind is int:
        return text.split(", ")
    lines = [] if text == "(none)" else [one.removeprefix("- ") for one in text.split("\n")]
    if kind is str:
        return lines
    names = [*kind.model_fields]
    if kind is SentenceToRewrite:
        names = ["condition", "fewest", "most", "sentence"]
        lines = [line.replace(" to ", " | ", 1) for line in lines]
    return [dict(zip(names, line.split(" | "), strict=True)) for line in lines]
