"""A chat backend is one file: recipes, keys, the doctor and calls need no other edit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.agents.backends import LANGCHAIN, backends
from retgen.agents.models import ModelSettings
from tests.project import Project

ECHO = '''
"""A model that orders documents as they are shown, without a server."""

import json
import re

from retgen.agents.chat import ChatModel, Response, Usage


class EchoChat(ChatModel):
    keys = ("ECHO_API_KEY",)

    async def send(self, request, max_tokens):
        count = int(re.search(r"Order these (\\d+) documents", request.messages[-1].content)[1])
        answer = json.dumps({"ranking": list(range(1, count + 1))})
        usage = Usage(sum(len(one.content) for one in request.messages) // 4, len(answer) // 4)
        return self.read(answer.encode())._replace(usage=usage)

    def read(self, raw):
        return Response(raw, 200, "", "stop", raw.decode())
'''


@pytest.mark.slow
def test_a_chat_backend_is_one_new_file(tmp_path: Path) -> None:
    project = Project(tmp_path, {"retgen/agents/backends/echo.py": ECHO})
    call = "eval", "run", "--model", "llm:echo:first", "--limit", "1", "--json"
    made, missing, doctor = project.gen(
        ("run", "multiconir_people", "--limit", "2", "-q", "--out", "run"),
        call,
        ("doctor", "--json"),
    )
    assert made.returncode == 0
    assert missing.returncode == 2
    assert missing.stderr == (
        "gen: echo:first needs a key: set ECHO_API_KEY in the environment or in a .env file in "
        "this folder\n"
    )
    lines_of_doctor = {one["what"]: one for one in json.loads(doctor.stdout)}
    assert lines_of_doctor["ECHO_API_KEY"]["state"] == "absent"
    (result,) = project.gen(call, ECHO_API_KEY="planted")
    assert (result.returncode, result.stderr) == (0, "")
    (row,) = json.loads(result.stdout)["results"]
    assert (row["details"]["model"], row["details"]["failed_after_repairs"]) == ("echo:first", 0)
    assert row["details"]["calls"] > 0


def test_who_asks_whom() -> None:
    assert {"google_genai", "langchain", "openai"} <= {*backends()}
    assert ModelSettings.named("mistralai:m").backend is backends()[LANGCHAIN]
    by_langchain = ModelSettings(provider="openai", name="m", via="langchain")
    assert by_langchain.backend is backends()[LANGCHAIN]
