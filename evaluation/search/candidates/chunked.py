"""A document's best chunk as its score: what reading all of it in pieces is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.search.base import Scorer
from retgen.evaluation.search.candidates.sets import CandidateSet
from retgen.progress import Progress


class BestChunk:
    """Scores every chunk of a text by itself; the highest score is the text's."""

    def __init__(self, scorer: Scorer, pieces: Callable[[Sequence[str]], list[list[str]]]) -> None:
        self._scorer, self._pieces = scorer, pieces
        self.noise = scorer.noise
        self._chunks: dict[str, list[str]] = {}

    def cut(self, texts: Sequence[str]) -> list[list[str]]:
        """The chunks of texts, each of which is cut once."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._chunks]
        self._chunks |= zip(missing, self._pieces(missing), strict=True)
        return [self._chunks[text] for text in texts]

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        self.cut([text for group in groups for text in group.texts])
        cut = [
            group._replace(texts=tuple(c for text in group.texts for c in self._chunks[text]))
            for group in groups
        ]
        result = []
        for group, scores in zip(groups, self._scorer.score(cut, progress), strict=True):
            counts = [len(self._chunks[text]) for text in group.texts]
            begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
            result.append(np.maximum.reduceat(scores, begins))
        return result

    def details(self, scorer: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the scorer of chunks, and how many texts became how many of them."""
        chunks = {chunk for of in self._chunks.values() for chunk in of}
        kept = {key: value for key, value in scorer.items() if key not in ("truncated", "encoded")}
        return kept | {"chunks": {"documents": len(self._chunks), "distinct": len(chunks)}}
