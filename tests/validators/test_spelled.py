"""Batches that are read by comparing them with what their metadata spells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from retgen.validators.limit.spec import Speller, cut_template
from retgen.validators.rule import Batch

ATTRIBUTES = {"Maté": 0, "Apples": 1, "Sea Stars": 2, "Quokkas": 5}
TEXT = "It is {name} who likes {attributes}."


def batch(*rows: tuple[str, Any]) -> Batch:
    texts, metadata = map(list, zip(*rows, strict=True))
    count = len(rows)
    ids = [f"d{i}" for i in range(count)]
    return Batch(0, ids, [""] * count, texts, metadata, [None] * count)


def row(text: str, *terms: Any) -> tuple[str, Any]:
    return text, {"attributes": list(terms), "column": -1}


ADA = row("It is Ada Łuk who likes Apples, Sea Stars and Maté.", 1, 2, 0)
BEN = row("It is Ben who likes Quokkas, Maté and Apples.", 5, 0, 1)


def test_what_texts_say() -> None:
    spelled = Speller(cut_template(TEXT), ATTRIBUTES, 3).read(batch(ADA, BEN))
    assert spelled is not None
    assert spelled.names == ["Ada Łuk", "Ben"]
    assert spelled.terms.tolist() == [[1, 2, 0], [5, 0, 1]]
    assert spelled.lengths.tolist() == [len(ADA[0]), len(BEN[0])]
    assert spelled.words is not None
    assert spelled.words.tolist() == [len(ADA[0].split(" ")), len(BEN[0].split(" "))] == [11, 9]


def test_words_that_white_space_does_not_tell() -> None:
    other = row("It is 愛 who likes Quokkas, Maté and Apples.", 5, 0, 1)
    spelled = Speller(cut_template(TEXT), ATTRIBUTES, 3).read(batch(ADA, other))
    assert spelled is not None
    assert spelled.words is None
    assert spelled.lengths.tolist() == [len(ADA[0]), len(other[0])]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_lists_of_any_size(size: int) -> None:
    listed = ["Apples", "Apples and Quokkas", "Apples, Quokkas and Sea Stars"][size - 1]
    text = f"It is Ada who likes {listed}."
    spelled = Speller(cut_template(TEXT), ATTRIBUTES, size).read(
        batch(row(text, *[1, 5, 2][:size]))
    )
    assert spelled is not None
    assert spelled.terms.tolist() == [[1, 5, 2][:size]]
    assert spelled.lengths.dtype == np.int64


@pytest.mark.parametrize(
    "other",
    [
        row("It is Ben who likes Quokkas, Maté and Apples!", 5, 0, 1),
        row("it is Ben who likes Quokkas, Maté and Apples.", 5, 0, 1),
        row("It is  who likes Quokkas, Maté and Apples.", 5, 0, 1),
        row("It is Ben who loves Quokkas, Maté and Apples.", 5, 0, 1),
        row("It is Ben who likes Quokkas, Apples and Maté.", 5, 0, 1),
        row("It is Ben who likes Quokkas, Maté, Apples.", 5, 0, 1),
        row("It is Ben who likes Quokkas, Maté and Apples.", 5, 0),
        row("It is Ben who likes Quokkas, Maté and Apples.", 5, 0, True),
        row("It is Ben who likes Quokkas, Maté and Apples.", 5, False, 1),
        row("It is Ben who likes Quokkas, Maté and Apples.", 5.0, 0, 1),
        row("It is Ben who likes Quokkas, Maté and Apples.", "5", 0, 1),
        row("It is Ben who likes Quokkas, Maté and Apples.", None, 0, 1),
        row("It is Ben who likes Quokkas, Maté and Apples.", 5, -6, 1),
        row("It is Ben who likes Quokkas, Maté and Apples.", 3, 0, 1),
        row("It is Ben who likes Quokkas, Maté and Apples.", 2**70, 0, 1),
        (BEN[0], None),
        (BEN[0], {"attributes": "501"}),
    ],
)
def test_a_batch_with_one_that_differs_is_read_otherwise(other: tuple[str, Any]) -> None:
    assert Speller(cut_template(TEXT), ATTRIBUTES, 3).read(batch(ADA, other)) is None
