"""Retrieval by vectors: exact search over whatever embedders give, in blocks.

Documents are read, looked up in the cache or encoded, compared and forgotten block by block, so
memory depends on the block and not on the corpus. A dimension below the model's is the first
coordinates, compared as the whole is (as with Matryoshka models; LIMIT, §5.2). All dimensions are
searched in one pass.

| similarity | score of a query and a document |
|---|---|
| cosine | the product of their vectors, each at length 1 |
| dot | the product of their vectors |
| euclidean, manhattan | minus the distance of their vectors, so that higher is better |
| maxsim | the sum, over the query's tokens, of the best product with a token of the document |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from retgen.errors import UsageError
from retgen.progress import Progress
from retgen.search.base import Array, CandidateSet, System, SystemRanks, noise_of
from retgen.search.collection import Collection, by_priority
from retgen.search.embedders.base import Embedder, Kind, Vectors
from retgen.search.embedders.cache import Cache
from retgen.search.embedders.options import Options
from retgen.search.rankings import Rankings

BLOCK = 16_384  # documents with a vector each that are read at a time
STEPS, STEP_ELSEWHERE = {"cpu": 256}, 4_096  # texts encoded at a time
QUERIES = 2_048  # queries compared at a time: scores of a block take 128 MB
_TEXTS = 512  # of candidate sets, whose tokens' vectors are held
_LEAST = 1e-12  # the length that a shorter vector is divided by, as in `normalize`


class VectorRetriever:
    """An embedder as a retriever, and as a scorer of candidate sets.

    `sets`: the texts of candidate sets so far.
    """

    def __init__(self, name: str, embedder: Embedder, options: Options) -> None:
        self.name = name
        self.embedder = embedder
        self._wanted = options.dims
        self._cut = {"documents": 0, "queries": 0}  # texts that are longer than the model reads
        self.sets: dict[Kind, _Texts] = {"query": _Texts({}, []), "document": _Texts({}, [])}
        self.key: str | None = None  # of vectors on disk; None: they must not be kept
        if embedder.fingerprint is not None:
            self.key = f"{embedder.fingerprint}-{embedder.similarity}"
        self._cache = Cache(options.cache, self.key) if options.cache and self.key else None

    @cached_property
    def dims(self) -> list[int | None]:
        """The dimensions that vectors are compared at. An API is asked for the model's own."""
        own = self.embedder.dimension
        if own is None or not self._wanted:
            return [own]
        dims: list[int | None] = [dim for dim in self._wanted if dim <= own]
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

    def details(self, dim: int | None) -> dict[str, Any]:
        """How it runs at a dimension, and how many texts it has cut."""
        result = dict(self.embedder.details)
        if self.embedder.max_length is not None:
            result["truncated"] = dict(self._cut)
        if dim is not None:
            result["full_dimension"] = dim == self.embedder.dimension
        return result

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        if announce := getattr(self.embedder, "announce", None):  # of one that costs money
            announce(self._fresh(collection))
        dims, self._cut = self.dims, {"documents": 0, "queries": 0}
        queries = self.encoded([query.text for query in collection.queries], "query", progress)

        blocks = (
            (first, self.encoded(texts, "document", progress, first, collection.documents))
            for first, texts in collection.blocks(self._block)
        )
        similarity = self.embedder.similarity
        found = search(blocks, queries, dims, similarity, collection.priority, depth)
        for dim, top in zip(dims, found, strict=True):
            if isinstance(queries, Tensor) and queries.is_sparse and similarity in _PRODUCTS:
                # a document that shares no term with a query is not ranked, as with BM25
                top = Rankings(np.where(top.scores > 0, top.documents, -1), top.scores)
            yield SystemRanks(self.name, dim, top, self.details(dim))

    def _fresh(self, collection: Collection) -> Iterator[str]:
        """Texts without a vector on disk."""
        queries = [query.text for query in collection.queries]
        documents = (("document", texts) for _, texts in collection.blocks(BLOCK))
        for kind, texts in chain([("query", queries)], documents):
            known = self._cache.get(kind, texts) if self._cache else {}
            yield from dict.fromkeys(text for i, text in enumerate(texts) if i not in known)

    def systems(self) -> list[System]:
        """Its scorers of candidate sets, one a dimension."""
        self._cut = {"documents": 0, "queries": 0}
        reads = getattr(self.embedder, "reads", None)  # other libraries' models do not tell
        scorers = [_At(self, dim) for dim in self.dims]
        return [System(one.dim, one, one.details, reads) for one in scorers]

    @property
    def _step(self) -> int:
        own = getattr(self.embedder, "step", None)  # of one behind an API, or of a cluster
        return own or STEPS.get(self.embedder.device, STEP_ELSEWHERE)

    @property
    def _block(self) -> int:
        return self._step if self.embedder.dimension is None else BLOCK

    def encoded(
        self,
        texts: Sequence[str],
        kind: Kind,
        progress: Progress,
        first: int = 0,
        total: int | None = None,
    ) -> Any:
        """The vectors of texts on the device, reported, and kept on disk, step by step.

        `first`, `total`: where the texts stand among those that are reported on; default all.
        """
        stage = self.name if kind == "document" else f"{self.name}: queries"
        parts = []
        for start in range(0, len(texts), self._step):
            part = texts[start : start + self._step]
            parts.append(self._embedded(part, kind))
            progress(stage, first + start + len(part), total or len(texts))
        return joined(parts)

    def _embedded(self, texts: Sequence[str], kind: Kind) -> Any:
        """Vectors on the device; those of a cosine are scaled to length 1 just once."""
        embedder, cache = self.embedder, self._cache
        known = cache.get(kind, texts) if cache else {}
        missing = [i for i in range(len(texts)) if i not in known]
        lengths = [tokens for _, tokens in known.values()]
        vectors: Any = []
        if missing:
            fresh = [texts[i] for i in missing]
            vectors, counts = embedder.encode(fresh, kind)
            counts = counts or [0] * len(fresh)  # not every embedder counts tokens
            lengths += counts
            if embedder.similarity == "cosine" and embedder.dimension is not None:
                vectors = unit_length(vectors)
            if cache:
                cache.put(kind, fresh, vectors.cpu().numpy(), counts)
        if known:
            rows = torch.from_numpy(np.stack([row for row, _ in known.values()]))
            both = joined([rows.to(embedder.device), *([vectors] if missing else [])])
            vectors = take(both, np.argsort([*known, *missing]).tolist())
        if embedder.max_length is not None:
            plural = "queries" if kind == "query" else "documents"
            self._cut[plural] += sum(length > embedder.max_length for length in lengths)
        return vectors

    def of_sets(self, kind: Kind, texts: Sequence[str], progress: Progress) -> Any:
        """Vectors of texts of candidate sets, each of which is encoded once for all dimensions.

        On the processor and in float64, but for those of tokens: not all of these are held.
        """
        of, every = self.sets[kind], list(dict.fromkeys(texts))
        if fresh := [text for text in every if text not in of.places]:
            if self.embedder.similarity == "maxsim":
                of, fresh = _Texts({}, []), every
            vectors = self.encoded(fresh, kind, progress)
            if isinstance(vectors, Tensor):
                vectors = vectors.cpu().double()
            rows = joined([of.vectors, vectors]) if of.places else vectors
            of = self.sets[kind] = _Texts(of.places, rows)
            of.places.update((text, len(of.places)) for text in fresh)
        return take(of.vectors, [of.places[text] for text in texts])


