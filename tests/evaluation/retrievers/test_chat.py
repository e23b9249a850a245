"""A chat model as a ranker: what it is shown, what it may answer, what becomes of that."""

from __future__ import annotations

import pytest

from retgen.evaluation.retrievers.llm import RANK, Order, question_of, scores_of
from retgen.search.base import CandidateSet

GROUP = CandidateSet("Find a house: 1. red 2. old", ("red and old", "red and new", "blue and new"))


def test_candidates_are_shown_in_an_order_that_says_nothing() -> None:
    asked = question_of(GROUP)
    assert sorted(asked.documents) == sorted(GROUP.texts)
    # wherever a document stands in the group, it is shown at the same place
    turned = CandidateSet(GROUP.query, GROUP.texts[::-1])
    assert question_of(turned) == asked
    places = [
        question_of(CandidateSet(f"query {i}", GROUP.texts)).documents.index("red and old")
        for i in range(300)
    ]
    assert [places.count(i) for i in range(3)] == pytest.approx([100] * 3, abs=25)


def test_the_score_is_minus_the_rank() -> None:
    asked = question_of(GROUP)
    order = ["red and new", "blue and new", "red and old"]
    answer = Order(ranking=[asked.documents.index(text) + 1 for text in order])
    assert scores_of(GROUP, answer).tolist() == [-3, -1, -2]
    assert scores_of(GROUP, None).tolist() == [0, 0, 0]  # all tied


@pytest.mark.parametrize(
    ("ranking", "reason"),
    [
        ([2, 1, 3], None),
        ([1, 2, 2], "ranking holds 1, 2, 2; it names each of 1 to 3 exactly once"),
        ([], "ranking holds nothing; it names each of 1 to 3 exactly once"),
    ],
)
def test_an_answer_is_a_permutation(ranking: list[int], reason: str | None) -> None:
    assert RANK.check(question_of(GROUP), Order(ranking=ranking)) == reason
