"""An agent in conversation with a model on loopback: sent, taken, repaired, failed after repairs."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from retgen.agents.agent import Agent, AnswerSchema, Question, RepairsFailed
from retgen.agents.ledger import Ledger
from retgen.agents.models import ModelSettings
from retgen.agents.prompt import Prompt
from tests.agents.ledgers import open_client
from tests.agents.server import Server, serving

GOOD = '{"colour": "red", "share": 3}'
SCHEMA = {
    "additionalProperties": False,
    "description": "A colour, and how much of the thing has it.",
    "properties": {
        "colour": {"title": "Colour", "type": "string"},
        "share": {"title": "Share", "type": "integer"},
    },
    "required": ["colour", "share"],
    "title": "Painted",
    "type": "object",
}
SAID = "Answer with one JSON object and nothing else. Its JSON Schema is:\n" + json.dumps(
    SCHEMA, separators=(",", ":")
)


class Thing(Question):
    thing: str
    known: tuple[str, ...] = ()


class Painted(AnswerSchema):
    """A colour, and how much of the thing has it."""

    colour: str
    share: int


def known(question: Thing, answer: Painted) -> str | None:
    return f"{answer.colour!r} is known" if answer.colour in question.known else None


COLOUR = Agent(
    name="colour",
    role="write",
    prompt=Prompt(
        "colour",
        "Ask for the colour of a thing.",
        'Answer as {"colour": ..., "share": ...}.',
        "What colour has {{thing}}? Not:\n{{known}}",
        "0" * 64,
    ),
    question=Thing,
    answer=Painted,
    check=known,
    max_tokens=100,
)
Converse = Callable[..., Painted]


@pytest.fixture
def converse(ledger: Ledger) -> Converse:
    """Ask a question at a server, through the ledger, as a run does it."""

    def ask(server: Server, question: Thing, *, repairs: int = 2, **settings: Any) -> Painted:
        known = {"provider": "openai", "name": "ok", "base_url": server.url}
        model, agent = ModelSettings(**{**known, **settings}), replace(COLOUR, repairs=repairs)

        async def main() -> Painted:
            async with open_client(ledger, server.url, settings=settings) as client:
                return await agent.request(question, model, client, Counter())

        return asyncio.run(main())

    return ask


def one_after_another(*answers: str) -> Callable[[dict[str, Any]], str]:
    """A model that says this; the last again and again."""
    left = list(answers)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


def sent_back(reason: str) -> dict[str, str]:
    """The message that sends an answer back."""
    return {
        "role": "user",
        "content": f"This answer cannot be taken: {reason}. Answer the request above again, in "
        f"full, and avoid this fault. {SAID}",
    }


def test_what_is_sent(converse: Converse) -> None:
    with serving(lambda body: GOOD) as server:
        question = Thing(thing="a rose", known=("blue", "green"))
        result = converse(server, question, temperature=0.5, extra={"top_k": 3})
        assert result == Painted(colour="red", share=3)
        converse(server, Thing(thing="a rose"), max_tokens=7)
    first, second = server.requests
    form = {"name": "Painted", "schema": SCHEMA, "strict": True}
    assert first == {
        "model": "ok",
        "messages": [
            {"role": "system", "content": 'Answer as {"colour": ..., "share": ...}.'},
            {"role": "user", "content": "What colour has a rose? Not:\n- blue\n- green"},
        ],
        "top_k": 3,
        "temperature": 0.5,
        "max_tokens": 100,
        "stream": False,
        "response_format": {"type": "json_schema", "json_schema": form},
    }
    assert second.keys() == first.keys() - {"top_k", "temperature"}
    assert second["messages"][1]["content"] == "What colour has a rose? Not:\n(none)"
    assert second["max_tokens"] == 7


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"Here it is:\n\n```json\n{GOOD}\n```\nShall I go on with {{more}}?",
        f"Sure! {GOOD} I hope that this helps.",
        f'<think>Maybe {{x}}, or {{"colour": 5}}?</think>{GOOD}',
        f"{GOOD} (I left out {{blue}}.)",
        f'```json\n{{"type": "object"}}\n```\n```json\n{GOOD}\n```',
    ],
)
def test_words_and_fences_around_an_answer(converse: Converse, text: str) -> None:
    with serving(lambda body: text) as server:
        result = converse(server, Thing(thing="a rose"))
    assert result == Painted(colour="red", share=3)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not JSON"),
        ("Use {braces}.", "it is not JSON"),
        ('{"colour": ' + "1" * 5000 + "}", "it is not JSON"),
        ('{"colour": ' * 3000, "it is not JSON"),
        ("```json\n{...}\n```", "it is not JSON"),
        ('{"colour": "red"}', "share: Field required"),
        ('Here: {"colour": 5, "share": 3}', "colour: Input should be a valid string"),
        ('{"colour": "red", "share": 3, "more": 1}', "more: Extra inputs are not permitted"),
        (
            '{"a": 1, "b": 2, "c": 3}',
            "colour: Field required; share: Field required; a: Extra inputs are not permitted; "
            "and 2 more",
        ),
        ('{"colour": "blue", "share": 3}', "'blue' is known"),
    ],
)
def test_a_fault_goes_back_with_its_reason(converse: Converse, text: str, reason: str) -> None:
    with serving(one_after_another(text, GOOD)) as server:
        result = converse(server, Thing(thing="a rose", known=("blue",)))
    assert result == Painted(colour="red", share=3)
    first, second = server.requests
    assert second == first | {
        "messages": [*first["messages"], {"role": "assistant", "content": text}, sent_back(reason)]
    }


def test_the_history_is_kept_and_in_the_end_it_has_failed(converse: Converse) -> None:
    answers = ["no", '{"colour": "blue", "share": 1}', '{"colour": "green", "share": 2}']
    reasons = ["it is not JSON", "'blue' is known", "'green' is known"]
    with serving(one_after_another(*answers)) as server:
        question = Thing(thing="a rose", known=("blue", "green"))
        with pytest.raises(RepairsFailed) as error:
            converse(server, question)
        assert (error.value.rule, error.value.reason) == ("colour/check", "'green' is known")
        assert list(error.value.history) == list(zip(answers, reasons, strict=True))
        contents = [message["content"] for message in server.requests[2]["messages"][2:]]
        assert contents == [
            answers[0],
            sent_back(reasons[0])["content"],
            answers[1],
            sent_back(reasons[1])["content"],
        ]
        # every turn is in the ledger: to ask again costs nothing, and ends as before
        with pytest.raises(RepairsFailed) as again:
            converse(server, question)
    assert again.value.history == error.value.history
    assert len(server.requests) == 3


def test_an_agent_without_repairs(converse: Converse) -> None:
    with serving(lambda body: "no") as server, pytest.raises(RepairsFailed) as error:
        converse(server, Thing(thing="a rose"), repairs=0)
    assert (error.value.rule, len(error.value.history)) == ("colour/answer", 1)
    assert len(server.requests) == 1


def test_an_answer_that_is_always_cut_off(converse: Converse) -> None:
    with serving() as server, pytest.raises(RepairsFailed) as error:
        converse(server, Thing(thing="a rose"), name="cut")
    reason = "the answer was cut off, even with 32,768 tokens"
    assert (error.value.rule, error.value.reason) == ("colour/cut_off", reason)
    assert list(error.value.history) == [("", reason)]
    first = server.requests[0]
    each = (100, 400, 1600, 6400, 25600, 32768)
    assert server.requests == [first | {"max_tokens": tokens} for tokens in each]


def test_what_asking_again_cannot_help_fails_at_once(converse: Converse) -> None:
    with serving(lambda body: GOOD) as server, pytest.raises(RepairsFailed) as error:
        converse(server, Thing(thing="a rose"), name="filtered")
    reason = "the request or its answer was filtered, or the model refused (content_filter)"
    assert (error.value.rule, error.value.reason) == ("colour/filtered", reason)
    assert list(error.value.history) == [("", reason)]
    assert len(server.requests) == 1


def test_a_server_that_knows_no_schema_is_told_in_the_prompt(converse: Converse) -> None:
    with serving(one_after_another("no", GOOD)) as server:
        result = converse(server, Thing(thing="a rose"), structured="prompt")
    assert result == Painted(colour="red", share=3)
    first, second = server.requests
    assert [set(request) for request in (first, second)] == [
        {"model", "messages", "max_tokens", "stream"}
    ] * 2
    asked = f"What colour has a rose? Not:\n(none)\n\n{SAID}"
    assert first["messages"][1:] == [{"role": "user", "content": asked}]
    assert second["messages"][2:] == [
        {"role": "assistant", "content": "no"},
        sent_back("it is not JSON"),
    ]


def test_braces_and_json_of_a_user_survive(converse: Converse) -> None:
    thing = '{"a": [1, {"b": "{{known}}"}]} {{thing}} {0} %s \\1 ``` {{{{x}}}}'
    answer = json.dumps({"colour": '{"not": "{{thing}}"} ```json\n{}\n```', "share": 3})
    with serving(lambda body: answer) as server:
        result = converse(server, Thing(thing=thing, known=("{{thing}}",)))
    assert result.colour == '{"not": "{{thing}}"} ```json\n{}\n```'
    (sent,) = server.requests
    assert sent["messages"][1]["content"] == f"What colour has {thing}? Not:\n- {{{{thing}}}}"