class _Texts(NamedTuple):
    """Texts of candidate sets, each with the place of its vectors."""

    places: dict[str, int]
    vectors: Vectors


class _At(NamedTuple):
    """A retriever at a dimension, as a scorer of candidate sets."""

    of: VectorRetriever
    dim: int | None

    @property
    def noise(self) -> float:
        """See `Scorer`."""
        return noise_of(self.of.embedder.details.get("dtype", "float32"))

    def details(self) -> dict[str, Any]:
        """How the embedder runs, and how many of the texts it has cut."""
        sets = self.of.sets
        encoded = {
            "documents": len(sets["document"].places),
            "queries": len(sets["query"].places),
        }
        counted = {"encoded": encoded} if self.of.embedder.max_length is not None else {}
        return self.of.details(self.dim) | counted

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        result: list[Array] = []
        for part in _parts(groups, self.of.embedder.similarity == "maxsim"):
            queries = self.of.of_sets("query", [group.query for group in part], progress)
            texts = list(dict.fromkeys(text for group in part for text in group.texts))
            places = {text: i for i, text in enumerate(texts)}
            documents = self.of.of_sets("document", texts, progress)
            for row, group in enumerate(part):
                one = cut(take(queries, [row]), self.dim)
                two = cut(take(documents, [places[text] for text in group.texts]), self.dim)
                scores = compare(one, two, self.of.embedder.similarity)
                result.append(scores[0].cpu().double().numpy())
        return result


