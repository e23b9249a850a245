"""A cross-encoder, or a chat model, over the best documents of a first stage.

Documents below those that it sees keep the first stage's order behind them. Scores of pairs are
cached and answers are in the ledger, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.progress import Progress
from retgen.search.base import Array, CandidateSet, Retriever, Scorer, System, SystemRanks
from retgen.search.collection import Collection
from retgen.search.embedders.base import RunningModel, fingerprint
from retgen.search.embedders.cache import Cache
from retgen.search.embedders.loading import load
from retgen.search.embedders.options import Options
from retgen.search.rankings import Rankings

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_PAIRS = 8_192  # pairs at a time: batches are of pairs of one length


class CrossScorer(RunningModel):
    """A cross-encoder: a query and a document in, a score out."""

    noise = 1e-5

    def __init__(self, name: str, model: str | CrossEncoder, options: Options) -> None:
        from sentence_transformers import CrossEncoder

        loaded: Any = model
        if isinstance(model, str):
            loaded = load(CrossEncoder, model, **options.loading())
        if (labels := loaded.num_labels) != 1:
            raise UsageError(
                f"--model {name}: {model} gives {labels} values a pair, as a classifier does. Name "
                "a cross-encoder that gives one score"
            )
        super().__init__(name, loaded, options)
        self._cache: Cache | None = None
        if options.cache is not None:
            self._cache = Cache(options.cache, fingerprint(loaded, options.max_length))
        if options.query_prompt or options.document_prompt:
            self.notes.append(f"{model} reads pairs as they are: prompts are for embedders")

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        pairs = list(dict.fromkeys((g.query, text) for g in groups for text in g.texts))
        scores: dict[tuple[str, str], float] = {}
        for start in range(0, len(pairs), _PAIRS):
            part = pairs[start : start + _PAIRS]
            scores.update(zip(part, self.score_pairs(part).tolist(), strict=True))
            progress(f"{self.name}: candidate sets", start + len(part), len(pairs))
        return [np.array([scores[g.query, text] for text in g.texts]) for g in groups]

    def systems(self) -> list[System]:
        """Itself."""
        return [System(None, self, lambda: self.details)]

    def score_pairs(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """The scores (pairs,) of pairs of a query and a document."""
        keys = [f"{query}\0{text}" for query, text in pairs]
        known = self._cache.get("pair", keys) if self._cache else {}
        values = np.zeros(len(pairs), np.float32)
        for i, (row, _) in known.items():
            values[i] = row[0]
        missing = [i for i in range(len(pairs)) if i not in known]
        if missing:
            fresh = [pairs[i] for i in missing]

            def predict(part: Sequence[tuple[str, str]]) -> Any:
                return self.model.predict(list(part), batch_size=len(part), show_progress_bar=False)

            result = self.run(fresh, predict)
            values[missing] = np.asarray(result, np.float32).reshape(len(missing), -1)[:, 0]
            if self._cache:
                rows = values[missing][:, None]
                self._cache.put("pair", [keys[i] for i in missing], rows, [0] * len(missing))
        return values


class ListScorer(Scorer, Protocol):
    """A chat model, which orders whole lists; of equal scores the first stage's order stays."""

    def details(self) -> dict[str, Any]: ...
    def summary(self, failed: str, of: str = "") -> str: ...


class RerankRetriever:
    """A first stage and what scores its best documents."""

    def __init__(
        self,
        name: str,
        first: Retriever,
        scorer: CrossScorer | ListScorer,
        options: Options,
    ) -> None:
        self._name, self._first, self._depth = name, first, options.rerank
        self.scorer = scorer

    def systems(self) -> list[System]:
        """The cross-encoder alone; none of a chat model, which `llm:` measures."""
        return self.scorer.systems() if isinstance(self.scorer, CrossScorer) else []

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        seen = min(self._depth, collection.documents)
        first = list(self._first.rank(collection, max(depth, seen), progress))[-1]
        needed = first.rankings.documents[:, :seen]
        texts = collection.texts(np.unique(needed[needed >= 0]))
        ranked = [row[row >= 0] for row in first.rankings.documents]
        groups = [
            CandidateSet(query.text, tuple(texts[i] for i in row[:seen].tolist()))
            for query, row in zip(collection.queries, ranked, strict=True)
        ]
        heads = self.scorer.score(groups, progress)
        chat = not isinstance(self.scorer, CrossScorer)

        def rows() -> Iterator[tuple[NDArray[np.int64], Array]]:
            for row, values in zip(ranked, heads, strict=True):
                if chat:
                    values = values - np.arange(len(values)) / (len(values) + 1)
                # behind the worst that was scored, in their order
                below = min(values, default=0) - 1 - np.arange(len(row) - len(values))
                yield row, np.concatenate([values, below])

        rankings = Rankings.of(rows(), collection, depth)
        own = self.scorer.details if isinstance(self.scorer, CrossScorer) else self.scorer.details()
        if own.get("failed_after_repairs"):
            own["notes"] = [self.scorer.summary("so the first stage decides")]  # type: ignore[union-attr]
        details = {"first": {first.model: first.details}, "reranked": seen, **own}
        yield SystemRanks(self._name, None, rankings, details)
