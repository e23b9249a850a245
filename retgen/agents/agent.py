"""An agent: a typed task for a chat model, with a check, a repair, and a baseline without one.

A question goes out as a prompt, an answer comes back as JSON of a schema. What does not fit the
schema or fails the agent's check goes back with the reason, at most `repairs` times; then the
question has failed, with its whole history. Each turn is a request of its own, so it is paid once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from retgen.agents.chat import Unusable
from retgen.agents.models import ModelSettings
from retgen.agents.prompt import Message, Prompt, Request
from retgen.agents.report import FAILED, REPAIRED, TAKEN

if TYPE_CHECKING:
    from retgen.agents.client import Client

_ABOUT = 120  # characters of a question in a message
_NUMBERED = "numbered"
Numbered = Annotated[tuple[str, ...], _NUMBERED]  # texts that a prompt numbers from 1


class Question(BaseModel):
    """What an agent is asked: its fields fill the prompt's variables of the same names.

    A list stands there as lines that begin with a hyphen, or with their numbers (`Numbered`);
    numbers stand in one line. `Field(exclude=True)`: the prompt does not show it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    def variables(self) -> dict[str, str]:
        """The fields as text."""
        return {
            name: _as_text(getattr(self, name), field.metadata)
            for name, field in type(self).model_fields.items()
            if not field.exclude
        }

    def __str__(self) -> str:
        """As a list of questions shows it."""
        return " | ".join(self.variables().values())

    def about(self) -> str:
        """How an error message names it: by the beginning of its text."""
        return " ".join(str(self)[: 2 * _ABOUT].split())[:_ABOUT]


class AnswerSchema(BaseModel):
    """What an agent answers. Every field is required, as strict JSON schema modes want it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Q = TypeVar("Q", bound=Question)
A = TypeVar("A", bound=AnswerSchema)


class Turn(NamedTuple):
    """An answer that was not taken, and why."""

    answer: str
    reason: str


class RepairsFailed(Exception):
    """An agent's question got no answer that could be taken. `rule`: agent/why."""

    def __init__(self, rule: str, reason: str, history: Sequence[Turn]) -> None:
        super().__init__(reason)
        self.rule, self.reason, self.history = rule, reason, tuple(history)


@dataclass(frozen=True)
class Agent(Generic[Q, A]):
    """A task. `role`: which of a recipe's models does it, where it names several.

    `offline`: the answer by rules and bundled lists, which raises `RepairsFailed` where these have
    none; None where only a model can answer. `check`: what is wrong with an answer, in words for
    the model; None for nothing. `max_tokens`: about twice what an answer takes (or one to this
    question), hidden reasoning not counted; what is cut off is asked again with more.
    """

    name: str
    role: Literal["write", "judge"]
    prompt: Prompt
    question: type[Q]
    answer: type[A]
    offline: Callable[[Q], A] | None = None
    check: Callable[[Q, A], str | None] = lambda question, answer: None
    max_tokens: int | Callable[[Q], int] = 512
    repairs: int = 2

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of an answer."""
        return self.answer.model_json_schema()

    def begin(self, question: Q, model: ModelSettings) -> Request:
        """The first request of a question."""
        messages = self.prompt.render(question.variables())
        schema: dict[str, Any] | None = self.schema
        if model.structured == "prompt":
            message = f"{messages[-1].content}\n\n{_schema_text(self.schema)}"
            messages, schema = (*messages[:-1], Message("user", message)), None
        own = self.max_tokens
        return Request(
            model.endpoint(),
            model.name,
            messages,
            model.sampling(),
            schema,
            max_tokens=model.max_tokens or (own(question) if callable(own) else own),
            about=question.about(),
        )

    async def request(
        self, question: Q, model: ModelSettings, client: Client, counts: Counter[str]
    ) -> A:
        """Request an answer, check it, and have it repaired. Raises `RepairsFailed`.

        `counts`: where what the answers were worth is counted (see `report`).
        """
        request, history = self.begin(question, model), list[Turn]()
        while True:
            text, final = "", len(history) == self.repairs
            try:
                text = await client.request(request, self.name)
                result = parse_answer(self.answer, text)
                reason, why, fault = self.check(question, result) or "", "check", "failed checks"
            except Unusable as error:
                reason, why, fault = str(error), error.why, error.why.replace("_", " ")
                final = True  # asking again is no use
            except ValidationError as error:
                reason, why, fault = _problems(error), "answer", "another form"
                if reason == f"it is {NOT_JSON}":
                    fault = NOT_JSON
            if not reason:
                counts.update({TAKEN: 1, REPAIRED: bool(history)})
                return result
            history.append(Turn(text, reason))
            counts[fault] += 1
            if final:
                counts[FAILED] += 1
                raise RepairsFailed(f"{self.name}/{why}", reason, history)
            request = self._repair_request(request, text, reason)

    def _repair_request(self, request: Request, text: str, reason: str) -> Request:
        message = Message(
            "user",
            f"This answer cannot be taken: {reason}. Answer the request above again, in full, "
            f"and avoid this fault. {_schema_text(self.schema)}",
        )
        return replace(request, messages=(*request.messages, Message("assistant", text), message))


def _as_text(value: Any, marks: Sequence[Any]) -> str:
    if not isinstance(value, list | tuple):
        return str(value)
    if _NUMBERED in marks:
        return "\n".join(f"{number}. {item}" for number, item in enumerate(value, 1))
    if value and all(isinstance(item, int) for item in value):
        return ", ".join(map(str, value))
    return "\n".join(f"- {item}" for item in value) or "(none)"


def _schema_text(schema: dict[str, Any]) -> str:
    return (
        "Answer with one JSON object and nothing else. Its JSON Schema is:\n"
        + orjson.dumps(schema).decode()
    )


NOT_JSON = "not JSON"
_STARTS = 50  # places in a text where an answer may begin


def parse_answer(shape: type[A], text: str) -> A:
    """The answer in a text; models without a JSON mode put words, thoughts or fences around it."""
    try:
        return shape.model_validate_json(text)
    except ValidationError as error:
        first = error
    decoder, at = json.JSONDecoder(), text.find("{")
    for _ in range(_STARTS):
        if at < 0:
            break
        try:
            result, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):  # no JSON, too long a number, too deep
            end = at + 1
        else:
            try:
                return shape.model_validate(result)
            except ValidationError as error:
                if first.errors()[0]["type"] == "json_invalid":
                    first = error  # this says more than that the whole is no JSON
        at = text.find("{", end)
    raise first


def _problems(error: ValidationError) -> str:
    """What is wrong with the JSON, the first three faults."""
    result = error.errors(include_url=False, include_input=False)
    if result[0]["type"] == "json_invalid":
        return f"it is {NOT_JSON}"
    parts = [
        ": ".join([*filter(None, [".".join(map(str, one["loc"]))]), one["msg"]])
        for one in result[:3]
    ]
    more = f"; and {len(result) - 3} more" if len(result) > 3 else ""
    return "; ".join(parts) + more