def _parts(groups: Sequence[CandidateSet], few: bool) -> Iterator[Sequence[CandidateSet]]:
    """All groups, or `few` at a time: those of no more than `_TEXTS` documents, if they can."""
    seen: set[str] = set()
    begin = 0
    for stop in range(len(groups) if few else 0):
        seen.update(groups[stop].texts)
        if len(seen) > _TEXTS and stop > begin:
            yield groups[begin:stop]
            begin, seen = stop, set(groups[stop].texts)
    yield groups[begin:]


# --- vectors of any kind ---

_PRODUCTS = ("cosine", "dot")


def joined(parts: Sequence[Vectors]) -> Any:
    """The vectors of some texts after another."""
    if isinstance(parts[0], list):
        return [one for part in parts for one in part]
    return torch.cat(parts)  # type: ignore[arg-type]


def take(vectors: Vectors, places: Sequence[int]) -> Any:
    """The vectors at some places."""
    if isinstance(vectors, list):
        return [vectors[i] for i in places]
    return vectors.index_select(0, torch.tensor(places, dtype=torch.int64, device=vectors.device))


def cut(vectors: Vectors, dim: int | None) -> Any:
    """Vectors cut to their first coordinates; None leaves them whole."""
    return vectors if dim is None else vectors[:, :dim]  # type: ignore[call-overload]


def unit_length(vectors: Any) -> Tensor:
    """Scale vectors (n, d) to length 1; a vector of zeros stays as it is.

    Lengths are computed in float64: squares of 1e30 and of 1e-30 do not fit into float32.
    """
    exact: Tensor = vectors.to(
        "cpu" if vectors.device.type == "mps" else vectors.device, torch.float64
    )
    lengths = torch.linalg.vector_norm(exact, dim=1, keepdim=True)
    return exact.div_(lengths.clamp_min_(torch.finfo(exact.dtype).tiny)).to(vectors)


def compare(queries: Any, documents: Any, similarity: str) -> Tensor:
    """Scores (queries, documents), which are those of sentence-transformers."""
    from sentence_transformers.util import SimilarityFunction

    if isinstance(queries, list) or queries.is_sparse or similarity not in _PRODUCTS:
        scores: Tensor = SimilarityFunction.to_similarity_fn(similarity)(queries, documents)
        return scores
    result: Tensor
    if similarity == "dot":
        result = queries @ documents.T
        return result
    # scores are divided by the documents' lengths: that is less work than to normalise documents
    result = normalize(queries, dim=1) @ documents.T
    return result.mul_(documents.norm(dim=1).clamp_min_(_LEAST).reciprocal_())


def search(
    blocks: Iterable[tuple[int, Vectors]],
    queries: Vectors,
    dims: Sequence[int | None],
    similarity: str,
    priority: NDArray[np.int64],
    depth: int,
) -> list[Rankings]:
    """Exact search: `blocks` of (index of the first document, vectors), vectors of `queries`.

    One `Rankings` for each of `dims`, to which vectors are cut; whole ones are of length 1 for the
    cosine, as `VectorRetriever` makes them. `priority`: see `TopK`.
    """
    count = len(queries)
    parts = [take(queries, [*range(i, min(i + QUERIES, count))]) for i in range(0, count, QUERIES)]
    device = str(parts[0][0].device)
    tops = [[TopK(priority, len(part), depth, device) for part in parts] for _ in dims]
    for first, vectors in blocks:
        for dim, top in zip(dims, tops, strict=True):
            documents = cut(vectors, dim)
            # whole vectors of a cosine have length 1 already
            whole = isinstance(vectors, Tensor) and dim == vectors.shape[1]
            by = "dot" if whole and similarity == "cosine" else similarity
            for part, one in zip(parts, top, strict=True):
                one.add(first, compare(cut(part, dim), documents, by))
    return [TopK.joined(top) for top in tops]


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
