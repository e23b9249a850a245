"""The reader of albums, on sentences that no generator wrote."""

from __future__ import annotations

from typing import Any

import pytest

from retgen.validators.album.reader import Unreadable, lexicon, read_caption, read_query


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "In the background can be seen a castle. Two black cats are chasing a ladybug in a car "
            "park in the rain.",
            [
                "subject=cat",
                "number=2",
                "colour=black",
                "action=chasing",
                "object=ladybird",
                "place=parking lot",
                "moment=rain",
                "passing=castle",
            ],
        ),
        (
            "A lorry is parked in front of a lighthouse; behind it, a lighthouse.",
            [
                "subject=truck",
                "number=1",
                "action=parked",
                "place=lighthouse",
                "passing=lighthouse",
            ],
        ),
        (
            "在厨房里，一名裁缝正在喝绿茶，画面边缘露出一张蓝色的沙发。",
            [
                "subject=tailor",
                "number=1",
                "action=drinking",
                "object=green tea",
                "place=kitchen",
                "passing=blue sofa",
            ],
        ),
        (
            "一封关于停电的邮件，日期在三月。页脚处顺带提到了股票。",
            ["subject=email", "number=1", "topic=power cuts", "month=March", "passing=stocks"],
        ),
        (
            "花园里有三丛黄色的花盛开着。",
            ["subject=flowers", "number=3", "colour=yellow", "action=blooming", "place=garden"],
        ),
    ],
)
def test_captions(text: str, facts: list[str]) -> None:
    assert read_caption(text) == facts


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Red wine", {"thing": "red wine"}),
        ("the white horse at night", {"thing": "horse", "colour": "white", "moment": "night"}),
        ("three bikes", {"thing": "bicycle", "number": 3}),
        ("rucksack and owl", {"thing": "backpack", "other": "owl"}),
        ("in front of a mosque at sunrise", {"place": "mosque", "moment": "sunrise"}),
        (
            "drawing an accordion indoors",
            {"action": "drawing", "object": "accordion", "place": "indoors"},
        ),
        ("两只狗", {"thing": "dog", "number": 2}),
        ("狗和和尚", {"thing": "dog", "other": "monk"}),
        ("骑骆驼的宇航员", {"thing": "astronaut", "action": "riding", "object": "camel"}),
        ("雨天教堂前的小丑", {"thing": "clown", "place": "church", "moment": "rain"}),
        ("画菊花", {"action": "drawing", "object": "chrysanthemums"}),
    ],
)
def test_queries(text: str, asked: dict[str, Any]) -> None:
    assert read_query(text) == asked


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A unicorn is sleeping on a beach.", "'unicorn' is no word of an album"),
        ("一只凤凰在海滩上睡觉。", "'凤' is no word of an album"),
        ("A dog is sleeping red on a beach.", "red is the colour of nothing"),
        (
            "A dog is sleeping in a park in a garden.",
            "it names two of what it has one of (place): park, garden",
        ),
        ("A dog and a cat are sleeping in a park.", "it has no single subject that is counted"),
        ("A recycling from May about leaflets.", "nothing is said to be about recycling"),
        ("一张关于传单的停电。", "nothing is said to be about power cuts"),
        ("A nurse is feeding in a park.", "feeding is done to one thing, which is named after it"),
        ("A dog on a beach.", "it is neither of something done somewhere nor of something written"),
        (
            "A dog is sleeping in a park. In the background there are two cats.",
            "cat in passing is not read",
        ),
    ],
)
def test_what_cannot_be_read_is_said(text: str, reason: str) -> None:
    with pytest.raises(Unreadable) as error:
        read_caption(text)
    assert str(error.value) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("dog and", "'and' does not join two things"),
        ("dog cat", "it names things that nothing joins"),
        ("feeding", "feeding is done to something, which is not named"),
        ("dog, sleeping", "it is no phrase"),
        ("the", "it asks for nothing"),
    ],
)
def test_queries_that_cannot_be_read(text: str, reason: str) -> None:
    with pytest.raises(Unreadable) as error:
        read_query(text)
    assert str(error.value) == reason


def test_every_kind_is_known() -> None:
    known = lexicon()
    assert len(known.above) > 300
    assert all(kind in known.above for above in known.above.values() for kind in above)
    assert known.above["beach"] == {"waterside", "outdoors"}
