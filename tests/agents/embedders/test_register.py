"""An embedding backend is one file: names, keys, help, prices and scores need no other edit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.agents.embedders import embedding_backends
from tests.project import Project

ECHO = '''
"""Vectors of the letters of a text, without a server."""

import json

from retgen.agents.embedders import EmbeddingBackend, texts_of


class Echo(EmbeddingBackend):
    keys = ("ECHO_API_KEY",)
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
def test_an_embedding_backend_is_one_new_file(tmp_path: Path) -> None:
    project = Project(tmp_path, {"retgen/agents/embedders/echo.py": ECHO})
    call = "eval", "run", "--model", "echo:vowels", "--json", "--price", "1,0"
    made, missing, doctor, shown = project.gen(
        ("run", "limit_small", "--set", "params.docs=120", "-q", "--out", "run"),
        call,
        ("doctor", "--json"),
        ("eval", "--help"),
    )
    assert made.returncode == 0
    assert missing.stderr == (
        "gen: echo:vowels needs a key: set ECHO_API_KEY in the environment or in a .env file in "
        "this folder\n"
    )
    lines_of_doctor = {one["what"]: one for one in json.loads(doctor.stdout)}
    assert lines_of_doctor["ECHO_API_KEY"]["state"] == "absent"
    assert "echo:MODEL" in shown.stdout
    (result,) = project.gen(call, ECHO_API_KEY="planted")
    assert result.returncode == 0
    assert result.stderr.startswith("gen: echo:vowels: 1,120 texts are to be sent in 23 requests: ")
    (row,) = json.loads(result.stdout)["results"]
    assert (row["model"], row["dim"]) == ("echo:vowels", 5)


def test_whose_embedders_there_are() -> None:
    known = embedding_backends()
    assert {"google_genai", "openai"} <= {*known}
    for name, one in known.items():
        assert one.keys, name
        assert one.variable, name
