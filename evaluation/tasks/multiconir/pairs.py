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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.tasks.multiconir.ladders import CandidateLadder, LadderLevel
from retgen.results.measurements import Measure
from retgen.results.rows import Cell, Results
from retgen.search.base import CandidateSet, share_won

Array = NDArray[np.float64]
TASKS = frozenset({"task 1", "task 2"})  # what paid models are asked
ALL = TASKS | {"all violated", "blind", "task 4", "single"}


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

    Ties are losses in `WON` (section 3.3): a pair is won by a strictly higher score.
    """

    def __init__(self, ladders: Sequence[CandidateLadder], parts: frozenset[str] = ALL) -> None:
        self.ladders, self.sets = ladders, list[CandidateSet]()
        self._numbers: dict[CandidateSet, int] = {}
        self._cells: dict[tuple[Any, ...], int] = {}
        # (ladder, cell, set, better, worse)
        self._pairs: list[tuple[int, int, int, int, int]] = []
        # (ladder, cell, pair, pair): the same documents under two styles; the first and the last
        # of pairs that are won together or not at all
        self._flips: list[tuple[int, int, int, int]] = []
        self._beats: list[tuple[int, int, int, int]] = []
        for number, ladder in enumerate(ladders):
            other = ladders[(number + 1) % len(ladders)]  # its queries know nothing of this one
            self._compare(number, ladder, other if other is not ladder else None, parts)

    def _cell(self, part: str, **factors: str) -> int:
        key = (("part", part), *factors.items())
        return self._cells.setdefault(key, len(self._cells))

    def _add(
        self, number: int, one: CandidateSet, pairs: Sequence[tuple[int, int, int]]
    ) -> list[int]:
        """Compare texts of a set: (cell, better, worse); the numbers of the pairs."""
        at = self._numbers.setdefault(one, len(self.sets))
        if at == len(self.sets):
            self.sets.append(one)
        begin = len(self._pairs)
        self._pairs += [(number, cell, at, better, worse) for cell, better, worse in pairs]
        return list(range(begin, len(self._pairs)))

    def _compare(
        self,
        number: int,
        ladder: CandidateLadder,
        other: CandidateLadder | None,
        parts: frozenset[str],
    ) -> None:
        climbs = []
        for style, queries in ladder.queries.items():
            for n, query in enumerate(queries, start=1):
                for rung in _asked(ladder, n):
                    of = {
                        "task 1": len(rung.broken) == 1,
                        "all violated": len(rung.broken) == n,
                    }
                    cells = [
                        self._cell(part, style=style, query=f"Q{n}")
                        for part, holds in of.items()
                        if holds and part in parts
                    ]
                    if cells:
                        both = CandidateSet(query, (ladder.positive, rung.text))
                        self._add(number, both, [(cell, 0, 1) for cell in cells])
            if "single" in parts:
                self._singles(number, ladder, style)
            climbs.append(self._climb(number, ladder, queries[-1], "task 2", style))
            if "blind" in parts and other is not None and style in other.queries:
                for n, query in enumerate(other.queries[style], start=1):
                    cell = self._cell("task 1 blind", style=style, query=f"Q{n}")
                    for rung in _asked(ladder, n):
                        if len(rung.broken) == 1:
                            both = CandidateSet(query, (ladder.positive, rung.text))
                            self._add(number, both, [(cell, 0, 1)])
                query = other.queries[style][-1]
                self._climb(number, ladder, query, "task 2 blind", style)
        if len(climbs) == 2:
            for one, two in zip(*climbs, strict=True):  # the same pairs in the same order
                cell = self._cell("task 3", pair=_pair_name(self._pairs[one][-1]))
                self._flips.append((number, cell, one, two))
        for words, styles in ladder.padded.items() if "task 4" in parts else ():
            for style, padded in styles.items():
                cells = [
                    self._cell("task 4", words=f"{words:,}", style=style, pair=_pair_name(i))
                    for i in range(1, len(padded.texts))
                ]
                pairs = [(cell, i, i + 1) for i, cell in enumerate(cells)]
                self._add(number, padded, pairs)

    def _singles(self, number: int, ladder: CandidateLadder, style: str) -> None:
        """The positive against all documents that violate one condition of a query alone."""
        if set(ladder.singles) != set(range(1, ladder.conditions + 1)):
            return
        wordings = [self._cell("wording", wording=one) for one in ladder.wordings]
        for n, query in enumerate(ladder.queries[style], start=1):
            texts = (ladder.positive, *(ladder.singles[c] for c in range(1, n + 1)))
            one, cell = CandidateSet(query, texts), self._cell("single", style=style, query=f"Q{n}")
            at = self._add(number, one, [(cell, 0, c) for c in range(1, n + 1)])
            beats = self._cell("beats all", style=style, query=f"Q{n}")
            self._beats.append((number, beats, at[0], at[-1]))
            if n == ladder.conditions:
                self._add(number, one, [(cell, 0, c) for c, cell in enumerate(wordings, start=1)])

    def _climb(
        self, number: int, ladder: CandidateLadder, query: str, part: str, style: str
    ) -> list[int]:
        """Neighbours on the ladder under one query; returns the numbers of their pairs."""
        result = []
        for rungs in ladder.orders.values():
            texts = (ladder.positive, *(rung.text for rung in rungs))
            names = (_pair_name(i) for i in range(1, len(texts)))
            cells = [self._cell(part, style=style, pair=name) for name in names]
            pairs = [(cell, i, i + 1) for i, cell in enumerate(cells)]
            result += self._add(number, CandidateSet(query, texts), pairs)
        return result

    def results(self, scores: Sequence[Array], noise: float = 0.0) -> Results:
        """A row a pair and measure. `scores`: of the texts of each set.

        `noise`: what two scores may differ by, relative to them, without being different: texts
        that are the same after truncation get other last digits in another batch.
        """
        starts = np.cumsum([0, *map(len, scores)])
        flat = np.concatenate([np.empty(0), *(np.asarray(s, np.float64) for s in scores)])
        ladder, cell, at, better, worse = np.array(self._pairs, np.int64).reshape(-1, 5).T
        first, second = flat[starts[at] + better], flat[starts[at] + worse]
        cells: list[Cell] = []
        columns = []  # unit, cell, value

        def add(measure: Measure, unit: Any, of: Any, values: Any) -> None:
            columns.append((unit, np.asarray(of) + len(cells), np.asarray(values, np.float64)))
            cells.extend({"measure": measure.name, **dict(key)} for key in self._cells)

        for measure in MEASURES:
            add(measure, ladder, cell, measure.of(first, second, noise))
        wins = WON.of(first, second, noise)
        if self._flips:
            unit, of, one, two = np.array(self._flips, np.int64).T
            add(FLIPS, unit, of, wins[one] != wins[two])
        if self._beats:
            unit, of, first, last = np.array(self._beats, np.int64).T
            before = np.concatenate([[0], np.cumsum(wins)])
            add(WON, unit, of, before[last + 1] - before[first] == last + 1 - first)
        names = [ladder.ladder_id for ladder in self.ladders]
        return Results.of_arrays(names, cells, *map(np.concatenate, zip(*columns, strict=True)))


def _pair_name(rung: int) -> str:
    """P>1 is the positive against HN1, 1>2 is HN1 against HN2."""
    return f"{rung - 1 or 'P'}>{rung}"


def _asked(ladder: CandidateLadder, n: int) -> Iterator[LadderLevel]:
    """The documents whose violated conditions are all among the first n."""
    for rungs in ladder.orders.values():
        for rung in rungs:
            if max(rung.broken) <= n:
                yield rung
