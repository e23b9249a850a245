"""Fusion of rankings, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, check_name, retriever
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.search.fusion import Gains, fuse, reciprocal_ranks, scaled
from retgen.progress import no_progress
from retgen.search.collection import load
from retgen.search.rankings import Rankings
from tests.conftest import Write

LEXICAL = Rankings(
    np.array([[2, 0, -1], [-1, -1, -1]]), np.array([[4, 1, 0], [0, 0, 0]], np.float32)
)
DENSE = Rankings(
    np.array([[0, 1, 2], [1, 0, 2]]), np.array([[0.9, 0.8, 0.5], [0.3, 0.2, -0.1]], np.float32)
)


@pytest.mark.parametrize(
    ("gains", "first", "second"),
    [
        # lexical scores begin at 0, what was not found; dense ones at the least of three
        (scaled, {0: 1 / 4 + 1, 2: 1.0, 1: 0.75}, {1: 1.0, 0: 0.75, 2: 0.0}),
        (
            reciprocal_ranks,
            {0: 1 / 62 + 1 / 61, 2: 1 / 61 + 1 / 63, 1: 1 / 62},
            {1: 1 / 61, 0: 1 / 62, 2: 1 / 63},
        ),
    ],
)
def test_scores_are_sums_of_gains(
    gains: Gains, first: dict[int, float], second: dict[int, float], dataset: Write
) -> None:
    texts = {"a": "x", "b": "y", "c": "z"}
    collection = load(dataset(texts, {"q1": "x", "q2": "y"}, [("q1", "a", 1), ("q2", "b", 1)]))
    result = fuse([LEXICAL, DENSE], collection, 3, gains)
    for row, wanted in enumerate((first, second)):
        assert result.documents[row].tolist() == list(wanted)
        assert result.scores[row].tolist() == pytest.approx(list(wanted.values()))


def test_equal_scores_are_all_the_most() -> None:
    assert scaled(np.array([0.4, 0.4], np.float32), True).tolist() == [1.0, 1.0]
    assert scaled(np.array([0.4, 0.2], np.float32), False).tolist() == pytest.approx([1.0, 0.5])


def test_weights_are_those_that_rank_best_on_dev(dataset: Write, tmp_path: Path) -> None:
    """A number among many words, which a mean of vectors loses; dev's scores are `gen eval`'s."""
    words = "owl cat dog fox bee ant hen cow pig rat elk emu koi yak bat".split()
    texts = {
        f"d{i}": f"{1000 + 37 * i} "
        + " ".join(words[(i * i + 7 * j) % 15] for j in range(i % 9 + 9))
        for i in range(40)
    }
    queries = {f"q{i}": f"the one of {1000 + 37 * i}" for i in range(40)}
    path = dataset(texts, queries, [(f"q{i}", f"d{i}", 1) for i in range(20)])
    rows = [{"query-id": f"q{i}", "corpus-id": f"d{i}", "score": 1 + i % 2} for i in range(20, 40)]
    (path / "qrels.dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (one,) = retriever("tuned:bm25+static:minilm", Options()).rank(load(path), 20, no_progress)
    on_dev = one.details["nDCG@10 there"]
    assert one.details["tuned_on"] == "dev"
    assert one.details["tuned_queries"] == 20
    for name, weight in (
        ("minmax:bm25+static:minilm", "0.5"),
        ("bm25", "1.0"),
        ("static:minilm", "0.0"),
    ):
        result = evaluate(
            path, models=[name], split="dev", metrics=["nDCG@10"], out=tmp_path / weight
        ).to_json()
        assert result["results"][0]["metrics"]["nDCG@10"] == pytest.approx(on_dev[weight], abs=1e-6)
    assert on_dev[str(one.details["weights"][0])] == max(on_dev.values()) > on_dev["0.0"]
    result = evaluate(path, models=["tuned:bm25+static:minilm"], out=tmp_path / "tuned").to_json()
    assert result["results"][0]["details"]["nDCG@10 there"] == on_dev
    assert sum(one.details["weights"]) == pytest.approx(1)


def test_weights_need_a_split_to_be_tuned_on(dataset: Write) -> None:
    path = dataset({"a": "x"}, {"q": "x"}, [("q", "a", 1)])
    with pytest.raises(UsageError) as caught:
        list(retriever("tuned:bm25+tfidf", Options()).rank(load(path), 1, no_progress))
    assert str(caught.value) == (
        "--model tuned:bm25+tfidf: its weights are tuned on the split dev or train, and "
        f"{path} has neither beside test. Take minmax: or hybrid:"
    )
    with pytest.raises(UsageError, match=r"tunes the weights of two; write tuned:bm25\+minilm$"):
        check_name("tuned:bm25+tfidf+minilm")


def test_what_ranks_all_but_the_query_itself_ranks_all(dataset: Write) -> None:
    """The least of its scores is not taken for that of documents without a word of the query."""
    collection = load(dataset({"a": "x", "q1": "y", "c": "z"}, {"q1": "y"}, [("q1", "a", 1)]))
    rankings = Rankings(np.array([[0, 1, 2]]), np.array([[0.9, 0.8, 0.5]], np.float32))
    fused = fuse([rankings.without(collection.own, 3)], collection, 3, scaled)
    assert fused.documents.tolist() == [[0, 2, -1]]
    assert fused.scores.tolist() == [[1, 0, 0]]
