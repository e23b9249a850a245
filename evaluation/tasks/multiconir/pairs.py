"""What is compared: candidate sets, and within them pairs of which one document satisfies more.

Each pair is a row of the results, of the unit of its ladder, with these factors:

| part | further factors | pairs |
|---|---|---|
| task 1 | style, query | the positive and HN1, which violates one of the n conditions of Qn |
| all violated | style, query | the positive and a document that violates all n conditions |
| task 2 | style, pair | HN(i-1) and HNi under the longest query, HN0 being the positive |
| task 3 | pair | the same pairs: 1 where the styles differ in who wins |
| task 1 blind, task 2 blind | as above | the same under the query of another ladder |
| task 4 | words, style, pair | Task 2 on padded documents |
| single | style, query | the positive and each document that violates one of n conditions alone |
| beats all | style, query | 1 where the positive wins all of these |
| wording | wording | those of the longest query, by how the violated condition asks |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.tasks.multiconir.ladders import CandidateLadder
from retgen.results.measurements import Measure
from retgen.results.rows import Results
from retgen.search.base import CandidateSet, share_won

Array = NDArray[np.float64]
Cell = tuple[tuple[str, str], ...]  # (factor, level), that of "part" first


@dataclass(frozen=True)
class PairMeasure(Measure):
    """A measure of pairs: `of` takes the scores of the better and of the worse documents (pairs,),
    and the tolerance of a tie. With a `title` it has a table of its own, and a key in eval.json.
    """

    of: Callable[[Array, Array, float], Array] = lambda better, worse, noise: better - worse


WON = PairMeasure(
    "win rate",
    2,
    percent=True,
    chance=0.5,
    small_digits=1,
    even=True,
    of=lambda better, worse, noise: share_won(better, worse, noise) == 1,
)
TIES_HALF = PairMeasure("win rate, ties half", 1, percent=True, chance=0.5, even=True, of=share_won)
TIED = PairMeasure(
    "tied",
    1,
    percent=True,
    chance=0.0,
    of=lambda better, worse, noise: share_won(better, worse, noise) == 0.5,
)
MEASURES = (WON, TIES_HALF, TIED)  # a further one is an entry here
FLIPS = Measure("flip rate", 2, percent=True, chance=0.5, better="lower", small_digits=1, even=True)


class PairPlan:
    """What is compared on the ladders of one domain. `sets`: candidate sets, each once.

    Ties are losses in `WON` (section 3.3): a pair is won by a strictly higher score. `main`: Tasks
    1 and 2 alone, all that a model is asked that costs money.
    """

    def __init__(self, ladders: Sequence[CandidateLadder], *, main: bool = False) -> None:
        self.ladders = ladders
        self._rows: list[tuple[int, Cell]] = []  # the ladder and the cell of each pair
        pairs: list[tuple[int, int, int]] = []  # its set, and there the better and the worse text
        numbers: dict[CandidateSet, int] = {}
        for number, ladder in enumerate(ladders):
            other = ladders[(number + 1) % len(ladders)]  # its queries know nothing of this one
            compared = _main_pairs(ladder)
            if not main:
                compared = chain(compared, _further_pairs(ladder, other))
            for one, cell, better, worse in compared:
                at = numbers.setdefault(one, len(numbers))
                pairs.append((at, better, worse))
                self._rows.append((number, cell))
        self.sets = list(numbers)
        self._pairs = np.array(pairs, np.int64).reshape(-1, 3)

    def results(self, scores: Sequence[Array], noise: float = 0.0) -> Results:
        """A row a pair and measure. `scores`: of the texts of each set.

        `noise`: what two scores may differ by, relative to them, without being different: texts
        that are the same after truncation get other last digits in another batch.
        """
        starts = np.cumsum([0, *map(len, scores)])
        flat = np.concatenate([np.empty(0), *(np.asarray(s, np.float64) for s in scores)])
        at, better, worse = self._pairs.T
        first, second = flat[starts[at] + better], flat[starts[at] + worse]
        rows: list[tuple[int, dict[str, str], float]] = []
        won: dict[tuple[int, Cell], list[bool]] = {}
        for measure in MEASURES:
            values = measure.of(first, second, noise).tolist()
            for (ladder, cell), value in zip(self._rows, values, strict=True):
                rows.append((ladder, {"measure": measure.name, **dict(cell)}, value))
                if measure is WON:
                    won.setdefault((ladder, cell), []).append(value)
        styles: dict[tuple[int, str], list[bool]] = {}  # who wins a pair of neighbours in each
        for (ladder, cell), wins in won.items():
            levels = dict(cell)
            if levels["part"] == "single":
                beats = {"measure": WON.name, **levels, "part": "beats all"}
                rows.append((ladder, beats, all(wins)))
            elif levels["part"] == "task 2":
                styles.setdefault((ladder, levels["pair"]), []).extend(wins)
        for (ladder, pair), wins in styles.items():
            if len(wins) == 2:
                flip = {"measure": FLIPS.name, "part": "task 3", "pair": pair}
                rows.append((ladder, flip, wins[0] != wins[1]))
        return Results.of([ladder.ladder_id for ladder in self.ladders], rows)


# a candidate set, the cell of the comparison, and the places of the better and the worse text
Pairs = Iterator[tuple[CandidateSet, Cell, int, int]]


def _cell(part: str, **factors: str) -> Cell:
    return (("part", part), *factors.items())


def _main_pairs(ladder: CandidateLadder) -> Pairs:
    """Tasks 1 and 2; Task 3 compares what comes of them."""
    for style, queries in ladder.queries.items():
        yield from _first_negative(queries, ladder, "task 1", style)
        longest = CandidateSet(queries[-1], ladder.texts)
        yield from _neighbours(longest, part="task 2", style=style)


def _further_pairs(ladder: CandidateLadder, other: CandidateLadder) -> Pairs:
    """The controls: all conditions violated, one alone, the queries of `other`, longer texts."""
    for style, queries in ladder.queries.items():
        for n, query in enumerate(queries[: len(ladder.texts) - 1], start=1):
            both = CandidateSet(query, (ladder.texts[0], ladder.texts[n]))
            yield both, _cell("all violated", style=style, query=f"Q{n}"), 0, 1
        if set(ladder.singles) == set(range(1, ladder.conditions + 1)):
            yield from _singles(ladder, style, queries)
        if other is not ladder and style in other.queries:
            blind = other.queries[style]
            yield from _first_negative(blind, ladder, "task 1 blind", style)
            longest = CandidateSet(blind[-1], ladder.texts)
            yield from _neighbours(longest, part="task 2 blind", style=style)
    for words, styles in ladder.padded.items():
        for style, padded in styles.items():
            yield from _neighbours(padded, part="task 4", words=f"{words:,}", style=style)


def _first_negative(
    queries: Iterable[str], ladder: CandidateLadder, part: str, style: str
) -> Pairs:
    """The positive and HN1 under each query."""
    for n, query in enumerate(queries, start=1):
        both = CandidateSet(query, ladder.texts[:2])
        yield both, _cell(part, style=style, query=f"Q{n}"), 0, 1


def _neighbours(one: CandidateSet, **factors: str) -> Pairs:
    """Neighbours on the ladder; P>1 is the positive against HN1, 1>2 is HN1 against HN2."""
    for worse in range(1, len(one.texts)):
        yield one, _cell(**factors, pair=f"{worse - 1 or 'P'}>{worse}"), worse - 1, worse


def _singles(ladder: CandidateLadder, style: str, queries: Sequence[str]) -> Pairs:
    """The positive against all documents that violate one condition of a query alone."""
    for n, query in enumerate(queries, start=1):
        one = CandidateSet(query, (ladder.texts[0], *(ladder.singles[c + 1] for c in range(n))))
        for worse in range(1, n + 1):
            yield one, _cell("single", style=style, query=f"Q{n}"), 0, worse
        if n == ladder.conditions:
            for worse, wording in enumerate(ladder.wordings, start=1):
                yield one, _cell("wording", wording=wording), 0, worse
