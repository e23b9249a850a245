"""A backend of chats or of embeddings is one file: recipes, keys, help, prices and the doctor need no
other edit.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.agents.backends import LANGCHAIN, backends
from retgen.agents.embedders import embedding_backends
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
LETTERS = '''
"""Vectors of the letters of a text, without a server."""

import json

from retgen.agents.embedders import EmbeddingBackend, texts_of


class Letters(EmbeddingBackend):
    keys = ("LETTERS_API_KEY",)
    about = "nobody"
    texts = 50

    async def send(self, request, max_tokens):
        rows = [[1 + text.count(letter) for letter in "aeiou"] for text in texts_of(request)]
        usage = {"total_tokens": sum(map(len, texts_of(request)))}
        return self.read(json.dumps({"rows": rows, "usage": usage}).encode())

    def parameters(self, kind, *, prompted):
        return {}

    def body(self, request, max_tokens):
        return {}

    def rows(self, tree):
        return tree["rows"]
'''


@pytest.mark.slow
def test_a_backend_is_one_new_file(tmp_path: Path) -> None:
    files = {"backends/echo.py": ECHO, "embedders/letters.py": LETTERS}
    project = Project(tmp_path, {f"retgen/agents/{name}": text for name, text in files.items()})
    calls = {
        "echo:first": ("eval", "run", "--model", "llm:echo:first", "--limit", "1", "--json"),
        "letters:vowels": ("eval", "run", "--model", "letters:vowels", "--json", "--price", "1,0"),
    }
    made, doctor, shown, *missing = project.gen(
        ("run", "multiconir_people", "--limit", "2", "-q", "--out", "run"),
        ("doctor", "--json"),
        ("eval", "--help"),
        *calls.values(),
    )
    assert made.returncode == 0
    assert "letters:MODEL" in shown.stdout
    states = {one["what"]: one["state"] for one in json.loads(doctor.stdout)}
    for one, name in zip(missing, calls, strict=True):
        variable = f"{name.partition(':')[0].upper()}_API_KEY"
        assert states[variable] == "absent"
        assert (one.returncode, one.stderr) == (
            2,
            f"gen: {name} needs a key: set {variable} in the environment or in a .env file in this "
            "folder\n",
        )
    chat, embedded = project.gen(*calls.values(), ECHO_API_KEY="planted", LETTERS_API_KEY="planted")
    assert (chat.returncode, chat.stderr) == (0, "")
    (row,) = json.loads(chat.stdout)["results"]
    assert (row["details"]["model"], row["details"]["failed_after_repairs"]) == ("echo:first", 0)
    assert row["details"]["calls"] > 0
    assert embedded.returncode == 0
    assert embedded.stderr.startswith("gen: letters:vowels: ")
    (row,) = json.loads(embedded.stdout)["results"]
    assert (row["model"], row["dim"]) == ("letters:vowels", 5)


def test_who_asks_whom() -> None:
    assert {"google_genai", "langchain", "openai"} <= {*backends()}
    assert ModelSettings.named("mistralai:m").backend is backends()[LANGCHAIN]
    by_langchain = ModelSettings(provider="openai", name="m", via="langchain")
    assert by_langchain.backend is backends()[LANGCHAIN]
    assert {"google_genai", "openai"} <= {*embedding_backends()}
