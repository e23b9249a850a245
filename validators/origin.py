"""Whether one side of pairs of texts can be told from the other, whatever the topic.

A logistic regression on a bag of words (words and pairs of words) and on the length tries it,
cross-validated: the queries of a fold, and every document that they judge, are unseen in training,
and so are the other queries of those documents where they can be set apart. What is reported is
the AUC of the pooled out-of-fold scores; its interval is a bootstrap over groups of queries,
widened since models of different folds share training data (Nadeau and Bengio, 2003).
Both sides of a pair are documents of one query, so the topic tells nothing: 0.5 is no mark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset, Query
from retgen.rows import text_hash
from retgen.tokenizer import sequence
from retgen.validators.rule import Judgements

_LEAST = 50  # pairs; fewer tell nothing
_GROUPS = 20  # of queries, and positives; of fewer the interval is too narrow
_FOLDS = 5
_FEATURES = 1 << 18
_REPLICATES = 1000
_WIDER = math.sqrt(1 + _FOLDS * (1 / (_FOLDS - 1)))  # 1 + folds * test size / training size; 1.5
_TEXT = 20_000  # characters of a document
_Whole: TypeAlias = NDArray[np.int64]
_Real: TypeAlias = NDArray[np.float64]


class ComparedPair(NamedTuple):
    """A positive and a hard negative of a query, by key (an id, or the text itself)."""

    query: str
    positive: str
    negative: str


def measure(pairs: Sequence[ComparedPair], texts: Mapping[str, str]) -> dict[str, Any]:
    """{"auc", "low", "high", "pairs", "words"}; {} where there are too few pairs to tell.

    `texts`: by the keys of the pairs. `words`: those whose weights tell most, in both directions.
    """
    numbers = query_groups(pairs)
    positives = len({pair.positive for pair in pairs})
    if len(pairs) < _LEAST or min(positives, len(np.unique(numbers))) < _GROUPS:
        return {}
    keys = sorted({key for pair in pairs for key in pair[1:]})
    row = {key: i for i, key in enumerate(keys)}
    rows = [
        (row[key], label, int(group))
        for pair, group in zip(pairs, numbers, strict=True)
        for key, label in ((pair.positive, 1), (pair.negative, 0))
    ]
    # a document often stands in many pairs of a group: once, with their number as its weight
    distinct, counts = np.unique(np.array(rows), axis=0, return_counts=True)
    documents, labels, groups = distinct.astype(np.int64).T
    weights: Any = counts.astype(np.float64)
    features, names = _features([texts[key][:_TEXT] for key in keys])
    scores = _out_of_fold(features, documents, labels, weights, groups)
    known = ~np.isnan(scores)
    if weights[known].sum() < 2 * _LEAST or len({*labels[known].tolist()}) < 2:
        return {}
    scores, weights = scores[known], weights[known]
    labels, groups, documents = labels[known], groups[known], documents[known]
    auc = float(weighted_auc(scores, labels, weights[None])[0])
    low, high = _interval(scores, labels, weights, groups)
    return {
        "auc": round(auc, 4),
        "low": round(max(0.0, auc - _WIDER * (auc - low)), 4),
        "high": round(min(1.0, auc + _WIDER * (high - auc)), 4),
        "pairs": int(weights[labels == 1].sum()),
        "words": _telling_words(features, names, documents, labels, weights),
    }


def query_groups(pairs: Sequence[ComparedPair]) -> _Whole:
    """A number a pair, (n,): queries that judge a document in common are one group.

    Where this makes one group of a fifth of the pairs or more, each query is a group of its own.
    """
    parent: dict[tuple[str, str], tuple[str, str]] = {}

    def find(node: tuple[str, str]) -> tuple[str, str]:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for pair in pairs:
        for key in pair[1:]:
            parent[find(("d", key))] = find(("q", pair.query))
    numbers = np.zeros(0, np.int64)
    for named in ([find(("q", pair.query)) for pair in pairs], [pair.query for pair in pairs]):
        place = {name: number for number, name in enumerate(dict.fromkeys(named))}
        numbers = np.array([place[name] for name in named])
        if len(pairs) and np.bincount(numbers).max() * _FOLDS <= len(pairs):
            break
    return numbers


def _features(texts: Sequence[str]) -> tuple[Any, list[str]]:
    """Words and pairs of words that stand in three documents or more, and the length, (n, f)."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        tokenizer=sequence,
        token_pattern=None,
        lowercase=False,
        ngram_range=(1, 2),
        binary=True,
        min_df=min(3, len(texts)),
        max_features=_FEATURES,
        dtype=np.float64,
    )
    try:
        words = vectorizer.fit_transform(texts)
        names = list(vectorizer.get_feature_names_out())
    except ValueError:  # no word stands in three documents
        words, names = csr_matrix((len(texts), 0)), []
    # a text has many features, each says little: their sum stays of the order of one
    size = np.sqrt(np.maximum(np.asarray(words.sum(axis=1)).ravel(), 1.0))
    words = csr_matrix(words.multiply(1.0 / size[:, None]))
    length = np.log1p([len(sequence(text)) for text in texts])
    spread = float(np.std(length)) or 1.0
    return hstack([words, csr_matrix(((length - length.mean()) / spread)[:, None])]).tocsr(), names


