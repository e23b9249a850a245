"""Planted items: pairs whose relevance is known, which measure the people who judge.

Pairs that are not relevant stand among the positives, relevant ones among the others. Structural
labels are known; such a pair is planted instead of being part of its population. Where labels are
anybody's judgement, a random document stands for one that is not relevant, and nothing is known to
be relevant. Random documents are easy to tell, so what they measure is the most that a reviewer
may be trusted with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from retgen.review.candidates import Candidate, CandidatePool
from retgen.review.records import Population
from retgen.streams import Stream

MOST_CONTROLS = 200  # of a kind
_TAKEN = 0.1  # of a population, at most


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
    """Planted pairs, about `share` of those that are `planned` for each population."""
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
        if doc_id in judged or doc_id in pool.found(row) or (row, doc_id) in seen:
            continue
        seen.add((row, doc_id))
        result.append(ControlItem("positives", row, doc_id, 0))
    return result
