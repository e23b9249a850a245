"""A model on loopback that writes ladders of documents with figures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.ladder_mind import ladder_mind
from tests.agents.server import Server, serving


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving(ladder_mind) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server
