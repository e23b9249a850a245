"""The protocol of CapRetrieval, against its steps done one by one."""

from __future__ import annotations

from typing import Any

import pytest
from rank_bm25 import BM25Okapi

from retgen.evaluation.retrievers import Options, retriever
from retgen.evaluation.retrievers.lexical import protocol
from retgen.progress import no_progress
from retgen.search.collection import Collection, load

CHINESE = {
    "c1": "图片中显示了一只猫在沙发上睡觉。",
    "c2": "微信更新了功能，WeChat界面变了",
    "c10": "一只猫在公园里",
    "c3": "红色的自行车停在公园门口",
    "c4": "",
}
QUERIES = {"q1": "一只猫", "q2": "WeChat  功能更新", "q3": "公园里的自行车"}
QRELS = [("q1", "c1", 2), ("q1", "c10", 1), ("q2", "c2", 2), ("q3", "c3", 1)]


@pytest.fixture
def chinese(dataset) -> Collection:  # type: ignore[no-untyped-def]
    return load(dataset(CHINESE, QUERIES, QRELS))


def only(name: str, collection: Collection, depth: int = 5) -> Any:
    return next(iter(retriever(name, Options()).rank(collection, depth, no_progress)))


def by_hand(documents: list[list[str]], queries: list[list[str]], depth: int) -> list[list[int]]:
    index = BM25Okapi(documents)
    results = []
    for query in queries:
        scored = enumerate(index.get_scores(query).tolist())
        ordered = sorted((pair for pair in scored if pair[1] >= 1e-3), key=lambda pair: -pair[1])
        results.append([row for row, _ in ordered][:depth])
    return results


def rows(result: Any) -> list[list[int]]:
    return [[d for d in row if d >= 0] for row in result.rankings.documents.tolist()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # inside jieba
def test_chinese_is_cut_by_jieba_as_published(chinese: Collection) -> None:
    import jieba

    jieba.setLogLevel(60)
    documents = [jieba.lcut_for_search(text) for text in CHINESE.values()]
    queries = [jieba.lcut(text) for text in ("一只猫", "wechat 功能更新", "公园里的自行车")]
    result = only("bm25-capretrieval", chinese)
    assert rows(result) == by_hand(documents, queries, 5)
    assert rows(result)[0] == [2, 0]  # the shorter first
    cut = protocol("bm25-capretrieval", list(QUERIES.values()))
    assert [cut.document(text) for text in CHINESE.values()] == documents
    assert [cut.query(text) for text in QUERIES.values()] == queries
    assert "WeChat" in documents[1]  # documents keep their capitals, which queries have not
    assert {
        key: result.details[key] for key in ("protocol", "language", "stopwords", "stemmer")
    } == {
        "protocol": "CapRetrieval, arXiv 2506.08592",
        "language": "Chinese",
        "stopwords": None,
        "stemmer": None,
    }


def test_equal_scores_stand_in_the_order_of_the_corpus(dataset) -> None:  # type: ignore[no-untyped-def]
    corpus = {
        "z": "白色的猫",
        "a": "白色的猫",
        "m": "白色的猫",
        "x": "狗",
        "y": "鱼",
        "w": "鸟",
        "v": "马",
    }
    collection = load(dataset(corpus, {"q": "猫"}, [("q", "a", 1)]))
    for name in ("bm25-capretrieval", "bm25-capretrieval-characters"):
        assert rows(only(name, collection)) == [[0, 1, 2]]
        assert rows(only(name, collection, depth=2)) == [[0, 1]]
    assert rows(only("bm25", collection, depth=3)) == [[0, 2, 1]]  # as trec_eval: by id, from z


def test_english_is_cut_by_nltk_and_stemmed_by_porter() -> None:
    cut = protocol("bm25-capretrieval", ["Two dogs", "selfies", "图"])
    assert cut.described["language"] == "English"
    text = 'It\'s "Beer" stir-fry. Dogs (two) were running!'
    assert cut.document(text) == [
        "it",
        "'s",
        "``",
        "beer",
        "''",
        "stir-fri",
        ".",
        "dog",
        "(",
        "two",
        ")",
        "were",
        "run",
        "!",
    ]
    assert cut.query("  Flights to\tShenzhen ") == ["flight", "to", "shenzhen"]
