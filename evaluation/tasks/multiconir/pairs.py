"""What is compared: candidate sets, and within them pairs of which one document satisfies more.

Measures are cells, each a share of pairs won; a ladder may have several pairs in a cell:

| cell | pairs |
|---|---|
| violated, style, n, v | the positive and a document that violates v of the n conditions asked \
for, and no other (Task 1: v = 1) |
| condition, style, n, c | those with v = 1, by the condition; where there are several orders |
| rung, style, i | HN(i-1) and HNi under the longest query, HN0 being the positive (Task 2) |
| flip, i | the same pairs: 1 where the styles differ in who wins (Task 3) |
| blind, style, n; blind rung, style, i | Tasks 1 and 2 under the query of another ladder |
| length, words, style, i | Task 2 on padded documents (Task 4) |
| single, style, n | the positive and each document that violates one of the n conditions alone |
| beats all, style, n | 1 where the positive wins all of these |
| wording, w | those of the longest query, by how the violated condition asks |
| tied, part | pairs of task1, task2, blind task1 and blind task2 that tie, which are lost |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.tasks.multiconir.ladders import CandidateLadder, LadderLevel
from retgen.search.base import CandidateSet

Cell = tuple[str | int, ...]

TASKS = frozenset({"task1", "task2"})  # what paid models are asked
ALL = TASKS | {"violated", "blind", "length", "single"}


@dataclass(frozen=True)
class WinCounts:
    """Of one system: `won`, `pairs` and `ties` (ladders, cells); a cell's value is won / pairs.

    `ties` are the pairs lost because both documents have the same score.
    """

    cells: list[Cell]
    won: NDArray[np.float64]
    pairs: NDArray[np.float64]
    ties: NDArray[np.float64]


@dataclass
class PairPlan:
    """Candidate sets, each once, and the pairs in them: (ladder, cell, group, better, worse).

    `flips`: (ladder, cell, pair, pair), the same documents under two styles. `beats`: (ladder,
    cell, pair, pair), the first and the last of pairs that are won together or not at all.
    """

    ladders: int
    groups: list[CandidateSet] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    pairs: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    flips: list[tuple[int, int, int, int]] = field(default_factory=list)
    beats: list[tuple[int, int, int, int]] = field(default_factory=list)
    _group: dict[CandidateSet, int] = field(default_factory=dict)
    _cell: dict[Cell, int] = field(default_factory=dict)

    def group(self, group: CandidateSet) -> int:
        """The number of a candidate set, new or known."""
        result = self._group.setdefault(group, len(self.groups))
        if result == len(self.groups):
            self.groups.append(group)
        return result

    def cell(self, *cell: str | int) -> int:
        """The number of a cell, new or known."""
        result = self._cell.setdefault(cell, len(self.cells))
        if result == len(self.cells):
            self.cells.append(cell)
        return result

    def counts(self, scores: Sequence[NDArray[np.float64]], noise: float = 0.0) -> WinCounts:
        """What a system won. `scores`: of each group's texts.

        A pair is won by a strictly higher score; a tie is a loss (section 3.3). `noise`: what two
        scores may differ by, relative to them, without being different: texts that are the same
        after truncation get other last digits in another batch.
        """
        starts = np.cumsum([0, *map(len, scores)])
        flat = (
            np.concatenate([np.asarray(s, np.float64) for s in scores]) if scores else np.empty(0)
        )
        table = np.array(self.pairs, np.int64).reshape(-1, 5)
        ladder, cell, group, better, worse = table.T
        first, second = flat[starts[group] + better], flat[starts[group] + worse]
        margin = first - second
        near = noise * np.maximum(np.abs(first), np.abs(second))
        wins, ties = margin > near, np.abs(margin) <= near
        cells = [*self.cells, *(("tied", part) for part in _TIED)]
        won = np.zeros((self.ladders, len(cells)))
        pairs, lost = np.zeros_like(won), np.zeros_like(won)

        def add(of: NDArray[np.int64], which: NDArray[np.int64], values: Any) -> None:
            np.add.at(won, (of, which), values)
            np.add.at(pairs, (of, which), 1)

        add(ladder, cell, wins)
        np.add.at(lost, (ladder, cell), ties)
        tied = np.array([_TIED.index(p) if (p := _part(name)) else -1 for name in self.cells])[cell]
        here = tied >= 0
        add(ladder[here], len(self.cells) + tied[here], ties[here])
        if self.flips:
            of, which, one, other = np.array(self.flips, np.int64).T
            add(of, which, wins[one] != wins[other])
        if self.beats:
            of, which, one, other = np.array(self.beats, np.int64).T
            before = np.concatenate([[0], np.cumsum(wins)])
            add(of, which, before[other + 1] - before[one] == other + 1 - one)
        return WinCounts(cells, won, pairs, lost)


_TIED = ("blind task1", "blind task2", "task1", "task2")


def _part(cell: Cell) -> str | None:
    """What a pair's ties are counted under."""
    match cell[0]:
        case "violated":
            return "task1" if cell[3] == 1 else None
        case "rung":
            return "task2"
        case "blind":
            return "blind task1"
        case "blind rung":
            return "blind task2"
    return None


