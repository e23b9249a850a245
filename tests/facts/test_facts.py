"""Facts: coherent, the same for whoever asks, and as often as they are to be."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from retgen.errors import RecipeError
from retgen.facts import ABSENT, World, bundled_domains, load_domain
from retgen.facts.domain import Domain
from retgen.facts.facts import Selection
from retgen.generators.world.trial import contradictions

SHIPS = load_domain(Path(__file__).parent / "ships.yaml")
WORLD = World(SHIPS, 1, 2000)
FACTS = WORLD.columns(0, 2000)


def test_entity_i_depends_on_nothing_but_i() -> None:
    some = WORLD.columns(700, 705)
    for name, column in FACTS.items():
        assert some[name].tolist() == column[700:705].tolist()
    other = World(SHIPS, 2, 2000).columns(0, 2000)
    assert any((other[name] != FACTS[name]).any() for name in FACTS)


def test_facts_of_an_entity_fit_together() -> None:
    first, last = datetime.date(1900, 1, 1).toordinal(), datetime.date(1950, 12, 31).toordinal()
    launch = FACTS["launch"]
    assert first <= launch.min() < first + 1500
    assert last - 1500 < launch.max() <= last
    middle = (launch > first + (last - first) / 4) & (launch < last - (last - first) / 4)
    assert 0.8 < middle.mean() < 0.9  # of a mean of three uniform draws: 0.86
    years = np.array([datetime.date.fromordinal(day).year for day in launch.tolist()])
    ages = set((FACTS["scrapped"] - years).tolist())
    assert set(range(8, 38)) <= ages <= set(range(5, 41))
    home = SHIPS.slots["home"].values
    norway = np.array(["Norway" in home[i].parents for i in FACTS["home"]])
    asia = np.array(["Asia" in home[i].parents for i in FACTS["home"]])
    assert set(FACTS["flag"][norway].tolist()) == {0}
    assert set(FACTS["flag"][asia].tolist()) == {1, 2}
    assert set(FACTS["flag"][~norway & ~asia].tolist()) == {0, 1, 2}
    assert set((FACTS["length"] % 5).tolist()) == {0}


def test_relations_lead_to_another_entity_in_the_window() -> None:
    sister, launch = FACTS["sister"], FACTS["launch"]
    there = np.flatnonzero(sister != ABSENT)
    assert 900 < len(there) < 1100
    apart = launch[there] - launch[sister[there]]
    assert apart.min() >= 100
    assert apart.max() <= 4000
    assert np.bincount(sister[there]).max() > 5  # some are named often


def test_names_do_not_repeat_and_are_not_more_than_there_are() -> None:
    assert len(set(WORLD.names(np.arange(2000)))) == 2000
    with pytest.raises(RecipeError) as error:
        World(SHIPS, 1, 2001)
    assert str(error.value) == (
        "domain ships has 2,000 names for 2,001 entities: ask for fewer, or give its name more parts"
    )


def test_whether_values_go_together() -> None:
    """All drawn ones do; of others it is said which slot does not go with earlier ones."""
    for name in bundled_domains():
        world = World(load_domain(name), 7, 400)
        fits = world.coherent(world.columns(0, 400))
        assert all(one.all() for one in fits.values()), name
    world = World(load_domain("films"), 7, 50)
    columns = world.columns(0, 50)
    columns["release"] = columns["release"] + 94
    fits = world.coherent(columns)
    assert not fits["shooting"].any()
    assert not fits["restoration"][columns["restoration"] != ABSENT].any()
    assert fits["restoration"][columns["restoration"] == ABSENT].all()
    assert fits["runtime"].all()


def test_values_have_years_and_ranges_depend_on_values(tmp_path: Path) -> None:
    rules = {
        "step: 5\n": "step: 5\n    given: [{slot: launch, from: {1900: [20, 100], 1925: [80, 300]}}]\n",
        "skew: 0\n": "skew: 0\n    given: [{slot: launch, from: {1920: [oil]}, until: {1930: [coal]}},"
        " {slot: home, except: {Norway: [liquids]}}]\n",
    }
    world = World(changed(tmp_path, rules), 1, 2000)
    facts = world.columns(0, 2000)
    year = np.array([datetime.date.fromordinal(day).year for day in facts["launch"].tolist()])
    length, cargo = facts["length"], facts["cargo"]  # grain, coal, oil, wine
    assert length[year < 1925].max() <= 100
    assert 80 <= length[year >= 1925].min() < 120
    assert set(cargo[year < 1920].tolist()) == {0, 1, 3}
    assert set(cargo[year > 1930].tolist()) == {0, 2, 3}
    norway = np.isin(facts["home"], [0, 1])
    assert set(cargo[norway].tolist()) == {0, 1}
    assert all(one.all() for one in world.coherent(facts).values())
    assert contradictions(world) == []


def test_days_without_weekends(tmp_path: Path) -> None:
    """A Friday in place of most Saturdays and Sundays; the range is kept."""
    rules = {"range: [1900-01-01, 1950]\n": "range: [1928-03-03, 1928-03-13]\n    weekdays: true\n"}
    world = World(changed(tmp_path, rules), 1, 2000)
    facts = world.columns(0, 2000)
    days = [datetime.date.fromordinal(day) for day in facts["launch"].tolist()]
    assert {day.day for day in days} == {5, 6, 7, 8, 9, 12, 13}  # it begins on a Saturday
    first = datetime.date(1928, 3, 3).toordinal()
    fits = world.fits("launch", np.arange(first, first + 12), {})
    assert [3 + i for i in np.flatnonzero(fits).tolist()] == [5, 6, 7, 8, 9, 12, 13]
    assert all(one.all() for one in world.coherent(facts).values())


def test_contradictions(tmp_path: Path) -> None:
    """Values that none can have, entities that can have none, and what says so."""
    rules = {
        "step: 5\n": "step: 5\n    given: [{slot: launch, from: {1900: [20, 100], 1925: [400, 500]}}]\n",
        "skew: 0\n": "skew: 0\n    given: [{slot: launch, from: {1960: [oil]}},"
        " {slot: home, except: {Bergen: [bulk goods, wine]}}]\n",
        "by: [100, 4000]": "by: [30000, 40000]",
    }
    world = World(changed(tmp_path, rules), 1, 2000)
    lines = contradictions(world)
    assert [re.sub(r"[\d,]+", "#", line) for line in lines] == [
        "length: no value goes with launch=#-#-# (# of # ships have none)",
        "cargo: 'oil': possible for none of # ships",
        "cargo: no value goes with launch=#-#-# home=Bergen (# of # ships have none)",
        "sister: no other entity is earlier by launch# for any of # ships",
    ]
    facts = world.columns(0, 2000)
    bergen = facts["home"] == 0
    assert set(facts["cargo"][bergen].tolist()) == {ABSENT}
    assert ABSENT not in facts["cargo"][~bergen]


def changed(folder: Path, rules: Mapping[str, str]) -> Domain:
    """The ships with some of the text of their file replaced."""
    text = Path(SHIPS.path).read_text("utf-8")
    for old, new in rules.items():
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "ships.yaml").write_text(text, "utf-8")
    return load_domain(folder / "ships.yaml")


# --- some entities as rows of their own ---

BOATS = load_domain(Path(__file__).parent / "boats.yaml")
KEPT = [*range(17), *range(18, 51), 53]  # entities 17, 51 and 52 have left


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
    gone = before == 17
    assert gone.sum() > 0
    assert (after[gone] == ABSENT).all()
    assert some.value_names(model, after[~gone].tolist()) == world.value_names(
        model, before[~gone].tolist()
    )
