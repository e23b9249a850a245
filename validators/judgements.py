"""Rules over queries and qrels, which are held in memory."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence

from retgen.data import Qrel, TextScore
from retgen.validators.characters import broken_characters
from retgen.validators.corpus import normalised
from retgen.validators.near import near_duplicate_queries
from retgen.validators.rule import Finding, Judgements
from retgen.validators.splits import split_overlap

RULES = (
    "duplicate-query-id",
    "duplicate-query",
    "normalised-duplicate-query",
    "near-duplicate-query",
    "empty-query",
    "query-encoding",
    "query-without-qrels",
    "duplicate-qrel",
    "score-range",
    "split-overlap",
)


def check_judgements(
    judgements: Judgements, covered: Container[str] = frozenset()
) -> Iterator[Finding]:
    """All findings about the queries and qrels themselves, rule by rule.

    `covered`: rules that a family's proof replaces.
    """
    yield from _duplicate_queries(judgements)
    if "near-duplicate-query" not in covered:
        yield from near_duplicate_queries(judgements)
    yield from _texts(judgements)
    yield from _coverage(judgements)
    for where, qrels in judgements.splits():
        yield from _qrels(qrels, where)
    yield from split_overlap(judgements)


def _duplicate_queries(judgements: Judgements) -> Iterator[Finding]:
    by_id: dict[str, int] = defaultdict(int)
    by_text: dict[str, list[str]] = defaultdict(list)
    by_normal: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for query in judgements.queries:
        by_id[query.query_id] += 1
        by_text[query.text].append(query.query_id)
        by_normal[normalised(query.text)][query.text].append(query.query_id)
    for query_id, count in by_id.items():
        if count > 1:
            yield Finding(
                "duplicate-query-id",
                "error",
                [query_id],
                f"the query id {query_id} stands {count} times",
            )
    for text, ids in by_text.items():
        if len(ids) > 1:
            named = _named(ids)
            yield Finding(
                "duplicate-query", "error", ids, f"{len(ids)} queries ask {text!r} ({named})"
            )
    for variants in by_normal.values():
        if len(variants) > 1:
            ids = [query_id for members in variants.values() for query_id in members]
            yield Finding(
                "normalised-duplicate-query",
                "warning",
                ids,
                f"{len(ids)} queries differ only in case, punctuation or white space "
                f"({_named(ids)})",
            )


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")


def _texts(judgements: Judgements) -> Iterator[Finding]:
    for query in judgements.queries:
        if not query.text.strip():
            yield Finding(
                "empty-query", "error", [query.query_id], f"query {query.query_id} has no text"
            )
        elif reason := broken_characters(query.text):
            yield Finding(
                "query-encoding",
                "warning",
                [query.query_id],
                f"query {query.query_id} {reason}",
            )


def _coverage(judgements: Judgements) -> Iterator[Finding]:
    if judgements.queries and not judgements.positives:
        yield Finding(
            "query-without-qrels",
            "error",
            [],
            f"no query has a relevant document in split {judgements.split}: nothing can be scored",
        )
        return
    elsewhere = {q for qrels in judgements.others.values() for q, _, score in qrels if score > 0}
    for query in judgements.queries:
        if query.query_id not in judgements.positives and query.query_id not in elsewhere:
            yield Finding(
                "query-without-qrels",
                "warning",
                [query.query_id],
                f"query {query.query_id} has no relevant document, so most metrics leave it out",
            )


def _qrels(qrels: Sequence[Qrel], where: str) -> Iterator[Finding]:
    """`where`: what a message says of the split."""
    seen: set[tuple[str, str]] = set()
    texts: list[Qrel] = []
    for qrel in qrels:
        query_id, doc_id, relevance = qrel
        if (query_id, doc_id) in seen:
            yield Finding(
                "duplicate-qrel",
                "error",
                [query_id, doc_id],
                f"the pair ({query_id}, {doc_id}){where} is judged more than once",
            )
        seen.add((query_id, doc_id))
        if not math.isfinite(relevance) or relevance < 0 or relevance != int(relevance):
            yield Finding(
                "score-range",
                "error",
                [query_id, doc_id],
                f"the score of ({query_id}, {doc_id}){where} is {relevance:g}; "
                "relevance is a whole number from 0",
            )
        if type(relevance) is TextScore:
            texts.append(qrel)
    if texts:
        query_id, doc_id, relevance = texts[0]
        yield Finding(
            "score-range",
            "error",
            list(dict.fromkeys(name for qrel in texts for name in qrel[:2])),
            f"{len(texts):,} of {len(qrels):,} scores{where} are strings, not numbers (that of "
            f'({query_id}, {doc_id}) is "{relevance:g}", for one)',
        )
