"""Evidence behind what is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from retgen.evaluation.search.unread import unread_evidence, unread_note
from retgen.search.collection import load


def two_words(texts: Sequence[str]) -> list[list[str]]:
    """A model that reads two words."""
    words = [text.split() for text in texts]
    return [[" ".join(of[i : i + 2]) for i in range(0, len(of), 2)] for of in words]


def test_evidence_behind_the_limit(tmp_path: Path) -> None:
    """Whole documents and passages; spans are those of the source, and a title stands before."""
    corpus = [
        {"_id": "d1", "title": "", "text": "red owl blue cat"},
        {"_id": "d2", "title": "zoo", "text": "red owl blue cat"},
        {
            "_id": "p1",
            "title": "",
            "text": "one fox two",
            "metadata": {"source": "s", "span": [100, 111]},
        },
    ]
    asked = {  # query: document, source, begin
        "q1": ("d1", "d1", 4),
        "q2": ("d1", "d1", 8),
        "q3": ("d2", "d2", 0),
        "q4": ("d2", "d2", 4),
        "q5": ("p1", "s", 104),
        "q6": ("p1", "s", 108),
        "q7": ("p1", "s", 5),
        "q8": ("d1", None, 0),
    }
    queries = [
        {"_id": q, "text": q, "metadata": {"source": source, "span": [at, at + 3]}}
        for q, (_, source, at) in asked.items()
    ]
    qrels = [{"query-id": q, "corpus-id": of[0], "score": 1} for q, of in asked.items()]
    for name, rows in (("corpus", corpus), ("queries", queries), ("qrels", qrels)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    collection = load(tmp_path)
    # unread: q2 (blue), q4 (owl behind zoo red), q6 (two); q7 is in no passage, q8 says nothing
    assert unread_evidence(collection, two_words) == (3, 6)
    assert unread_note("m", 2, collection, two_words) == (
        "m reads 2 tokens of a document, and 3 of 6 queries rest on text behind them; cut documents "
        "into passages, or take a model that reads more"
    )
    assert unread_note("m", 9, collection, lambda texts: [[one] for one in texts]) == ""
