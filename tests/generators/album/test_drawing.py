"""A caption as a reviewer sees it."""

from __future__ import annotations

from typing import Any

import pytest

from retgen.generators.album.drawing import view
from retgen.review.records import ShownPair
from retgen.review.web.drawing import draw
from retgen.review.web.views import render

TEXT = "A white dog is sleeping on a beach at sunset, with a red bike in the background."
CHINESE = "日落时，一只白色的狗在海滩上睡觉，背景中有一辆红色的自行车。"
FACTS = (
    "subject=dog number=1 colour=white place=beach action=sleeping moment=sunset passing=bicycle "
    "passing_colour=red"
).split()


def drawn(expression: Any, text: str = TEXT) -> dict[str, Any]:
    query = {"text": "?", "metadata": {"expression": expression}}
    document = {"text": text, "metadata": {"facts": FACTS}}
    return view(query, document, {"revealed": True, "label": 1, "positives": ()})


@pytest.mark.parametrize(
    ("expression", "rows", "marked"),
    [
        (
            '{"thing":"animal","number":"2"}',
            [("subject", "animal", "dog"), ("number", "2", "1")],
            ["dog"],
        ),
        (
            '{"thing":"two-wheeler","colour":"red"}',
            [("passing", "two-wheeler", "bicycle"), ("passing_colour", "red", "red")],
            ["red", "bike"],
        ),
        (
            '{"thing":"dog","action":"running"}',
            [("subject", "dog", "dog"), ("action", "running", "sleeping")],
            ["dog", "sleeping"],
        ),
    ],
)
def test_what_is_asked_stands_beside_what_is_there(
    expression: str, rows: list[tuple[str, str, str]], marked: list[str]
) -> None:
    shown = drawn(expression)
    assert shown["asked"] == rows
    assert [piece.text for piece in shown["document"] if piece.kind == "found"] == marked
    assert "".join(piece.text for piece in shown["document"]) == TEXT


def test_chinese_captions_have_chinese_rows() -> None:
    shown = drawn('{"thing":"animal","other":"bicycle"}', CHINESE)
    assert shown["asked"] == [("subject", "动物", "狗"), ("passing", "自行车", "自行车")]
    assert [piece.text for piece in shown["document"] if piece.kind] == ["狗", "自行车"]


def test_what_grades_mean_stands_below_and_blind_pages_have_the_texts_alone() -> None:
    shown = ShownPair("dog", "", TEXT, {"expression": '{"thing":"dog"}'}, {"facts": FACTS})
    for revealed in (False, True):
        one = draw("album", shown, revealed=revealed, label=2, positives=())
        html = render(one.template, one.values)
        assert ("stated here" in html) is revealed
        assert '<mark class="' in html
        assert "1: by the name of one of\nits kind, or in passing." in html
