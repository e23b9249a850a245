"""Rules over queries: each is there once, can be read, and has something to be found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import compress

from retgen.validators.characters import broken_characters
from retgen.validators.duplicates import normalise_text, repeated
from retgen.validators.rule import Finding, QueryRule, RuleListing


class DuplicateQueries(QueryRule):
    """Ids, texts, and texts that differ only in case, punctuation or white space."""

    name = "duplicate-query-id"
    severity = "error"
    finds = "a query id that stands more than once"
    also = (
        RuleListing("duplicate-query", "error", "the same query"),
        RuleListing(
            "normalised-duplicate-query",
            "warning",
            "queries that differ only in case, punctuation or white space",
        ),
    )
    order = 40

    def findings(self) -> Iterator[Finding]:
        by_id: dict[str, int] = defaultdict(int)
        by_text: dict[str, list[str]] = defaultdict(list)
        by_normal: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        queries = self.judgements.queries
        for query in compress(queries, repeated(query.query_id for query in queries)):
            by_id[query.query_id] += 1
        for query in compress(queries, repeated(normalise_text(query.text) for query in queries)):
            by_text[query.text].append(query.query_id)
            by_normal[normalise_text(query.text)][query.text].append(query.query_id)
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
                named = _name_ids(ids)
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
                    f"({_name_ids(ids)})",
                )


def _name_ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")


class QueryTexts(QueryRule):
    """Queries with nothing to read, or with characters that went wrong."""

    name = "empty-query"
    severity = "error"
    finds = "queries with nothing to read"
    also = (
        RuleListing("query-encoding", "warning", "queries with what `encoding` finds in documents"),
    )
    order = 80

    def findings(self) -> Iterator[Finding]:
        for query in self.judgements.queries:
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


class UnjudgedQueries(QueryRule):
    """Queries without a relevant document in any split."""

    name = "query-without-qrels"
    severity = "warning"
    unless = "where no query has one error"
    finds = "queries without a relevant document in any split"
    order = 110

    def findings(self) -> Iterator[Finding]:
        judgements = self.judgements
        if judgements.queries and not judgements.positives:
            yield Finding(
                "query-without-qrels",
                "error",
                [],
                f"no query has a relevant document in split {judgements.split}: nothing can be "
                "scored",
            )
            return
        others = judgements.others.values()
        elsewhere = {q for qrels in others for q, _, score in qrels if score > 0}
        for qrels in others:  # a split of queries that are known to have none
            if not any(score > 0 for _, _, score in qrels):
                elsewhere.update(q for q, _, _ in qrels)
        for query in judgements.queries:
            if query.query_id not in judgements.positives and query.query_id not in elsewhere:
                yield Finding(
                    "query-without-qrels",
                    "warning",
                    [query.query_id],
                    f"query {query.query_id} has no relevant document, so most metrics leave it "
                    "out",
                )
