"""Small noise in queries."""

from __future__ import annotations

from rapidfuzz.distance import OSA

from retgen.diagnosis.noise import endings, typos

QUERY = "Find every film that is set in Leipzig and whose plot turns on a missing necklace."


def test_typos_are_two_swaps_of_neighbours() -> None:
    assert typos(QUERY) == typos(QUERY) != QUERY
    assert OSA.distance(QUERY, typos(QUERY)) == 2
    assert len(typos(QUERY)) == len(QUERY)
    first = [word[0] for word in QUERY.split()]
    assert [word[0] for word in typos(QUERY).split()] == first
    assert typos("a film of 1987") == "a film of 1987"  # no word is long enough


def test_endings() -> None:
    assert endings("films turning on a missing necklace in Leipzig, class dresses") == (
        "film turning on a missing necklaces in Leipzig, class dresse"
    )
