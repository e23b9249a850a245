"""Which pairs are looked at, in which order, and what is shown of them: planned once, then kept.

Every pair of both populations is written down with its place in the order, its chance in the draws
and its strata; texts are read for those that come first, and for more when people come that far.

Strata tell error rates apart: the label, its evidence, the rank, and metadata fields of queries or
documents with few values (the kind of a keyword, the language, the place of a needle). A list
counts by its length, as the number of broken conditions of a hard negative.

Control items are pairs whose relevance is known; they measure the people who judge. Pairs that are
not relevant stand among the positives, relevant ones among the others. A pair with a structural
label becomes a control item instead of a member of its population. Where labels are judgements, a
random document stands for one that is not relevant, and nothing is known to be relevant. Random
documents are easy to tell, so what they measure is the most that a reviewer may be trusted with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from retgen.data import Dataset, Document, Query
from retgen.progress import Progress, no_progress
from retgen.review.candidates import Candidate, CandidatePool, candidates
from retgen.review.records import Item, Population, PopulationPair, Settings, ShownPair, item_id
from retgen.statistics import sequences
from retgen.streams import Stream

PLANNED = 2000  # pairs of a population whose texts are read at a time
POPULATIONS: tuple[Population, ...] = ("positives", "others")
MOST_VALUES = 12  # values of a metadata field that is a stratum
_LONGEST = 40  # characters of a stratum's value
MOST_CONTROLS = 200  # control items of a kind
_TAKEN = 0.1  # of a population becomes control items, at most


class ReviewPlan(NamedTuple):
    """All pairs in the order of looks, the items that come first, their texts by digest."""

    pairs: list[PopulationPair]
    items: list[Item]
    texts: dict[str, ShownPair]


def plan(
    pool: CandidatePool,
    settings: Settings,
    *,
    proven: bool | None,
    progress: Progress = no_progress,
) -> ReviewPlan:
    """Draw both populations of a pool.

    `proven`: whether the data set's labels are proven, None if that is unknown.
    """
    queries = pool.collection.queries
    populations = candidates(pool, proven=bool(proven))
    planned = {name: min(PLANNED, len(given)) for name, given in populations.items()}
    controls = draw_control_items(pool, populations, planned, settings.plants, settings.seed)
    taken = {(one.row, one.doc_id) for one in controls}
    drawn = {
        name: _drawn([c for c in given if (c.row, c.doc_id) not in taken], settings.seed, name)
        for name, given in populations.items()
    }
    shown = {(c.row, c.doc_id) for given in drawn.values() for c, _ in given[:PLANNED]} | taken
    fields = Fields(queries)
    of = {c.doc_id for given in drawn.values() for c, _ in given}
    documents = _documents(pool.collection.dataset, of, {d for _, d in shown}, fields, progress)
    pairs = informative_strata(
        PopulationPair(
            name,
            place,
            queries[c.row].query_id,
            c.doc_id,
            c.label,
            weight,
            label_strata(c, proven=proven) | fields.of(queries[c.row].query_id, c.doc_id),
        )
        for name, given in drawn.items()
        for place, (c, weight) in enumerate(given)
    )
    by_id = {query.query_id: query for query in queries}
    first = [pair for pair in pairs if pair.place < PLANNED]
    items, texts = items_of(first, by_id, documents, settings.split)
    for number, one in enumerate(controls):
        query, among = queries[one.row], drawn[one.population]
        # a label as the pairs about it have, lest it be told by that
        claimed = among[number % len(among)][0].label if among else float(not one.relevance)
        item, seen = _control(one, query, documents[one.doc_id], settings.split, claimed)
        items.append(item)
        texts[item.shown] = seen
    return ReviewPlan(pairs, items, texts)


def _drawn(
    given: Sequence[Candidate], seed: int, population: Population
) -> list[tuple[Candidate, float]]:
    """Candidates in the order of looks, each with its weight in the draws."""
    weights = sequences.weights([one.suspicion for one in given], len(given))
    places = sequences.weighted_order(weights, seed, f"review/{population}")
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
    pairs: Iterable[PopulationPair],
    queries: Mapping[str, Query],
    found: Mapping[str, Document],
    split: str,
) -> tuple[list[Item], dict[str, ShownPair]]:
    """Items of pairs, and what is shown of them by digest."""
    items: list[Item] = []
    texts: dict[str, ShownPair] = {}
    for pair in pairs:
        seen = shown_of(queries[pair.query_id], found[pair.doc_id])
        digest = seen.digest()
        texts[digest] = seen
        items.append(
            Item(
                item_id(pair.query_id, pair.doc_id),
                pair.population,
                pair.place,
                split,
                pair.query_id,
                pair.doc_id,
                pair.label,
                digest,
                pair.strata,
                pair.weight,
            )
        )
    return items, texts


def _control(
    one: ControlItem, query: Query, document: Document, split: str, claimed: float | None
) -> tuple[Item, ShownPair]:
    """A control item: its label is what the page claims, and false."""
    seen = shown_of(query, document)
    name = item_id(query.query_id, document.doc_id)
    item = Item(
        name,
        one.population,
        -1,
        split,
        query.query_id,
        document.doc_id,
        claimed,
        seen.digest(),
        planted=one.relevance,
    )
    return item, seen


def shown_of(query: Query, document: Document) -> ShownPair:
    """What a reviewer sees of a pair."""
    return ShownPair(
        query.text,
        document.title,
        document.text,
        query.metadata if isinstance(query.metadata, dict) else {},
        document.metadata if isinstance(document.metadata, dict) else {},
    )


# --- strata ---------------------------------------------------------------------------------------


def label_strata(one: Candidate, *, proven: bool | None) -> dict[str, str]:
    """Strata that every data set has. `proven`: None if the evidence of labels is unknown."""
    result = {"label": "none" if one.label is None else f"{one.label:g}"}
    if proven is not None:
        result["evidence"] = (
            "none" if one.label is None else "structural" if one.proven else "judged"
        )
    if one.grade is not None:
        result["grade"] = str(one.grade)
    rank = one.found.best if one.found else 0
    result["rank"] = (
        "not found" if not rank else "1" if rank == 1 else "2-5" if rank <= 5 else "6 and more"
    )
    return result


class Fields:
    """The fields of metadata that have few values, noted document by document."""

    def __init__(self, queries: Sequence[Query]) -> None:
        self._values: dict[str, set[str]] = {}
        self._queries: dict[str, dict[str, str]] = {}
        self._documents: dict[str, dict[str, str]] = {}
        for query in queries:
            self._queries[query.query_id] = self._noted("query", query.metadata)

    def see(self, document: Document) -> None:
        """Note a document of the populations."""
        if noted := self._noted("document", document.metadata):
            self._documents[document.doc_id] = noted

    def _noted(self, kind: str, metadata: Any) -> dict[str, str]:
        result = {}
        for key, value in metadata.items() if isinstance(metadata, dict) else ():
            text = _text(value)
            name = f"{kind} {key}"
            seen = self._values.setdefault(name, set())
            if (
                text is not None and len(seen) <= MOST_VALUES
            ):  # one with more is of no use any longer
                seen.add(text)
                result[name] = text
        return result

    def of(self, query_id: str, doc_id: str) -> dict[str, str]:
        """The fields of a pair."""
        noted = self._queries.get(query_id, {}) | self._documents.get(doc_id, {})
        return {
            name: value for name, value in noted.items() if len(self._values[name]) <= MOST_VALUES
        }


def informative_strata(pairs: Iterable[PopulationPair]) -> list[PopulationPair]:
    """The pairs without the strata that have one value alone in their population."""
    pairs = list(pairs)
    values: MutableMapping[tuple[str, str], set[str]] = {}
    for pair in pairs:
        for name, value in pair.strata.items():
            values.setdefault((pair.population, name), set()).add(value)

    def varying(pair: PopulationPair) -> Mapping[str, str]:
        return {n: v for n, v in pair.strata.items() if len(values[pair.population, n]) > 1}

    return [pair._replace(strata=varying(pair)) for pair in pairs]


def _text(value: Any) -> str | None:
    """A value as a name of a stratum, None for what is none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | str):
        text = str(value)
        return text if len(text) <= _LONGEST else None
    if isinstance(value, list):
        return f"{len(value)} listed"
    return None


