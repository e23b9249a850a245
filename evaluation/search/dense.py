"""Dense retrieval: exact search over embeddings, in blocks, at several dimensions in one pass.

Documents are read, looked up in the cache or encoded, compared and forgotten block by block, so
memory depends on the block and not on the corpus. A dimension below the model's is the first
coordinates, compared as the whole is (as with Matryoshka models; LIMIT, §5.2).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from retgen.errors import UsageError
from retgen.evaluation.collection import Collection
from retgen.evaluation.embedders.base import Embedder, Kind
from retgen.evaluation.embedders.cache import Cache
from retgen.evaluation.embedders.chunks import each_batch
from retgen.evaluation.embedders.options import Options
from retgen.evaluation.embedders.similarity import Similarity, all_pairs
from retgen.evaluation.search.base import Ranked
from retgen.evaluation.search.rankings import Rankings
from retgen.evaluation.search.topk import TopK
from retgen.progress import Progress

BLOCK = 16_384  # documents read at a time
_ENCODE = {"cpu": 256}  # documents encoded at a time; else a block
_QUERIES = 2_048  # queries compared at a time: scores of a block take 128 MB


class DenseRetriever:
    """An embedder as a retriever. `dims`: the dimensions that it is cut to."""

    def __init__(self, name: str, embedder: Embedder, options: Options) -> None:
        self._name = name
        self.embedder = embedder
        self.dims = _dimensions(name, embedder.dimension, options.dims)
        beyond = [dim for dim in options.dims if dim > embedder.dimension]
        if beyond:
            embedder.details["notes"].append(
                f"has {embedder.dimension} dimensions, so not {', '.join(map(str, beyond))}"
            )
        self._cache: Cache | None = None
        if options.cache is not None and embedder.fingerprint is not None:
            self._cache = Cache(options.cache, f"{embedder.fingerprint}-{embedder.similarity}")

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[Ranked]:
        cut = {"documents": 0, "queries": 0}
        texts = [query.text for query in collection.queries]
        queries = self.queries(texts, cut, progress)
        parts = collection.blocks(BLOCK)
        blocks = self.documents(parts, collection.documents, cut, progress)
        similarity = self.embedder.similarity
        result = search(blocks, queries, self.dims, similarity, collection.priority, depth)
        self.flush()
        for dim, top in zip(self.dims, result, strict=True):
            details = dict(self.embedder.details)
            if self.embedder.max_length is not None:
                details["truncated"] = dict(cut)
            full = dim == self.embedder.dimension
            yield Ranked(self._name, dim, top, details | {"full_dimension": full})

    def flush(self) -> None:
        """Wait until all embeddings are on disk, where they are kept."""
        if self._cache is not None:
            self._cache.flush()

    def queries(self, texts: Sequence[str], cut: dict[str, int], progress: Progress) -> Tensor:
        """Vectors (texts, dimension) on the device; `cut`: see `embed`."""
        parts = []
        for start in range(0, len(texts), _QUERIES):
            part = texts[start : start + _QUERIES]
            with self._shown(f"{self._name}: queries", start, len(part), len(texts), progress):
                parts.append(self.embed(part, "query", cut))
        return torch.cat(parts)

    def documents(
        self,
        blocks: Iterable[tuple[int, Sequence[str]]],
        total: int,
        cut: dict[str, int],
        progress: Progress,
    ) -> Iterator[tuple[int, Tensor]]:
        """`blocks` of (index of the first document, texts), each as vectors; `total` documents."""
        step = _ENCODE.get(self.embedder.device, BLOCK)
        for first, texts in blocks:
            parts = []
            for start in range(0, len(texts), step):
                part = texts[start : start + step]
                with self._shown(self._name, first + start, len(part), total, progress):
                    parts.append(self.embed(part, "document", cut))
            yield first, torch.cat(parts)

    @contextlib.contextmanager
    def _shown(
        self, stage: str, begun: int, count: int, total: int, progress: Progress
    ) -> Iterator[None]:
        """Report batch after batch while `count` texts are encoded, of `total`."""
        with each_batch(self.embedder, lambda n: progress(stage, begun + min(n, count), total)):
            yield
        progress(stage, begun + count, total)

    def embed(self, texts: Sequence[str], kind: Kind, cut: dict[str, int]) -> Tensor:
        """Vectors (texts, dimension) on the device, of length 1 for the cosine: scaled just once.

        `cut` counts what is longer than the model reads.
        """
        embedder, cache = self.embedder, self._cache
        known = cache.get(kind, texts) if cache else {}
        missing = [i for i in range(len(texts)) if i not in known]
        lengths = [tokens for _, tokens in known.values()]
        vectors = torch.empty(len(texts), embedder.dimension, device=embedder.device)
        if known:
            rows = torch.from_numpy(np.stack([row for row, _ in known.values()]))
            vectors[list(known)] = rows.to(embedder.device)
        if missing:
            fresh = [texts[i] for i in missing]
            encoded, counts = embedder.encode(fresh, kind)
            counts = counts or [0] * len(fresh)
            if embedder.similarity == "cosine":
                encoded = torch.nn.functional.normalize(encoded, dim=1)
            vectors[missing] = encoded
            lengths += counts
            if cache:
                cache.put(kind, fresh, encoded.cpu().numpy(), counts)
        if embedder.max_length is not None:
            plural = "queries" if kind == "query" else "documents"
            cut[plural] += sum(length > embedder.max_length for length in lengths)
        return vectors


def search(
    blocks: Iterator[tuple[int, Tensor]],
    queries: Tensor,
    dims: Sequence[int],
    similarity: Similarity,
    priority: NDArray[np.int64],
    depth: int,
) -> list[Rankings]:
    """Exact search: `blocks` of (index of the first document, vectors (b, d)), `queries` (q, d).

    One `Rankings` for each of `dims`, to which vectors are cut; whole ones are of length 1 for the
    cosine, as `Dense` makes them. `priority`: see `TopK`.
    """
    parts = queries.split(_QUERIES)
    device = str(queries.device)
    tops = {dim: [TopK(priority, len(part), depth, device) for part in parts] for dim in dims}
    for first, vectors in blocks:
        for dim in dims:
            documents = vectors[:, :dim]
            # whole vectors of a cosine have length 1 already
            by = "dot" if similarity == "cosine" and dim == vectors.shape[1] else similarity
            for part, top in zip(parts, tops[dim], strict=True):
                top.add(first, all_pairs(part[:, :dim], documents, by))
    return [TopK.joined(tops[dim]) for dim in dims]


def _dimensions(name: str, full: int, wanted: tuple[int, ...]) -> list[int]:
    """Those of the wanted dimensions that the model has; all of it by default."""
    dims = [dim for dim in wanted if dim <= full] if wanted else [full]
    if not dims:
        raise UsageError(
            f"--dims: {name} has {full} dimensions, fewer than any of {', '.join(map(str, wanted))}"
        )
    return dims
