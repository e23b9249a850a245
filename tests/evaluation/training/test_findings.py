"""What is said of scores: the gain over idf, the fusion, and BM25 where it leaves no room."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.training.result import findings
from retgen.evaluation.training.scored_set import ScoredSet, paired_differences
from retgen.search.collection import load

pytestmark = pytest.mark.usefixtures("one_torch_thread")

LETTERS = [f"{a}{b}" for a in "abcdef" for b in "ghijkl"]  # 36 words


def write(folder: Path, evidence: str) -> Path:
    """36 queries with a document each."""
    folder.mkdir()
    corpus = [{"_id": f"d{i}", "title": "", "text": f"owl {w}"} for i, w in enumerate(LETTERS)]
    queries = [
        {"_id": f"q{i}", "text": f"{w} {w}", "metadata": {"evidence": evidence}}
        for i, w in enumerate(LETTERS)
    ]
    qrels = [{"query-id": f"q{i}", "corpus-id": f"d{i}", "score": 1} for i in range(36)]
    for name, rows in (("corpus", corpus), ("queries", queries), ("qrels", qrels)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def share(count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """As many of 36 queries answered."""
    return np.array([[float(i < count)] for i in range(36)])


def said(tmp_path: Path, trained: int, bm25: int, fused: int, evidence: str = "") -> list[str]:
    """Untrained 6 of 36, idf alone 12, and what is given."""
    collection, measures = load(write(tmp_path / "set", evidence)), Measures(["recall@1"])
    values = {"after": share(trained), "idf": share(12), "before": share(6)}
    beside = {
        "bm25": share(bm25),
        "minmax:bm25+after": share(fused),
        "minmax:bm25+idf": share(fused),
        "minmax:bm25+before": share(bm25),
    }
    scored = ScoredSet(
        "test",
        collection,
        measures,
        ceiling={"recall@1": 1.0},
        beside={name: {"recall@1": float(of.mean())} for name, of in beside.items()},
        **paired_differences(collection, ["recall@1"], values, beside),
    )
    return list(findings(scored))


def test_gain_and_fusion_have_intervals(tmp_path: Path) -> None:
    gain, fusion, *rest = said(tmp_path, trained=24, bm25=18, fused=27)
    assert gain.startswith("Training adds +0.3333 (+0.1")
    assert (
        " recall@1 over idf alone on the test set set; idf alone, without training, has +0.1667 ("
        in gain
    )
    assert gain.endswith(") over the untrained model.")
    assert fusion.startswith(
        "Fused with BM25 (min-max, one half each) on the test set set it has 0.7500, +0.2500 (+0."
    )
    assert fusion.endswith(") over the fusion with the untrained model.")
    assert rest == []


def test_a_gain_on_queries_by_rules_says_what_they_favour(tmp_path: Path) -> None:
    assert said(tmp_path, trained=24, bm25=18, fused=27, evidence="rules")[2:] == [
        "On the test set set, 36 of 36 queries are taken from the documents by rules and repeat "
        "their words: scores favour word match, so do not use them to choose between BM25 and "
        "embedders."
    ]


@pytest.mark.parametrize(
    ("trained", "start"),
    [(13, "Training adds nothing sure: +0.0278 (-0."), (0, "Training loses -0.3333 (-0.")],
)
def test_gains_that_are_none(tmp_path: Path, trained: int, start: str) -> None:
    assert said(tmp_path, trained, bm25=18, fused=18)[0].startswith(start)


LIMITS = (
    ": its queries share words with their documents. This set cannot show what a model finds beyond "
    "shared words, nor which of two good models is better: score queries that people wrote."
)


@pytest.mark.parametrize(
    ("trained", "bm25", "reasons"),
    [
        (
            33,
            33,
            "BM25 has 0.9167 on the test set set, at least 0.9 of the best that can be reached (1.0000)",
        ),
        (
            15,
            30,
            "BM25 has 0.8333 on the test set set, above the model, trained and untrained, by 95% intervals",
        ),
        (
            15,
            36,
            "BM25 has 1.0000 on the test set set, at least 0.9 of the best that can be reached (1.0000) and above the model, trained and untrained, by 95% intervals",
        ),
    ],
)
def test_bm25_that_leaves_no_room(tmp_path: Path, trained: int, bm25: int, reasons: str) -> None:
    assert said(tmp_path, trained, bm25, fused=bm25)[-1] == reasons + LIMITS
