"""Training pairs of an album: what they ask, and that nothing of the test set is among them."""

from __future__ import annotations

from collections import Counter

import orjson
import pytest

from retgen.generators import family
from retgen.generators.album.params import AlbumParams
from retgen.generators.params import Job
from retgen.generators.records import Records
from retgen.validators.album.proof import Captions
from retgen.validators.album.reader import read_caption, read_query


def _made(language: str) -> Records:
    params = AlbumParams.model_validate(
        {"language": language, "captions": 300, "queries": 60, "training": 100}
    )
    return family("album").generate(Job("album", 42, params))


@pytest.fixture(scope="module")
def english() -> Records:
    return _made("en")


def pairs(records: Records, name: str) -> list[dict[str, str]]:
    table = records.training[name]
    return [orjson.loads(line) for line in table.jsonl(0, table.count).splitlines()]


def texts(records: Records, name: str) -> set[str]:
    table = getattr(records, name)
    return {orjson.loads(line)["text"] for line in table.jsonl(0, table.count).splitlines()}


def test_keywords_name_anything_and_summaries_the_whole_scene(english: Records) -> None:
    facts = {
        name: Counter(len(read_query(row["anchor"])) for row in pairs(english, name))
        for name in ("kw", "sm")
    }
    assert facts == {"kw": {1: 123, 2: 70, 3: 4}, "sm": {3: 51, 4: 90, 5: 39, 6: 2}}
    assert pairs(english, "kw")[0] == {
        "anchor": "toy",
        "positive": (
            "A snapshot of three brown cats sleeping in a library, with a doll at the edge of the "
            "picture."
        ),
        "negative_1": (
            "Under a rainbow, two white cats are chasing a peacock in front of a lighthouse. In "
            "the background there is a white sedan."
        ),
        "query-id": "t2574056",
    }


def test_keywords_ask_for_what_is_in_passing_too(english: Records) -> None:
    grades = {}
    for name in ("kw", "sm"):
        rows = pairs(english, name)
        captions = Captions([read_caption(row["positive"]) for row in rows])
        asked = [read_query(row["anchor"]) for row in rows]
        grades[name] = Counter(int(captions.grades(one)[i]) for i, one in enumerate(asked))
    assert grades == {"kw": {2: 120, 1: 77}, "sm": {2: 182}}


@pytest.mark.slow
def test_nothing_of_the_test_set_is_trained_on(english: Records) -> None:
    rows = pairs(english, "kw") + pairs(english, "sm")
    asked = [read_query(text) for text in texts(english, "queries")]
    assert not [row["anchor"] for row in rows if read_query(row["anchor"]) in asked]
    trained = {row[key] for row in rows for key in ("positive", "negative_1")}
    assert not trained & texts(english, "corpus")
    without = family("album").generate(
        Job("album", 42, AlbumParams.model_validate({"captions": 300, "queries": 60}))
    )
    assert without.training == {}
    assert texts(without, "corpus") == texts(english, "corpus")


@pytest.mark.slow
def test_both_languages_train_on_the_same(english: Records) -> None:
    chinese = _made("zh")
    for name in ("kw", "sm"):
        one, other = pairs(english, name), pairs(chinese, name)
        assert [read_query(row["anchor"]) for row in one] == [
            read_query(row["anchor"]) for row in other
        ]
        assert [row["query-id"] for row in one] == [row["query-id"] for row in other]
