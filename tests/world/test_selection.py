from __future__ import annotations

from pathlib import Path

import numpy as np

from retgen.world.domain import load_domain
from retgen.world.facts import ABSENT, Selection, World

BOATS = load_domain(Path(__file__).parent / "boats.yaml")
KEPT = [0, *range(2, 50), 50, 53]  # entities 1, 51 and 52 have left


def test_rows_have_the_facts_of_their_entities() -> None:
    world, some = World(BOATS, 4, 50), Selection(BOATS, 4, 50, KEPT)
    whole, chosen = world.columns(0, 54), some.columns(0, 51)
    for slot, codes in chosen.items():
        if slot != "model":
            assert codes.tolist() == whole[slot][KEPT].tolist()
    assert some.names(np.arange(51)) == world.names(np.array(KEPT))
    assert some.forms(np.arange(51)) == world.forms(np.array(KEPT))
    assert some.columns(20, 30)["length"].tolist() == chosen["length"][20:30].tolist()


def test_relations_lead_to_rows_or_to_nothing() -> None:
    world, some = World(BOATS, 4, 50), Selection(BOATS, 4, 50, KEPT)
    model = BOATS.slots["model"]
    before = world.columns(0, 54)["model"][KEPT]
    after = some.columns(0, 51)["model"]
    gone = before == 1
    assert gone.sum() > 0
    assert (after[gone] == ABSENT).all()
    assert some.value_names(model, after[~gone].tolist()) == world.value_names(
        model, before[~gone].tolist()
    )
