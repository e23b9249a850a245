"""Small test data of every ability, made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from retgen.diagnosis.abilities import DATA, Ability
from retgen.run import run
from retgen.search.collection import Collection, load

SMALL: dict[str, dict[str, Any]] = {
    "facts": {"params.triples_per_cell": 2},
    "numbers": {"params.triples_per_cell": 8},
    "conditions": {"params.ladders": 3},
    "all_pairs": {"params.queries": 40, "params.docs": 10},
    "no_pairs": {"params.queries": 10, "params.docs": 20},
    "album": {"params.captions": 300, "params.queries": 80},
    "album_zh": {"params.captions": 300, "params.queries": 80},
    "needles": {"params.places": 3, "params.groups": "test"},
}


@pytest.fixture(scope="session")
def collections_of(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Ability], list[Collection]]:
    """The data sets of an ability."""
    folder = tmp_path_factory.mktemp("data")
    made: dict[str, Collection] = {}

    def collections(ability: Ability) -> list[Collection]:
        for name in set(ability.data) - set(made):
            changes = {**DATA[name].changes, **SMALL[name], "seed": 3}
            made[name] = load(run(DATA[name].recipe, out=folder / name, overrides=changes).path)
        return [made[name] for name in ability.data]

    return collections
