"""Lexical retrievers beside what else is installed."""

from __future__ import annotations

from retgen.evaluation.retrievers.lexical import capretrieval_bm25
from retgen.progress import no_progress
from retgen.search.base import CandidateSet
from retgen.search.lexical import word_retriever


def test_candidate_sets_without_a_word_score_0() -> None:
    sets = [CandidateSet("water", ("", " \u3000")), CandidateSet("", ("", "\n"))]
    for scorer in (
        word_retriever("rank-bm25"),
        capretrieval_bm25("bm25-capretrieval"),
        word_retriever("bm25-paper"),
    ):
        assert [one.tolist() for one in scorer.score(sets, no_progress)] == [[0, 0], [0, 0]]
