"""A ledger on disk, and a server on loopback that speaks as OpenAI's does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from retgen.agents.ledger import Ledger
from tests.agents.server import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    made = Ledger(path)
    yield made
    made.close()
