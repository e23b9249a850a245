from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Write

CARD = "---\nlicense: cc-by-4.0\nlanguage:\n- de\n---\n\n# Set\n"


@pytest.fixture
def judged(dataset: Write) -> Path:
    """Splits test and train; q0 has no positive, q2 no judged negative; a text of two lines."""
    corpus = {"d1": "one", "d2": "two\nlines", "d3": "three", "d4": "four"}
    queries = {"q0": "none?", "q1": "which\tone?", "q2": "two & <b>?", "q3": "three?"}
    qrels = [("q1", "d1", 1), ("q1", "d3", 0), ("q0", "d4", 0), ("q2", "d2", 2), ("q2", "d1", 1)]
    path = dataset(corpus, queries, qrels, "set")
    (path / "qrels.train.jsonl").write_text(
        "".join(
            json.dumps({"query-id": q, "corpus-id": d, "score": s}) + "\n"
            for q, d, s in [("q3", "d3", 1), ("q3", "d1", 0), ("q3", "d2", 0)]
        )
    )
    (path / "README.md").write_text(CARD)
    return path
