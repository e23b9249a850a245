"""The reader of captions, on sentences that no generator wrote."""

from __future__ import annotations

import pytest

from retgen.facts.captions import CAPTIONS_FILE
from retgen.validators.album.reader import Unreadable, caption_reader


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "In the rain, two black cats are chasing a ladybug in a car park. In the background "
            "there is a castle.",
            "subject=cat number=2 colour=black place=parking lot action=chasing object=ladybird "
            "moment=rain passing=castle",
        ),
        (
            "A lorry is parked in front of a lighthouse; behind, half hidden, a lighthouse.",
            "subject=truck number=1 place=lighthouse state=parked passing=lighthouse",
        ),
        (
            "厨房里，一名裁缝正在喝绿茶，画面边缘露出一张蓝色的沙发。",
            "subject=tailor number=1 place=kitchen action=drinking object=green tea passing=sofa "
            "passing_colour=blue",
        ),
        (
            "一封邮件，内容与停电有关，日期在三月。页脚处顺带提到了股票。",
            "subject=email number=1 topic=power cuts month=March mention=stocks",
        ),
    ],
)
def test_captions(text: str, facts: str) -> None:
    language = "en" if text.isascii() else "zh"
    read = caption_reader(CAPTIONS_FILE, language).caption(text)
    assert " ".join(f"{slot}={value}" for slot, value in read.items()) == facts


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Red wine", {"thing": "red wine"}),
        ("white horse at night", {"thing": "horse", "colour": "white", "moment": "night"}),
        ("three bikes", {"thing": "bicycle", "number": "3"}),
        ("mosque at sunrise", {"place": "mosque", "moment": "sunrise"}),
        (
            "drawing an accordion indoors",
            {"action": "drawing", "object": "accordion", "place": "indoors"},
        ),
        ("狗和和尚", {"thing": "dog", "other": "monk"}),
        ("骑骆驼的宇航员", {"thing": "astronaut", "action": "riding", "object": "camel"}),
        ("雨天教堂前的小丑", None),
        ("雨天的教堂前的小丑", {"thing": "clown", "place": "church", "moment": "rain"}),
    ],
)
def test_queries(text: str, asked: dict[str, str] | None) -> None:
    reader = caption_reader(CAPTIONS_FILE, "en" if text.isascii() else "zh")
    if asked is None:
        with pytest.raises(Unreadable):
            reader.query(text)
    else:
        assert reader.query(text) == asked


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A unicorn is sleeping on a beach.", "no template holds it"),
        ("A dog is sleeping red on a beach.", "no template holds it"),
        ("A dog and a cat are sleeping in a park.", "no template holds it"),
        ("An animal is sleeping in a park.", "animal is a kind of things, and no thing"),
        ("A nurse is feeding in a park.", "feeding is done to something, which is not named"),
        ("A dog is on a beach.", "no template holds it"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, reason: str) -> None:
    with pytest.raises(Unreadable) as error:
        caption_reader(CAPTIONS_FILE, "en").caption(text)
    assert str(error.value) == reason


def test_every_kind_is_known() -> None:
    known = caption_reader(CAPTIONS_FILE, "en").definition
    assert len(known.meanings) > 300
    assert known.kinds <= known.meanings.keys()
    assert known.meanings["beach"].above == {"waterside", "outdoors"}
