"""What is read as a goal, and what is said of the rest."""

from __future__ import annotations

import pytest

from retgen.errors import UsageError
from retgen.review import goals
from retgen.review.goals import Goal


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("wrong <= 2% at 95%", Goal("wrong", 0.02, 0.95)),
        ("missed<=10%", Goal("missed", 0.1, 0.95)),
        ("  Wrong ≤ 0.5%  at 99% ", Goal("wrong", 0.005, 0.99)),
        ("missed < 0.1 at 90%", Goal("missed", 0.1, 0.9)),
    ],
)
def test_a_goal_is_read(text: str, goal: Goal) -> None:
    assert goals.parse_goal(text) == goal
    assert goals.parse_goal(str(goal)) == goal


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wrong", "--goal 'wrong' cannot be read: write it as 'wrong <= 2% at 95%' or"),
        ("wrong >= 2%", "cannot be read"),
        ("wong <= 2%", "'wong' is no question; did you mean wrong? wrong: positives that are not"),
        ("wrong <= 2", "a rate is in percent (2%) or below 1 (0.02)"),
        ("wrong <= 0%", "the rate must be above 0% and below 100%"),
        ("wrong <= 100%", "the rate must be above 0% and below 100%"),
        ("wrong <= 1.2.3%", "'1.2.3' is no number"),
        ("wrong <= 2% at 100%", "the confidence must be from 50% to below 100%"),
    ],
)
def test_what_is_no_goal(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        goals.parse_goal(text)
    assert message in str(error.value)


def test_one_goal_of_a_question() -> None:
    assert len(goals.parse_goals(["wrong <= 2%", "wrong <= 2% at 95%"])) == 1
    with pytest.raises(UsageError, match="wrong <= 2% at 95% and wrong <= 3% at 95% both are"):
        goals.parse_goals(["wrong <= 2%", "missed <= 5%", "wrong <= 3%"])


def test_the_populations_of_goals() -> None:
    wrong, missed = goals.parse_goals(goals.DEFAULT)
    assert goals.goal_populations([wrong]) == ("positives",)
    assert goals.goal_populations([missed]) == goals.goal_populations([]) == ("positives", "others")