def make_plan(ladders: Sequence[CandidateLadder], parts: frozenset[str] = ALL) -> PairPlan:
    """What is compared on some ladders: all of it, or the Tasks only."""
    plan = PairPlan(len(ladders))
    others = _others(ladders)
    for number, ladder in enumerate(ladders):
        other = others[number]
        scored = []
        for style, queries in ladder.queries.items():
            _violations(plan, number, ladder, style, parts)
            if "single" in parts:
                _singles(plan, number, ladder, style)
            if "task2" in parts:
                scored.append(_climb(plan, number, ladder, queries[-1], "rung", style))
            if "blind" in parts and other is not None and style in other.queries:
                _blind(plan, number, ladder, style, other.queries[style])
        if len(scored) == 2:
            for one, two in zip(*scored, strict=True):  # the same pairs in the same order
                rung = plan.pairs[one][-1]
                plan.flips.append((number, plan.cell("flip", rung), one, two))
        if "length" in parts:
            for words, styles in ladder.padded.items():
                for style, group in styles.items():
                    at = plan.group(group)
                    for i in range(1, len(group.texts)):
                        plan.pairs.append(
                            (number, plan.cell("length", words, style, i), at, i - 1, i)
                        )
    return plan


def _violations(
    plan: PairPlan, number: int, ladder: CandidateLadder, style: str, parts: frozenset[str]
) -> None:
    """The positive against documents that violate some of the conditions asked for."""
    for n, query in enumerate(ladder.queries[style], start=1):
        for rung in _asked(ladder, n):
            v = len(rung.broken)
            if v > 1 and "violated" not in parts:
                continue
            at = plan.group(CandidateSet(query, (ladder.positive, rung.text)))
            plan.pairs.append((number, plan.cell("violated", style, n, v), at, 0, 1))
            if v == 1 and len(ladder.orders) > 1 and "violated" in parts:
                (condition,) = rung.broken
                plan.pairs.append((number, plan.cell("condition", style, n, condition), at, 0, 1))


def _singles(plan: PairPlan, number: int, ladder: CandidateLadder, style: str) -> None:
    """The positive against all documents that violate one condition of a query alone."""
    if set(ladder.singles) != set(range(1, ladder.conditions + 1)):
        return
    queries = ladder.queries[style]
    for n, query in enumerate(queries, start=1):
        broken = [ladder.singles[c] for c in range(1, n + 1)]
        at = plan.group(CandidateSet(query, (ladder.positive, *broken)))
        begin = len(plan.pairs)
        cell = plan.cell("single", style, n)
        plan.pairs += [(number, cell, at, 0, c) for c in range(1, n + 1)]
        plan.beats.append((number, plan.cell("beats all", style, n), begin, len(plan.pairs) - 1))
    for c, wording in enumerate(ladder.wordings, start=1):
        plan.pairs.append((number, plan.cell("wording", wording), at, 0, c))


def _climb(
    plan: PairPlan, number: int, ladder: CandidateLadder, query: str, *cell: str
) -> list[int]:
    """Neighbours on the ladder under one query; returns the numbers of their pairs."""
    begin = len(plan.pairs)
    for rungs in ladder.orders.values():
        at = plan.group(CandidateSet(query, (ladder.positive, *(rung.text for rung in rungs))))
        for i in range(1, len(rungs) + 1):
            plan.pairs.append((number, plan.cell(*cell, i), at, i - 1, i))
    return list(range(begin, len(plan.pairs)))


def _asked(ladder: CandidateLadder, n: int) -> Iterator[LadderLevel]:
    """The documents whose violated conditions are all among the first n."""
    for rungs in ladder.orders.values():
        for rung in rungs:
            if max(rung.broken) <= n:
                yield rung


def _blind(
    plan: PairPlan, number: int, ladder: CandidateLadder, style: str, queries: Sequence[str]
) -> None:
    for n, query in enumerate(queries, start=1):
        for rung in _asked(ladder, n):
            if len(rung.broken) == 1:
                at = plan.group(CandidateSet(query, (ladder.positive, rung.text)))
                plan.pairs.append((number, plan.cell("blind", style, n), at, 0, 1))
    _climb(plan, number, ladder, queries[-1], "blind rung", style)


def _others(ladders: Sequence[CandidateLadder]) -> list[CandidateLadder | None]:
    """For each ladder the next one of its domain, whose queries know nothing of it."""
    domains: dict[str, list[int]] = {}
    for number, ladder in enumerate(ladders):
        domains.setdefault(ladder.domain, []).append(number)
    result: list[CandidateLadder | None] = [None] * len(ladders)
    for numbers in domains.values():
        if len(numbers) > 1:
            for number, other in zip(numbers, [*numbers[1:], numbers[0]], strict=True):
                result[number] = ladders[other]
    return result
