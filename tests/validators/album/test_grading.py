"""Grades worked out from facts."""

from __future__ import annotations

import pytest

from retgen.facts.captions import CAPTIONS_FILE
from retgen.validators.album.reader import caption_reader

DEFINITION = caption_reader(CAPTIONS_FILE, "en").definition
FACTS = [
    "subject=dog number=2 colour=white place=beach action=sleeping passing=red_wine "
    "further=bicycle further_colour=red",
    "subject=nurse number=1 place=kitchen action=feeding object=dog",
    "subject=email number=1 topic=opera month=May mention=stocks",
    "subject=bird number=1 place=garden action=sleeping moment=rainbow",
]


def pairs(text: str) -> dict[str, str]:
    named = (one.split("=") for one in text.split())
    return {key: value.replace("_", " ") for key, value in named}


@pytest.mark.parametrize(
    ("text", "grades"),
    [
        ("thing=dog", "22.."),
        ("thing=dog number=2", "2..."),
        ("thing=dog colour=red", "...."),
        ("thing=canine colour=white", "1..."),
        ("thing=red_wine", "1..."),
        ("thing=two-wheeler colour=red", "1..."),
        ("thing=bicycle number=2", "...."),
        ("thing=dog action=feeding object=dog", "...."),
        ("action=feeding object=animal", ".1.."),
        ("thing=dog other=bicycle", "1..."),
        ("thing=indoors", ".1.."),
        ("thing=bird", "...2"),
        ("thing=stocks", "..1."),
        ("thing=stage_performances", "..1."),
        ("thing=email topic=opera month=May", "..2."),
        ("thing=email topic=stocks", "...."),
        # likely, and not said
        ("thing=flowers", "...?"),
        ("thing=flowers other=bird", "...?"),
        ("thing=flowers other=person", "...."),
        ("thing=flowers colour=red", "...."),
        ("thing=food", ".?.."),
        ("place=garden moment=rain", "...?"),
        ("thing=bird action=sleeping moment=rain", "...?"),
        ("thing=garden", "...2"),
    ],
)
def test_grades(text: str, grades: str) -> None:
    """Of four captions: 2, 1, ? for likely, . for none of these."""
    asked = pairs(text)
    meant = (
        ("2", DEFINITION.expression(asked, certain=True)),
        ("1", DEFINITION.expression(asked)),
        ("?", DEFINITION.expression(asked, likely=True)),
    )
    found = [
        next((mark for mark, one in meant if DEFINITION.meets(pairs(facts), one)), ".")
        for facts in FACTS
    ]
    assert "".join(found) == grades
