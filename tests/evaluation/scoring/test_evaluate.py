"""`gen eval`: scores, the best reachable, grades, and what is written."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.page import text as text_of
from retgen.search.base import slug
from tests.evaluation.scoring.fruit import CORPUS, QRELS, QUERIES


def test_bm25_and_baselines_by_hand(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    result = evaluate(
        dataset(CORPUS, QUERIES, QRELS),
        metrics=["recall@1", "nDCG@2", "MRR", "success@1"],
        out=tmp_path / "out",
    ).to_json()
    assert list(result["results"][0]["metrics"]) == ["recall@1", "nDCG@2", "MRR", "success@1"]
    assert result["results"][0]["model"] == "bm25"
    assert result["results"][0]["dim"] is None
    # q1 ranks a (2) before c (1): ideal; q2 finds b; recall@1 of q1 is 1/2
    assert result["results"][0]["metrics"] == {
        "recall@1": 0.75,
        "nDCG@2": 1.0,
        "MRR": 1.0,
        "success@1": 1.0,
    }
    # for q2 one document is ranked, so one of two places is judged
    assert result["results"][0]["judged"] == {"Judged@1": 1.0, "Judged@2": 0.75}
    assert result["notes"] == ["1 of 3 queries have no relevant document and are left out"]
    random = result["floors"]["random"]
    assert random["recall@1"] == 0.25
    assert random["success@1"] == pytest.approx((1 / 2 + 1 / 4) / 2)
    # by enumeration of all 24 orders
    gains = [{"a": 2, "c": 1}, {"b": 1}]
    expected_ndcg, expected_mrr = [], []
    for order in itertools.permutations("abcd"):
        for gain in gains:
            ideal = sum(
                g / math.log2(i + 2) for i, g in enumerate(sorted(gain.values(), reverse=True)[:2])
            )
            dcg = sum(gain.get(doc, 0) / math.log2(i + 2) for i, doc in enumerate(order[:2]))
            expected_ndcg.append(dcg / ideal)
            expected_mrr.append(1 / (1 + min(i for i, doc in enumerate(order) if doc in gain)))
    assert random["nDCG@2"] == pytest.approx(np.mean(expected_ndcg))
    assert random["MRR"] == pytest.approx(np.mean(expected_mrr))
    # longest first: a (15 characters), d, b, c
    assert result["floors"]["rankings"]["longest first"]["recall@1"] == 0.25


def test_the_best_reachable_stands_beside_the_scores(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, [*QRELS, ("q2", "lost", 1), ("q2", "a", 0)])
    names = ["recall@1", "nDCG@2", "P@2", "MRR", "MAP", "Judged@4", "NumRet"]
    result = evaluate(path, metrics=names, out=tmp_path / "out")
    # q1 has two relevant documents; q2 has two as well, of which the corpus holds one
    lost = 1 / (1 + 1 / math.log2(3))
    expected = {
        "recall@1": 0.5,
        "nDCG@2": (1 + lost) / 2,
        "P@2": (1 + 0.5) / 2,
        "MRR": 1.0,
        "MAP": (1 + 0.5) / 2,
        "Judged@4": 0.5,
        "NumRet": None,
        "Judged@1": 1.0,
        "Judged@2": 1.0,
    }
    ceiling = result.to_json()["ceiling"]
    assert list(ceiling) == list(expected)
    assert ceiling == {k: v if v is None else pytest.approx(v) for k, v in expected.items()}
    (row,) = [line for line in text_of(result).splitlines() if line.startswith("best reachable")]
    assert row.split()[2:9] == ["0.5000", "0.8066", "0.7500", "1.0000", "0.7500", "0.5000", "–"]
    assert "best reachable" in (tmp_path / "out" / "eval.md").read_text()
    assert "best reachable" in (tmp_path / "out" / "eval.html").read_text()


def test_grades_beside_binary_qrels(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, [("q1", "a", 1), ("q1", "c", 0), ("q2", "b", 1)])
    rows = [("q1", "a", 2), ("q1", "c", 1), ("q2", "b", 1)]
    (path / "qrels_graded.jsonl").write_text(
        "".join(json.dumps({"query-id": q, "corpus-id": d, "score": s}) + "\n" for q, d, s in rows)
    )
    run = tmp_path / "run.trec"
    run.write_text("q1 0 c 1 2 x\nq1 0 a 2 1 x\nq2 0 b 1 1 x\n")
    result = evaluate(path, runs=[run], out=tmp_path / "out").to_json()
    assert list(result["results"][0]["metrics"])[-3:] == ["nDCG@2", "MRR@2", "graded nDCG@2"]
    second = 1 / math.log2(3)
    assert result["results"][0]["metrics"] == pytest.approx(
        {
            "recall@1": 0.5,
            "recall@2": 1.0,
            "nDCG@2": (second + 1) / 2,
            "MRR@2": 0.75,
            "graded nDCG@2": ((1 + 2 * second) / (2 + second) + 1) / 2,
        }
    )
    assert result["ceiling"].pop("Judged@2") == 0.75  # of q2 one document is judged
    assert set(result["ceiling"].values()) == {1.0}
    # by the mean over orders: each document stands on each rank with probability 1/4
    gain = (1 + second) / 4
    assert result["floors"]["random"]["graded nDCG@2"] == pytest.approx(
        (3 * gain / (2 + second) + gain) / 2
    )


def test_every_system_is_scored_and_written(swept: Path, limit_run: Path) -> None:
    content = json.loads((swept / "eval.json").read_text())
    assert [(r["model"], r["dim"]) for r in content["results"]] == [
        ("bm25", None),
        ("attribute-oracle", None),
        ("minilm", 32),
        ("minilm", 384),
        ("static:minilm", 32),
        ("static:minilm", 384),
        ("late:minilm", None),
        ("hybrid:bm25+minilm", None),
    ]
    assert content["dataset"] == str(limit_run)
    assert (content["documents"], content["queries"], content["complete"]) == (15, 100, True)
    assert all("judged" not in row for row in content["results"])
    scores = {(r["model"], r["dim"]): r["metrics"] for r in content["results"]}
    assert scores["attribute-oracle", None]["recall@2"] == 1.0
    assert scores["bm25", None]["recall@2"] == 1.0
    assert 0.1 < scores["minilm", 384]["recall@2"] < 0.6
    assert scores["minilm", 32]["recall@2"] < scores["late:minilm", None]["recall@2"]
    details = {(r["model"], r["dim"]): r["details"] for r in content["results"]}
    assert details["minilm", 32]["truncated"] == {"documents": 0, "queries": 0}
    assert details["minilm", 32]["trained_for_truncation"] is False
    assert details["late:minilm", None]["trained_for_late_interaction"] is False
    # 105 pairs of documents, 100 asked for; every document is in 13 or 14 of them
    assert content["densities"]["document_graph_density"] == 100 / 105
    for name in ("bm25", "minilm-32", "late--minilm", "hybrid--bm25--minilm"):
        assert len((swept / "per_query" / f"{name}.jsonl").read_text().splitlines()) == 100
        assert len((swept / "runs" / f"{name}.trec").read_text().splitlines()) >= 100
    figures = sorted(p.name for p in (swept / "figures").iterdir())
    assert figures == [f"{limit_run.name}_recall-{k}_by_dimension.svg" for k in (10, 2)]
    page = (swept / "eval.html").read_text()
    assert page.count("<svg") == 2
    assert ">random order</th>" in page
    assert "minilm was not trained to be cut to fewer dimensions" in page
    table = (swept / "eval.md").read_text()
    assert re.search(r"\| attribute-oracle \|  \| 0\.5000 \(\S+\) \| 1\.0000 \(\S+\) \|", table)


def test_written_runs_score_the_same(swept: Path, limit_run: Path, tmp_path: Path) -> None:
    runs = sorted((swept / "runs").iterdir())
    again = evaluate(limit_run, runs=runs, out=tmp_path / "again").to_json()
    first = json.loads((swept / "eval.json").read_text())
    names = {slug(r["model"], r["dim"]): r["metrics"] for r in first["results"]}
    assert {r["model"]: r["metrics"] for r in again["results"]} == names


def test_a_document_with_the_id_of_the_query_is_not_ranked(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """BEIR's rule, at a depth that just holds the rest; "4" is relevant to "4", so it is ranked."""
    corpus = {
        "1": "tax sugar",
        "2": "tax sugar in food",
        "3": "boats float",
        "4": "boats float far",
        "5": "a lamp in the dark",
        "6": "candles burn at night",
    }
    queries = {"1": "tax sugar", "4": "boats float", "q": "food"}
    path = dataset(corpus, queries, [("1", "2", 1), ("4", "4", 1), ("q", "2", 1)])
    measured = ["P@1", "recall@1", "recall@3"]
    models = ["bm25", "bm25-capretrieval", "hybrid:bm25+tfidf", "minilm"]
    found = evaluate(path, models=models, metrics=measured, out=tmp_path / "out").datasets[0]
    assert (
        found.all_notes[0]
        == "queries with a document's id, which rankings leave out, as in BEIR: 1"
    )
    assert json.loads((tmp_path / "out" / "eval.json").read_text())["notes"] == found.all_notes
    lines = (tmp_path / "out" / "runs" / "bm25.trec").read_text().splitlines()
    assert [line.split()[::2][:2] for line in lines] == [
        ["1", "2"],
        ["4", "3"],
        ["4", "4"],
        ["q", "2"],
    ]
    at_first = {score.model: score.values[:, 0].tolist() for score in found.scores}
    assert at_first == {
        "bm25": [1, 0, 1],
        "bm25-capretrieval": [1, 0, 1],
        "hybrid:bm25+tfidf": [1, 0, 1],
        "minilm": [1, 0, 1],
    }
    # of five documents for "1", and of six for the others
    assert found.baselines["random"]["recall@1"] == pytest.approx((1 / 5 + 1 / 6 + 1 / 6) / 3)
    # "1", "3", "4", "2", ...
    assert found.baselines["rankings"]["shortest first"]["recall@3"] == pytest.approx(2 / 3)
    run = tmp_path / "mine.trec"
    run.write_text("1 Q0 1 1 9 x\n1 Q0 2 2 8 x\n4 Q0 4 1 1 x\nq Q0 2 1 1 x\n")
    read = evaluate(path, runs=[run], metrics=measured, out=tmp_path / "read").datasets[0]
    assert read.scores[0].values[:, 0].tolist() == [1, 1, 1]


