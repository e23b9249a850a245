"""What verdicts say of a population: a value a pair, in the order in which pairs are looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from retgen.review import assign
from retgen.review.consensus import Consensus
from retgen.review.records import Item, Population, PopulationPair, Verdict
from retgen.review.review import Review
from retgen.statistics import sequences
from retgen.statistics.rates import ReviewerRates
from retgen.statistics.sequences import WeightedDraws

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PopulationResult:
    """A population, and what holds of the pairs that were looked at.

    `pairs`: all, in order. `consensus`: of items with a verdict, by place. `people`: how many items
    each annotator looked at.
    """

    population: Population
    pairs: Sequence[PopulationPair]
    consensus: Mapping[int, Consensus]
    people: Mapping[str, int]

    @cached_property
    def weights(self) -> Floats:
        """(N,) of the pairs, in order."""
        return np.array([pair.weight for pair in self.pairs])

    @cached_property
    def draws(self) -> WeightedDraws:
        """Of all pairs."""
        return sequences.draws(np.arange(len(self.pairs)), self.weights)

    @cached_property
    def values(self) -> Floats:
        """(n, 2) bounds of whether the label is wrong, up to the last pair that is settled.

        (0, 1) where nobody can tell, or not all who are asked have said the same yet.
        """
        settled = [place for place, one in self.consensus.items() if one.state == "settled"]
        result = np.tile([0.0, 1.0], (max(settled, default=-1) + 1, 1))
        for place in settled:
            relevance = self.consensus[place].relevance
            if relevance is not None:
                result[place] = float((relevance > 0) != (self.population == "positives"))
        return result

    @property
    def seen_draws(self) -> WeightedDraws:
        """Of the pairs that have a value."""
        return self.draws.first(len(self.values))

    def count(self, state: str) -> int:
        """Items in a state of consensus."""
        return sum(one.state == state for one in self.consensus.values())

    @property
    def looked_at(self) -> int:
        """Items that are settled."""
        return self.count("settled")

    @property
    def wrong(self) -> int:
        """Settled items whose label is wrong."""
        return int((self.values[:, 0] == 1).sum())

    @property
    def unsure(self) -> int:
        """Settled items that nobody can tell."""
        return sum(
            one.state == "settled" and one.relevance is None for one in self.consensus.values()
        )


def population_result(
    review: Review, population: Population, by: Mapping[str, Sequence[Verdict]]
) -> PopulationResult:
    """What was found in a population. `by`: the verdicts that stand, by item."""
    states: dict[int, Consensus] = {}
    people: Counter[str] = Counter()
    for item in review.items:
        given = by.get(item.item_id)
        if given and item.population == population and item.planted is None:
            states[item.place] = review.consensus(item, given)
            people.update({one.annotator for one in given if one.part != "second"})
    return PopulationResult(
        population, review.store.pairs(population), states, dict(sorted(people.items()))
    )


def control_verdicts(
    items: Sequence[Item], by: Mapping[str, Sequence[Verdict]], annotator: str | None = None
) -> list[tuple[Item, Verdict]]:
    """The control items that were judged, in the order of verdicts."""
    judged = [
        (item, verdict)
        for item in items
        if item.planted is not None
        for verdict in by.get(item.item_id, ())
        if verdict.part == "first" and annotator in (None, verdict.annotator)
    ]
    return sorted(judged, key=lambda pair: pair[1].number)


def control_rates(judged: Sequence[tuple[Item, Verdict]], relevance: int) -> ReviewerRates:
    """How reviewers do where the label is wrong: of control items with a known `relevance`.

    0: what is wrong is a pair that is not relevant. Pairs of the other relevance are those that
    are right. Who cannot tell is counted on neither side.
    """
    told = [(item.planted, v.relevance) for item, v in judged if v.relevance is not None]
    errors = [min(said or 0, 1) == relevance for known, said in told if known == relevance]
    clean = [min(said or 0, 1) != relevance for known, said in told if known != relevance]
    return ReviewerRates(sum(errors), len(errors), sum(clean), len(clean))


def control_misses(judged: Sequence[tuple[Item, Verdict]], relevance: int) -> list[float]:
    """1 for each control item of a known relevance that was taken for the other, else 0.

    Who cannot tell has missed nothing: a certificate counts such a pair as an error.
    """
    return [
        float(v.relevance is not None and min(v.relevance, 1) != relevance)
        for item, v in judged
        if item.planted == relevance
    ]


def waiting_by_annotator(review: Review, by: Mapping[str, Sequence[Verdict]]) -> Counter[str]:
    """By annotator how many items, which others have judged, wait for them."""
    result: Counter[str] = Counter()
    for item in review.items:
        given = by.get(item.item_id, ())
        if item.planted is None and given and review.consensus(item, given).state == "waiting":
            said = {one.annotator for one in given if one.part == "first"}
            result.update(set(assign.assigned_annotators(item, review.settings)) - said)
    return result
