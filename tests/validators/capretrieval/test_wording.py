"""Documents that share their wording."""

from __future__ import annotations

import pytest

from retgen.validators.capretrieval.wording import STEPS, copies, wording
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


def test_a_chapter_and_the_manual_that_holds_it_share_a_number() -> None:
    """However little of the manual it is; a footer that all documents have is no copy."""

    def words(name: str, count: int) -> str:
        return " ".join(f"{name}{n}" for n in range(count))

    chapters = [words(name, 400) for name in "abcdefgh"]
    manual = " ".join(chapters)
    footer = words("footer", 300)
    pages = [f"{words(f'page{n}x', 250)} {footer}" for n in range(25)]
    texts = [*chapters[:2], manual, *pages, words("z", 400)]
    assert copies(texts).tolist() == [[0, 2], [1, 2]]
    assert wording(texts).groups.tolist() == [0, 0, 0, *range(3, len(texts))]
    assert wording(texts, (1.0,)).groups.tolist() == list(range(len(texts)))
    # of short texts too few runs are looked at
    assert copies([words("a", 60), words("a", 120)]).tolist() == [[0, 1]]
    assert copies([words("a", 20), words("a", 120)]).tolist() == []
    assert copies([]).tolist() == []


@pytest.mark.slow
def test_the_lowest_share_is_taken_that_leaves_enough() -> None:
    """Ten texts that share 9 of 11 words (0.82) with each other, and two that share none."""
    many = " one two three four five six seven eight nine"
    texts = [f"{letter}{many}" for letter in "abcdefghij"] + [ENGLISH, FRENCH]
    for held_out, share, groups in ((1, 0.7, 3), (2, 0.7, 3), (3, 0.9, 12), (12, 1.0, 12)):
        found = wording(texts, STEPS, held_out)
        assert (found.share, len(set(found.groups.tolist()))) == (share, groups)
    near = [wording(texts, STEPS, 3).near(0, [other]) for other in (1, 9, 10, 11)]
    assert near == [True, True, False, False]
    assert not wording(texts, STEPS, 3).near(0, [])


def test_texts_without_words_are_alike_to_nothing() -> None:
    assert not wording(["!", "?"], STEPS, 2).near(0, [1])
    assert wording(["!"], STEPS, 1).share == 1.0
    assert wording([], STEPS, 0).groups.tolist() == []
