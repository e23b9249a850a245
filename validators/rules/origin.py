"""Origin: can positives be told from their hard negatives without the query?

If rewriting, mining or judging left marks in the documents ("not", a length, a style), a model
learns the marks, and a score against these negatives measures them. A logistic regression on words,
pairs of words and the length tries it, cross-validated: the queries of a fold, and every document
that they judge, are unseen in training, and so are the other queries of those documents where they
can be set apart. The AUC is that of the pooled out-of-fold scores. Its standard error sums over
groups of queries (Obuchowski, Biometrics 53 (1997)) and is widened, since models of different folds
share training data (Nadeau and Bengio, 2003). Both sides of a pair are documents of one query, so
the topic tells nothing: 0.5 is no mark.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset
from retgen.rows import text_hash
from retgen.tokenizer import sequence
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleState

_LEAST = 50  # pairs; fewer tell nothing
_GROUPS = 20  # of queries, and positives; of fewer the interval is too narrow
_FOLDS = 5
_FEATURES = 1 << 18
_WIDER = math.sqrt(1 + _FOLDS * (1 / (_FOLDS - 1)))  # 1 + folds * test size / training size; 1.5
_TEXT = 20_000  # characters of a document
_PAIRS = 4000  # at most, of the queries whose ids have the smallest hashes
_OF_A_QUERY = 10  # pairs at most
_WARN = 0.55
_Whole: TypeAlias = NDArray[np.int64]


Pair = tuple[str, str, str]  # a query, a positive, a hard negative, by id, or the texts themselves
Sides = dict[str, tuple[list[str], list[str]]]  # query -> positives, hard negatives


@dataclass
class _Texts(RuleState):
    texts: dict[str, str] = field(default_factory=dict)


class Origin(CorpusRule):
    """Positives and hard negatives: judged 0, listed by the queries, or of the training data."""

    name = "origin"
    severity = "warning"
    finds = "[positives that can be told from their hard negatives without the query](#origin)"
    order = 250

    def __init__(self, judgements: Judgements) -> None:
        self.pairs = sample_pairs(_judged_pairs(judgements))
        self.wanted = frozenset(doc_id for pair in self.pairs for doc_id in pair[1:])
        self.measured: dict[str, Any] = {}
        super().__init__(judgements)

    def start(self) -> None:
        self.state: _Texts = _Texts()

    def scan(self, batch: Batch) -> None:
        if not self.wanted.isdisjoint(batch.ids):
            for index, doc_id in enumerate(batch.ids):
                if doc_id in self.wanted:
                    text = f"{batch.titles[index]}\n{batch.texts[index]}"
                    self.state.texts.setdefault(doc_id, text[:_TEXT])

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        texts = self.state.texts
        pairs = [pair for pair in self.pairs if pair[1] in texts and pair[2] in texts]
        if not pairs:
            pairs = sample_pairs(_trained_pairs(dataset))
            texts = {text: text[:_TEXT] for pair in pairs for text in pair[1:]}
        self.measured = measure(pairs, texts)

    def findings(self) -> Iterator[Finding]:
        if is_separable(self.measured):
            words = ", ".join(map(repr, self.measured["words"]))
            hint = f"; most telling: {words}" if words else ""
            yield self.finding([], in_words(self.measured) + hint)


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


# --- pairs ----------------------------------------------------------------------------------------


def _judged_pairs(judgements: Judgements) -> Sides:
    """Of each query its positives, and the documents judged 0 with those that it lists."""
    negatives: dict[str, dict[str, None]] = defaultdict(dict)
    for query_id, doc_id, relevance in judgements.qrels:
        if relevance == 0:
            negatives[query_id][doc_id] = None
    result: Sides = {}
    for query in judgements.queries:
        positives = judgements.positives.get(query.query_id, [])
        listed = query.facts.get("hard_negatives")
        some = [*negatives[query.query_id], *(listed if isinstance(listed, list) else [])]
        rest = [one for one in some if isinstance(one, str) and one not in positives]
        result[query.query_id] = positives, rest
    return result


def _trained_pairs(dataset: Dataset) -> Sides:
    """Of each anchor of a run's triplets the texts of its positives, and of its negatives."""
    path = dataset.run and dataset.run / "training" / "triplets.parquet"
    if not path or not path.is_file():
        return {}
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    result: Sides = defaultdict(lambda: ([], []))
    if {"anchor", "positive", "negative"} <= {*table.column_names}:
        for row in table.to_pylist():
            positives, negatives = result[row["anchor"]]
            positives.append(row["positive"])
            negatives.append(row["negative"])
    return result


def sample_pairs(sides: Sides) -> list[Pair]:
    """Pairs of some queries: those of the smallest hashes, as many as fit.

    Of a query at most so many pairs, all documents of the shorter side before any twice.
    """
    result: list[Pair] = []
    for query in sorted(sides, key=lambda query: (text_hash(query), query)):
        some = [sorted(set(side), key=text_hash)[:_OF_A_QUERY] for side in sides[query]]
        count = max(map(len, some)) if all(some) else 0
        if len(result) + count > _PAIRS:
            break
        result += zip([query] * count, *(islice(cycle(side), count) for side in some), strict=True)
    return result


# --- the measure ----------------------------------------------------------------------------------


