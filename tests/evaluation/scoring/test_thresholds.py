"""Precision, recall, F1 and F2 at a threshold on the cosine, with vectors chosen for it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, retriever
from retgen.evaluation.scoring.analyses import Analyses
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.page import text as text_of
from retgen.evaluation.scoring.thresholds import Threshold, classify, labelled_pairs
from retgen.progress import no_progress
from retgen.search.collection import load
from retgen.search.dense import DenseRetriever

# a word's cosine with "ask"
COSINES = {"ask": 1.0, "nine": 0.9, "eight": 0.8, "six": 0.6, "two": 0.2}
CORPUS = {"d9": "nine", "d8": "eight", "d6": "six", "d2": "two"}
QUERIES = {"q1": "ask", "q2": "ask ask", "q3": "ask ask ask"}
QRELS = [("q1", "d9", 2), ("q1", "d6", 1), ("q2", "d8", 1)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Word vectors on half a circle, each twice as long as the last."""
    rows = [(c, math.sqrt(1 - c * c)) for c in COSINES.values()]
    lengths = 2.0 ** torch.arange(len(rows))[:, None]
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(COSINES)}, "ask"))
    tokenizer.pre_tokenizer = Whitespace()
    module = StaticEmbedding(tokenizer, embedding_weights=torch.tensor(rows) * lengths)
    folder = tmp_path_factory.mktemp("models") / "circle"
    SentenceTransformer(modules=[module], device="cpu").save_pretrained(str(folder))
    return str(folder)


def classified(path: Path, model: str, tmp_path: Path, threshold: Threshold, **given: Any) -> Any:
    complete = given.pop("complete", False)
    analyses = Analyses(threshold=threshold, complete=complete)
    return evaluate(path, models=[model], analyses=analyses, out=tmp_path / "out", **given)


