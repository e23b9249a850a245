"""What the server on loopback says to MultiConIR's agents: the offline baselines, from the prompts.

A prompt is read back into the question that it was rendered from, so a run through the server has to
give the bytes of a run without one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from retgen.agents.agent import Agent, Question
from retgen.generators.multiconir.agents import (
    AGENTS,
    AskConditions,
    AskLadderQueries,
    AskRewrites,
    AskVerdicts,
    RefusedRewrite,
    RefusedSentence,
    SentenceToRewrite,
)
from retgen.generators.multiconir.params import LadderDomain, bundled_domains


def ladder_mind(body: dict[str, Any]) -> str:
    """The content of an answer, by the title of the schema that is asked for."""
    first = next(m["content"] for m in body["messages"] if m["role"] == "user")
    title = body["response_format"]["json_schema"]["name"]
    agent: Agent[Any, Any] = next(one for one in AGENTS if one.answer.__name__ == title)
    answer: str = agent.offline(_QUESTIONS[title](_variables(agent, first))).model_dump_json()
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


def _listed(text: str) -> tuple[str, ...]:
    return () if text == "(none)" else tuple(one.removeprefix("- ") for one in text.split("\n"))


def _numbered(text: str) -> tuple[str, ...]:
    return tuple(line.partition(". ")[2] for line in text.split("\n"))


def _counted(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(", ")))


def _cells(text: str) -> list[list[str]]:
    return [one.split(" | ") for one in _listed(text)]


def _of(noun: str) -> LadderDomain:
    return next(one for one in bundled_domains().values() if one.noun == noun)


def _extract(v: dict[str, str]) -> AskConditions:
    return AskConditions(
        noun=v["noun"],
        features=_listed(v["features"]),
        examples=(),
        count=int(v["count"]),
        document=v["document"],
        taken=_listed(v["taken"]),
        refused=tuple(
            RefusedSentence(sentence=sentence, condition=condition, reason=reason)
            for sentence, condition, reason in _cells(v["refused"])
        ),
    )


def _negatives(v: dict[str, str]) -> AskRewrites:
    sentences = []
    for condition, words, sentence in _cells(v["sentences"]):
        fewest, most = words.split(" to ")
        sentences.append(
            SentenceToRewrite(condition=condition, sentence=sentence, fewest=fewest, most=most)
        )
    return AskRewrites(
        noun=v["noun"],
        strategy=v["strategy"],
        examples=(),
        conditions=_numbered(v["conditions"]),
        sentences=tuple(sentences),
        kept=int(v["kept"]),
        key_terms=0.8 * (1.0 if v["strategy"] == "reassign" else 0.5),
        negations=int(v["negations"]),
        refused=tuple(
            RefusedRewrite(condition=condition, rewrite=rewrite, reason=reason)
            for condition, rewrite, reason in _cells(v["refused"])
        ),
    )


def _verify(v: dict[str, str]) -> AskVerdicts:
    return AskVerdicts(
        texts=_numbered(v["texts"]),
        conditions=_numbered(v["conditions"]),
        asked=_counted(v["asked"]),
        refused=_listed(v["refused"]),
    )


def _queries(v: dict[str, str]) -> AskLadderQueries:
    domain = _of(v["noun"])
    return AskLadderQueries(
        noun=domain.noun,
        examples=(),
        conditions=_numbered(v["conditions"]),
        counts=_counted(v["counts"]),
        refused=_listed(v["refused"]),
        opening=domain.descriptive,
        where=domain.where,
    )


_QUESTIONS: dict[str, Callable[[dict[str, str]], Question]] = {
    "Extracted": _extract,
    "Rewrites": _negatives,
    "Verdicts": _verify,
    "Written": _queries,
}
