"""Documents that share their wording."""

from __future__ import annotations

from retgen.validators.capretrieval.wording import alike
from tests.generators.capretrieval.texts import ENGLISH, FRENCH, GERMAN, TEXTS


def test_near_duplicates_share_a_number() -> None:
    repeats = alike([ENGLISH, GERMAN, ENGLISH + " Closed.", ENGLISH.upper(), FRENCH]).tolist()
    assert repeats[0] == repeats[2] == repeats[3]
    assert len(set(repeats)) == 3
    assert len(set(alike(TEXTS).tolist())) == len(TEXTS)


def test_filled_in_templates_share_a_number() -> None:
    cards = [f"Invoice {n} of the harbour office: pay {n * 7} coins at the desk." for n in range(9)]
    assert len(set(alike(cards).tolist())) == 1
    assert alike([]).tolist() == []
