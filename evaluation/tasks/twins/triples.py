"""Triples as a data set holds them: queries, each with a base, a twin and a control.

All is read off the metadata of corpus and queries (`triple`, `role`; `wording`, `slot_type`,
`length`). All texts are held.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from retgen.errors import DatasetError
from retgen.evaluation.tasks.task import (
    Comparison,
    Scores,
    TaskData,
    TaskMeasures,
    noted_documents,
    noted_queries,
)
from retgen.evaluation.tasks.twins.measures import results_of
from retgen.search.base import CandidateSet
from retgen.search.collection import Collection
from retgen.statistics.clustered import too_few

ROLES = ("base", "twin", "control")
OTHERS = 5  # documents about something else under each query
FACTORS = ("wording", "slot_type", "length")
KEYS = frozenset({"triple", "changed", *FACTORS})  # of a query about a triple


class TripleQuery(NamedTuple):
    """A query. `texts`: base, twin, control, then other entities' bases of the same length.

    `factors`: what the query is like, by `FACTORS`.
    """

    query_id: str
    triple: str
    text: str
    factors: Mapping[str, str]
    texts: tuple[str, ...]


def load_triples(collection: Collection) -> list[TripleQuery]:
    """The queries of a data set in their order. Raises `DatasetError` for a triple that is cut."""
    documents: dict[str, dict[str, tuple[str, str]]] = {}
    for doc_id, text, note in noted_documents(collection, "role"):
        if note["role"] in ROLES:
            documents.setdefault(str(note.get("triple")), {})[note["role"]] = doc_id, text
    noted = {query.query_id: note for query, note in noted_queries(collection, KEYS)}
    lengths: dict[str, dict[str, None]] = {}  # the triples of each length, in their order
    for query_id, note in noted.items():
        triple, length = str(note["triple"]), str(note["length"])
        lengths.setdefault(length, {})[triple] = None
        if lacks := [role for role in ROLES if role not in documents.get(triple, {})]:
            raise DatasetError(
                f"{collection.path}: query {query_id} is about triple {triple}, of which the "
                f"corpus has no {' and no '.join(lacks)}; `gen validate` says what belongs there"
            )
    places = {t: i for triples in lengths.values() for i, t in enumerate(triples)}
    alike = {length: list(triples) for length, triples in lengths.items()}
    result = []
    for query in collection.queries:
        if query.query_id not in noted:
            continue
        note = noted[query.query_id]
        triple, of = str(note["triple"]), alike[str(note["length"])]
        relevant = {d for d, score in collection.qrels[query.query_id].items() if score > 0}
        place = places[triple]
        around = (documents[name]["base"] for name in (*of[place + 1 :], *of[:place]))
        others = [text for doc_id, text in around if doc_id not in relevant][:OTHERS]
        own = (documents[triple][role][1] for role in ROLES)
        factors = {factor: str(note[factor]) for factor in FACTORS}
        result.append(TripleQuery(query.query_id, triple, query.text, factors, (*own, *others)))
    if not all(len(one.texts) > len(ROLES) for one in result):
        raise DatasetError(
            f"{collection.path}: it has too few triples of a length: a query is compared with "
            "documents about something else, too. Make two or more (params.triples_per_cell)"
        )
    return result


class TripleData(TaskData):
    """The triples of one data set."""

    def __init__(self, collection: Collection) -> None:
        self.name = collection.name
        self.asked = load_triples(collection)
        self.domains = [collection.name]
        count = len({one.triple for one in self.asked})
        self.notes = list(filter(None, [too_few(count, f"{count} triples")]))

    def comparison(self, limit: int | None = None, *, paid: bool = False) -> TripleComparison:
        every = dict.fromkeys(one.triple for one in self.asked)
        chosen = set(list(every)[:limit])
        asked = [one for one in self.asked if one.triple in chosen]
        described = f"{len(chosen):,} of {len(every):,} triples"
        return TripleComparison(self.name, asked, described)


class TripleComparison(Comparison):
    """Every query with base, twin, control and some documents about something else."""

    def __init__(self, name: str, asked: Sequence[TripleQuery], described: str) -> None:
        self.name, self._asked, self.described = name, asked, described
        self.sets = [CandidateSet(one.text, one.texts) for one in asked]

    def measure(self, scores: Scores, noise: float) -> TaskMeasures:
        number = {t: i for i, t in enumerate(dict.fromkeys(one.triple for one in self._asked))}
        factors = {name: [one.factors[name] for one in self._asked] for name in FACTORS}
        triples = [number[one.triple] for one in self._asked]
        result = results_of(scores, triples, factors, noise, self.name)
        return TaskMeasures({self.name: result}, self._rows(scores))

    def _rows(self, scores: Scores) -> Iterator[Mapping[str, Any]]:
        for one, of in zip(self._asked, scores, strict=True):
            base, twin, control, *others = of.tolist()
            yield {
                "query-id": one.query_id,
                "triple": one.triple,
                **one.factors,
                "base": base,
                "twin": twin,
                "control": control,
                "others": others,
            }
