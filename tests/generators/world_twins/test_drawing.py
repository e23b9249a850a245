"""A twin as a reviewer sees it."""

from __future__ import annotations

from typing import Any

import pytest

from retgen.generators.world_twins.drawing import view
from retgen.review.records import ShownPair
from retgen.review.web.drawing import draw
from retgen.review.web.views import render

BASE = "Drab Auk 7 is moored in Oslo. It was launched in 1987."
TWIN = "Drab Auk 7 is moored in Oslo. It was launched in 1991."
CONTROL = "The year of its launch is 1987. Drab Auk 7's home is in Oslo."
QUERY = {"expression": '["and",["is","home","Oslo"],["is","launch",1987]]'}
FACTS = {"role": "twin", "changed": "launch", "facts": ["home=Oslo", "launch=1991"]}


def html(label: float | None, positives: tuple[str, ...], *, revealed: bool = True) -> str:
    shown = ShownPair("Find a boat.", "Drab Auk 7", TWIN, QUERY, FACTS)
    one = draw("world_twins", shown, revealed=revealed, label=label, positives=positives)
    return render(one.template, one.values)


def test_the_changed_fact_of_a_twin_is_marked() -> None:
    page = html(0, (CONTROL, BASE))
    assert "It was launched in <del>1987.</del> <ins>1991.</ins>" in page
    assert "Marked: the one fact (launch) that differs from the base" in page
    assert '<th scope="row">launch</th><td dir="auto">1987</td><td dir="auto">1991</td>' in page


@pytest.mark.parametrize(
    ("label", "positives", "revealed"),
    [(1, (CONTROL, BASE), True), (0, (CONTROL,), True), (0, (CONTROL, BASE), False)],
    ids=["called relevant", "base not there", "blind"],
)
def test_a_drawing_gives_no_planted_error_away(
    label: float, positives: tuple[str, ...], revealed: bool
) -> None:
    page = html(label, positives, revealed=revealed)
    assert "<ins>" not in page
    assert "Marked" not in page
    assert ("stated here" in page) is revealed


def test_words_that_both_values_hold_are_no_hindrance() -> None:
    base = TWIN.replace("in 1991", "on 3 May 1987, in Oslo, by Ada Borg")
    changed = base.replace("Ada Borg", "Ida Borg").replace("3 May 1987", "6 May 1988")
    document = {"text": changed, "metadata": FACTS}
    context = {"revealed": True, "label": 0, "positives": (CONTROL, base)}
    drawn = view({"text": "?", "metadata": QUERY}, document, context)
    assert [(piece.was, piece.text) for piece in drawn["document"] if piece.kind] == [
        ("3", "6"),
        ("1987,", "1988,"),
        ("Ada", "Ida"),
    ]


def test_other_documents_are_drawn_as_those_of_a_world() -> None:
    facts: dict[str, Any] = {**FACTS, "role": "base", "facts": ["home=Oslo", "launch=1987"]}
    context = {"revealed": True, "label": 1, "positives": (BASE, CONTROL)}
    document = {"text": BASE, "metadata": facts}
    drawn = view({"text": "?", "metadata": QUERY}, document, context)
    assert drawn["asked"] == [("home", "Oslo", "Oslo"), ("launch", "1987", "1987")]
    assert [piece.text for piece in drawn["document"] if piece.kind] == ["Oslo", "1987"]
    assert drawn["changed"] == ""