def linear_classifier() -> Any:
    """The model that tells documents apart by their words."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=10.0, solver="liblinear", random_state=0, max_iter=200)


def _out_of_fold(
    features: Any,
    documents: _Whole,
    labels: _Whole,
    weights: _Real,
    groups: _Whole,
) -> _Real:
    """The score of each row, (n,), by a model that saw neither its group nor its document."""
    order = np.random.Generator(np.random.Philox(0)).permutation(groups.max() + 1)
    folds = _balanced_folds(groups, weights, order)
    scores = np.full(len(labels), math.nan)
    for fold in range(_FOLDS):
        here = folds == fold
        seen = ~here & ~np.isin(documents, documents[here])
        if here.any() and 0 < labels[seen].sum() < seen.sum():
            model = linear_classifier().fit(features[documents[seen]], labels[seen], weights[seen])
            scores[here] = model.decision_function(features[documents[here]])
    return scores


def _balanced_folds(groups: _Whole, weights: _Real, order: _Whole) -> _Whole:
    """A fold a row: groups in a fixed random order, each to the fold that holds least."""
    sizes = np.bincount(groups, weights)
    rows = np.zeros(_FOLDS)
    fold_of = np.zeros(len(sizes), np.int64)
    for group in order:
        fold_of[group] = int(rows.argmin())
        rows[fold_of[group]] += sizes[group]
    folds: _Whole = fold_of[groups]
    return folds


def weighted_auc(scores: _Real, labels: _Whole, weights: _Real) -> _Real:
    """Areas under the curve, (replicates,), of weights (replicates, n); ties are halves."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    positive = np.add.reduceat(weights[:, order] * labels[order], starts, axis=1)
    negative = np.add.reduceat(weights[:, order] * (1 - labels[order]), starts, axis=1)
    below = np.cumsum(negative, axis=1) - negative / 2
    total = positive.sum(1) * negative.sum(1)
    areas: _Real = (positive * below).sum(1) / np.maximum(total, 1e-300)
    return areas


