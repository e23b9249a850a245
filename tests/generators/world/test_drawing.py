from __future__ import annotations

from typing import Any

import pytest

from retgen.generators.world.drawing import view
from retgen.review.records import ShownPair
from retgen.review.web.drawing import draw
from retgen.review.web.views import render

TEXT = "Drab Auk 7 is moored in Oslo. Its length is 12,500 metres. It was launched on 3 May 1987."
FACTS = ["home=Oslo", "length=12500", "launch=1987-05-03", "home=Bergen"]


def drawn(expression: str, **context: Any) -> dict[str, Any]:
    query = {"text": "?", "metadata": {"expression": expression}}
    document = {"text": TEXT, "metadata": {"facts": FACTS}}
    return view(query, document, {"revealed": True, "label": 1, "positives": ()} | context)


@pytest.mark.parametrize(
    ("expression", "rows", "marked"),
    [
        ('["is","home","Oslo"]', [("home", "Oslo", "Oslo")], ["Oslo"]),
        (
            '["and not",["within","home","Norway"],["between","length",null,90]]',
            [("home", "within Norway", "Oslo"), ("length", "not to 90", "12500")],
            ["Oslo", "12,500"],
        ),
        (
            '["most",1000,"launch",["between","refit",1980,1989]]',
            [
                ("refit", "from 1980 to 1989", ""),
                ("launch", "among the 1,000 largest of all", "1987-05-03"),
            ],
            ["3 May 1987"],
        ),
        (
            '["via","model",["within","home","Norway"]]',
            [("model", "one with home: within Norway", "")],
            [],
        ),
        (
            '["or",["and",["is","home","Oslo"],["is","length",9]],["is","refit",1980]]',
            [
                ("home", "either Oslo", "Oslo"),
                ("length", "and 9", "12500"),
                ("refit", "or 1980", ""),
            ],
            ["Oslo", "12,500"],
        ),
        (
            '["via","model",["and not",["is","home","Oslo"],["is","length",9]]]',
            [("model", "one with home: Oslo; length: not 9", "")],
            [],
        ),
    ],
)
def test_what_is_asked_stands_beside_what_is_stated(
    expression: str, rows: list[tuple[str, str, str]], marked: list[str]
) -> None:
    shown = drawn(expression)
    assert shown["asked"] == rows
    assert [piece.text for piece in shown["document"] if piece.kind] == marked
    assert "".join(piece.text for piece in shown["document"]) == TEXT


def test_how_many_conditions_are_enough_is_said() -> None:
    shown = drawn('["at least",1,["is","home","Oslo"],["is","refit",1980]]')
    assert shown["asked"] == [("home", "1. Oslo", "Oslo"), ("refit", "2. 1980", "")]
    assert shown["joined"] == "At least 1 of these 2 must be met."
    assert drawn('["or",["is","home","Oslo"],["is","refit",1980]]')["joined"] == (
        "One of 2 alternatives is enough."
    )
    assert drawn('["is","home","Oslo"]')["joined"] == ""


def test_what_other_documents_decide_is_said() -> None:
    assert drawn('["via","model",["is","home","Oslo"]]')["joined"] == (
        "What the other one is like stands in its own document, which is not shown."
    )
    shown = drawn('["least",1,"length",["is","home","Oslo"]]')
    assert shown["asked"][1] == ("length", "the smallest of all", "12500")
    assert shown["joined"] == "Of all: of all documents that meet the rest; those are not shown."


@pytest.mark.parametrize("expression", ["", "[]", "nothing", '["is"]', None])
def test_an_expression_that_is_none_is_left_out(expression: Any) -> None:
    assert drawn(expression) == {"asked": [], "joined": ""}


def test_a_blind_page_has_the_texts_alone() -> None:
    shown = ShownPair(
        "Find every boat that is moored in Oslo.",
        "Drab Auk 7",
        TEXT,
        {"expression": '["is","home","Oslo"]'},
        {"facts": FACTS},
    )
    one = draw("world", shown, revealed=False, label=None, positives=())
    html = render(one.template, one.values)
    assert "stated here" not in html
    one = draw("world", shown, revealed=True, label=1, positives=())
    html = render(one.template, one.values)
    assert '<td dir="auto">Oslo</td><td dir="auto">Oslo</td>' in html
    assert '<mark class="found" id="found-1">Oslo</mark>' in html
