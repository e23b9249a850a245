"""A ledger on disk, and a server on loopback that speaks as OpenAI's does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from retgen.agents.ledger import Ledger
from tests.agents import postgres as servers
from tests.agents.ledgers import Clock
from tests.agents.server import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    made = Ledger(path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[servers.Postgres]:
    with servers.running() as made:
        yield made


@pytest.fixture
def url(postgres: servers.Postgres) -> str:
    """Of a database of its own."""
    return postgres.url(postgres.new_database())


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest) -> Path | str:
    """Where a ledger is: each test runs with both."""
    where: Path | str = request.getfixturevalue("path" if request.param == "file" else "url")
    return where
