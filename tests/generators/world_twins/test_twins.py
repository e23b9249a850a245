"""Triples: what is stated, what is changed, what is asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgen.errors import RecipeError
from retgen.generators.world_twins import WorldTwins
from retgen.generators.world_twins.tables import TwinTables, triples
from tests.validators.facts.sets import Set

from .made import job, twins

TYPES = ("year", "person", "category", "place", "date", "number", "relation")


@pytest.fixture(scope="module")
def made() -> Set:
    return twins()


def test_every_type_length_and_wording_alike(made: Set) -> None:
    notes = [row["metadata"] for row in made.queries]
    counts = Counter((note["slot_type"], note["length"], note["wording"]) for note in notes)
    wanted = {
        (kind, length, wording): 2
        for kind in TYPES
        for length in (4, 8)
        for wording in ("literal", "paraphrase", "entailed")
        if wording != "entailed" or kind not in ("person", "relation")
    }
    assert counts == Counter(wanted)
    assert (len(made.corpus), len(made.queries)) == (3 * 28, 76)
    assert {note["conditions"] for note in notes} == {2, 3, 4}
    plan = WorldTwins().plan(job())
    assert (plan.documents, plan.queries, plan.qrels) == (84, 76, len(made.qrels))


def test_all_that_a_document_states_goes_together() -> None:
    changed = set()
    for row in twins(slot_types=("year", "date"), triples_per_cell=6).corpus:
        facts = dict(fact.split("=", 1) for fact in row["metadata"]["facts"])
        changed.add(row["metadata"]["changed"])
        if {"release", "shooting"} <= facts.keys():
            assert 1 <= int(facts["release"]) - int(facts["shooting"][:4]) <= 2
        if {"release", "restoration"} <= facts.keys():
            assert int(facts["restoration"]) >= max(1976, int(facts["release"]) + 12)
    assert changed == {"release", "restoration", "shooting"}


def test_which_value_is_the_base_s_is_tossed() -> None:
    table, made = triples(job(triples_per_cell=20).params, 3)
    own = [one.facts[one.slot] == table.columns[one.slot][one.entity] for one in made]
    assert len(own) == 280
    assert 110 < sum(own) < 170
    assert {one.twin == one.facts[one.slot] for one in made} == {False}


def test_rows_do_not_tell_the_role(made: Set) -> None:
    roles = [row["metadata"]["role"] for row in made.corpus]
    places = {
        role: np.mean([i for i, one in enumerate(roles) if one == role]) for role in set(roles)
    }
    assert all(30 < place < 54 for place in places.values()), places
    assert [row["_id"] for row in made.corpus] != sorted(row["_id"] for row in made.corpus)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"lengths": (30,)},
            "params.lengths: a document of 30 facts is too long for domain films, which has 20 slots",
        ),
        (
            {"domain": "books", "lengths": (18,), "slot_types": ("year",), "triples_per_cell": 1},
            "params.lengths: none of 12 books of domain books has 18 facts of which a year can be "
            "another one. Ask for shorter documents, or leave year out of params.slot_types",
        ),
    ],
)
def test_what_a_domain_cannot_give(params: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError) as error:
        WorldTwins().plan(job(**params))
    assert str(error.value) == message


@pytest.mark.parametrize("domain", ["books", "legal", "medical", "people"])
def test_every_bundled_domain_has_triples_of_long_documents(domain: str) -> None:
    """Of which one of 16 facts may hardly change by itself: a court's seat, a year between two."""
    _, made = triples(job(domain=domain, lengths=(16,), triples_per_cell=9).params, 3)
    assert Counter(one.cell.slot_type for one in made) == dict.fromkeys(
        ("year", "person", "category", "place", "date", "number", "relation"), 9
    )
    assert {len(one.stated) for one in made} == {16}
    assert len({one.entity for one in made}) == len(made)


@pytest.mark.parametrize(("domain", "seed"), [("medical", 0), ("medical", 4), ("people", 5)])
def test_a_namesake_in_one_of_two_documents(domain: str, seed: int) -> None:
    """A "Radridge" is called by the full name next to another Radridge: in both, or in neither."""
    params = {"domain": domain, "lengths": (8, 16), "triples_per_cell": 20}
    kinds = {"slot_types": ("person", "relation"), "wordings": ("literal",)}
    tables = TwinTables(job(**params, **kinds).params, seed)
    assert len(tables.triples) == 80
    for number in range(80):
        base, twin = (tables.composed_document(number, role) for role in ("base", "twin"))
        pairs = zip(base.text.split(". "), twin.text.split(". "), strict=True)
        assert sum(first != second for first, second in pairs) == 1


def test_slots_that_a_domain_of_one_s_own_lacks(tmp_path: Path) -> None:
    boats = (Path(__file__).parents[2] / "facts" / "boats.yaml").read_text("utf-8")
    path = tmp_path / "boats.yaml"
    path.write_text(boats.replace("type: place", "type: category"), "utf-8")
    with pytest.raises(RecipeError) as error:
        WorldTwins().plan(job(domain=path, slot_types=("place",)))
    assert str(error.value) == (
        "params.slot_types: domain boats has no slot of type place. "
        "It has: date, category, number, year, person, relation"
    )
