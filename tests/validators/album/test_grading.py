"""Grades worked out from facts."""

from __future__ import annotations

from typing import Any

import pytest

from retgen.validators.album.proof import Captions

FACTS = [
    ["subject=dog", "number=2", "colour=white", "action=sleeping", "place=beach",
     "passing=red wine", "passing=red bicycle"],
    ["subject=nurse", "number=1", "action=feeding", "object=dog", "place=kitchen"],
    ["subject=email", "number=1", "topic=opera", "month=May", "passing=stocks"],
]  # fmt: skip


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
