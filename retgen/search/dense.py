"""Dense retrieval: exact search over embeddings, in blocks, at several dimensions in one pass.

Documents are read, looked up in the cache or encoded, compared and forgotten block by block, so
memory depends on the block and not on the corpus. A dimension below the model's is the first
coordinates, compared as the whole is (as with Matryoshka models; LIMIT, §5.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from retgen.errors import UsageError
from retgen.progress import Progress
from retgen.search.base import Array, CandidateSet, System, SystemRanks, noise_of
from retgen.search.collection import Collection, by_priority
from retgen.search.embedders.base import Embedder, Kind
from retgen.search.embedders.cache import Cache
from retgen.search.embedders.options import Options
from retgen.search.embedders.similarity import Similarity, all_pairs, each_pair, unit_length
from retgen.search.rankings import Rankings

BLOCK = 16_384  # documents read at a time
STEPS, STEP_ELSEWHERE = {"cpu": 256}, 4_096  # texts encoded at a time
QUERIES = 2_048  # queries compared at a time: scores of a block take 128 MB


class DenseRetriever:
    """An embedder as a retriever."""

    def __init__(self, name: str, embedder: Embedder, options: Options) -> None:
        self.name = name
        self.embedder = embedder
        self._wanted = options.dims
        self.key: str | None = None  # of vectors on disk; None: they must not be kept
        if embedder.fingerprint is not None:
            self.key = f"{embedder.fingerprint}-{embedder.similarity}"
        self._cache = Cache(options.cache, self.key) if options.cache and self.key else None

    @cached_property
    def dims(self) -> list[int]:
        """The dimensions that vectors are compared at. An API is asked for the model's own."""
        own = self.embedder.dimension
        dims = [dim for dim in self._wanted if dim <= own]
        if not self._wanted:
            return [own]
        if not dims:
            wanted = ", ".join(map(str, self._wanted))
            raise UsageError(
                f"--dims: {self.name} has {own} dimensions, fewer than any of {wanted}"
            )
        if beyond := [dim for dim in self._wanted if dim > own]:
            self.embedder.details["notes"].append(
                f"has {own} dimensions, so not {', '.join(map(str, beyond))}"
            )
        return dims

    def details(self, dim: int, cut: dict[str, int]) -> dict[str, Any]:
        """How it runs at a dimension, and how many texts it has `cut`."""
        truncated = {} if self.embedder.max_length is None else {"truncated": dict(cut)}
        full = dim == self.embedder.dimension
        return self.embedder.details | truncated | {"full_dimension": full}

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        if announce := getattr(self.embedder, "announce", None):  # of one that costs money
            announce(self._fresh(collection))
        dims, cut = self.dims, {"documents": 0, "queries": 0}
        texts = [query.text for query in collection.queries]
        queries = self.encoded(texts, "query", cut, progress)
        parts = collection.blocks(BLOCK)
        blocks = self.documents(parts, collection.documents, cut, progress)
        similarity = self.embedder.similarity
        result = search(blocks, queries, dims, similarity, collection.priority, depth)
        for dim, top in zip(dims, result, strict=True):
            yield SystemRanks(self.name, dim, top, self.details(dim, cut))

    def _fresh(self, collection: Collection) -> Iterator[tuple[Kind, list[str]]]:
        """Texts without a vector on disk, in the parts in which they will be encoded."""
        queries: list[str] = [query.text for query in collection.queries]
        parts: Iterator[tuple[Kind, list[str]]] = chain(
            [("query", queries)], (("document", texts) for _, texts in collection.blocks(BLOCK))
        )
        for kind, texts in parts:
            known = self._cache.get(kind, texts) if self._cache else {}
            yield kind, [text for i, text in enumerate(texts) if i not in known]

    def systems(self) -> list[System]:
        """Its scorers of candidate sets, one a dimension."""
        pieces = getattr(self.embedder, "pieces", None)  # other libraries' models do not tell
        rows: dict[Kind, dict[str, NDArray[np.float32]]] = {"query": {}, "document": {}}
        cut = {"documents": 0, "queries": 0}
        scorers = [_Scorer(self, dim, rows, cut) for dim in self.dims]
        return [System(one._dim, one, one.details, pieces) for one in scorers]

    def documents(
        self,
        blocks: Iterable[tuple[int, Sequence[str]]],
        total: int,
        cut: dict[str, int],
        progress: Progress,
    ) -> Iterator[tuple[int, Tensor]]:
        """`blocks` of (index of the first document, texts), each as vectors; `total` documents."""
        for first, texts in blocks:

            def report(stage: str, done: int, _: int, first: int = first) -> None:
                progress(stage, first + done, total)

            yield first, self.encoded(texts, "document", cut, report)

    def encoded(
        self,
        texts: Sequence[str],
        kind: Kind,
        cut: dict[str, int],
        progress: Callable[[str, int, int], None],
    ) -> Tensor:
        """Vectors (texts, dimension) on the device, reported, and kept on disk, step by step."""
        own = getattr(self.embedder, "step", None)  # of one behind an API, or of a cluster
        step = own or STEPS.get(self.embedder.device, STEP_ELSEWHERE)
        stage = self.name if kind == "document" else f"{self.name}: queries"
        parts = []
        for start in range(0, len(texts), step):
            part = texts[start : start + step]
            parts.append(self.embed(part, kind, cut))
            progress(stage, start + len(part), len(texts))
        return torch.cat(parts)

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
            if embedder.similarity == "cosine":
                encoded = unit_length(encoded)
            counts = counts or [0] * len(fresh)  # not every embedder counts tokens
            vectors[missing] = encoded
            lengths += counts
            if cache:
                cache.put(kind, fresh, encoded.cpu().numpy(), counts)
        if embedder.max_length is not None:
            plural = "queries" if kind == "query" else "documents"
            cut[plural] += sum(length > embedder.max_length for length in lengths)
        if embedder.similarity == "cosine":
            self._note_zeros(texts, vectors)
        return vectors

    def _note_zeros(self, texts: Sequence[str], vectors: Tensor) -> None:
        """Note the first text with a vector of length 0, which has no cosine."""
        notes = self.embedder.details.setdefault("notes", [])
        empty = (~vectors.any(dim=1)).nonzero().flatten().tolist()
        if empty and not any("of length 0" in note for note in notes):
            notes.append(
                f"gives a vector of length 0 for the text that begins {texts[empty[0]][:60]!r}: "
                "such a text scores 0 beside every other"
            )


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
    parts = queries.split(QUERIES)
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


