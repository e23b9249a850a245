"""Rules over qrels alone: a pair is judged once, by a whole number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from retgen.data import Qrel, TextScore
from retgen.validators.rule import Finding, Listed, QueryRule


class Qrels(QueryRule):
    """Pairs that are judged twice, and scores that are none, in every split."""

    name = "duplicate-qrel"
    severity = "error"
    finds = "a pair judged more than once in a split"
    also = (
        Listed(
            "score-range",
            "error",
            "a score that is not a whole number from 0; scores that are strings where the file's "
            "format has numbers",
        ),
    )
    order = 120

    def findings(self) -> Iterator[Finding]:
        for where, qrels in self.judgements.splits():
            yield from self._of(qrels, where)

    def _of(self, qrels: Sequence[Qrel], where: str) -> Iterator[Finding]:
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