def test_empty_texts_are_found_by_nothing(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset({"a": "", "b": " \n\u3000"}, {"q": "water"}, [("q", "a", 1)])
    models = ["bm25", "rank-bm25", "tfidf", "bm25-capretrieval", "bm25-capretrieval-characters"]
    found = evaluate(path, models=models, metrics=["nDCG@10"], out=tmp_path).datasets[0]
    assert [(s.model, s.values.tolist()) for s in found.scores] == [(m, [[0]]) for m in models]
    assert found.notes == [
        f"{m}: ranks no document for 1 of 1 queries, which count as 0" for m in models
    ]


def test_a_system_that_fails_loses_no_scores_of_others(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A model without vectors for its tokens raises what nobody expects; a run is another set's."""
    path = dataset(CORPUS, QUERIES, QRELS)
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "red": 7}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    broken = StaticEmbedding(tokenizer, embedding_weights=np.zeros((1, 4), np.float32))
    SentenceTransformer(modules=[broken], device="cpu").save(str(tmp_path / "model"))
    (tmp_path / "other.trec").write_text("z Q0 a 1 1 x\n")
    systems = ["bm25", str(tmp_path / "model"), "tfidf"]
    found = evaluate(
        path, models=systems, runs=[tmp_path / "other.trec"], out=tmp_path / "out", cache=False
    )
    assert [score.model for score in found.datasets[0].scores] == ["bm25", "tfidf"]
    of_model, of_run = found.failures.values()
    assert list(found.failures) == [systems[1], "other"]
    assert of_model.startswith(f"{systems[1]}: ")
    assert of_model.endswith("Score it alone to see where that comes from")
    assert "is it a run of another data set?" in of_run
    assert found.exit_code == 2
    assert json.loads((tmp_path / "out" / "eval.json").read_text())["failures"] == found.failures