def _interval(
    scores: _Real,
    labels: _Whole,
    weights: _Real,
    groups: _Whole,
) -> tuple[float, float]:
    """95% percentile interval of the AUC, groups drawn with replacement."""
    _, numbers = np.unique(groups, return_inverse=True)
    count = int(numbers.max()) + 1
    random = np.random.Generator(np.random.Philox(1))
    areas = []
    for _ in range(_REPLICATES // 100):
        drawn = random.integers(0, count, (100, count))
        times = np.stack([np.bincount(row, minlength=count) for row in drawn])
        areas.append(weighted_auc(scores, labels, times[:, numbers] * weights))
    low, high = np.percentile(np.concatenate(areas), [2.5, 97.5])
    return float(low), float(high)


def _telling_words(
    features: Any,
    names: Sequence[str],
    documents: _Whole,
    labels: _Whole,
    weights: _Real,
) -> list[str]:
    """The five words or pairs that differ most in how often they stand on the two sides."""
    if not names:
        return []
    stands = features[:, : len(names)].astype(bool).astype(np.float64)
    share = [
        stands[documents[labels == side]].T
        @ weights[labels == side]
        / weights[labels == side].sum()
        for side in (1, 0)
    ]
    difference = np.abs(share[0] - share[1])
    best = sorted(range(len(names)), key=lambda i: (-difference[i], names[i]))[:5]
    return [names[i] for i in best if difference[i] >= 0.05]


_PAIRS = 4000  # at most, of the queries whose ids have the smallest hashes
_OF_A_QUERY = 10  # pairs at most
_WARN = 0.55


def is_separable(result: Mapping[str, Any]) -> bool:
    """Whether the marks are worth a warning; `result`: see `measure`."""
    return bool(result) and result["auc"] > _WARN and result["low"] > 0.5


def in_words(result: Mapping[str, Any]) -> str:
    """What was measured, in words; ends no sentence."""
    can = "are hardly told"
    if result["auc"] > _WARN:
        can = "can be told" if is_separable(result) else "may be told"
    return (
        f"positives {can} from their hard negatives without the query: AUC {result['auc']:.3f} "
        f"(95% interval {result['low']:.3f} to {result['high']:.3f}, {result['pairs']:,} pairs) "
        "from words and length alone, where 0.5 is chance"
    )


def judged_pairs(judgements: Judgements) -> Iterator[ComparedPair]:
    """Of each query its positives with the documents judged 0, and with those that it lists."""
    refused: dict[str, list[str]] = {}
    for query_id, doc_id, relevance in judgements.qrels:
        if relevance == 0:
            refused.setdefault(query_id, []).append(doc_id)
    for query in judgements.queries:
        positives = judgements.positives.get(query.query_id, [])
        negatives = dict.fromkeys([*refused.get(query.query_id, ()), *_listed_negatives(query)])
        for positive in positives:
            negatives.pop(positive, None)
        yield from _of_query(query.query_id, positives, list(negatives))


def _listed_negatives(query: Query) -> list[str]:
    listed = query.facts.get("hard_negatives")
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def _of_query(
    query: str, positives: Sequence[str], negatives: Sequence[str]
) -> Iterator[ComparedPair]:
    """At most so many pairs, all documents of the shorter side before any twice."""
    if positives and negatives:
        positives = sorted(positives, key=text_hash)[:_OF_A_QUERY]
        negatives = sorted(negatives, key=text_hash)[:_OF_A_QUERY]
        for i in range(max(len(positives), len(negatives))):
            yield ComparedPair(query, positives[i % len(positives)], negatives[i % len(negatives)])


def trained_pairs(dataset: Dataset) -> Iterator[ComparedPair]:
    """Triplets of a run's training data, by their texts."""
    path = dataset.run and dataset.run / "training" / "triplets.parquet"
    if not path or not path.is_file():
        return
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    names = ("anchor", "positive", "negative")
    if not {*names} <= {*table.schema.names}:
        return
    groups: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    columns = (table.column(name).to_pylist() for name in names)
    for anchor, positive, negative in zip(*columns, strict=True):
        sides = groups.setdefault(anchor, ({}, {}))
        sides[0][positive] = sides[1][negative] = None
    for anchor, (positives, negatives) in groups.items():
        yield from _of_query(anchor, list(positives), list(negatives))


def sample_pairs(pairs: Iterable[ComparedPair]) -> Iterator[ComparedPair]:
    """All pairs of some queries: those of the smallest hashes, as many as fit."""
    queries: dict[str, list[ComparedPair]] = {}
    for pair in pairs:
        queries.setdefault(pair.query, []).append(pair)
    room = _PAIRS
    for query in sorted(queries, key=lambda query: (text_hash(query), query)):
        if len(queries[query]) > room:
            return
        room -= len(queries[query])
        yield from queries[query]
