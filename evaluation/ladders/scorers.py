"""Who scores candidate sets: by the names of retrievers, and two names more.

| name | what |
|---|---|
| `bm25-paper` | BM25 built over each candidate set alone, as the paper's code does |
| `bm25`, `rank-bm25`, `bm25-capretrieval`, `tfidf` | with the statistics of the whole collection |
| an embedder, `mteb:NAME` | products of vectors |
| `late:MODEL` | MaxSim |
| `cross:MODEL`, `rerank:FIRST+MODEL` | the cross-encoder's score of a pair |
| `llm:PROVIDER:NAME` | a chat model that orders the candidates (retgen.experiments.ladders) |

Fusions (`hybrid:`) and models that search by themselves have no score of a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.evaluation.ladders.load import Group
from retgen.evaluation.retrievers import Options, Retriever
from retgen.evaluation.retrievers.names import LEXICAL, check_name
from retgen.progress import Progress

__all__ = [
    "NAMES",
    "Scorer",
    "System",
    "check_scorer",
    "no_embedder",
    "only_ranks_candidates",
    "systems",
]

NAMES = ("bm25-paper",)
_PREFIXES = ("cross", "llm")


class Scorer(Protocol):
    """Scores the candidates of groups. `noise`: as `Plan.counts` wants it."""

    @property
    def noise(self) -> float: ...

    def score(self, groups: Sequence[Group], progress: Progress) -> list[NDArray[np.float64]]:
        """For each group an array (texts,); higher is better. All groups are of one corpus."""
        ...


class System(NamedTuple):
    """A scorer at one dimension (None where it has none); `details` after it has scored."""

    dim: int | None
    scorer: Scorer
    details: Callable[[], dict[str, Any]] = dict


def only_ranks_candidates(name: str) -> bool:
    """Whether a name means something for candidate sets alone, and not for a corpus."""
    kind, colon, _ = name.partition(":")
    return name in NAMES or (bool(colon) and kind in _PREFIXES)


def no_embedder(name: str) -> bool:
    """Whether a name means words or a chat model, which have no dimensions, prompts or formats."""
    if name.startswith("hybrid:"):
        return all(no_embedder(part) for part in name.removeprefix("hybrid:").split("+"))
    return name in (*LEXICAL, *NAMES) or name.startswith("llm:")


def check_scorer(name: str) -> None:
    """Raise `UsageError` for a name that can mean nothing."""
    kind, _, rest = name.partition(":")
    if not only_ranks_candidates(name):
        check_name(name)
    elif kind == "cross" and not rest:
        raise UsageError(f"--model {name}: name a cross-encoder after cross:, as cross:owner/name")
    elif kind == "llm":
        provider, more, model = rest.partition(":")
        if not (provider and more and model):
            raise UsageError(
                f"--model {name}: name a chat model after llm:, for example llm:openai:gpt-5-mini"
            )


def systems(name: str, retriever: Retriever | None, options: Options) -> list[System]:
    """The scorers of a name, one a dimension; none where it has no score of a pair.

    `retriever`: that of the name, loaded, None where the name only ranks candidates. Chat models
    are not made here, since they need a ledger.
    """
    from retgen.evaluation.ladders.lexical import LEXICAL

    if name in LEXICAL:
        return [System(None, LEXICAL[name]())]
    if name.startswith("hybrid:"):  # it ranks, and scores no pair
        return []
    from retgen.evaluation.ladders.neural import Crossed, Embedded, Interacting, Vectors
    from retgen.evaluation.retrievers.dense import Dense
    from retgen.evaluation.retrievers.late import Late
    from retgen.evaluation.retrievers.rerank import CrossScorer, Rerank

    if isinstance(retriever, Dense):
        vectors = Vectors(name, retriever)
        full = retriever.embedder.dimension
        return [
            System(dim, Embedded(vectors, dim), _told(vectors, full_dimension=dim == full))
            for dim in retriever.dims
        ]
    if isinstance(retriever, Late):
        late = retriever
        return [System(None, Interacting(name, late), lambda: late.details)]
    cross = retriever.scorer if isinstance(retriever, Rerank) else None
    if name.startswith("cross:"):
        cross = CrossScorer(name, name.partition(":")[2], options)
    if cross is None:
        return []
    details = cross.details
    return [System(None, Crossed(name, cross), lambda: details)]


def _told(vectors: Any, **more: Any) -> Callable[[], dict[str, Any]]:
    return lambda: vectors.details() | more
