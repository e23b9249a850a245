"""What the splits of one data set have in common: a test set is to hold nothing of the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from retgen.data import Query
from retgen.validators.rule import Finding, QueryRule
from retgen.validators.similar import MISSED, matches
from retgen.validators.wordsets import query_sets


class SplitOverlap(QueryRule):
    """Pairs and queries of the split under test that stand in another split, or nearly."""

    name = "split-overlap"
    severity = "error"
    unless = "for similar queries warning"
    finds = (
        "pairs or queries of the split under test that are in another split too, and queries that "
        "share at least 80% of their words with one of another split"
    )
    order = 130

    def findings(self) -> Iterator[Finding]:
        judgements = self.judgements
        split, pairs = judgements.split, {(q, d) for q, d, score in judgements.qrels if score > 0}
        texts: dict[str, Query] = {}
        for query in judgements.queries:
            texts.setdefault(query.query_id, query)
        queries = [query_id for query_id in texts if query_id in judgements.positives]
        for name, qrels in judgements.others.items():
            theirs = {(q, d) for q, d, score in qrels if score > 0}
            asked = {query_id for query_id, _ in theirs}
            if both := sorted(pairs & theirs):
                whole = "; the splits are the same" if pairs == theirs else ""
                yield self.finding(
                    list(dict.fromkeys(result for pair in both for result in pair)),
                    f"{len(both):,} of {len(pairs):,} pairs of a query and a relevant document in "
                    f"split {split} are also in split {name} ({both[0][0]} and {both[0][1]}, for "
                    f"one){whole}",
                )
            if shared := [query_id for query_id in queries if query_id in asked]:
                yield self.finding(
                    shared,
                    f"{len(shared):,} of {len(queries):,} queries of split {split} are also "
                    f"queries of split {name} ({shared[0]}, for one)",
                )
            own = [texts[query_id] for query_id in queries if query_id not in asked]
            other = [
                texts[q] for q in sorted(asked) if q in texts and q not in judgements.positives
            ]
            yield from _alike(own, other, split, name, len(queries))


def _alike(
    own: list[Query], other: list[Query], split: str, name: str, total: int
) -> Iterator[Finding]:
    """Queries of two splits under two ids that ask for the same, or nearly."""
    pairs, exact = matches(query_sets([*own, *other]), len(own))
    if not len(pairs):
        return
    result = [
        (own[a].query_id, other[b - len(own)].query_id) for a, b in np.asarray(pairs).tolist()
    ]
    yield Finding(
        SplitOverlap.name,
        "warning",
        list(dict.fromkeys(query_id for pair in result for query_id in pair)),
        f"{len(result):,} of {total:,} queries of split {split} share at least 80% of their words "
        f"(function words aside) with a query of split {name} ({result[0][0]} and {result[0][1]}, "
        f"for one){'' if exact else MISSED}",
    )
