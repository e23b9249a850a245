"""A chat model as LangChain's agents want it, whose every request goes through the ledger.

What calls a tool is JSON in the answer's text, by a schema, so each model that a recipe may name
can use tools, whether or not its server knows them:

    {"call": {"tool": "plan", "recipe": "name: mine\\nfamily: limit\\n"}}
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import orjson
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict

from retgen.agents.models import ModelSettings
from retgen.agents.prompt import Message, Request

ROOM = 4096  # tokens of an answer: it holds a recipe
_REPAIRS = 2  # answers in a row that call no tool


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
        """With these tools; it always calls one."""
        return self.bind(tools=[convert_to_openai_tool(one)["function"] for one in tools])

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        raise NotImplementedError("the ledger is asked asynchronously: use ainvoke")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        *args: Any,
        tools: Sequence[Mapping[str, Any]] = (),
        **options: Any,
    ) -> ChatResult:
        said = [_message(one) for one in messages]
        schema = schema_of(tools)
        told = self.settings.structured == "prompt"
        for _ in range(_REPAIRS + 1):
            request = Request(
                self.settings.endpoint(),
                self.settings.name,
                tuple(said),
                self.settings.sampling(),
                None if told else schema,
                max_tokens=self.settings.max_tokens or ROOM,
                about="the draft of a recipe",
            )
            text = await self.request(request)
            call, fault = parse_call(text, tools)
            if call is not None:
                name, arguments = call
                # an id that is the same in every run, since it becomes part of no request
                made = {"name": name, "args": arguments, "id": f"call_{len(said)}"}
                answer = AIMessage(content="", tool_calls=[made])
                return ChatResult(generations=[ChatGeneration(message=answer)])
            said += [Message("assistant", text), Message("user", fault)]
        raise ValueError(fault)


def schema_of(tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON Schema of a call of one of some tools."""

    def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
        form = {"type": "object", "properties": properties, "required": list(properties)}
        return {**form, "additionalProperties": False}

    calls = [
        closed(
            {
                "tool": {"type": "string", "enum": [tool["name"]]},
                **tool["parameters"].get("properties", {}),
            }
        )
        for tool in tools
    ]
    return {"title": "Call", **closed({"call": {"anyOf": calls}})}


def parse_call(
    text: str, tools: Sequence[Mapping[str, Any]]
) -> tuple[tuple[str, dict[str, Any]] | None, str]:
    """The tool that an answer calls, with its arguments; or None, and what is wrong with it."""
    names = [str(tool["name"]) for tool in tools]
    wanted = f'answer with {{"call": {{"tool": NAME, ...}}}}, NAME one of {", ".join(names)}'
    try:
        call = orjson.loads(text[text.index("{") : text.rindex("}") + 1])["call"]
        name, arguments = str(call["tool"]), {k: v for k, v in call.items() if k != "tool"}
    except (ValueError, LookupError, TypeError, AttributeError):
        return None, f"This answer calls no tool: {wanted}."
    if name not in names:
        return None, f"There is no tool {name!r}: {wanted}."
    return (name, arguments), ""


def _message(one: BaseMessage) -> Message:
    """A message of LangChain's as one of ours, which know no roles of tools."""
    if isinstance(one, AIMessage):
        (call,) = one.tool_calls
        text = orjson.dumps({"call": {"tool": call["name"], **call["args"]}}).decode()
        return Message("assistant", text)
    if isinstance(one, ToolMessage):
        return Message("user", f"Result of {one.name}:\n{one.text}")
    return Message("system" if one.type == "system" else "user", str(one.text))
