"""Retrievers of words: what they count, how they cut, and what they rank nothing for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from retgen.errors import UsageError
from retgen.search.collection import Collection, load
from tests.evaluation.retrievers.ranking import ranked


@pytest.mark.parametrize(
    ("corpus", "query", "first"),
    [
        # "Pizza" is the end of another item, and first in a list; only the whole item counts
        (
            {
                "a": "Ann Lee likes Hawaiian Pizza, Tea and Salt.",
                "b": "Bob Ray likes Pizza, Tea and Salt.",
                "c": "Cy Coe likes Tea, Hawaiian Pizza and Pizza.",
            },
            "Who likes Pizza?",
            {"b", "c"},
        ),
        (
            {
                "a": "Al Ox likes Tea, Fish and Chips and Salt.",
                "b": "Bo Ox likes Fish, Tea and Chips.",
            },
            "Who likes Fish and Chips?",
            {"a"},
        ),
    ],
)
def test_the_attribute_oracle_reads_lists(dataset, corpus, query, first) -> None:  # type: ignore[no-untyped-def]
    collection = load(dataset(corpus, {"q": query}, [("q", sorted(first)[0], 1)]))
    rankings = ranked("attribute-oracle", collection, depth=2)[0].rankings
    result = {
        collection.doc_ids[i].decode()
        for i, score in zip(rankings.documents[0], rankings.scores[0], strict=True)
        if score == rankings.scores[0, 0] and i >= 0
    }
    assert result == first


@pytest.mark.parametrize(
    "corpus",
    [
        {"a": "plain words here", "b": "other words"},
        # sentences with commas are no lists
        {
            "a": "Its tale, told in Leipzig, is of a whaler who never left the coast, and of a cook.",
            "b": "Its tale, told in Bremen, is of a miner who never left the valley, and of a nun.",
        },
    ],
)
def test_the_attribute_oracle_needs_lists(dataset, corpus: dict[str, str]) -> None:  # type: ignore[no-untyped-def]
    path = dataset(corpus, {"q": "words"}, [("q", "a", 1)])
    with pytest.raises(UsageError) as error:
        ranked("attribute-oracle", load(path))
    assert str(error.value) == (
        "--model attribute-oracle: reads documents that list attributes, and those of "
        f"{path} do not. Name tfidf or bm25 instead"
    )


def test_tfidf_is_scikit_learns(collection: Collection) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    theirs = TfidfVectorizer(token_pattern=r"\w+")
    texts = [text for _, block in collection.blocks(100) for text in block]
    documents = theirs.fit_transform(texts)
    queries = theirs.transform([query.text for query in collection.queries])
    cosines = (queries @ documents.T).toarray()
    rankings = ranked("tfidf", collection, depth=len(texts))[0].rankings
    assert rankings.documents[:, 0].min() >= 0
    for row, (found, scores) in enumerate(zip(rankings.documents, rankings.scores, strict=True)):
        kept = found[found >= 0]
        assert sorted(kept) == np.flatnonzero(cosines[row]).tolist()
        np.testing.assert_allclose(scores[: len(kept)], cosines[row, kept], rtol=1e-5)


CHINESE = {
    "a": "两个人在公园里骑自行车",
    "b": "桌子上有一只猫，旁边是WeChat的徽标",
    "c": "一辆红色的汽车停在公园路",
    "d": "他们在车站等车",
}


@pytest.mark.parametrize("name", ["bm25", "rank-bm25", "tfidf"])
@pytest.mark.parametrize("query", ["cat", "!"])
def test_a_corpus_without_a_token(name: str, query: str, dataset: Any) -> None:
    collection = load(dataset({"d1": "!!!", "d2": "?"}, {"q1": query}, [("q1", "d1", 1)]))
    assert ranked(name, collection)[0].rankings.documents.tolist() == [[-1] * 5]


@pytest.mark.parametrize("name", ["bm25", "rank-bm25", "tfidf"])
def test_chinese_is_cut_within_clauses(dataset, name: str) -> None:  # type: ignore[no-untyped-def]
    queries = {"q": "公园里的自行车", "r": "wechat徽标", "s": "车站"}
    collection = load(dataset(CHINESE, queries, [("q", "a", 1), ("r", "b", 1), ("s", "d", 1)]))
    result = ranked(name, collection, depth=4)[0]
    assert result.rankings.documents[:, 0].tolist() == [0, 1, 3]
    cut = "Han cut into characters and pairs of neighbours"
    assert result.details["tokenizer"] == f"words; {cut}"
    note = f"{cut}; stopwords and stemmer are English" if name == "bm25" else cut
    assert result.details["notes"] == [note]


def test_a_document_without_a_common_word_is_not_ranked(dataset) -> None:  # type: ignore[no-untyped-def]
    corpus = {"a": "apples", "b": "pears", "c": ""}
    collection = load(
        dataset(corpus, {"q": "apples", "r": "zebra"}, [("q", "a", 1), ("r", "b", 1)])
    )
    for name in ("bm25", "rank-bm25", "bm25-capretrieval", "tfidf"):
        rankings = ranked(name, collection, depth=3)[0].rankings
        assert rankings.documents.tolist() == [[0, -1, -1], [-1, -1, -1]], name
