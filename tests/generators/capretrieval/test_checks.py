"""What is wrong with a query, in words."""

from __future__ import annotations

import pytest

from retgen.generators.capretrieval.agents import Kind, copies_text, fault
from tests.generators.capretrieval.texts import CHINESE, ENGLISH

MILL = "The old windmill on the river bank was restored by volunteers from the village."


@pytest.mark.parametrize(
    ("kind", "text", "rests_on"),
    [
        ("keyword", "windmill", "windmill"),
        ("keyword", "WINDMILL", "windmill"),
        ("phrase", "river bank", "river  bank"),
        ("hypernym", "building", "windmill"),
        ("title", "Windmill", ""),
        ("summary", "volunteers repaired a mill", MILL),
        ("summary", "volunteers repaired a mill", ""),
        ("question", "Who restored the windmill?", MILL),
        ("topics", "windmill flour bread", ""),
    ],
)
def test_what_is_right(kind: Kind, text: str, rests_on: str) -> None:
    assert fault(kind, text, rests_on, ENGLISH, "en") is None


@pytest.mark.parametrize(
    ("kind", "text", "rests_on", "reason"),
    [
        ("keyword", "", "", "it is empty"),
        ("summary", " \u3000", "", "it is empty"),
        ("keyword", "1928", "1928", "it has no letter"),
        ("title", "😀🎉", "", "it has no letter"),
        ("summary", "two\nlines", "", "it has a line break"),
        ("summary", "a\0b", "", "it has a line break"),
        ("keyword", "w", "w", "it is one letter"),
        ("phrase", "a b c d e f g h i", "", "it is longer than 8 words"),
        ("summary", "word " * 61, "", "it is longer than 60 words"),
        ("keyword", "tower", "tower", "the passage does not hold 'tower'"),
        ("keyword", "windmill", "", "the passage does not hold ''"),
        ("keyword", "mill", "windmill",
         "a keyword stands in the passage word for word; 'mill' does not"),
        ("phrase", "bank river", "river bank",
         "a phrase stands in the passage word for word; 'bank river' does not"),
        ("hypernym", "Windmill", "windmill",
         "a hypernym is another word than what it generalises"),
        ("hypernym", "building", "castle", "the passage does not hold 'castle'"),
        ("summary", "volunteers repaired a mill", "Nobody came.",
         "the passage does not hold 'Nobody came.'"),
        ("summary", "THE OLD windmill, on the river bank was restored", "",
         "it copies 8 words in a row from the passage"),
        ("question", "Why: the old windmill on the river bank was?", "",
         "it copies 8 words in a row from the passage"),
    ],
)  # fmt: skip
def test_what_is_wrong(kind: Kind, text: str, rests_on: str, reason: str) -> None:
    assert fault(kind, text, rests_on, ENGLISH, "en") == reason


def test_a_title_may_stand_in_its_passage() -> None:
    assert fault("title", MILL, "", ENGLISH, "en") is None
    assert copies_text(MILL, ENGLISH)
    assert not copies_text(
        "The old windmill on the river bank was", "The old windmill on a river bank"
    )


def test_chinese_is_measured_in_characters_and_compared_in_one_script() -> None:
    assert fault("keyword", "三輪車", "三輪車", CHINESE, "zh") is None
    assert fault("keyword", "三轮车", "三輪車", CHINESE, "zh") is None
    assert fault("hypernym", "交通工具", "三轮车", CHINESE, "zh") is None
    assert fault("hypernym", "三輪車", "三轮车", CHINESE, "zh") == (
        "a hypernym is another word than what it generalises"
    )
    assert fault("phrase", CHINESE[:18], CHINESE[:18], CHINESE, "zh") == (
        "it is longer than 16 words"
    )
    assert fault("keyword", "狗", "狗", CHINESE, "zh") == "it is one letter"
    assert fault("keyword", "白狗", "白狗", CHINESE, "zh") == "the passage does not hold '白狗'"


def test_width_does_not_matter() -> None:
    assert fault("keyword", "ＷＩＮＤＭＩＬＬ", "windmill", ENGLISH, "en") is None
