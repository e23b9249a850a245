"""Origin: can positives be told from their hard negatives without the query?

If rewriting, mining or judging left marks in the documents ("not", a length, a style), a model
learns the marks, and a score against these negatives measures them. See `separable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import xxhash

from retgen.data import Dataset, Query
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, State
from retgen.validators.separable import Pair, measure

_PAIRS = 4000  # at most, of the queries whose ids have the smallest hashes
_OF_A_QUERY = 10  # pairs at most
_WARN = 0.55


@dataclass
class _Texts(State):
    texts: dict[str, str] = field(default_factory=dict)

    def merge(self, later: Self, offset: int) -> None:
        for doc_id, text in later.texts.items():
            self.texts.setdefault(doc_id, text)


class Origin(CorpusRule):
    """Positives and hard negatives: judged 0, listed by the queries, or of the training data."""

    name = "origin"

    def __init__(self, judgements: Judgements) -> None:
        self.pairs = list(_sampled(_judged_pairs(judgements)))
        self.wanted = frozenset(doc_id for pair in self.pairs for doc_id in pair[1:])
        self.found: dict[str, Any] = {}
        self.start()

    def start(self) -> None:
        self.state: _Texts = _Texts()

    def scan(self, batch: Batch) -> None:
        if not self.wanted.isdisjoint(batch.ids):
            for index, doc_id in enumerate(batch.ids):
                if doc_id in self.wanted:
                    text = f"{batch.titles[index]}\n{batch.texts[index]}"
                    self.state.texts.setdefault(doc_id, text)

    def judge(self, dataset: Dataset, split: str) -> None:
        texts = self.state.texts
        pairs = [pair for pair in self.pairs if pair.positive in texts and pair.negative in texts]
        if not pairs:
            pairs = list(_sampled(_trained_pairs(dataset)))
            texts = {text: text for pair in pairs for text in pair[1:]}
        self.found = measure(pairs, texts)

    def findings(self) -> Iterator[Finding]:
        if marked(self.found):
            words = ", ".join(map(repr, self.found["words"]))
            hint = f"; most telling: {words}" if words else ""
            yield Finding(self.name, "warning", [], told(self.found) + hint)


def marked(found: Mapping[str, Any]) -> bool:
    """Whether the marks are worth a warning; `found`: see `measure`."""
    return bool(found) and found["auc"] > _WARN and found["low"] > 0.5


def told(found: Mapping[str, Any]) -> str:
    """What was measured, in words; ends no sentence."""
    can = "are hardly told"
    if found["auc"] > _WARN:
        can = "can be told" if marked(found) else "may be told"
    return (
        f"positives {can} from their hard negatives without the query: AUC {found['auc']:.3f} "
        f"(95% interval {found['low']:.3f} to {found['high']:.3f}, {found['pairs']:,} pairs) from "
        "words and length alone, where 0.5 is chance"
    )


# --- which pairs --------------------------------------------------------------------------------


def _judged_pairs(judgements: Judgements) -> Iterator[Pair]:
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


def _trained_pairs(dataset: Dataset) -> Iterator[Pair]:
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


def _sampled(pairs: Iterable[Pair]) -> Iterator[Pair]:
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
