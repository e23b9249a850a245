"""The word lists: how they are read, and that no entry is its own opposite."""

from __future__ import annotations

import pytest

from retgen.generators.multiconir.alter.lexicon import names, places, plural, swaps, verbs


@pytest.mark.parametrize(
    ("base", "forms"),
    [
        ("carry", ["carries", "carried", "carried", "carrying"]),
        ("plan", ["plans", "planned", "planned", "planning"]),
        ("die", ["dies", "died", "died", "dying"]),
        ("see", ["sees", "saw", "seen", "seeing"]),
        ("put", ["puts", "put", "put", "putting"]),
        ("annul", ["annuls", "annulled", "annulled", "annulling"]),
        (
            "fall short of",
            ["falls short of", "fell short of", "fallen short of", "falling short of"],
        ),
    ],
)
def test_verb_forms(base: str, forms: list[str]) -> None:
    tags = ("s", "past", "participle", "ing")
    assert [verbs().inflect(base, tag) for tag in tags] == forms


@pytest.mark.parametrize(
    ("noun", "many"),
    [("city", "cities"), ("bus", "buses"), ("bus driver", "bus drivers"), ("wife", "wives"),
     ("breach of contract", "breaches of contract"), ("boy", "boys"), ("policeman", "policemen")],
)  # fmt: skip
def test_plurals(noun: str, many: str) -> None:
    assert plural(noun) == many


def test_swaps_replace_a_phrase_by_another() -> None:
    for phrase, result in swaps().items():
        for swap in result:
            assert swap.options, phrase
            assert phrase not in swap.options
            assert 0 < swap.weight < 100


def test_swaps_of_a_word() -> None:
    assert [swap.options for swap in swaps()["eldest"]] == [("youngest",)]
    assert [swap.options for swap in swaps()["surgeons"]] == [
        ("cardiologists", "neurologists", "urologists")
    ]
    assert [swap.form for swap in swaps()["upheld"]] == ["verb:past", "verb:participle"]


def test_there_are_opposites_enough() -> None:
    opposites = {p for p, result in swaps().items() if any(s.kind == "antonym" for s in result)}
    assert len(opposites) > 1500


def test_places_know_their_country() -> None:
    assert places().of["Porto"] == [("city", "Portugal", "Europe")]
    assert "Coimbra" in places().lists["city", "Portugal"]
    assert "Portuguese" in places().lists["demonym", "Europe"]


def test_every_region_of_names_is_rich_enough() -> None:
    regions, given, last = names()
    for region in regions:
        assert min(len(region.women), len(region.men), len(region.last)) >= 6, region.region
    assert given["Ingrid"] == (3, "women")
    assert regions[last["Okafor"]].region == "African"
