"""Query-blind baselines beside every table: a random order, rankings that never read the query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from retgen.data import Qrel
from retgen.evaluation.scoring.measures import Measures, cutoff, is_graded
from retgen.evaluation.scoring.result import primary_of
from retgen.progress import Progress, no_progress
from retgen.search.collection import Collection
from retgen.validators.baselines import WordTerms, query_blind_rankings, with_best
from retgen.validators.rule import Batch, Judgements
from retgen.write import scratch_folder

_BLOCK = 4096


def baselines(
    collection: Collection, measures: Measures, progress: Progress = no_progress
) -> dict[str, Any]:
    """{"random": {measure: x}, "rankings": {name: {measure: x}}, "best": {"ranking", ...}}.

    Random is the exact expectation over all orders, None where no closed form is used (measures
    other than R, P, nDCG, Success and RR). The query-blind rankings are those of
    `retgen.validators.baselines`; the best has the highest main measure.
    """
    names = measures.names
    random: dict[str, float | None] = {name: _expected(collection, name) for name in names}
    rankings = {}
    depth = collection.reach(measures.depth(collection.documents))
    depth += bool((collection.own >= 0).any())
    with scratch_folder("retgen-baselines-") as scratch:
        terms = WordTerms(_judgements(collection))
        terms.scratch = str(scratch)
        for first, texts in collection.blocks(_BLOCK):
            ids = [doc.decode() for doc in collection.doc_ids[first : first + len(texts)].tolist()]
            blank = [""] * len(texts)
            terms.scan(Batch(first, ids, blank, texts, [None] * len(texts)))
            progress("baselines", first + len(texts), collection.documents)
        tops = query_blind_rankings(terms.state, terms.query_terms(), depth)
        for name, top in tops.items():
            values = measures.one_ranking(collection, _of_pages(collection, top)).mean(axis=0)
            rankings[name] = dict(zip(names, map(float, values), strict=True))
    return with_best(random, rankings, primary_of(names, collection))


def _of_pages(collection: Collection, doc_ids: Sequence[str]) -> Sequence[str]:
    """The same ranking of pages, where labels are of these."""
    if collection.pages is None:
        return doc_ids
    places = collection.places(doc_ids)
    ranked = collection.doc_ids[collection.pages[[places[one] for one in doc_ids]]].tolist()
    return [name.decode() for name in dict.fromkeys(ranked)]


def _judgements(collection: Collection) -> Judgements:
    qrels = [
        Qrel(query_id, doc_id, relevance)
        for query_id, docs in collection.qrels.items()
        for doc_id, relevance in docs.items()
    ]
    return Judgements(collection.queries, qrels)


def _expected(collection: Collection, name: str) -> float | None:
    """The mean over queries of a measure's expectation under a uniform random order."""
    base = name.partition("@")[0].lower()
    qrels = collection.qrels
    if is_graded(name):
        base, qrels = base.rpartition(" ")[2], collection.grades or {}
    values = []
    for query, own in zip(collection.queries, collection.own.tolist(), strict=True):
        n = max(1, collection.page_count - (own >= 0))
        k = min(cutoff(name) or n, n)
        judged = {d: g for d, g in qrels[query.query_id].items() if g > 0}
        gains = sorted(judged.values(), reverse=True)
        # what the corpus does not hold is asked for all the same
        result = [g for d, g in judged.items() if d not in collection.missing]
        match base:
            case "recall" | "r":
                values.append(k / n * len(result) / len(gains))
            case "p":
                values.append(len(result) / n * k / (cutoff(name) or k))
            case "success":
                values.append(1 - _all_missed(n, len(result), k))
            case "mrr" | "rr":
                missed = np.array([_all_missed(n, len(result), i) for i in range(k + 1)])
                values.append(float(((missed[:-1] - missed[1:]) / np.arange(1, k + 1)).sum()))
            case "ndcg":
                discounts = 1 / np.log2(np.arange(2, k + 2))
                ideal = float((np.array(gains[:k]) * discounts[: len(gains)]).sum())
                values.append(float(sum(result) / n * discounts.sum() / ideal))
            case _:
                return None
    return float(np.mean(values))


def _all_missed(n: int, relevant: int, k: int) -> float:
    """P(none of `relevant` among the first k of n): C(n - relevant, k) / C(n, k)."""
    if k > n - relevant:
        return 0.0
    return math.exp(sum(math.log(n - k - i) - math.log(n - i) for i in range(min(relevant, n))))
