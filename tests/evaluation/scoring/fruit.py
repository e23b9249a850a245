"""Four documents, three queries and their qrels: scores of them can be computed by hand."""

from __future__ import annotations

CORPUS = {"a": "red apples grow", "b": "green pears", "c": "red bikes", "d": "nothing at all"}
QUERIES = {"q1": "red apples", "q2": "pears", "q3": "who cares"}
QRELS = [("q1", "a", 2), ("q1", "c", 1), ("q2", "b", 1), ("q3", "d", 0)]