def measure(pairs: Sequence[Pair], texts: Mapping[str, str]) -> dict[str, Any]:
    """{"auc", "low", "high", "pairs", "words"}; {} where there are too few pairs to tell.

    `texts`: by the keys of the pairs. `words`: those more frequent on one side.
    """
    queries = [query for query, *_ in pairs]
    if len(pairs) < _LEAST or len({positive for _, positive, _ in pairs}) < _GROUPS:
        return {}
    keys = sorted({key for pair in pairs for key in pair[1:]})
    row = {key: i for i, key in enumerate(keys)}
    documents = np.array([[row[key] for key in pair[1:]] for pair in pairs])
    groups = query_groups(queries, documents)
    if len(np.unique(groups)) < _GROUPS:
        return {}
    features, names = _features([texts[key] for key in keys])
    scores = _out_of_fold(features, documents, groups)
    known = ~np.isnan(scores[:, 0])
    if known.sum() < _LEAST:
        return {}
    area, error = clustered_area(scores[known], groups[known])
    reach = 1.96 * _WIDER * error
    return {
        "auc": round(area, 4),
        "low": round(max(0.0, area - reach), 4),
        "high": round(min(1.0, area + reach), 4),
        "pairs": len(pairs),
        "words": _telling_words(features, names, documents),
    }


def query_groups(queries: Sequence[str], documents: _Whole) -> _Whole:
    """A number a pair, (n,): queries that judge a document in common are one group.

    Where this makes one group of more than a fifth of the pairs, each query is a group of its own.
    `documents`: (n, 2).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    own: _Whole = np.unique(np.array(queries), return_inverse=True)[1]
    first = int(own.max()) + 1  # the number of the first document
    ends = np.repeat(own, 2), first + documents.ravel()
    size = first + int(documents.max()) + 1
    edges = coo_array((np.ones(len(ends[0])), ends), shape=(size, size))
    joined: _Whole = connected_components(edges, directed=False)[1][own]
    return joined if np.bincount(joined).max() * _FOLDS <= len(queries) else own


def _features(texts: Sequence[str]) -> tuple[Any, list[str]]:
    """Words and pairs of words that stand in three documents or more, and the length, (n, f)."""
    from scipy.sparse import csr_array, hstack
    from sklearn.feature_extraction.text import TfidfVectorizer

    # a text has many features, each says little: scaled, so that their sum is of the order of one
    vectorizer = TfidfVectorizer(
        tokenizer=sequence,
        token_pattern=None,
        lowercase=False,
        ngram_range=(1, 2),
        binary=True,
        use_idf=False,
        min_df=min(3, len(texts)),
        max_features=_FEATURES,
    )
    try:
        words = vectorizer.fit_transform(texts)
        names = list(vectorizer.get_feature_names_out())
    except ValueError:  # no word stands in three documents
        words, names = csr_array((len(texts), 0)), []
    length = np.log1p([len(sequence(text)) for text in texts])
    spread = float(np.std(length)) or 1.0
    return hstack([words, csr_array(((length - length.mean()) / spread)[:, None])]).tocsr(), names


def _out_of_fold(features: Any, documents: _Whole, groups: _Whole) -> NDArray[np.float64]:
    """The scores of both sides, (n, 2), by a model that saw neither the group nor the documents;
    NaN where there is none.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold

    scores = np.full(documents.shape, math.nan)
    for train, test in GroupKFold(_FOLDS).split(documents, groups=groups):
        rows, labels = documents[train].ravel(), np.tile([1, 0], len(train))
        seen = ~np.isin(rows, documents[test])
        if 0 < labels[seen].sum() < seen.sum():
            model = LogisticRegression(C=10.0, solver="liblinear", random_state=0, max_iter=200)
            model.fit(features[rows[seen]], labels[seen])
            asked = features[documents[test].ravel()]
            scores[test] = model.decision_function(asked).reshape(-1, 2)
    return scores


def clustered_area(scores: NDArray[np.float64], groups: _Whole) -> tuple[float, float]:
    """The area under the curve of scores (n, 2), positives first, and its standard error.

    Ties are halves. The error sums, group by group, how much of the other side each score beats.
    """
    beaten = []
    for own, other in ((0, 1), (1, 0)):
        ordered = np.sort(scores[:, other])
        both = [np.searchsorted(ordered, scores[:, own], side) for side in ("left", "right")]
        beaten.append(sum(both) / 2 / len(scores))
    area = float(np.mean(beaten[0]))
    apart = beaten[0] - beaten[1] + 1 - 2 * area  # what a pair adds on both sides
    sums = np.bincount(groups, apart)
    count = len(np.unique(groups))
    return area, math.sqrt(count / (count - 1) * float(sums @ sums)) / len(scores)


def _telling_words(features: Any, names: Sequence[str], documents: _Whole) -> list[str]:
    """The five words or pairs that differ most in how often they stand on the two sides."""
    stands = features[:, : len(names)].astype(bool).astype(float)
    positive, negative = (stands[documents[:, side]].mean(axis=0) for side in (0, 1))
    difference = np.abs(np.asarray(positive - negative)).ravel()
    best = sorted(range(len(names)), key=lambda i: (-difference[i], names[i]))[:5]
    return [names[i] for i in best if difference[i] >= 0.05]
