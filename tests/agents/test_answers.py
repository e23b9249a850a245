"""What answers were worth, in words."""

from __future__ import annotations

from retgen.agents.answers import answer_lines, count_unusable, poor_texts

ANSWERS = {
    "write": {"taken": 2, "repaired": 1, "failed": 6, "not JSON": 15, "failed checks": 4},
    "judge": {"taken": 9},
}


def test_unusable_answers_are_counted_and_named_by_agent() -> None:
    assert count_unusable(ANSWERS.values()) == (19, 30)
    assert count_unusable([]) == (0, 0)
    assert list(answer_lines(ANSWERS)) == [
        "write: 19 of 21 answers unusable (15 not JSON, 4 failed checks); of 8 questions 1 "
        "repaired, 6 failed"
    ]


def test_a_model_most_of_whose_answers_are_unusable_is_named() -> None:
    one = {"write": {"model": "openai:a"}, "judge": {"model": "openai:a"}}
    assert poor_texts(ANSWERS, one) == (
        "The texts of openai:a are not good: 19 of 30 answers were unusable. Use a stronger model."
    )
    two = {**one, "judge": {"model": "openai:b"}}
    assert poor_texts(ANSWERS, two) == (
        "The texts of openai:a are not good: 19 of 21 answers were unusable. Use a stronger model."
    )
    assert poor_texts({"write": {"taken": 5, "not JSON": 5}}, one) == ""
    assert poor_texts({}, {}) == ""
