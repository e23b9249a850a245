"""Hard negatives among the first documents, and data sets that say what scores are broken down by."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retgen
from retgen.evaluation.scoring.by_type import shares
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.page import text as text_of
from retgen.search.collection import load

BOATS = Path(__file__).parents[2] / "world"
CORPUS = {"a": "ash", "b": "birch", "c": "cedar", "d": "date"}
QUERIES: dict[str, dict[str, Any]] = {
    "q1": {"text": "ash", "metadata": {"hard_negatives": 6}},  # two of six are judged
    "q2": {"text": "birch", "metadata": {}},
    "q3": {"text": "cedar"},
}
QRELS = [
    ("q1", "a", 1),
    ("q1", "b", 0),
    ("q1", "c", 0),
    ("q2", "b", 1),
    ("q2", "d", 0),
    ("q3", "c", 1),
]
RANKED = np.array([[0, 1, 2, 3], [3, 1, 0, 2], [2, 0, 1, 3]])


def test_shares_of_the_first_documents(with_columns) -> None:  # type: ignore[no-untyped-def]
    collection = replace(load(with_columns(CORPUS, QUERIES, QRELS)), complete=True)
    found = shares(collection, RANKED)
    assert found is not None
    # both judged ones of q1 stand for six; that of q2 for itself; q3 has none
    assert found[:2].tolist() == pytest.approx([0.6, 0.1])
    assert np.isnan(found[2])


def test_nothing_is_said_of_incomplete_labels_or_without_negatives(with_columns) -> None:  # type: ignore[no-untyped-def]
    path = with_columns(CORPUS, QUERIES, QRELS)
    assert shares(load(path), RANKED) is None
    positives = [qrel for qrel in QRELS if qrel[2]]
    without = replace(load(with_columns(CORPUS, QUERIES, positives, "positives")), complete=True)
    assert shares(without, RANKED) is None


RECIPE = """
name: boats
family: world
params:
  domain: {folder}/boats.yaml
  documents: 400
  operators: [eq, and-not]
  answer_sizes: [1, 10]
  wordings: [literal, entailed]
  queries_per_cell: 2
"""


@pytest.mark.slow
def test_a_data_set_says_what_scores_are_broken_down_by(tmp_path: Path) -> None:
    recipe = tmp_path / "boats.yaml"
    recipe.write_text(RECIPE.format(folder=BOATS))
    run = retgen.run(recipe, out=tmp_path / "run").path
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["breakdown"] == ["operator", "answers", "wording"]
    result = evaluate(run, models=["bm25"], metrics=["nDCG@10"], out=tmp_path / "eval")
    by = result.to_json()["by"]
    assert {column: [row["value"] for row in of["results"]] for column, of in by.items()} == {
        "operator": ["and-not", "eq", "all queries"],
        "answers": ["1", "10", "all queries"],
        "wording": ["entailed", "literal", "all queries"],
    }
    violators = by["operator"]["results"][0]
    assert 0 < violators["hard_negatives@10"] <= 1
    lines = text_of(result).splitlines()
    head = lines[lines.index("Scores by operator") + 1].split()
    assert head == ["operator", "system", "queries", "nDCG@10", "hard", "negatives@10"]