def test_all_pairs_of_complete_labels(dataset, model: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """12 pairs, with q3, which has no positive: relevant ones at 0.9, 0.8 and 0.6; others at 0.9,
    0.9, 0.8, 0.8, 0.6, 0.6, 0.2, 0.2, 0.2.
    """
    path = dataset(CORPUS, QUERIES, QRELS)
    result = classified(path, model, tmp_path, 0.85, complete=True, metrics=["recall@1"])
    matched = result.to_json()["classification"]
    assert {key: value for key, value in matched.items() if key != "results"} == {
        "pairs": 12,
        "positives": 3,
        "queries": 3,
        "queries_without_positive": 1,
        "complete": True,
    }
    given, best = matched["results"]
    assert (given["threshold"], given["tuned"], best["threshold"], best["tuned"]) == (
        0.85,
        False,
        0.6,
        True,
    )
    counts = ("true_positives", "false_positives", "false_negatives")
    assert [given[name] for name in counts] == [1, 2, 2]
    assert [best[name] for name in counts] == [3, 6, 0]
    names = ("precision", "recall", "F1", "F2")
    assert [given[name] for name in names] == pytest.approx([1 / 3] * 4)
    assert [best[name] for name in names] == pytest.approx([1 / 3, 1, 1 / 2, 15 / 21])
    # the ranking leaves q3 out
    assert result.to_json()["queries"] == 2
    assert (
        "a pair without a qrel counts as judged and not relevant (--complete)"
        in (result.to_json()["notes"])
    )
    text = text_of(result)
    rows = [" ".join(line.split()[1:]) for line in text.splitlines()]
    assert "0.8500 given 0.3333 0.3333 0.3333 0.3333" in rows
    assert "0.6000 tuned on this set 0.3333 1.0000 0.5000 0.7143" in rows
    assert (
        "note: classified: all 12 pairs of 3 queries (1 without a relevant document), of which 3 "
        "are relevant\n"
    ) in text


def test_judged_pairs_of_incomplete_labels(dataset, model: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Relevant at 0.9, 0.8, 0.6; judged and not relevant at 0.9 (q3), 0.6 (q2) and 0.2 (q1)."""
    judged = [*QRELS, ("q3", "d9", 0), ("q2", "d6", 0), ("q1", "d2", 0), ("q1", "lost", 0)]
    path = dataset(CORPUS, QUERIES, judged)
    matched = classified(path, model, tmp_path, "best").to_json()["classification"]
    assert (matched["pairs"], matched["queries"], matched["complete"]) == (6, 3, False)
    (best,) = matched["results"]  # F1 at 0.9: 2/5, at 0.8: 4/6, at 0.6: 6/8
    assert best["threshold"] == 0.6
    assert (best["precision"], best["recall"], best["F1"]) == pytest.approx((3 / 5, 1, 3 / 4))


def test_nothing_is_known_to_be_not_relevant(dataset, model: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, QRELS)
    with pytest.raises(UsageError) as error:
        classified(path, model, tmp_path, "best")
    assert str(error.value) == (
        f"--threshold: {path} has no pair that is known to be not relevant. If all pairs were "
        "judged, say --complete"
    )


def test_queries_of_another_split_are_no_queries_without_positives(dataset, model: str) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, QRELS)
    row = {"query-id": "q3", "corpus-id": "d2", "score": 1}
    (path / "qrels.train.jsonl").write_text(json.dumps(row) + "\n")
    from dataclasses import replace

    pairs = labelled_pairs(replace(load(path), complete=True))
    assert [query.query_id for query in pairs.queries] == ["q1", "q2"]
    assert pairs.positives.tolist() == [[0, 0], [1, 1], [0, 2]]


def test_every_dimension_against_all_cosines(limit_run: Path) -> None:
    """15 documents, 100 queries, all pairs labelled: the best threshold among all there are."""
    collection = load(limit_run)
    dense = retriever("static:minilm", Options(dims=(8, 384), cache=None))
    assert isinstance(dense, DenseRetriever)
    outcomes = classify(
        "static:minilm", dense, labelled_pairs(collection), collection, 0.3, no_progress
    )
    assert [(one.label, one.tuned) for one in outcomes] == [
        ("static:minilm, first 8", False),
        ("static:minilm, first 8", True),
        ("static:minilm", False),
        ("static:minilm", True),
    ]
    texts = [text for _, block in collection.blocks(100) for text in block]
    vectors = [
        dense.embed(part, kind, {"documents": 0, "queries": 0}).double().numpy()
        for part, kind in ((texts, "document"), ([q.text for q in collection.queries], "query"))
    ]
    ids = [doc.decode() for doc in collection.doc_ids.tolist()]
    truth = np.array([[d in collection.qrels[q.query_id] for d in ids] for q in collection.queries])
    for dim, (given, best) in ((8, outcomes[:2]), (384, outcomes[2:])):
        documents, queries = (
            v[:, :dim] / np.linalg.norm(v[:, :dim], axis=1)[:, None] for v in vectors
        )
        cosines = queries @ documents.T
        scores = {}
        for edge in cosines[truth] - 2e-6:  # more than is lost to rounding
            hits, called = int((truth & (cosines >= edge)).sum()), int((cosines >= edge).sum())
            scores[edge] = 2 * hits / (called + 200)
        assert best.f(1) == pytest.approx(max(scores.values()))
        assert given.true_positives == int((truth & (cosines >= 0.3)).sum())
        assert given.false_positives == int((~truth & (cosines >= 0.3)).sum())
        assert given.true_positives + given.false_negatives == 200


def test_a_threshold_needs_an_embedder_and_a_cosine(dataset, gen: Any) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, QRELS)
    for value, words, message in (
        (
            "best",
            (),
            "--threshold: is one on the cosine of embeddings, and no embedder is named. "
            "Name one, as --model minilm",
        ),
        ("best", ("--model", "late:minilm"), "no embedder is named"),
        ("1.5", ("--model", "minilm"), "--threshold 1.5: is a cosine from -1 to 1, or best"),
        ("high", ("--model", "minilm"), "--threshold high: is a cosine from -1 to 1, or best"),
    ):
        done = gen("eval", path, *words, "--threshold", value)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.split())


def test_no_relevant_document_in_the_corpus(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset({"a": "one"}, {"q": "one"}, [("q", "lost", 1), ("q", "a", 0)])
    with pytest.raises(UsageError) as error:
        evaluate(path, models=["static:minilm"], analyses=Analyses(threshold="best"), out=tmp_path)
    assert str(error.value) == f"--threshold: {path} has no relevant document in its corpus"
