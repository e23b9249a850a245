"""Which pairs are judged, and what is asked in one call."""

from __future__ import annotations

import pytest

from retgen.generators.capretrieval import judging
from retgen.generators.capretrieval.judging import GivenQuery, candidates, judge_pages
from retgen.generators.capretrieval.params import Judge
from retgen.generators.capretrieval.passages import Passage
from tests.generators.capretrieval.texts import TEXTS

PASSAGES = [Passage(f"d{n}", f"d{n}", 0, len(text), "", text, "en") for n, text in enumerate(TEXTS)]
QUERIES = [
    GivenQuery("q0", "honey frames"),
    GivenQuery("q1", "old windmill"),
    GivenQuery("q2", "spaceship"),
]
JUDGE = Judge.model_validate({"queries": {"path": "q.jsonl"}})


def test_the_best_of_each_ranking_are_candidates() -> None:
    pools = candidates(QUERIES, PASSAGES, JUDGE.model_copy(update={"depth": 2}), 1)
    # honey only in one; old in two; BM25 ranks nothing that shares no term
    assert pools == [[5], [0, 4], []]


def test_all_passages_are_candidates_those_that_rank_high_first() -> None:
    pools = candidates(QUERIES, PASSAGES, JUDGE.model_copy(update={"depth": "all"}), 1)
    assert [sorted(pool) for pool in pools] == 3 * [list(range(8))]
    assert [pool[:2] for pool in pools[:2]] == [[5, pools[0][1]], [0, 4]]
    assert pools[2] != sorted(pools[2])  # drawn


@pytest.mark.parametrize(
    ("sizes", "most", "kept"),
    [
        ([8, 8, 8], 24, [8, 8, 8]),
        ([8, 8, 8], 100, [8, 8, 8]),
        ([8, 8, 8], 11, [4, 4, 3]),
        ([1, 8, 0, 5], 8, [1, 4, 0, 3]),
        ([1, 8, 0, 5], 2, [1, 1, 0, 0]),
        ([3], 1, [1]),
        ([], 5, []),
    ],
)
def test_under_a_cap_no_query_has_more_than_another_could(
    sizes: list[int], most: int, kept: list[int]
) -> None:
    pools = [list(range(size)) for size in sizes]
    assert judging.trim_pools(pools, most) == [list(range(size)) for size in kept]


def test_a_second_pass_has_another_order_and_long_passages_another_page() -> None:
    long = Passage("d8", "d8", 0, 11_900, "", "x" * 11_900, "en")
    made = judge_pages(QUERIES[:1], [*PASSAGES, long], [[0, 1, 8, 2]], 2, seed=3)
    first, second = ([one.passages for one in made if one.turn == turn] for turn in (1, 2))
    assert first == [(0, 1), (8,), (2,)]
    assert sorted(sum(second, ())) == [0, 1, 2, 8]
    assert first != second
    pools = [list(range(8)) * 3]
    assert [len(one.passages) for one in judge_pages(QUERIES[:1], PASSAGES, pools, 1, 3)] == [
        10,
        10,
        4,
    ]
