"""A chat model as LangChain's agents want it, whose every request goes through the ledger.

A call of a tool is JSON in the answer's text, so each model that a recipe may name can use tools,
whether or not its server knows them:

    {"tool": "plan", "text": "name: mine\\nfamily: limit\\n", "choices": []}
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import ConfigDict, ValidationError

from retgen.agents.agent import AnswerSchema, parse_answer
from retgen.agents.models import ModelSettings
from retgen.agents.prompt import Message, Request

ROOM = 4096  # tokens of an answer: it holds a recipe
_REPAIRS = 2  # answers in a row that call no tool


class Call(AnswerSchema):
    """A tool with its text: the name of a family, or a recipe. `choices`: of Draft alone."""

    tool: Literal["schema", "examples", "plan", "Draft"]
    text: str
    choices: list[str]


class LedgerChat(BaseChatModel):
    """`request`: the text of the answer to a request. Raises what it raises, and `ValueError` where
    the model calls no tool though it was told to.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    settings: ModelSettings
    request: Callable[[Request], Awaitable[str]]

    @property
    def _llm_type(self) -> str:
        return "retgen"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Runnable[Any, AIMessage]:
        """It always calls one of the tools of `Call`."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        raise NotImplementedError("the ledger is asked asynchronously: use ainvoke")

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **options: Any
    ) -> ChatResult:
        said = [_message(one) for one in messages]
        told = self.settings.structured == "prompt"
        for _ in range(_REPAIRS + 1):
            request = Request(
                self.settings.endpoint(),
                self.settings.name,
                tuple(said),
                self.settings.sampling(),
                None if told else Call.model_json_schema(),
                max_tokens=self.settings.max_tokens or ROOM,
                about="the draft of a recipe",
            )
            text = await self.request(request)
            try:
                call = parse_answer(Call, text)
            except ValidationError as error:
                fault = f"this answer calls no tool ({error.errors()[0]['msg']})"
                said += [Message("assistant", text), Message("user", f"{fault}. Call one.")]
                continue
            given: dict[str, Any] = {"text": call.text}
            if call.tool == "Draft":
                given["choices"] = call.choices
            # an id that is the same in every run, since it becomes part of no request
            made = {"name": call.tool, "args": given, "id": f"call_{len(said)}"}
            answer = AIMessage(content=text, tool_calls=[made])
            return ChatResult(generations=[ChatGeneration(message=answer)])
        raise ValueError(fault)


def _message(one: BaseMessage) -> Message:
    """A message of LangChain's as one of ours, which know no roles of tools."""
    if isinstance(one, ToolMessage):
        return Message("user", f"Result of {one.name}:\n{one.text}")
    if one.type == "ai":
        return Message("assistant", str(one.text))
    return Message("system" if one.type == "system" else "user", str(one.text))
