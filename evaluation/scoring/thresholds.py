"""Pairs classified by a threshold on the cosine: precision, recall, F1 and F2 over labelled pairs.

A pair is called relevant where the cosine of its vectors is at least the threshold. Queries without
a positive count here, as in CapRetrieval (arXiv 2506.08592, B.2), which rankings leave out. Where
labels are complete every pair counts, else the judged ones. Pairs weigh alike.

The best F1 always has the cosine of a positive for its threshold, so only positives are kept, and
the pairs that are not relevant are counted between them, block by block. Cosines are rounded to six
decimals: a text that stands twice has the same one, in whatever block it is multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.data import Query
from retgen.progress import Progress
from retgen.results.page import Section
from retgen.results.tables import TableView
from retgen.search.base import label
from retgen.search.collection import Collection

if TYPE_CHECKING:
    from torch import Tensor

    from retgen.search.base import Retriever
    from retgen.search.dense import DenseRetriever

Threshold = float | Literal["best"]
_QUERIES = 2048  # compared at a time
_DECIMALS = 6


class LabelledPairs(NamedTuple):
    """The labelled pairs of a collection's split, rows of `queries` and documents of the corpus.

    `positives`, `negatives` (n, 2) int64, in the order of documents; `negatives` None: every pair
    that is no positive.
    """

    queries: list[Query]
    positives: NDArray[np.int64]
    negatives: NDArray[np.int64] | None


class Outcome(NamedTuple):
    """A system at a threshold. `tuned`: it is the best for F1 on this very set."""

    model: str
    dim: int | None
    label: str
    threshold: float
    tuned: bool
    true_positives: int
    false_positives: int
    false_negatives: int

    @property
    def precision(self) -> float:
        """0 where nothing is called relevant."""
        called = self.true_positives + self.false_positives
        return self.true_positives / called if called else 0.0

    @property
    def recall(self) -> float:
        return self.true_positives / (self.true_positives + self.false_negatives)

    def f(self, beta: int) -> float:
        """The F measure in which recall weighs `beta` times as much as precision."""
        hits = (1 + beta**2) * self.true_positives
        return hits / (hits + beta**2 * self.false_negatives + self.false_positives)

    def measures(self) -> dict[str, float]:
        """All four by their names."""
        values = {"precision": self.precision, "recall": self.recall}
        return values | {"F1": self.f(1), "F2": self.f(2)}

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"model": self.model, "dim": self.dim}
        row |= {"threshold": self.threshold, "tuned": self.tuned, **self.measures()}
        counts = ("true_positives", "false_positives", "false_negatives")
        return row | {name: getattr(self, name) for name in counts}


def labelled_pairs(collection: Collection) -> LabelledPairs:
    """The labelled pairs of the split that is scored, queries without a positive included."""
    queries, qrels = collection.dataset.queries_and_qrels(collection.path, collection.split)
    judged = {qrel.query_id for qrel in qrels}
    if collection.complete:  # a query without any qrel has no positive, unless another split's
        elsewhere = {
            qrel.query_id
            for split in collection.dataset.qrels
            for qrel in collection.dataset.qrels[split].read()[0]
        }
        judged |= {query.query_id for query in queries if query.query_id not in elsewhere}
    queries = [query for query in queries if query.query_id in judged]
    row = {query.query_id: i for i, query in enumerate(queries)}
    place = collection.places(qrel.doc_id for qrel in qrels)
    known = [qrel for qrel in qrels if qrel.doc_id in place and qrel.query_id in row]
    of = {
        positive: sorted(
            (place[qrel.doc_id], row[qrel.query_id])
            for qrel in known
            if (qrel.relevance > 0) == positive
        )
        for positive in (True, False)
    }
    positives, negatives = (
        np.array(of[which], np.int64).reshape(-1, 2)[:, ::-1] for which in (True, False)
    )
    return LabelledPairs(queries, positives, None if collection.complete else negatives)


def classify(
    name: str,
    retriever: Retriever,
    pairs: LabelledPairs,
    collection: Collection,
    threshold: Threshold,
    progress: Progress,
) -> list[Outcome]:
    """An embedder at the best threshold for F1, and before that at the one given, at each of its
    dimensions; nothing of what is no embedder.
    """
    from retgen.search.dense import DenseRetriever

    if not isinstance(retriever, DenseRetriever):
        return []
    ignored = {"documents": 0, "queries": 0}  # what is cut has been counted by the ranking
    asked = retriever.queries([query.text for query in pairs.queries], ignored, progress)
    listed = [pairs.positives, *([] if pairs.negatives is None else [pairs.negatives])]
    of = [_listed(retriever, asked, part, collection, progress) for part in listed]
    result = []
    for place, dim in enumerate(retriever.dims):
        positives = np.sort(of[0][place])
        fixed = [] if threshold == "best" else [np.float32(round(threshold, _DECIMALS))]
        edges = np.unique(np.concatenate([positives, np.array(fixed, np.float32)]))
        if pairs.negatives is None:
            above = _above(retriever, asked, dim, edges, pairs, collection, progress)
        else:
            above = _at_least(np.sort(of[1][place]), edges)
        hits = _at_least(positives, edges)
        full = {"full_dimension": dim == retriever.embedder.dimension}
        outcomes = [
            Outcome(
                name,
                dim,
                label(name, dim, full),
                round(float(edge), _DECIMALS),
                True,
                int(hit),
                int(wrong),
                len(positives) - int(hit),
            )
            for edge, hit, wrong in zip(edges, hits, above, strict=True)
        ]
        for one in fixed:
            result.append(outcomes[int(np.searchsorted(edges, one))]._replace(tuned=False))
        result.append(max(outcomes, key=lambda outcome: (outcome.f(1), outcome.threshold)))
    return result


def _at_least(ordered: NDArray[np.float32], edges: NDArray[np.float32]) -> NDArray[np.int64]:
    """How many of some ordered cosines are at least as high as each edge."""
    return len(ordered) - np.searchsorted(ordered, edges, side="left")


def _blocks(
    dense: DenseRetriever, collection: Collection, progress: Progress
) -> Iterator[tuple[int, Tensor]]:
    from retgen.search.dense import BLOCK

    ignored = {"documents": 0, "queries": 0}
    return dense.documents(collection.blocks(BLOCK), collection.documents, ignored, progress)


def _listed(
    dense: DenseRetriever,
    asked: Tensor,
    pairs: NDArray[np.int64],
    collection: Collection,
    progress: Progress,
) -> list[NDArray[np.float32]]:
    """The cosines of listed pairs, which come in the order of documents, at each dimension."""
    from retgen.search.embedders.similarity import each_pair

    result: list[list[NDArray[np.float32]]] = [[np.empty(0, np.float32)] for _ in dense.dims]
    for first, vectors in _blocks(dense, collection, progress):
        ends = np.searchsorted(pairs[:, 1], [first, first + len(vectors)])
        for begin in range(int(ends[0]), int(ends[1]), _QUERIES):
            part = pairs[begin : min(begin + _QUERIES, int(ends[1]))]
            for place, dim in enumerate(dense.dims):
                one = asked[part[:, 0].tolist(), :dim]
                two = vectors[(part[:, 1] - first).tolist(), :dim]
                result[place].append(_rounded(each_pair(one, two, "cosine")))
    return [np.concatenate(parts) for parts in result]


def _above(
    dense: DenseRetriever,
    asked: Tensor,
    dim: int,
    edges: NDArray[np.float32],
    pairs: LabelledPairs,
    collection: Collection,
    progress: Progress,
) -> NDArray[np.int64]:
    """How many of the pairs that are no positives have a cosine of at least each edge."""
    from retgen.search.embedders.similarity import all_pairs

    counts = np.zeros(len(edges) + 1, np.int64)
    documents = pairs.positives[:, 1]
    for first, vectors in _blocks(dense, collection, progress):
        begin, end = np.searchsorted(documents, [first, first + len(vectors)])
        own = pairs.positives[begin:end]
        for start in range(0, len(asked), _QUERIES):
            part = asked[start : start + _QUERIES, :dim]
            cosines = _rounded(all_pairs(part, vectors[:, :dim], "cosine"))
            mine = own[(own[:, 0] >= start) & (own[:, 0] < start + len(cosines))]
            cosines[mine[:, 0] - start, mine[:, 1] - first] = -2.0
            reach = cosines[cosines >= edges[0]]
            counts += np.bincount(np.searchsorted(edges, reach, "right"), minlength=len(counts))
    return counts[::-1].cumsum()[::-1][1:]


def _rounded(cosines: Tensor) -> NDArray[np.float32]:
    result: NDArray[np.float32] = cosines.float().round(decimals=_DECIMALS).cpu().numpy()
    return result


def pair_counts(pairs: LabelledPairs, collection: Collection) -> dict[str, int | bool]:
    """What was classified, for eval.json."""
    total = len(pairs.queries) * collection.documents
    if pairs.negatives is not None:
        total = len(pairs.positives) + len(pairs.negatives)
    none = len(pairs.queries) - len(np.unique(pairs.positives[:, 0]))
    return {
        "pairs": total,
        "positives": len(pairs.positives),
        "queries": len(pairs.queries),
        "queries_without_positive": none,
        "complete": collection.complete,
    }


def section(outcomes: Sequence[Outcome], counts: dict[str, int | bool]) -> Section:
    """The table, with what it means."""
    which = "all" if counts["complete"] else "the judged"
    text = (
        "A pair of a query and a document is called relevant from this cosine on. The threshold "
        "with the highest F1 was tuned on this very set, so it flatters the system."
    )
    note = (
        f"classified: {which} {counts['pairs']:,} pairs of {counts['queries']:,} queries "
        f"({counts['queries_without_positive']:,} without a relevant document), of which "
        f"{counts['positives']:,} are relevant"
    )
    rows = [
        [one.label, f"{one.threshold:.4f}", "tuned on this set" if one.tuned else "given"]
        + [f"{value:.4f}" for value in one.measures().values()]
        for one in outcomes
    ]
    head = ["system", "threshold", "chosen", "precision", "recall", "F1", "F2"]
    title = "Relevant or not, by a threshold on the cosine"
    return Section(title, [text], [TableView(head, rows)], notes=[note])
