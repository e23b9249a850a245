"""The bundled captions, queries and qrels are what their README says."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from retgen import generators
from retgen.tokenizer import tokens
from retgen.validators import similar
from retgen.validators.rules.personal import personal_data
from retgen.validators.wordsets import word_sets
from tests.conftest import read_jsonl

FOLDER = Path(generators.__path__[0]) / "capretrieval" / "data"
TYPES = {
    "person": 7,
    "place": 8,
    "object": 10,
    "concept": 8,
    "event": 8,
    "conjunction": 6,
    "simple_condition": 8,
    "complex_condition": 5,
}
KINDS = ("photograph", "screenshot", "document", "receipt", "map", "food", "animal", "event")


class Album(NamedTuple):
    lang: str
    captions: list[dict[str, str]]
    queries: list[dict[str, str]]
    qrels: list[dict[str, Any]]


@pytest.fixture(scope="module", params=["en", "zh"])
def album(request: pytest.FixtureRequest) -> Album:
    lang: str = request.param
    files = [FOLDER / f"{name}_{lang}.jsonl" for name in ("captions", "queries", "qrels")]
    return Album(lang, *map(read_jsonl, files))


def test_captions(album: Album) -> None:
    assert [tuple(one) for one in album.captions] == [("_id", "kind", "text")] * 250
    assert [one["_id"] for one in album.captions] == [f"{album.lang}-{n:03}" for n in range(1, 251)]
    counts = {
        "en": (33, 31, 30, 31, 31, 32, 31, 31),
        "zh": (32, 32, 31, 30, 30, 32, 32, 31),
    }[album.lang]
    assert Counter(one["kind"] for one in album.captions) == dict(zip(KINDS, counts, strict=True))
    for one in album.captions:
        assert one["text"] == one["text"].strip()
        assert "  " not in one["text"]
        assert "\n" not in one["text"]


def test_no_near_duplicates(album: Album) -> None:
    sets = word_sets([tokens(one["text"]) for one in album.captions])
    labels, exact = similar.groups(sets, threshold=0.5)
    assert (labels.tolist(), exact) == (list(range(250)), True)


def test_no_personal_data(album: Album) -> None:
    for one in album.captions + album.queries:
        assert personal_data(one["text"]) == [], one
        assert not re.search(r"\d{7}|@|https?:|www\.", one["text"]), one


def test_queries(album: Album) -> None:
    assert [tuple(one) for one in album.queries] == [("_id", "type", "text")] * 60
    ids = [one["_id"] for one in album.queries]
    assert ids == sorted(ids)
    assert Counter(one["type"] for one in album.queries) == TYPES
    assert len({one["text"].casefold() for one in album.queries}) == 60


def test_qrels(album: Album) -> None:
    assert {tuple(one) for one in album.qrels} == {("query-id", "corpus-id", "score")}
    pairs = [(one["query-id"], one["corpus-id"]) for one in album.qrels]
    assert pairs == sorted(set(pairs))
    assert {query for query, _ in pairs} < {one["_id"] for one in album.queries}
    assert {caption for _, caption in pairs} < {one["_id"] for one in album.captions}
    scores = Counter(one["score"] for one in album.qrels)
    assert scores == {"en": {2: 280, 1: 111}, "zh": {2: 234, 1: 117}}[album.lang]


def test_positives_of_a_query(album: Album) -> None:
    positives = Counter(one["query-id"] for one in album.qrels)
    without = {
        "en": {"penguin", "dog wearing sunglasses in a car"},
        "zh": {"热气球", "穿宇航服的狗"},
    }
    texts = {q["text"] for q in album.queries if not positives[q["_id"]]}
    assert texts == without[album.lang]
    assert max(positives.values()) == {"en": 23, "zh": 19}[album.lang]
    # who asks only what everybody has sees no difference between retrievers
    assert sum(1 for n in positives.values() if n <= 10) >= 40