# --- control items --------------------------------------------------------------------------------


class ControlItem(NamedTuple):
    """A pair, in which population it is shown, and the relevance that is known of it."""

    population: Population
    row: int  # of its query
    doc_id: str
    relevance: int


def draw_control_items(
    pool: CandidatePool,
    populations: Mapping[Population, Sequence[Candidate]],
    planned: Mapping[Population, int],
    share: float,
    seed: int,
) -> list[ControlItem]:
    """Control items, about `share` of those that are `planned` for each population."""
    result: list[ControlItem] = []
    pairs: tuple[tuple[Population, Population, int], ...] = (
        ("positives", "others", 0),
        ("others", "positives", 1),
    )
    for population, source, relevance in pairs:
        number = (
            min(MOST_CONTROLS, round(share * planned[population])) if populations[population] else 0
        )
        given = populations[source]
        known = [i for i, one in enumerate(given) if one.proven]
        order = Stream(seed, f"review/plants/{population}").permutation(len(known))
        taken = order[: min(number, int(_TAKEN * len(given)))].tolist()
        result += [
            ControlItem(population, given[i].row, given[i].doc_id, relevance)
            for i in (known[j] for j in taken)
        ]
        if relevance == 0:
            # beside hard negatives, which alone would be few
            result += _random(pool, populations[population], number - len(taken), seed)
    return result


def _random(
    pool: CandidatePool, shown: Sequence[Candidate], number: int, seed: int
) -> list[ControlItem]:
    """Random documents for queries with a positive: neither judged nor found by a retriever."""
    collection = pool.collection
    stream = Stream(seed, "review/plants/random")
    result: list[ControlItem] = []
    seen: set[tuple[int, str]] = set()
    for _ in range(4 * number):  # in a small corpus little is left beside what was judged
        if len(result) == number:
            break
        row = shown[int(stream.integers(len(shown), 1)[0])].row
        doc_id = collection.doc_ids[int(stream.integers(collection.documents, 1)[0])].decode()
        judged = collection.qrels[collection.queries[row].query_id]
        if doc_id in judged or doc_id in pool.ranks(row) or (row, doc_id) in seen:
            continue
        seen.add((row, doc_id))
        result.append(ControlItem("positives", row, doc_id, 0))
    return result
