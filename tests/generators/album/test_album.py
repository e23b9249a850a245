"""The album: its scenes, its words in both languages, and the grades that follow from its facts."""

from __future__ import annotations

from collections import Counter

import orjson
import pytest

from retgen.errors import RecipeError
from retgen.generators import family
from retgen.generators.album.params import AlbumParams
from retgen.generators.album.queries import SHARES, Conjunction, SceneGrades
from retgen.generators.album.scenes import SLOTS, PassingDetail, Scene, Scenes, bundled_catalogue
from retgen.generators.album.texts import Chinese, English
from retgen.generators.params import Job
from retgen.generators.records import Records

DOG = Scene(
    "dog",
    1,
    "white",
    "sleeping",
    place="beach",
    moment="sunset",
    passing=(PassingDetail("bicycle", "red"), PassingDetail("temple")),
)
GIRLS = Scene("girl", 2, action="feeding", object="rabbit", place="kitchen")
EMAIL = Scene("email", topic="weddings", month="May", passing=(PassingDetail("opera"),))


def made(language: str, captions: int = 500, queries: int = 100, seed: int = 42) -> Records:
    params = AlbumParams.model_validate(
        {"language": language, "captions": captions, "queries": queries}
    )
    return family("album").generate(Job("album", seed, params))


def rows(records: Records, name: str) -> list[dict[str, object]]:
    table = records.qrels["test"] if name == "qrels" else getattr(records, name)
    return [orjson.loads(line) for line in table.jsonl(0, table.count).splitlines()]


def graded_lines(records: Records) -> list[bytes]:
    table = records.graded["test"]
    return table.jsonl(0, table.count).splitlines()


def first(bound: int) -> int:
    return 0


def last(bound: int) -> int:
    return bound - 1


def test_captions_say_a_scene_in_both_languages() -> None:
    english, chinese = English(bundled_catalogue()), Chinese(bundled_catalogue())
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
        "这是一封五月的邮件的照片，主题是婚礼，边栏里有一小条歌剧的横幅。"
    )


@pytest.mark.parametrize(
    ("asked", "english", "chinese", "grades"),
    [
        (Conjunction("dog"), "dog", "狗", [2, 0, 0]),
        (Conjunction("animal"), "animal", "动物", [1, 1, 0]),
        (Conjunction("bicycle"), "bicycle", "自行车", [1, 0, 0]),
        (Conjunction("two-wheeler"), "two-wheeler", "两轮车", [1, 0, 0]),
        (Conjunction("dog", colour="red"), "red dog", "红色的狗", [0, 0, 0]),
        (Conjunction("bicycle", colour="red"), "red bicycle", "红色的自行车", [1, 0, 0]),
        (Conjunction("girl", number=2), "two girls", "两名女孩", [0, 2, 0]),
        (Conjunction("girl", number=3), "three girls", "三名女孩", [0, 0, 0]),
        (Conjunction("rabbit"), "rabbit", "兔子", [0, 2, 0]),
        (
            Conjunction("child", action="feeding", object="rabbit"),
            "child feeding a rabbit",
            "喂兔子的孩子",
            [0, 1, 0],
        ),
        (
            Conjunction("rabbit", action="feeding", object="rabbit"),
            "rabbit feeding a rabbit",
            "喂兔子的兔子",
            [0, 0, 0],
        ),
        (Conjunction(action="sleeping"), "sleeping", "睡觉", [2, 0, 0]),
        (Conjunction("temple"), "temple", "寺庙", [1, 0, 0]),
        (Conjunction("waterside"), "waterside", "水边", [1, 0, 0]),
        (Conjunction(moment="sunset"), "sunset", "日落", [2, 0, 0]),
        (Conjunction(place="beach", moment="sunset"), "beach at sunset", "日落时的海滩", [2, 0, 0]),
        (Conjunction("dog", other="bicycle"), "dog and bicycle", "狗和自行车", [1, 0, 0]),
        (Conjunction("girl", other="rabbit"), "girl and rabbit", "女孩和兔子", [0, 2, 0]),
        (Conjunction("weddings"), "weddings", "婚礼", [0, 0, 2]),
        (Conjunction("opera"), "opera", "歌剧", [0, 0, 1]),
        (Conjunction("email", topic="opera"), "email about opera", "关于歌剧的电子邮件", [0, 0, 0]),
        (
            Conjunction("email", topic="weddings", month="May"),
            "email from May about weddings",
            "五月的关于婚礼的电子邮件",
            [0, 0, 2],
        ),
        (
            Conjunction("dog", colour="white", action="sleeping", place="beach", moment="sunset"),
            "a white dog sleeping on a beach at sunset",
            "日落时在海滩上睡觉的白色的狗",
            [2, 0, 0],
        ),
    ],
)
def test_grades_follow_from_the_facts(
    asked: Conjunction, english: str, chinese: str, grades: list[int]
) -> None:
    scenes = [DOG, GIRLS, EMAIL]
    grader = SceneGrades(bundled_catalogue(), scenes)
    assert [grader.grade(asked, i) for i in range(3)] == grades
    assert grader.of(asked) == {i: grade for i, grade in enumerate(grades) if grade}
    assert English(bundled_catalogue()).query(asked, first) == english
    assert Chinese(bundled_catalogue()).query(asked, first) == chinese


