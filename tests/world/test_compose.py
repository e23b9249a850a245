"""Texts: all facts of an entity, in an order that is written down, and sentences that state none."""

from __future__ import annotations

import re
from pathlib import Path

from retgen.world import Composer, World, load_domain

SHIPS = load_domain(Path(__file__).parent / "ships.yaml")
WORLD = World(SHIPS, 1, 2000)


def test_a_text_to_the_letter() -> None:
    one = Composer(WORLD).documents(3, 4)[0]
    assert one.name == "Eager Heron 7"
    assert one.text == (
        "Eager Heron 7 was built after the plans of Amber Plover 18, and its first captain "
        "was Ada Alm. The ship carried wine. Its length was 205 metres. The vessel flew a red"
        " flag. Its launch came on 28 May 1939. The archives were lost. It was scrapped in "
        "1963 and was registered in Stavanger."
    )
    assert one.facts == [
        "sister=Amber Plover 18", "captain=Ada Alm", "cargo=wine", "length=205", "flag=a red flag",
        "launch=1939-05-28", "scrapped=1963", "home=Stavanger",
    ]  # fmt: skip


def test_blocks_do_not_matter() -> None:
    composer = Composer(WORLD)
    assert composer.documents(0, 40) == [composer.documents(i, i + 1)[0] for i in range(40)]


def test_every_fact_is_said_once_and_in_order() -> None:
    for one in Composer(WORLD).documents(0, 500):
        at = -1
        assert len(one.facts) == len(set(one.facts)) in (7, 8)
        for fact in one.facts:
            slot, _, value = fact.partition("=")
            if slot == "launch":
                year, month, day = value.split("-")
                found = re.search(rf"\b{int(day)} [A-Z][a-z]+ {year}\b", one.text)
                assert found
                assert month
                at_value = found.start()
            elif slot in ("scrapped", "length"):
                at_value = one.text.index(f"{value} met" if slot == "length" else value)
            else:
                at_value = one.text.index(value)
            if slot != "scrapped":  # its year may be that of another date
                assert at_value > at
                at = at_value
        assert one.text.startswith((one.name, "The slipway"))
        assert one.text.endswith(".")
        assert ".." not in one.text
        assert "{" not in one.text


def test_a_variant_states_the_same_facts_in_other_words() -> None:
    one, other = Composer(WORLD).documents(0, 200), Composer(WORLD, variant="b").documents(0, 200)
    assert all(sorted(a.facts) == sorted(b.facts) for a, b in zip(one, other, strict=True))
    assert sum(a.text == b.text for a, b in zip(one, other, strict=True)) == 0


def test_subjects_vary() -> None:
    texts = " ".join(one.text for one in Composer(WORLD).documents(0, 300))
    assert all(text in texts for text in (" It ", " The ship ", " The vessel ", " its ", " and "))
    assert texts.count("The archives were lost.") > 30


def test_fillers_can_be_left_out() -> None:
    texts = " ".join(one.text for one in Composer(WORLD, fillers=0).documents(0, 300))
    assert "archives" not in texts
    assert "Little else" not in texts