class _Scorer:
    """The similarity of a query's and a document's vector, cut to `dim` coordinates.

    `rows`: vectors of all texts so far, which the scorers of all dimensions share.
    """

    def __init__(
        self,
        dense: DenseRetriever,
        dim: int,
        rows: dict[Kind, dict[str, NDArray[np.float32]]],
        cut: dict[str, int],
    ) -> None:
        self._dense, self._dim, self._rows, self._cut = dense, dim, rows, cut
        self.noise = noise_of(dense.embedder.details.get("dtype", "float32"))

    def _vectors(self, kind: Kind, texts: Sequence[str], progress: Progress) -> Tensor:
        """float64 (texts, dimension) on the CPU."""
        rows = self._rows[kind]
        missing = [text for text in dict.fromkeys(texts) if text not in rows]
        if missing:
            new = self._dense.encoded(missing, kind, self._cut, progress)
            rows.update(zip(missing, new.cpu().numpy(), strict=True))
        return torch.from_numpy(np.stack([rows[text] for text in texts])).double()

    def details(self) -> dict[str, Any]:
        """How the embedder runs, and how many of the texts it has cut."""
        encoded = {"documents": len(self._rows["document"]), "queries": len(self._rows["query"])}
        counted = {"encoded": encoded} if self._dense.embedder.max_length is not None else {}
        return self._dense.details(self._dim, self._cut) | counted

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        queries = {q: i for i, q in enumerate(dict.fromkeys(group.query for group in groups))}
        texts = {t: i for i, t in enumerate(dict.fromkeys(t for g in groups for t in g.texts))}
        one = self._vectors("query", list(queries), progress)[:, : self._dim]
        two = self._vectors("document", list(texts), progress)[:, : self._dim]
        similarity = self._dense.embedder.similarity
        result = []
        for group in groups:
            documents = two[[texts[text] for text in group.texts]]
            query = one[queries[group.query]].expand_as(documents)
            result.append(each_pair(query, documents, similarity).numpy())
        return result


# --- the best documents so far ---

_LOW = (1 << 32) - 1
_NONE = -(1 << 63)  # below every key of a score