@pytest.mark.slow
def test_both_languages_show_the_same_scenes_and_ask_the_same() -> None:
    english, chinese = made("en"), made("zh")
    assert rows(english, "qrels") == rows(chinese, "qrels")
    for name, count in (("corpus", 500), ("queries", 100)):
        one, other = rows(english, name), rows(chinese, name)
        assert [row["metadata"] for row in one] == [row["metadata"] for row in other]
        assert len({row["text"] for row in one}) == len({row["text"] for row in other}) == count
    assert (english.languages, chinese.languages) == (["eng-Latn"], ["zho-Hans"])
    assert {row["score"] for row in rows(english, "qrels")} == {0, 1, 2}


@pytest.mark.slow
def test_the_first_records() -> None:
    records = made("en")
    assert rows(records, "corpus")[0] == {
        "_id": "d6381787",
        "title": "",
        "text": (
            "Two clusters of flowers blooming on a beach, at sunset. In the background there is a "
            "grey cow."
        ),
        "metadata": {
            "facts": [
                "subject=flowers",
                "number=2",
                "action=blooming",
                "place=beach",
                "moment=sunset",
                "passing=grey cow",
            ]
        },
    }
    assert rows(records, "queries")[0] == {
        "_id": "q5196187",
        "text": "firefighter",
        "metadata": {
            "type": "person",
            "granularity": "fine",
            "level": "named",
            "expression": '{"thing":"firefighter"}',
        },
    }
    assert rows(records, "qrels")[0] == {
        "query-id": "q5196187",
        "corpus-id": "d3825205",
        "score": 2,
    }


@pytest.mark.parametrize(
    ("asked", "likely"),
    [
        (Conjunction("flowers"), [0]),
        (Conjunction("flowers", other="dog"), [0]),
        (Conjunction("flowers", place="garden"), [0]),
        (Conjunction("flowers", other="cat"), []),
        (Conjunction("flowers", colour="red"), []),
        (Conjunction("medical worker"), [1]),
        (Conjunction("nurse", action="feeding", object="cat"), []),
        (Conjunction("food", other="cat"), [1]),
        (Conjunction(place="garden", moment="rain"), [0]),
        (Conjunction("garden"), []),  # is said
    ],
)
def test_what_is_likely_is_not_said(asked: Conjunction, likely: list[int]) -> None:
    scenes = [
        Scene("dog", action="sleeping", place="garden", moment="rainbow"),
        Scene("child", action="feeding", object="cat", place="hospital"),
    ]
    assert SceneGrades(bundled_catalogue(), scenes).likely(asked) == likely


@pytest.mark.slow
def test_queries_without_an_answer_have_rows_of_near_ones_and_types_keep_their_shares() -> None:
    records = made("zh")
    queries = rows(records, "queries")
    judged, graded = rows(records, "qrels"), list(map(orjson.loads, graded_lines(records)))
    assert {row["query-id"] for row in judged} == {row["_id"] for row in queries}
    answered = {row["query-id"] for row in judged if row["score"]}
    assert len(queries) - len(answered) == 5
    pairs = Counter(
        (row["query-id"] in answered, row["score"] > 0, grade["score"])
        for row, grade in zip(judged, graded, strict=True)
    )
    assert pairs.keys() == {(True, True, 2), (True, False, 1), (False, False, 0)}
    types = Counter(row["metadata"]["type"] for row in queries)  # type: ignore[index]
    assert types == SHARES


@pytest.mark.slow
def test_a_scene_depends_on_nothing_but_its_number() -> None:
    scenes = Scenes(bundled_catalogue(), 7)
    many = scenes.take(2 * SLOTS)
    assert scenes.take(150) == many[:150]
    assert len(set(many)) == 2 * SLOTS
    assert Scenes(bundled_catalogue(), 8).take(150) != many[:150]
    kinds = Counter(bundled_catalogue().concepts[scene.subject].kind for scene in many)
    assert kinds["person"] == 804
    assert kinds["document"] == 160


@pytest.mark.slow
def test_more_than_the_scenes_give_is_refused() -> None:
    with pytest.raises(RecipeError) as error:
        made("en", captions=53_001)
    assert str(error.value) == (
        "params.captions: 53,001 captions are more than the 53,000 different ones that the scenes "
        "of the album give in their shares; ask for fewer"
    )
    with pytest.raises(RecipeError) as error:
        made("en", captions=100, queries=5000)
    assert str(error.value).startswith("params.queries: 100 captions give no more than about ")
    assert str(error.value).endswith("different queries; ask for fewer, or for more captions")
