"""Rules over queries: each is there once, can be read, and has something to be found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import compress

from retgen.validators.characters import broken_characters, is_blank
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
        queries = self.judgements.queries
        suspects = compress(queries, repeated(query.query_id for query in queries))
        for query_id, count in Counter(query.query_id for query in suspects).items():
            if count > 1:
                message = f"the query id {query_id} stands {count} times"
                yield Finding("duplicate-query-id", "error", [query_id], message)
        # normal form -> text -> ids
        texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for query in compress(queries, repeated(normalise_text(query.text) for query in queries)):
            texts[normalise_text(query.text)][query.text].append(query.query_id)
        for variants in texts.values():
            for text, ids in variants.items():
                if len(ids) > 1:
                    message = f"{len(ids)} queries ask {text!r} ({_name_ids(ids)})"
                    yield Finding("duplicate-query", "error", ids, message)
        for variants in texts.values():
            if len(variants) > 1:
                ids = [query_id for members in variants.values() for query_id in members]
                message = (
                    f"{len(ids)} queries differ only in case, punctuation or white space "
                    f"({_name_ids(ids)})"
                )
                yield Finding("normalised-duplicate-query", "warning", ids, message)


def _name_ids(ids: list[str]) -> str:
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
        for query_id, text, *_ in self.judgements.queries:
            if is_blank(text):
                yield self.finding([query_id], f"query {query_id} has no text")
            elif reason := broken_characters(text):
                message = f"query {query_id} {reason}"
                yield Finding("query-encoding", "warning", [query_id], message)


class UnjudgedQueries(QueryRule):
    """Queries without a relevant document in any split."""

    name = "query-without-qrels"
    severity = "warning"
    unless = "where no query has one error; of questions that people judge info"
    finds = "queries without a relevant document in any split"
    order = 110

    def findings(self) -> Iterator[Finding]:
        judgements = self.judgements
        if judgements.queries and not judgements.positives:
            yield self.finding(
                [],
                f"no query has a relevant document in split {judgements.split}: nothing can be "
                "scored" + "; judge them with `gen review`" * judgements.by_people,
                severity="info" if judgements.by_people else "error",
            )
            return
        judged = set(judgements.positives)
        for qrels in judgements.others.values():
            # a split without any is one of queries that are known to have none
            positive = {query_id for query_id, _, score in qrels if score > 0}
            judged |= positive or {query_id for query_id, _, _ in qrels}
        for query in judgements.queries:
            if query.query_id not in judged:
                yield self.finding(
                    [query.query_id],
                    f"query {query.query_id} has no relevant document, so most metrics leave it "
                    "out",
                    severity="info" if judgements.by_people else "warning",
                )
