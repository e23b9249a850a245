"""The best chunk as a text's score."""

from __future__ import annotations

from collections.abc import Sequence

from retgen.evaluation.search.candidates.lexical import word_scorer

from retgen.evaluation.search.base import BestChunk, CandidateSet
from retgen.progress import no_progress


def halves(texts: Sequence[str]) -> list[list[str]]:
    return [text.split(" | ") for text in texts]


def test_a_text_scores_as_its_best_chunk() -> None:
    scorer = BestChunk(word_scorer("tfidf"), halves)
    groups = [
        CandidateSet("red sun", ("red | sun", "red sun | moon", "moon", "moon | red")),
        CandidateSet("moon", ("moon", "sun | sun")),
    ]
    scores = scorer.score(groups, no_progress)
    chunks = [CandidateSet("red sun", ("red", "sun", "red sun", "moon", "moon", "moon", "red")),
              CandidateSet("moon", ("moon", "sun", "sun"))]  # fmt: skip
    each = [one.tolist() for one in word_scorer("tfidf").score(chunks, no_progress)]
    assert scores[0].tolist() == [max(each[0][:2]), each[0][2], 0.0, each[0][6]]
    assert scores[1].tolist() == [each[1][0], 0.0]
    assert scorer.noise == word_scorer("tfidf").noise
    details = scorer.details({"truncated": {"documents": 3}, "encoded": {}, "dtype": "float32"})
    assert details == {"dtype": "float32", "chunks": {"documents": 5, "distinct": 4}}
