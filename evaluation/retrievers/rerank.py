"""A cross-encoder over the best documents of a first stage.

Documents below those that it sees keep the first stage's order behind them. Scores of pairs are
cached, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from retgen.evaluation.collection import Collection
from retgen.evaluation.devices import choose_device, choose_dtype
from retgen.evaluation.embedders import fingerprint, loading, spare_memory
from retgen.evaluation.embeddings import Cache
from retgen.evaluation.rankings import Rankings, best
from retgen.evaluation.retrievers.base import Options, Ranked, Retriever
from retgen.progress import Progress

__all__ = ["CrossScorer", "Rerank"]


class CrossScorer:
    """A cross-encoder: a query and a document in, a score out."""

    def __init__(self, name: str, model: str, options: Options) -> None:
        self._name = name
        device = choose_device(options.device)
        with loading(model):
            from sentence_transformers import CrossEncoder

            kwargs = {"max_length": options.max_length} if options.max_length else {}
            self._model = CrossEncoder(model, device=device, **kwargs)
        if options.dtype:
            self._model = self._model.to(choose_dtype(options.dtype, device))
        self._batch = options.batch_size or (32 if device == "cpu" else 256)
        self._cache: Cache | None = None
        if options.cache is not None:
            self._cache = Cache(options.cache, fingerprint(self._model, options.max_length))
        self.device = str(self._model.device)
        self.notes: list[str] = []

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """The scores (pairs,) of pairs of a query and a document."""
        keys = [f"{query}\0{text}" for query, text in pairs]
        known = self._cache.get("pair", keys) if self._cache else {}
        values = np.zeros(len(pairs), np.float32)
        for i, (row, _) in known.items():
            values[i] = row[0]
        missing = [i for i in range(len(pairs)) if i not in known]
        if missing:
            fresh = [pairs[i] for i in missing]
            for batch in spare_memory(self._batch, self._name, self.notes):
                with batch as size, torch.inference_mode():
                    found = self._model.predict(fresh, batch_size=size, show_progress_bar=False)
                    self._batch = size
            values[missing] = np.asarray(found, np.float32).reshape(len(missing), -1)[:, 0]
            if self._cache:
                rows = values[missing][:, None]
                self._cache.put("pair", [keys[i] for i in missing], rows, [0] * len(missing))
        return values


class Rerank:
    """A first stage and a cross-encoder."""

    def __init__(self, name: str, first: Retriever, model: str, options: Options) -> None:
        self._name, self._first, self._depth = name, first, options.rerank
        self.scorer = CrossScorer(name, model, options)

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[Ranked]:
        seen = min(self._depth, collection.documents)
        first = list(self._first.rank(collection, max(depth, seen), progress))[-1]
        needed = first.rankings.documents[:, :seen]
        texts = collection.texts(np.unique(needed[needed >= 0]))
        documents = np.full((len(collection.queries), depth), -1, np.int64)
        scores = np.zeros(documents.shape, np.float32)
        for row, query in enumerate(collection.queries):
            ranked = first.rankings.documents[row]
            ranked = ranked[ranked >= 0]
            head, tail = ranked[:seen], ranked[seen:]
            values = self.scorer.score([(query.text, texts[i]) for i in head.tolist()])
            if len(tail):  # behind the worst that was scored, in their order
                below = (values.min() if len(values) else 0) - 1 - np.arange(len(tail))
                values = np.concatenate([values, below.astype(np.float32)])
            documents[row], scores[row] = best(ranked, values, collection.priority, depth)
            progress(self._name, row + 1, len(collection.queries))
        details = {
            "first": {first.model: first.details},
            "reranked": seen,
            "device": self.scorer.device,
            "notes": self.scorer.notes,
        }
        yield Ranked(self._name, None, Rankings(documents, scores), details)
