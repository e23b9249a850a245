"""Queries that nothing can be found for."""

from __future__ import annotations

from collections.abc import Iterator

from retgen.validators.rule import Finding, QueryRule


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
