"""Grades worked out from facts."""

from __future__ import annotations

from typing import Any

import pytest

from retgen.validators.album.proof import Captions

FACTS = [
    [
        "subject=dog",
        "number=2",
        "colour=white",
        "action=sleeping",
        "place=beach",
        "passing=red wine",
        "passing=red bicycle",
    ],
    ["subject=nurse", "number=1", "action=feeding", "object=dog", "place=kitchen"],
    ["subject=email", "number=1", "topic=opera", "month=May", "passing=stocks"],
]


@pytest.mark.parametrize(
    ("asked", "grades"),
    [
        ({"thing": "dog"}, [2, 2, 0]),
        ({"thing": "dog", "number": 2}, [2, 0, 0]),
        ({"thing": "dog", "colour": "red"}, [0, 0, 0]),
        ({"thing": "canine", "colour": "white"}, [1, 0, 0]),
        ({"thing": "red wine"}, [1, 0, 0]),
        ({"thing": "red wine", "colour": "red"}, [0, 0, 0]),
        ({"thing": "two-wheeler", "colour": "red"}, [1, 0, 0]),
        ({"thing": "dog", "action": "feeding", "object": "dog"}, [0, 0, 0]),
        ({"action": "feeding", "object": "animal"}, [0, 1, 0]),
        ({"thing": "dog", "other": "bicycle"}, [1, 0, 0]),
        ({"thing": "indoors"}, [0, 1, 0]),
        ({"thing": "stocks"}, [0, 0, 1]),
        ({"thing": "stage performances"}, [0, 0, 1]),
        ({"thing": "email", "topic": "opera", "month": "May"}, [0, 0, 2]),
        ({"thing": "email", "topic": "stocks"}, [0, 0, 0]),
    ],
)
def test_grades(asked: dict[str, Any], grades: list[int]) -> None:
    assert Captions(FACTS).grades(asked).tolist() == grades


@pytest.mark.parametrize(
    ("asked", "grades"),
    [
        ({"thing": "flowers"}, [0, 0, 1]),
        ({"thing": "flowers", "other": "person"}, [0, 0, 0]),
        ({"thing": "flowers", "colour": "red"}, [0, 0, 0]),
        ({"thing": "food"}, [0, 1, 0]),
        ({"thing": "food", "other": "nurse"}, [0, 1, 0]),
        ({"place": "garden", "moment": "rain"}, [0, 0, 1]),
        ({"thing": "dog", "moment": "rain"}, [0, 0, 1]),
        ({"thing": "dog", "action": "sleeping", "moment": "rain"}, [0, 0, 1]),
    ],
)
def test_what_is_likely(asked: dict[str, Any], grades: list[int]) -> None:
    garden = ["subject=dog", "number=1", "action=sleeping", "place=garden", "moment=rainbow"]
    captions = Captions([*FACTS[:2], garden])
    assert captions.grades(asked).tolist() == [0, 0, 0]
    assert captions.grades(asked, expected=True).tolist() == grades


def test_near_captions_lack_one_part() -> None:
    asked = {"thing": "dog", "colour": "white", "action": "sleeping", "place": "kitchen"}
    assert Captions(FACTS).near(asked).tolist() == [True, False, False]
