"""What the split under test has in common with other splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from retgen.data import Qrel
from retgen.on_disk import MappedList
from retgen.validators.rule import Finding, QueryRule
from retgen.validators.similar import MISSED, matches, query_sets


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
        for name, qrels in self.judgements.others.items():
            yield from self._shared(name, qrels)

    def _shared(self, name: str, qrels: Iterable[Qrel]) -> Iterator[Finding]:
        """What is shared with the split `name`."""
        queries, split = self.judgements.queries, self.judgements.split
        pairs, theirs = set(_positives(self.judgements.qrels)), set(_positives(qrels))
        places: dict[str, int] = {}
        for place, query in enumerate(queries):
            places.setdefault(query.query_id, place)
        asked = [query_id for query_id in places if query_id in self.judgements.positives]
        others = {query_id for query_id, _ in theirs if query_id in places}
        if both := sorted(pairs & theirs):
            yield self.finding(
                dict.fromkeys(chain.from_iterable(both)),
                f"{len(both):,} of {len(pairs):,} pairs of a query and a relevant document in "
                f"split {split} are also in split {name} ({both[0][0]} and {both[0][1]}, for one)"
                + ("; the splits are the same" if pairs == theirs else ""),
            )
        if shared := [query_id for query_id in asked if query_id in others]:
            yield self.finding(
                shared,
                f"{len(shared):,} of {len(asked):,} queries of split {split} are also queries of "
                f"split {name} ({shared[0]}, for one)",
            )
        own = [query_id for query_id in asked if query_id not in others]
        more = others.difference(self.judgements.positives)
        ids = [*own, *(query_id for query_id in places if query_id in more)]
        sets = query_sets(MappedList(queries.__getitem__, [places[one] for one in ids]))
        alike, exact = matches(sets, len(own))
        if len(alike):
            named = [ids[place] for place in alike.ravel().tolist()]
            yield self.finding(
                dict.fromkeys(named),
                f"{len(alike):,} of {len(asked):,} queries of split {split} share at least 80% of "
                f"their words (function words aside) with a query of split {name} "
                f"({named[0]} and {named[1]}, for one){'' if exact else MISSED}",
                severity="warning",
            )


def _positives(qrels: Iterable[Qrel]) -> Iterator[tuple[str, str]]:
    return ((query_id, doc_id) for query_id, doc_id, score in qrels if score > 0)
