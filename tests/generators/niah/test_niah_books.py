"""Books of one's own: the names in them, files that are none, and too few sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen import plan, run
from retgen.errors import RecipeError, SourceRefused
from retgen.generators.niah.groups import people
from tests.generators.niah.rows import write_books


def test_books_that_hold_all_names(tmp_path: Path) -> None:
    books = write_books(tmp_path / "books", "map_room")
    (books / "names.txt").write_text("\n\n".join(f"It was {n} again." for n in people().names))
    with pytest.raises(RecipeError) as caught:
        run("niah", overrides={"params.books": str(books)}, out=tmp_path / "run")
    assert str(caught.value).startswith(
        "params.books: 22 names are needed and 0 of 60 are left, since the books hold the others"
    )
    assert not (tmp_path / "run" / "dataset").exists()


def test_books_that_are_none(tmp_path: Path) -> None:
    books = tmp_path / "books"
    books.mkdir()
    (books / "empty.txt").write_text("")
    (books / "binary.txt").write_bytes(bytes(range(256)))
    with pytest.raises(SourceRefused) as caught:
        run("niah", overrides={"params.books": str(books)}, out=tmp_path / "run")
    assert "holds no book that can be used. Refused are 1 by source/binary" in str(caught.value)
    assert "1 by source/empty, the first at empty.txt: the file is empty" in str(caught.value)


def sentence_of(words: int, number: int) -> str:
    return " ".join(["Stone", *(["wall"] * (words - 2)), f"n{number}."])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            [sentence_of(13, i) for i in range(600)],
            "its last one or two sentences make up for the tokens of any needle, so those of the books "
            "must come to each number of tokens in a range of 10, and do not: they have 600 "
            "different sentences of 1 length (13 tokens), and of each length at least 3 are needed; "
            "use more books, with sentences of many lengths",
        ),
        (
            [sentence_of(3 + i % 25, i % 25) for i in range(1000)],
            "params.lengths: 512 tokens are more than the books give: their 25 different sentences "
            "that can be used have 375 tokens, and none stands twice in a haystack",
        ),
    ],
)
def test_why_books_give_no_haystack(tmp_path: Path, texts: list[str], message: str) -> None:
    (tmp_path / "book.txt").write_text(" ".join(texts))
    told = {
        "params.books": str(tmp_path / "book.txt"),
        "params.lengths": [512],
        "params.tokenizer": "words",
    }
    with pytest.raises(RecipeError) as caught:
        plan("niah", told)
    assert message in str(caught.value)
