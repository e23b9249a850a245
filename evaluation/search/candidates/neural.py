"""Scorers with models: single vectors, late interaction, cross-encoders.

They stand on the retrievers of the same names, so a model is loaded once for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from retgen.evaluation.embedders.chunks import each_batch
from retgen.evaluation.embedders.similarity import each_pair
from retgen.evaluation.search.base import System
from retgen.evaluation.search.candidates.sets import CandidateSet
from retgen.evaluation.search.late import maxsim
from retgen.progress import Progress

if TYPE_CHECKING:
    from retgen.evaluation.embedders.base import Kind
    from retgen.evaluation.search.dense import DenseRetriever
    from retgen.evaluation.search.late import LateRetriever
    from retgen.evaluation.search.rerank import CrossScorer


_ENCODE = 1024  # texts at a time
_PAIRS = 2048  # pairs at a time
_HELD = 512  # documents whose tokens are held


class Vectors:
    """Vectors of an embedder, of which every text is encoded once, at its full dimension."""

    def __init__(self, name: str, dense: DenseRetriever) -> None:
        self.name, self.dense = name, dense
        self.cut = {"documents": 0, "queries": 0}
        self._rows: dict[Kind, dict[str, NDArray[np.float32]]] = {"query": {}, "document": {}}

    def of(self, kind: Kind, texts: Sequence[str], progress: Progress) -> torch.Tensor:
        """float32 (texts, dimension) on the CPU."""
        rows = self._rows[kind]
        missing = [text for text in dict.fromkeys(texts) if text not in rows]
        for start in range(0, len(missing), _ENCODE):
            part = missing[start : start + _ENCODE]
            with each_batch(self.dense.embedder, partial(self._shown, progress, start, missing)):
                result = self.dense.embed(part, kind, self.cut).cpu().numpy()
            rows.update(zip(part, result, strict=True))
            self._shown(progress, start, missing, len(part))
        return torch.from_numpy(np.stack([rows[text] for text in texts]))

    def _shown(self, progress: Progress, start: int, missing: Sequence[str], done: int) -> None:
        progress(f"{self.name}: candidate sets", min(start + done, len(missing)), len(missing))

    def details(self) -> dict[str, Any]:
        """How the embedder runs, and how many of the texts it has cut."""
        details = dict(self.dense.embedder.details)
        if self.dense.embedder.max_length is not None:
            details["truncated"] = dict(self.cut)
            details["encoded"] = {
                "documents": len(self._rows["document"]),
                "queries": len(self._rows["query"]),
            }
        return details


class Embedded:
    """The similarity of a query's and a document's vector, cut to `dim` coordinates."""

    def __init__(self, vectors: Vectors, dim: int) -> None:
        self.name, self.dim = vectors.name, dim
        self._vectors = vectors
        self.noise = _noise(vectors.dense.embedder.details)

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        queries = {query: i for i, query in enumerate(dict.fromkeys(g.query for g in groups))}
        texts = {
            text: i for i, text in enumerate(dict.fromkeys(t for g in groups for t in g.texts))
        }
        one = self._vectors.of("query", list(queries), progress)[:, : self.dim].double()
        two = self._vectors.of("document", list(texts), progress)[:, : self.dim].double()
        similarity = self._vectors.dense.embedder.similarity
        result = []
        for group in groups:
            documents = two[[texts[text] for text in group.texts]]
            query = one[queries[group.query]].expand_as(documents)
            result.append(each_pair(query, documents, similarity).numpy())
        return result


def _noise(details: Mapping[str, Any]) -> float:
    """What the digits of a number format leave open, and some more."""
    return {"float32": 1e-6, "tf32": 1e-3}.get(str(details.get("dtype", "float32")), 1e-2)


class Interacting:
    """Late interaction: the sum over a query's tokens of the best cosine in the document."""

    def __init__(self, name: str, late: LateRetriever) -> None:
        self.name, self._late = name, late
        self.noise = _noise(late.details)

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        result: list[NDArray[np.float64]] = []
        while len(result) < len(groups):
            part = _next(groups, len(result))
            texts = list(dict.fromkeys(text for group in part for text in group.texts))
            queries = list(dict.fromkeys(group.query for group in part))
            documents = dict(zip(texts, self._late.embed(texts, "document"), strict=True))
            asked = dict(zip(queries, self._late.embed(queries, "query"), strict=True))
            for group in part:
                candidates = [documents[text] for text in group.texts]
                result.append(maxsim([asked[group.query]], candidates)[0].cpu().double().numpy())
            progress(f"{self.name}: candidate sets", len(result), len(groups))
        return result


def _next(groups: Sequence[CandidateSet], start: int) -> Sequence[CandidateSet]:
    """The next groups, with no more documents than are held at a time."""
    seen: set[str] = set()
    for stop in range(start, len(groups)):
        seen.update(groups[stop].texts)
        if len(seen) > _HELD and stop > start:
            return groups[start:stop]
    return groups[start:]


class Crossed:
    """A cross-encoder; every pair is scored once."""

    noise = 1e-5

    def __init__(self, name: str, scorer: CrossScorer) -> None:
        self.name, self._scorer = name, scorer

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        pairs = list(dict.fromkeys((g.query, text) for g in groups for text in g.texts))
        scores: dict[tuple[str, str], float] = {}
        for start in range(0, len(pairs), _PAIRS):
            part = pairs[start : start + _PAIRS]
            scores.update(zip(part, self._scorer.score(part).tolist(), strict=True))
            progress(f"{self.name}: candidate sets", start + len(part), len(pairs))
        return [np.array([scores[g.query, text] for text in g.texts]) for g in groups]


def embeddings_of(name: str, dense: DenseRetriever) -> list[System]:
    """An embedder's scorers, one a dimension."""
    vectors = Vectors(name, dense)
    full = dense.embedder.dimension
    pieces = getattr(dense.embedder, "pieces", None)  # other libraries' models do not tell
    return [
        System(dim, Embedded(vectors, dim), _details(vectors, full_dimension=dim == full), pieces)
        for dim in dense.dims
    ]


def _details(vectors: Vectors, **more: Any) -> Callable[[], dict[str, Any]]:
    return lambda: vectors.details() | more
