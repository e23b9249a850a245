"""What a page highlights of a text."""

from __future__ import annotations

import pytest

from retgen.marks import Piece, changes, cut, query_words


def test_a_text_is_cut_at_spans_and_nothing_is_lost() -> None:
    text = "Jon likes Quokkas."
    pieces = cut(text, [(10, 17, "found"), (4, 12, "query"), (-3, 3, "span"), (17, 99, "span")])
    assert pieces == [
        Piece("Jon", "span"), Piece(" likes "), Piece("Quokkas", "found"), Piece(".", "span"),
    ]  # fmt: skip
    assert cut("", [(0, 1, "x")]) == []
    assert cut("abc", [(2, 2, "x"), (5, 3, "x")]) == [Piece("abc")]


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("Who likes Quokkas?", "A quokka is liked.", ["quokka", "liked"]),
        ("the and of", "the and of", []),
        ("更衣柜 钥匙", "他把更衣柜的钥匙弄丢了", ["更衣柜", "钥匙"]),
        ("柜", "更衣柜", []),
        ("", "anything", []),
    ],
)
def test_words_of_a_query_in_any_inflection(query: str, text: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end, _ in query_words(query, text)] == marked


def test_changed_words_stand_with_what_was_there() -> None:
    before = "It came out in 2006 and stayed. Two million saw it."
    after = "It came out in 2015 and stayed. Three million saw it all."
    assert changes(before, after) == [
        Piece("It came out in"), Piece(" "), Piece("2015", "changed", "2006"), Piece(" and stayed."),
        Piece(" "), Piece("Three", "changed", "Two"), Piece(" million saw"), Piece(" "),
        Piece("it all.", "changed", "it."),
    ]  # fmt: skip
    assert "".join(piece.text for piece in changes(before, after)) == after
    assert changes(before, before) == [
        Piece(before[:0] + piece.text) for piece in changes(before, before)
    ]
    assert changes("a b", "a") == [Piece("a"), Piece(" "), Piece("", "changed", "b")]
