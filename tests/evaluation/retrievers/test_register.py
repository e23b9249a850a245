"""A retriever is one file: names, help, errors and scores of it need no other edit."""

from __future__ import annotations

import pytest

from retgen.errors import UsageError
from retgen.evaluation.retrievers import check_name, known, names, ranks_a_corpus, type_of

LONGEST = '''
"""The longest documents first."""

import numpy as np

from retgen.search.base import RetrieverType, System, SystemRanks
from retgen.search.rankings import Rankings


class ByLength:
    noise = 0.0

    def rank(self, collection, depth, progress):
        lengths = np.array([len(t) for _, texts in collection.blocks(100) for t in texts])
        order = np.argsort(-lengths, kind="stable")[:depth]
        shape = (len(collection.queries), len(order))
        scores = np.broadcast_to(lengths[order].astype(np.float32), shape)
        yield SystemRanks("longest", None, Rankings(np.broadcast_to(order, shape), scores), {})

    def score(self, groups, progress):
        return [np.array([float(len(text)) for text in group.texts]) for group in groups]

    def systems(self):
        return [System(None, self)]


class Longest(RetrieverType):
    names = {"longest": "the longest documents first"}

    def load(self, name, options):
        return ByLength()
'''


def test_names() -> None:
    assert {"attribute-oracle", "bm25", "bm25-paper", "minilm", "static:minilm"} <= {*names()}
    corpora, _, candidates = known().partition("; for candidate sets ")
    assert {"bm25", "tfidf", "a folder or Hub id (owner/name)", "hybrid:A+B"} <= {
        *corpora.split(", ")
    }
    assert {"bm25-paper", "cross:CROSSENCODER", "llm:PROVIDER:NAME"} <= {*candidates.split(", ")}
    assert "bm25-paper" not in corpora.split(", ")
    assert [ranks_a_corpus(name) for name in ("bm25", "bm25-paper", "cross:a/b", "owner/name")] == [
        True,
        False,
        False,
        True,
    ]
    assert type(type_of("late:owner/name")).__name__ == "Late"
    assert type(type_of("static:minilm")).__name__ == "Dense"
    assert type_of("nothing") is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("late:", "--model late:: name a model after late:"),
        ("late:bm26", "--model bm26: there is no such model; did you mean bm25? Known: "),
        (
            "static:minlm",
            "--model static:minlm: there is no kind of model static:; did you mean static:minilm? ",
        ),
        ("hybrid:bm25", "--model hybrid:bm25: write for example hybrid:bm25+minilm"),
        ("rerank:a+b+c", "--model rerank:a+b+c: write for example rerank:bm25+owner/cross-encoder"),
        ("mteb:x", "--model mteb:x: MTEB's registry has no 'x'"),
        ("llm:openai", "--model llm:openai: name a chat model after llm:, for example "),
        (
            "rerank:bm25+cross:a/b",
            "--model rerank:bm25+cross:a/b: behind + stands a cross-encoder "
            "(owner/name, or a folder), or a chat model, as llm:openai:gpt-5-mini",
        ),
    ],
)
def test_names_that_mean_nothing(name: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        check_name(name)
    assert str(error.value).startswith(message)
