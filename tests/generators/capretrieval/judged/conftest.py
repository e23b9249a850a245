"""`gen` against a server on loopback, as the tests with agents have it."""

from tests.with_agents.conftest import ask

__all__ = ["ask"]
