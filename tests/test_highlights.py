"""What a page highlights of a text."""

from __future__ import annotations

import pytest

from retgen.highlights import (
    Segment,
    both_sides,
    changed_segments,
    highlight_segments,
    query_word_spans,
)


def test_a_text_is_cut_at_spans_and_nothing_is_lost() -> None:
    text = "Jon likes Quokkas."
    pieces = highlight_segments(
        text, [(10, 17, "found"), (4, 12, "query"), (-3, 3, "span"), (17, 99, "span")]
    )
    assert pieces == [
        Segment("Jon", "span"),
        Segment(" likes "),
        Segment("Quokkas", "found"),
        Segment(".", "span"),
    ]
    assert highlight_segments("", [(0, 1, "x")]) == []
    assert highlight_segments("abc", [(2, 2, "x"), (5, 3, "x")]) == [Segment("abc")]


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("Who likes Quokkas?", "A quokka is liked.", ["quokka", "liked"]),
        ("the and of", "the and of", []),
        ("更衣柜 钥匙", "他把更衣柜的钥匙弄丢了", ["更衣柜", "钥匙"]),
        ("柜", "更衣柜", []),
        ("", "anything", []),
        ("नाव की मरम्मत", "पुरानी नाव, मरम्मत", ["नाव", "मरम्मत"]),
        ("पानी", "पुरानी का पानी", ["पानी"]),
    ],
)
def test_words_of_a_query_in_any_inflection(query: str, text: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end, _ in query_word_spans(query, text)] == marked


def test_changed_words_stand_with_what_was_there() -> None:
    before = "It came out in 2006 and stayed. Two million saw it."
    after = "It came out in 2015 and stayed. Three million saw it all."
    assert changed_segments(before, after) == [
        Segment("It came out in"),
        Segment(" "),
        Segment("2015", "changed", "2006"),
        Segment(" and stayed."),
        Segment(" "),
        Segment("Three", "changed", "Two"),
        Segment(" million saw"),
        Segment(" "),
        Segment("it all.", "changed", "it."),
    ]
    assert "".join(piece.text for piece in changed_segments(before, after)) == after
    assert changed_segments(before, before) == [
        Segment(before[:0] + piece.text) for piece in changed_segments(before, before)
    ]
    assert changed_segments("a b", "a") == [Segment("a"), Segment(" "), Segment("", "changed", "b")]


def test_both_sides_keep_their_own_white_space() -> None:
    before, after = "It came  out\nin 2006. End", "It came out in  2015. End"
    sides = both_sides(before, after)
    assert ["".join(piece.text for piece in side) for side in sides] == [before, after]
    marked = [[piece.text for piece in side if piece.kind] for side in sides]
    assert marked == [["out\nin 2006."], ["out in  2015."]]
    assert both_sides("", "a b") == ([], [Segment("a b", "changed")])
    assert both_sides("a b", "a") == (
        [Segment("a"), Segment(" "), Segment("b", "changed")],
        [Segment("a")],
    )
