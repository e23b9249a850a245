"""Which pairs are looked at, in which order, and what is shown of them: planned once, then kept.

Every pair of both populations is written down with its place in the order and its chance in the
draws; texts are read for those that come first, and for more when people come that far.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from retgen.data import Dataset, Document, Query
from retgen.progress import Progress, no_progress
from retgen.review.candidates import Candidate, candidates
from retgen.review.plants import Plant, plant
from retgen.review.pool import Pool
from retgen.review.records import Item, Pair, Population, Settings, Shown, item_id
from retgen.review.strata import Fields, of_label, telling
from retgen.statistics import order

PLANNED = 2000  # pairs of a population whose texts are read at a time
POPULATIONS: tuple[Population, ...] = ("positives", "others")


class Plan(NamedTuple):
    """All pairs in the order of looks, the items that come first, their texts by digest."""

    pairs: list[Pair]
    items: list[Item]
    texts: dict[str, Shown]


def plan(
    pool: Pool, settings: Settings, *, proven: bool | None, progress: Progress = no_progress
) -> Plan:
    """Draw both populations of a pool.

    `proven`: whether the data set's labels rest on a proof, None where nobody says.
    """
    queries = pool.collection.queries
    populations = candidates(pool, proven=bool(proven))
    planned = {name: min(PLANNED, len(given)) for name, given in populations.items()}
    planted = plant(pool, populations, planned, settings.plants, settings.seed)
    taken = {(one.row, one.doc_id) for one in planted}
    drawn = {
        name: _drawn([c for c in given if (c.row, c.doc_id) not in taken], settings.seed, name)
        for name, given in populations.items()
    }
    shown = {(c.row, c.doc_id) for given in drawn.values() for c, _ in given[:PLANNED]} | taken
    fields = Fields(queries)
    of = {c.doc_id for given in drawn.values() for c, _ in given}
    documents = _documents(pool.collection.dataset, of, {d for _, d in shown}, fields, progress)
    pairs = telling(
        Pair(
            name, place, queries[c.row].query_id, c.doc_id, c.label, weight,
            of_label(c, proven=proven) | fields.of(queries[c.row].query_id, c.doc_id),
        )
        for name, given in drawn.items()
        for place, (c, weight) in enumerate(given)
    )  # fmt: skip
    by_id = {query.query_id: query for query in queries}
    first = [pair for pair in pairs if pair.place < PLANNED]
    items, texts = items_of(first, by_id, documents, settings.split)
    for number, one in enumerate(planted):
        query, among = queries[one.row], drawn[one.population]
        # a label as the pairs about it have, lest it be told by that
        claimed = among[number % len(among)][0].label if among else float(not one.relevance)
        item, seen = _planted(one, query, documents[one.doc_id], settings.split, claimed)
        items.append(item)
        texts[item.shown] = seen
    return Plan(pairs, items, texts)


def _drawn(
    given: Sequence[Candidate], seed: int, population: Population
) -> list[tuple[Candidate, float]]:
    """Candidates in the order of looks, each with its weight in the draws."""
    weights = order.weights([one.suspicion for one in given], len(given))
    places = order.weighted_order(weights, seed, f"review/{population}")
    return [(given[i], float(weights[i])) for i in places.tolist()]


def _documents(
    dataset: Dataset, of: set[str], shown: set[str], fields: Fields, progress: Progress
) -> dict[str, Document]:
    """The documents of `shown`, in one pass that also notes the metadata of those in `of`."""
    result: dict[str, Document] = {}
    for number, document in enumerate(dataset.documents(), start=1):
        if document.doc_id in of:
            fields.see(document)
        if document.doc_id in shown:
            result[document.doc_id] = document
        if number % 10_000 == 0:
            progress("texts of documents", number, number)
    return result


def documents(dataset: Dataset, ids: Iterable[str]) -> dict[str, Document]:
    """Some documents of a data set by id, in one pass; those that it lacks are left out."""
    wanted = set(ids)
    return {one.doc_id: one for one in dataset.documents() if one.doc_id in wanted}


def items_of(
    pairs: Iterable[Pair],
    queries: Mapping[str, Query],
    found: Mapping[str, Document],
    split: str,
) -> tuple[list[Item], dict[str, Shown]]:
    """Items of pairs, and what is shown of them by digest."""
    items: list[Item] = []
    texts: dict[str, Shown] = {}
    for pair in pairs:
        seen = shown_of(queries[pair.query_id], found[pair.doc_id])
        digest = seen.digest()
        texts[digest] = seen
        items.append(
            Item(
                item_id(pair.query_id, pair.doc_id), pair.population, pair.place, split,
                pair.query_id, pair.doc_id, pair.label, digest, pair.strata, pair.weight,
            )
        )  # fmt: skip
    return items, texts


def _planted(
    one: Plant, query: Query, document: Document, split: str, claimed: float | None
) -> tuple[Item, Shown]:
    """A planted item: its label is what the page claims, and false."""
    seen = shown_of(query, document)
    name = item_id(query.query_id, document.doc_id)
    item = Item(
        name, one.population, -1, split, query.query_id, document.doc_id, claimed, seen.digest(),
        planted=one.relevance,
    )  # fmt: skip
    return item, seen


def shown_of(query: Query, document: Document) -> Shown:
    """What a reviewer sees of a pair."""
    return Shown(
        query.text, document.title, document.text,
        query.metadata if isinstance(query.metadata, dict) else {},
        document.metadata if isinstance(document.metadata, dict) else {},
    )  # fmt: skip
