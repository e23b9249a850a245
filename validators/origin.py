"""Positives and their hard negatives: which pairs are compared, and what came out in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import xxhash

from retgen.data import Dataset, Query
from retgen.validators.rule import Judgements
from retgen.validators.separable import Pair

_PAIRS = 4000  # at most, of the queries whose ids have the smallest hashes
_OF_A_QUERY = 10  # pairs at most
_WARN = 0.55


def marked(result: Mapping[str, Any]) -> bool:
    """Whether the marks are worth a warning; `result`: see `separable.measure`."""
    return bool(result) and result["auc"] > _WARN and result["low"] > 0.5


def in_words(result: Mapping[str, Any]) -> str:
    """What was measured, in words; ends no sentence."""
    can = "are hardly told"
    if result["auc"] > _WARN:
        can = "can be told" if marked(result) else "may be told"
    return (
        f"positives {can} from their hard negatives without the query: AUC {result['auc']:.3f} "
        f"(95% interval {result['low']:.3f} to {result['high']:.3f}, {result['pairs']:,} pairs) "
        "from words and length alone, where 0.5 is chance"
    )


def judged_pairs(judgements: Judgements) -> Iterator[Pair]:
    """Of each query its positives with the documents judged 0, and with those that it lists."""
    refused: dict[str, list[str]] = {}
    for query_id, doc_id, relevance in judgements.qrels:
        if relevance == 0:
            refused.setdefault(query_id, []).append(doc_id)
    for query in judgements.queries:
        positives = judgements.positives.get(query.query_id, [])
        negatives = dict.fromkeys([*refused.get(query.query_id, ()), *_listed(query)])
        for positive in positives:
            negatives.pop(positive, None)
        yield from _of_query(query.query_id, positives, list(negatives))


def _listed(query: Query) -> list[str]:
    listed = query.metadata.get("hard_negatives") if isinstance(query.metadata, dict) else None
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def _of_query(query: str, positives: Sequence[str], negatives: Sequence[str]) -> Iterator[Pair]:
    """At most so many pairs, all documents of the shorter side before any twice."""
    if positives and negatives:
        positives = sorted(positives, key=_hash)[:_OF_A_QUERY]
        negatives = sorted(negatives, key=_hash)[:_OF_A_QUERY]
        for i in range(max(len(positives), len(negatives))):
            yield Pair(query, positives[i % len(positives)], negatives[i % len(negatives)])


def trained_pairs(dataset: Dataset) -> Iterator[Pair]:
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


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def sampled(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """All pairs of some queries: those of the smallest hashes, as many as fit."""
    queries: dict[str, list[Pair]] = {}
    for pair in pairs:
        queries.setdefault(pair.query, []).append(pair)
    room = _PAIRS
    for query in sorted(queries, key=lambda query: (_hash(query), query)):
        if len(queries[query]) > room:
            return
        room -= len(queries[query])
        yield from queries[query]
