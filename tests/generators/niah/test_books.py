"""Books cut into sentences that may stand alone."""

from __future__ import annotations

from retgen.generators.niah.books import Sentence, counts_by_book, names_left, sentences


def test_sentences() -> None:
    text = (
        'The Title\n\nIt was late.  The clerk, Mr. Low, said:\n"Go on." Nobody went!\n\n'
        'He said "stay here. Then "no. And so on\n\n- a list\n\n(It was so.) "Why?" she asked.'
    )
    assert list(sentences(text)) == [
        "It was late.",
        'The clerk, Mr. Low, said: "Go on."',
        "Nobody went!",
        "(It was so.)",
        '"Why?" she asked.',
    ]


def test_names_that_no_book_holds() -> None:
    found = [Sentence("a", "It was Kofi's boat."), Sentence("b", "A LUKA came.", "word")]
    assert names_left(["Kofi", "Luka", "Femi", "Lu"], found) == ["Femi", "Lu"]
    assert list(counts_by_book(found)) == [
        {"book": "a", "sentences": 1, "kept": 1, "left_out": {}},
        {"book": "b", "sentences": 1, "kept": 0, "left_out": {"word": 1}},
    ]
