"""What the agents of all families share: their declaration, and estimates of calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import orjson

from retgen.agents.agent import A, Agent, AnswerSchema, Q, Question
from retgen.generators.family import CallEstimate
from retgen.prompts import bundled

_BYTES = 4  # of an answer's JSON, a token


def bundled_agent(
    prompt: str,
    role: Literal["write", "judge"],
    question: type[Q],
    answer: type[A],
    offline: Callable[[Q], A] | None = None,
    **options: Any,
) -> Agent[Q, A]:
    """The agent of a bundled prompt, `family/name`. Without `offline` it is a model's work."""
    name = prompt.rpartition("/")[2]
    text = bundled(prompt)
    return Agent(name, role, text, question, answer, offline, **options)


def call_size(
    agent: Agent[Any, Any], question: Question, answer: AnswerSchema
) -> tuple[float, float]:
    """Bytes of a prompt with its schema, and tokens of an answer."""
    messages = agent.prompt.render(question.variables())
    prompt = sum(len(one.content.encode()) for one in messages) + len(orjson.dumps(agent.schema))
    return prompt, len(answer.model_dump_json().encode()) / _BYTES


def estimate_calls(
    records: int, calls: tuple[float, float], sizes: Sequence[tuple[float, float]]
) -> CallEstimate:
    """An estimate of calls whose mean size is that of some examples."""
    prompt, answer = (sum(part) / len(sizes) for part in zip(*sizes, strict=True))
    return CallEstimate(records, calls, round(prompt), round(answer))
