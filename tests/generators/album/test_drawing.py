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
FACTS = [
    "subject=dog",
    "number=1",
    "colour=white",
    "place=beach",
    "action=sleeping",
    "moment=sunset",
    "passing=bicycle",
    "passing_colour=red",
]


def drawn(expression: Any, text: str = TEXT) -> dict[str, Any]:
    query = {"text": "?", "metadata": {"expression": expression}}
    document = {"text": text, "metadata": {"facts": FACTS}}
    return view(query, document, {"revealed": True, "label": 1, "positives": ()})


@pytest.mark.parametrize(
    ("expression", "rows", "marked"),
    [
        ('{"thing":"dog"}', [("dog", "1 × white dog")], ["dog"]),
        ('{"thing":"animal"}', [("animal", "1 × white dog (one of its kind)")], ["dog"]),
        ('{"thing":"dog","colour":"red"}', [("red dog", "1 × white dog")], ["dog"]),
        ('{"thing":"cat"}', [("cat", "")], []),
        ('{"thing":"beach"}', [("beach", "beach (as place)")], ["beach"]),
        (
            '{"thing":"dog","action":"running"}',
            [("dog", "1 × white dog"), ("running", "sleeping")],
            ["dog"],
        ),
        (
            '{"thing":"dog","other":"two-wheeler"}',
            [
                ("dog", "1 × white dog"),
                ("two-wheeler", "red bicycle (one of its kind, in passing)"),
            ],
            ["dog", "bike"],
        ),
        ('{"thing":"dog","number":"2"}', [("2 × dog", "1 × white dog")], ["dog"]),
        ('{"moment":"sunset"}', [("sunset", "sunset")], ["sunset"]),
    ],
)
def test_what_is_asked_stands_beside_what_is_there(
    expression: str, rows: list[tuple[str, str]], marked: list[str]
) -> None:
    shown = drawn(expression)
    assert shown["asked"] == rows
    assert [piece.text for piece in shown["document"] if piece.kind == "found"] == marked
    assert "".join(piece.text for piece in shown["document"]) == TEXT


def test_chinese_captions_have_chinese_rows() -> None:
    shown = drawn('{"thing":"animal","colour":"white","other":"bicycle"}', CHINESE)
    assert shown["asked"] == [
        ("白色 动物", "1 × 白色 狗 (one of its kind)"),
        ("自行车", "红色 自行车 (in passing)"),
    ]
    assert [piece.text for piece in shown["document"] if piece.kind] == ["狗", "自行车"]


@pytest.mark.parametrize("expression", [None, "", "[]", "nothing", "{}"])
def test_an_expression_that_is_none_is_left_out(expression: Any) -> None:
    assert drawn(expression) == {"asked": []}


def test_what_grades_mean_stands_below_and_blind_pages_have_the_texts_alone() -> None:
    shown = ShownPair("dog", "", TEXT, {"expression": '{"thing":"dog"}'}, {"facts": FACTS})
    for revealed in (False, True):
        one = draw("album", shown, revealed=revealed, label=2, positives=())
        html = render(one.template, one.values)
        assert ("1 × white dog" in html) is revealed
        assert '<mark class="' in html
        assert "1: by the name of one of\nits kind, or in passing." in html
