"""Books cut into sentences that may stand alone."""

from __future__ import annotations

from retgen.generators.niah.books import Sentence, counts_by_book, names_left, read_books, sentences
from retgen.generators.niah.params import NiahParams


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


def test_bundled_books_of_the_sets() -> None:
    held = {
        name: [book.id for book in read_books(NiahParams(groups=name))[0]]
        for name in ("test", "train", "all")
    }
    assert [len(held[name]) for name in held] == [10, 6, 16]
    assert sorted(held["test"] + held["train"]) == held["all"]


def test_names_that_no_book_holds() -> None:
    found = [Sentence("a", "It was Kofi's boat."), Sentence("b", "A LUKA came.", "word")]
    assert names_left(["Kofi", "Luka", "Femi", "Lu"], found) == ["Femi", "Lu"]
    assert counts_by_book(found) == [
        {"book": "a", "sentences": 1, "kept": 1, "left_out": {}},
        {"book": "b", "sentences": 1, "kept": 0, "left_out": {"word": 1}},
    ]
