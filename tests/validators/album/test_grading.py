"""Grades worked out from facts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retgen.facts.captions import CAPTIONS_FILE
from retgen.validators.album.proof import CaptionTable, slot_values
from retgen.validators.album.reader import FACTS as READ
from retgen.validators.album.reader import album_definition
from retgen.validators.facts.execute import FactTable

FACTS = [
    "subject=dog number=2 colour=white place=beach action=sleeping passing=red_wine "
    "further=bicycle further_colour=red",
    "subject=nurse number=1 place=kitchen action=feeding object=dog",
    "subject=email number=1 topic=opera month=May mention=stocks",
    "subject=bird number=1 place=garden action=sleeping moment=rainbow",
]


@pytest.fixture(scope="module")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaptionTable]:
    known = album_definition(CAPTIONS_FILE)
    facts = FactTable(tmp_path_factory.mktemp("facts") / "facts.sqlite", slot_values(known))
    facts.add([str(i), "", *map(asked(one).get, READ)] for i, one in enumerate(FACTS))
    facts.index(())
    yield CaptionTable(known, facts)
    facts.close()


def asked(text: str) -> dict[str, str]:
    pairs = (one.split("=") for one in text.split())
    return {key: value.replace("_", " ") for key, value in pairs}


@pytest.mark.parametrize(
    ("text", "grades"),
    [
        ("thing=dog", "2200"),
        ("thing=dog number=2", "2000"),
        ("thing=dog colour=red", "0000"),
        ("thing=canine colour=white", "1000"),
        ("thing=red_wine", "1000"),
        ("thing=two-wheeler colour=red", "1000"),
        ("thing=bicycle number=2", "0000"),
        ("thing=dog action=feeding object=dog", "0000"),
        ("action=feeding object=animal", "0100"),
        ("thing=dog other=bicycle", "1000"),
        ("thing=indoors", "0100"),
        ("thing=bird", "0002"),
        ("thing=stocks", "0010"),
        ("thing=stage_performances", "0010"),
        ("thing=email topic=opera month=May", "0020"),
        ("thing=email topic=stocks", "0000"),
    ],
)
def test_grades(captions: CaptionTable, text: str, grades: str) -> None:
    found, _ = captions.grades(asked(text))
    assert "".join(str(found.get(str(i), 0)) for i in range(4)) == grades


@pytest.mark.parametrize(
    ("text", "likely"),
    [
        ("thing=flowers", {"3"}),
        ("thing=flowers other=bird", {"3"}),
        ("thing=flowers other=person", set()),
        ("thing=flowers colour=red", set()),
        ("thing=food", {"1"}),
        ("place=garden moment=rain", {"3"}),
        ("thing=bird action=sleeping moment=rain", {"3"}),
        ("thing=garden", set()),
    ],
)
def test_what_is_likely_is_not_said(captions: CaptionTable, text: str, likely: set[str]) -> None:
    assert captions.grades(asked(text))[1] == likely


def test_near_captions_lack_one_part(captions: CaptionTable) -> None:
    assert captions.near(asked("thing=dog colour=white action=sleeping place=kitchen")) == {"0"}
