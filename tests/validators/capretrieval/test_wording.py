"""Documents that share their wording."""

from __future__ import annotations

import pytest

from retgen.validators.capretrieval.wording import apart, wording
from tests.generators.capretrieval.texts import ENGLISH, FRENCH, GERMAN, TEXTS


def test_near_duplicates_share_a_number() -> None:
    repeats = wording(
        [ENGLISH, GERMAN, ENGLISH + " Closed.", ENGLISH.upper(), FRENCH]
    ).groups.tolist()
    assert repeats[0] == repeats[2] == repeats[3]
    assert len(set(repeats)) == 3
    assert len(set(wording(TEXTS).groups.tolist())) == len(TEXTS)


def test_filled_in_templates_share_a_number() -> None:
    cards = [f"Invoice {n} of the harbour office: pay {n * 7} coins at the desk." for n in range(9)]
    assert len(set(wording(cards).groups.tolist())) == 1
    assert wording([]).groups.tolist() == []


@pytest.mark.slow
def test_the_lowest_share_is_taken_that_leaves_enough() -> None:
    """Ten texts that share 9 of 11 words (0.82) with each other, and two that share none."""
    many = " one two three four five six seven eight nine"
    texts = [f"{letter}{many}" for letter in "abcdefghij"] + [ENGLISH, FRENCH]
    for held_out, share, groups in ((1, 0.7, 3), (2, 0.7, 3), (3, 0.9, 12), (12, 1.0, 12)):
        found = apart(texts, held_out)
        assert (found.share, len(set(found.groups.tolist()))) == (share, groups)
    assert not apart(texts, 2).words  # groups say it all
    assert [apart(texts, 3).directly(0, [other]) for other in (0, 1, 9, 10, 11)] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert not apart(texts, 3).directly(0, [])


def test_texts_without_words_are_alike_to_nothing() -> None:
    assert not apart(["!", "?"], 2).directly(0, [1])
    assert apart(["!"], 1).share == 1.0
    assert apart([], 0).groups.tolist() == []
