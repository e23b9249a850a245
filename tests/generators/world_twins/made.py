"""Twins of films, to be looked at."""

from __future__ import annotations

from typing import Any

from retgen.generators.params import Job
from retgen.generators.world_twins import WorldTwins
from retgen.generators.world_twins.params import TwinsParams
from tests.validators.facts.sets import Row, Set, write

__all__ = ["job", "rows", "twins", "write"]


def job(seed: int = 3, **params: Any) -> Job[TwinsParams]:
    given: dict[str, Any] = {"domain": "films", "lengths": (4, 8), "triples_per_cell": 2}
    return Job("twins", seed, TwinsParams.model_validate(given | params))


def twins(**params: Any) -> Set:
    return Set.of(WorldTwins(), job(**params))


def rows(seed: int = 3, **params: Any) -> dict[str, list[Row]]:
    return Set.of(WorldTwins(), job(seed, **params)).tables
