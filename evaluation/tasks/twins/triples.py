"""Triples as a data set holds them, and their measures: queries with a base, a twin, a control.

All is read off the metadata of corpus and queries (`triple`, `role`; `wording`, `slot_type`,
`length`). All texts are held. A measure is an entry of `MEASURES`, which tables and eval.json
follow: a function of the scores of base, twin and control (queries,) and of the tolerance of a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.errors import DatasetError
from retgen.evaluation.tasks.task import (
    Measured,
    Scores,
    TaskData,
    noted_documents,
    noted_queries,
)
from retgen.results.measurements import Measure
from retgen.results.rows import Results
from retgen.search.base import CandidateSet, System, share_won
from retgen.search.collection import Collection
from retgen.statistics.clustered import too_few

Array = NDArray[np.float64]
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
    """The triples of one data set, or the first of them: every query with base, twin, control and
    some documents about something else.
    """

    def __init__(self, name: str, queries: Sequence[TripleQuery], limit: int | None = None) -> None:
        every = list(dict.fromkeys(one.triple for one in queries))
        chosen = every[:limit]
        self._all, self._queries = queries, [one for one in queries if one.triple in {*chosen}]
        self.name, self.domains = name, [name]
        self.notes = list(filter(None, [too_few(len(every), f"{len(every)} triples")]))
        self.sets = [CandidateSet(one.text, one.texts) for one in self._queries]
        self.described = f"{len(chosen):,} of {len(every):,} triples"

    def first(self, limit: int | None, *, paid: bool = False) -> TripleData:
        return TripleData(self.name, self._all, limit)

    def measure(self, scores: Scores, system: System) -> Measured:
        """Of each query its scores are kept."""
        results = results_of(self._queries, scores, system.scorer.noise, self.name)
        rows = []
        for one, of in zip(self._queries, scores, strict=True):
            base, twin, control, *others = of.tolist()
            own = {"base": base, "twin": twin, "control": control, "others": others}
            named = {"query-id": one.query_id, "triple": one.triple}
            rows.append({**named, **one.factors, **own})
        return {self.name: results}, rows


# --- measures -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TwinMeasure(Measure):
    """`of`: its values (queries,), of the scores of base, twin and control and the tolerance.

    `title`: of its tables by the further factors, "" for none.
    """

    of: Callable[[Array, Array, Array, float], Array] = lambda base, twin, control, noise: base


def _share(name: str, chance: float, head: str, title: str, of: Any) -> TwinMeasure:
    """A share of queries; a tie is half."""
    return TwinMeasure(name, digits=1, percent=True, chance=chance, head=head, title=title, of=of)


def _change(name: str, head: str, title: str, of: Any) -> TwinMeasure:
    """A change of scores, in gaps."""
    return TwinMeasure(name, digits=3, bounds=None, per=GAP.name, head=head, title=title, of=of)


GAP = Measure("gap", digits=3, bounds=None)
MEASURES = (
    _share(
        "base",
        0.5,
        "base > twin",
        "Base above twin (%)",
        lambda base, twin, control, noise: share_won(base, twin, noise),
    ),
    _share(
        "control",
        0.5,
        "control > twin",
        "Control above twin (%)",
        lambda base, twin, control, noise: share_won(control, twin, noise),
    ),
    _share(
        "last",
        1 / 3,
        "twin last",
        "",
        lambda base, twin, control, noise: (
            (share_won(base, twin, noise) == 1) & (share_won(control, twin, noise) == 1)
        ),
    ),
    _change("fact", "change of a fact", "", lambda base, twin, control, noise: base - twin),
    _change(
        "rewording", "change of words", "", lambda base, twin, control, noise: abs(base - control)
    ),
    _change(
        "sensitivity",
        "sensitivity",
        "Sensitivity: control less twin, in gaps",
        lambda base, twin, control, noise: control - twin,
    ),
)


def results_of(
    queries: Sequence[TripleQuery], scores: Scores, noise: float, name: str = ""
) -> Results:
    """A row a query and measure.

    `scores`: of each query base, twin, control and documents on something else; `noise`: the
    relative tolerance of a tie; `name`: of the data set.
    """
    number = {triple: i for i, triple in enumerate(dict.fromkeys(one.triple for one in queries))}
    base, twin, control = (np.array([of[i] for of in scores]) for i in range(3))
    values = {one.name: one.of(base, twin, control, noise) for one in MEASURES}
    others = np.array([of[3:].mean() for of in scores])
    values[GAP.name] = (base + control) / 2 - others
    rows = (
        (number[one.triple], {"measure": measure, **one.factors}, value)
        for measure, of in values.items()
        for one, value in zip(queries, of, strict=True)
    )
    return Results.of([f"{name}: {i}" for i in range(len(number))], rows)