class TopK:
    """The best `depth` documents of `queries` queries, fed block by block, with trec_eval's ties.

    `priority` (documents,): of equal scores the highest comes first, as in `Collection`.

    A document's place is one 64-bit key: its 32-bit score, made sortable, above its priority among
    equals. Taking the largest keys therefore breaks ties exactly, on any device, whatever the
    blocks. Past the first block only scores that reach a query's threshold are looked at again, and
    only when some query has as many of them as are kept, so the cost of choosing is little beside
    that of the matrix product.
    """

    def __init__(self, priority: NDArray[np.int64], queries: int, depth: int, device: str) -> None:
        self._ties = priority
        self._depth = depth
        self._priority = torch.from_numpy(priority).to(device)
        self._keys = torch.full((queries, depth), _NONE, dtype=torch.int64, device=device)
        self._bar = torch.full((queries, 1), -torch.inf, device=device)
        self._waiting: list[tuple[Tensor, Tensor]] = []  # rows and keys not yet compared
        self._counts = torch.zeros(queries, dtype=torch.int64, device=device)  # of them, by row

    def add(self, first: int, scores: Tensor) -> None:
        """Scores (queries, b) of the documents first..first + b - 1."""
        scores = scores.float()
        queries, width = scores.shape
        reach = _reaching(scores, self._bar)
        if len(reach) > 4 * self._depth * queries and width > self._depth:
            # too many to sort: the block's own depth-th score is a higher bar
            own = _largest(scores, self._depth).amin(1, keepdim=True)
            reach = _reaching(scores, torch.maximum(self._bar, own))
        if len(reach) == 0:
            return
        rows = reach // width
        priority = self._priority[first + reach - rows * width]
        self._waiting.append((rows, _keys(scores.flatten()[reach], priority)))
        self._counts += torch.bincount(rows, minlength=queries)
        if int(self._counts.max()) >= self._depth:
            self._compare()

    def _compare(self) -> None:
        """Keep the best of what waits, which also raises the bar."""
        if not self._waiting:
            return
        rows, keys = map(torch.cat, zip(*self._waiting, strict=True))
        rows, order = rows.sort(stable=True)
        begins = self._counts.cumsum(0) - self._counts
        place = torch.arange(len(rows), device=rows.device) - begins[rows]
        shape = len(self._keys), int(self._counts.max())
        candidates = torch.full(shape, _NONE, device=rows.device)
        candidates[rows, place] = keys[order]
        self._keys = _largest(torch.cat([self._keys, candidates], dim=1), self._depth)
        self._bar = _scores(self._keys.amin(1, keepdim=True))
        self._waiting.clear()
        self._counts.zero_()

    @staticmethod
    def joined(parts: Sequence[TopK]) -> Rankings:
        """What was found, best first: the queries of all parts, in order."""
        for part in parts:
            part._compare()
        keys = torch.cat([part._keys for part in parts]).sort(dim=1, descending=True).values
        scores = torch.where(keys > _NONE, _scores(keys), 0.0).cpu().numpy()
        places = keys.cpu().numpy()
        result = places > _NONE
        documents = by_priority(parts[0]._ties)[np.where(result, places & _LOW, 0)]
        return Rankings(np.where(result, documents, -1), scores)


# on a processor numpy does both in a fifth of the time


def _largest(values: Tensor, count: int) -> Tensor:
    """The `count` largest of each row, in no order."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.partition(values.numpy(), -count, axis=1)[:, -count:])
    return values.topk(count, dim=1, sorted=False).values


def _reaching(scores: Tensor, bar: Tensor) -> Tensor:
    """The places in the flattened scores (queries, b) that are at least a query's bar."""
    if scores.device.type == "cpu":
        return torch.from_numpy(np.flatnonzero(scores.numpy() >= bar.numpy()))
    return (scores >= bar).flatten().nonzero()[:, 0]


def _keys(scores: Tensor, priority: Tensor) -> Tensor:
    bits = (scores + 0.0).contiguous().view(torch.int32)  # + 0.0: -0 is 0
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # as integers, in the order of the floats
    return (ordered.long() << 32) | priority


def _scores(keys: Tensor) -> Tensor:
    ordered = (keys >> 32).int()
    bits = ordered ^ ((ordered >> 31) & 0x7FFFFFFF)
    scores = bits.view(torch.float32)
    return torch.where(keys > _NONE, scores, -torch.inf)
