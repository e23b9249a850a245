"""Of several verdicts on one item, what holds."""

from __future__ import annotations

from retgen.review.consensus import Consensus, by_item, consensus, standing
from retgen.review.records import Decision, Part, Verdict


def said(
    number: int, annotator: str, decision: Decision, part: Part = "first", item: str = "i"
) -> Verdict:
    relevance = int(decision) if decision in ("0", "1", "2") else None
    return Verdict(number, item, annotator, part, decision, relevance, "digest", 1.0)


def test_the_last_verdict_stands_unless_it_was_taken_back() -> None:
    given = [said(1, "a", "0"), said(2, "a", "1"), said(3, "b", "1"), said(4, "b", "undo")]
    assert list(standing(given).values()) == [given[1]]
    assert by_item(given) == {"i": [given[1]]}


def test_an_item_is_settled_when_all_who_are_asked_agree() -> None:
    asked = ["a", "b"]
    assert consensus([], asked) == Consensus("new")
    assert consensus([said(1, "a", "1")], asked) == Consensus("waiting", 1, ("a",))
    both = [said(1, "a", "1"), said(2, "b", "1")]
    assert consensus(both, asked) == Consensus("settled", 1, ("a", "b"))


def test_who_disagree_leave_it_open_until_it_is_adjudicated() -> None:
    given = [said(1, "a", "1"), said(2, "b", "0")]
    assert consensus(given, ["a", "b"]) == Consensus("open", None, ("a", "b"))
    given.append(said(3, "a", "0", "adjudication"))
    assert consensus(given, ["a", "b"]) == Consensus("settled", 0, ("a",))


def test_who_cannot_tell_disagrees_with_who_can() -> None:
    assert consensus([said(1, "a", "unsure"), said(2, "b", "0")], ["a", "b"]).state == "open"
    assert consensus([said(1, "a", "unsure")], ["a"]) == Consensus("settled", None, ("a",))


def test_a_second_look_of_the_same_person_settles_nothing() -> None:
    given = [said(1, "a", "1"), said(2, "a", "0", "second")]
    assert consensus(given, ["a"]) == Consensus("settled", 1, ("a",))
