"""The album: its scenes, its words in both languages, and what queries ask of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
import pytest

from retgen.errors import RecipeError
from retgen.facts.captions import Speaker, load_captions
from retgen.generators import family
from retgen.generators.album import AlbumParams
from retgen.generators.album.queries import SHARES
from retgen.generators.params import Job
from retgen.generators.records import Records

DOG = {
    "subject": "dog",
    "number": "1",
    "colour": "white",
    "place": "beach",
    "action": "sleeping",
    "moment": "sunset",
    "passing": "bicycle",
    "passing_colour": "red",
    "further": "temple",
}
GIRLS = {
    "subject": "girl",
    "number": "2",
    "place": "kitchen",
    "action": "feeding",
    "object": "rabbit",
}
OWL = ("owl", "white", "sleeping", "beach", "sunset")
EMAIL = {"subject": "email", "number": "1", "topic": "weddings", "month": "May", "mention": "opera"}


def made(captions: int = 500, queries: int = 100, **params: Any) -> Records:
    chosen = AlbumParams.model_validate({"captions": captions, "queries": queries, **params})
    return family("album").generate(Job("album", 42, chosen))


def rows(records: Records, name: str) -> list[dict[str, Any]]:
    table = {"qrels": records.qrels, "graded": records.graded}.get(name, {}).get("test")
    table = table or getattr(records, name)
    return [orjson.loads(line) for line in table.jsonl(0, table.count).splitlines()]


def first(bound: int) -> int:
    return 0


def last(bound: int) -> int:
    return bound - 1


def test_captions_say_a_scene_in_both_languages() -> None:
    english, chinese = (Speaker(load_captions(), language) for language in ("en", "zh"))
    assert english.caption(DOG, first) == (
        "A white dog is sleeping on a beach at sunset, with a red bicycle and a temple in the "
        "background."
    )
    assert english.caption(DOG, last) == (
        "A white dog sleeping on a beach, at sunset; behind, half hidden, a red bike and a temple."
    )
    assert english.caption(GIRLS, first) == "Two girls are feeding a rabbit in a kitchen."
    assert english.caption(EMAIL, first) == (
        "The picture shows an email from May about weddings, with a small link to a page on opera "
        "at the bottom."
    )
    assert chinese.caption(DOG, first) == (
        "日落时，一只白色的狗在海滩上睡觉，背景中有一辆红色的自行车和一座寺庙。"
    )
    assert chinese.caption(GIRLS, last) == "这张照片拍的是两名女孩在厨房里喂兔子。"
    assert chinese.caption(EMAIL, last) == (
        "这是五月的一封邮件的照片，主题是婚礼，边栏里有一小条歌剧的横幅。"
    )


@pytest.mark.parametrize(
    ("asked", "english", "chinese"),
    [
        ({"thing": "girl", "number": "2"}, "two girls", "两名女孩"),
        ({"action": "feeding", "object": "rabbit"}, "feeding a rabbit", "喂兔子"),
        ({"place": "temple", "moment": "night"}, "temple at night", "夜晚的寺庙"),
        ({"thing": "dog", "other": "bicycle"}, "dog and bicycle", "狗和自行车"),
        (
            {"thing": "email", "topic": "weddings", "month": "May"},
            "email from May about weddings",
            "五月的关于婚礼的电子邮件",
        ),
        (
            dict(zip(("thing", "colour", "action", "place", "moment"), OWL, strict=True)),
            "a white owl sleeping on a beach at sunset",
            "日落时在海滩上睡觉的白色的猫头鹰",
        ),
    ],
)
def test_queries_are_short_phrases(asked: dict[str, str], english: str, chinese: str) -> None:
    assert Speaker(load_captions(), "en").query(asked, first) == english
    assert Speaker(load_captions(), "zh").query(asked, first) == chinese


@pytest.mark.slow
def test_both_languages_show_the_same_scenes_and_ask_the_same() -> None:
    english, chinese = made(), made(language="zh")
    assert rows(english, "qrels") == rows(chinese, "qrels")
    for name, count in (("corpus", 500), ("queries", 100)):
        one, other = rows(english, name), rows(chinese, name)
        assert [row["metadata"] for row in one] == [row["metadata"] for row in other]
        assert len({row["text"] for row in one}) == len({row["text"] for row in other}) == count
    assert (english.languages, chinese.languages) == (["eng-Latn"], ["zho-Hans"])


@pytest.mark.slow
def test_queries_without_an_answer_have_rows_of_near_ones_and_types_keep_their_shares() -> None:
    records = made()
    queries, judged, graded = (rows(records, name) for name in ("queries", "qrels", "graded"))
    assert {row["query-id"] for row in judged} == {row["_id"] for row in queries}
    answered = {row["query-id"] for row in judged if row["score"]}
    assert len(queries) - len(answered) == 5
    pairs = Counter(
        (row["query-id"] in answered, row["score"] > 0, grade["score"])
        for row, grade in zip(judged, graded, strict=True)
    )
    assert pairs.keys() == {(True, True, 2), (True, False, 1), (False, False, 0)}
    assert Counter(row["metadata"]["type"] for row in queries) == SHARES


@pytest.mark.slow
def test_more_queries_than_captions_give_are_refused() -> None:
    with pytest.raises(RecipeError) as error:
        made(captions=100, queries=5000)
    assert str(error.value).startswith("params.queries: 100 captions give no more than about ")
    assert str(error.value).endswith("different queries; ask for fewer, or for more captions")
