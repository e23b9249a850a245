"""What is scored of haystacks, and the measures that come of the scores.

Under each question, and under each of its expansions, stand its haystacks and the controls of all
questions: texts of the same lengths, none of which answers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.tasks.niah.cells import CellKey, HaystackCoverage, SystemCells, too_few
from retgen.evaluation.tasks.niah.haystacks import (
    ORDERS,
    QUESTION,
    HaystackSets,
    HaystackText,
    HaystackVariant,
    QuestionTexts,
    load_haystacks,
)
from retgen.evaluation.tasks.niah.measures import (
    auc,
    comparative_ratio,
    effect_size,
    on_depth,
)
from retgen.evaluation.tasks.task import Comparison, MeasuredSystem, Scores, TaskData, TaskMeasures
from retgen.search.base import BestChunk, CandidateSet, System, share_won
from retgen.search.collection import Collection

_CONTROLS = 10  # texts without needle of an effect size, at least

CHUNKS = "best chunk"
_NEEDLES = "needles"  # the corpus of the bare needles, so that none counts among the haystacks

Array = NDArray[np.float64]


class HaystackData(TaskData[SystemCells]):
    """The haystacks of one data set."""

    def __init__(self, collection: Collection) -> None:
        self.name = collection.name
        self.haystacks = load_haystacks(collection)
        self.domains = [collection.name]
        self.notes = list(filter(None, [too_few(len(self.haystacks.groups))]))

    def comparison(
        self, limit: int | None = None, *, paid: bool = False
    ) -> Comparison[SystemCells]:
        every = self.haystacks.groups
        chosen = replace(self.haystacks, groups=every[:limit])
        described = f"{len(chosen.groups):,} of {len(every):,} questions"
        if not self.notes and (warning := too_few(len(chosen.groups))):
            described += f"; {warning}"
        return (OfPairs if paid else QuestionComparison)(self.name, chosen, described)


class QuestionComparison(Comparison[SystemCells]):
    """Every question with all of its haystacks and all controls."""

    def __init__(
        self,
        name: str,
        haystacks: HaystackSets,
        described: str,
        reach: Mapping[str, tuple[bool, bool]] | None = None,
        cut: Mapping[str, float] | None = None,
    ) -> None:
        """`reach`: by document id whether it is cut, and its needle read; None: not known.

        `cut`: by wording the share of queries that are cut.
        """
        self.name, self.haystacks, self.described = name, haystacks, described
        self._reach, self._cut = reach, cut or {}
        without = tuple(text.text for text in haystacks.controls)
        self.sets = []
        for group in haystacks.groups:
            texts = tuple(text.text for text in group.haystacks) + without
            self.sets += [CandidateSet(query, texts) for query in group.queries.values()]
        for group in haystacks.groups:
            needles = tuple(group.needles.values())
            self.sets += [CandidateSet(q, needles, _NEEDLES) for q in group.queries.values()]

    def readings(self, name: str, system: System) -> Iterable[MeasuredSystem[SystemCells]]:
        """The system as it is; and where it cuts haystacks, over chunks that it reads whole."""
        texts = [text for group in self.haystacks.groups for text in group.haystacks]
        if system.pieces is None:
            yield MeasuredSystem(name, system, self._read(_by_limit(texts, system.details())))
            return
        scorer = BestChunk(system.scorer, system.pieces)
        pieces = scorer.cut([text.text for text in texts])
        known = {
            text.doc_id: (len(of) > 1, text.span[1] <= text.text.find(of[0]) + len(of[0]))
            for text, of in zip(texts, pieces, strict=True)
        }
        asked = self._cut_queries(system.pieces)
        yield MeasuredSystem(name, system, self._read(known, asked))
        if any(cut for cut, _ in known.values()):
            chunks = System(system.dim, scorer, lambda: scorer.details(system.details()))
            yield MeasuredSystem(
                f"{name}, {CHUNKS}", chunks, self._read(_by_limit(texts, {}), asked)
            )

    def _read(
        self,
        reach: Mapping[str, tuple[bool, bool]] | None,
        cut: Mapping[str, float] | None = None,
    ) -> QuestionComparison:
        return QuestionComparison(self.name, self.haystacks, self.described, reach, cut)

    def _cut_queries(self, pieces: Callable[[Sequence[str]], list[list[str]]]) -> dict[str, float]:
        wordings: dict[str, list[str]] = {}
        for group in self.haystacks.groups:
            for name, query in group.queries.items():
                wordings.setdefault(name, []).append(query)
        return {
            name: sum(len(of) > 1 for of in pieces(queries)) / len(queries)
            for name, queries in wordings.items()
        }

    def measure(self, scores: Scores, noise: float) -> TaskMeasures[SystemCells]:
        groups = self.haystacks.groups
        values: dict[CellKey, Array] = {}

        def put(number: int, cell: CellKey, value: float) -> None:
            values.setdefault(cell, np.full(len(groups), np.nan))[number] = value

        of_needles = iter(scores[len(scores) // 2 :])
        of_texts = iter(scores[: len(scores) // 2])
        for number, group in enumerate(groups):
            for query in group.queries:
                bare = dict(zip(group.needles, next(of_needles), strict=True))
                of = _OfQuestion(self.haystacks, group, next(of_texts), bare, noise)
                for cell, value in of.cells(query):
                    put(number, cell, value)
        cells = _cells(self.name, self.haystacks, values, _reached(groups, self._reach), self._cut)
        return TaskMeasures({self.name: cells}, _rows(cells, groups))


class OfPairs(Comparison[SystemCells]):
    """Every haystack with its control alone, for what orders a few documents and scores none."""

    def __init__(self, name: str, haystacks: HaystackSets, described: str) -> None:
        self.name, self.haystacks, self.described = name, haystacks, described
        kind = haystacks.kinds[0]
        self.sets = [
            CandidateSet(group.queries[QUESTION], (text.text, haystacks.controls[at].text))
            for group in haystacks.groups
            for text, at in zip(group.haystacks, group.controls[kind], strict=True)
        ]

    def measure(self, scores: Scores, noise: float) -> TaskMeasures[SystemCells]:
        groups = self.haystacks.groups
        values: dict[CellKey, Array] = {}
        pairs = iter(scores)
        whole = _by_limit([text for group in groups for text in group.haystacks], {})
        for number, group in enumerate(groups):
            both = np.array([next(pairs) for _ in group.haystacks])
            for (variant, length), rows in _rows_of(group).items():
                cell = CellKey("ratio", QUESTION, variant, length)
                ratio = comparative_ratio(both[rows, 0], both[rows, 1], noise)
                values.setdefault(cell, np.full(len(groups), np.nan))[number] = ratio
        cells = _cells(self.name, self.haystacks, values, _reached(groups, whole), {})
        return TaskMeasures({self.name: cells}, _rows(cells, groups))


class _OfQuestion:
    """The scores of one query: of its haystacks, of all controls, of the bare needles."""

    def __init__(
        self,
        haystacks: HaystackSets,
        group: QuestionTexts,
        scores: Array,
        bare: Mapping[tuple[str, str], float],
        noise: float,
    ) -> None:
        self._group, self._bare, self._noise = group, bare, noise
        self._own, controls = np.split(scores, [len(group.haystacks)])
        self._kinds = haystacks.kinds
        self._paired = {kind: controls[group.controls[kind]] for kind in haystacks.kinds}
        self._without: dict[tuple[Any, int], Array] = {}
        places: dict[tuple[Any, int], list[int]] = {}
        for i, text in enumerate(haystacks.controls):
            if text.needle == haystacks.kinds[0]:
                places.setdefault((text.around, text.length), []).append(i)
        self._without = {key: controls[at] for key, at in places.items()}

    def cells(self, query: str) -> Iterator[tuple[CellKey, float]]:
        """All measures under this query; of order and place only as the question is asked."""
        for (variant, length), rows in _rows_of(self._group).items():
            for measure, value in self._measures(variant, length, rows):
                yield CellKey(measure, query, variant, length), value
            if query == QUESTION:
                yield from self._parts(variant, length, rows)

    def _measures(
        self, variant: HaystackVariant, length: int, rows: NDArray[np.int64]
    ) -> Iterator[tuple[str, float]]:
        own, without = self._own[rows], self._without[variant.around, length]
        bare = self._bare.get((variant.needle, ORDERS[0]), np.nan)
        yield "similarity", own.mean()
        yield "control", without.mean()
        yield "normalised", own.mean() / bare if bare > 0 else np.nan
        yield "difference", own.mean() - without.mean()
        yield "auc", auc(own, without, self._noise)
        # the spread of a handful of texts without needle says nothing
        enough = len(without) >= _CONTROLS
        yield "effect", effect_size(own, without, self._noise) if enough else np.nan
        for kind in self._kinds:
            paired = self._paired[kind][rows]
            more = "" if kind == self._kinds[0] else f", {kind}"
            yield f"ratio{more}", comparative_ratio(own, paired, self._noise)
            yield f"gain{more}", (own - paired).mean()

    def _parts(
        self, variant: HaystackVariant, length: int, rows: NDArray[np.int64]
    ) -> Iterator[tuple[CellKey, float]]:
        texts = [self._group.haystacks[i] for i in rows]
        for order in dict.fromkeys(text.order for text in texts):
            of = rows[[text.order == order for text in texts]]
            for measure, value in self._measures(variant, length, of):
                yield CellKey(measure, QUESTION, variant, length, order), value
        depths = np.array([text.depth for text in texts])
        for name, value in on_depth(depths, self._own[rows], self._noise)._asdict().items():
            yield CellKey(name, QUESTION, variant, length), value
        without = self._without[variant.around, length]
        share = share_won(self._own[rows][:, None], without[None, :], self._noise).mean(axis=1)
        places = np.array([text.place for text in texts])
        for place in np.unique(places):
            at = places == place
            yield CellKey("auc by place", QUESTION, variant, length, str(place)), share[at].mean()
            here = self._own[rows][at].mean()
            yield CellKey("similarity by place", QUESTION, variant, length, str(place)), here


def _rows_of(group: QuestionTexts) -> dict[tuple[HaystackVariant, int], NDArray[np.int64]]:
    """The haystacks of each variant and length, by their places in the group."""
    rows: dict[tuple[HaystackVariant, int], list[int]] = {}
    for i, text in enumerate(group.haystacks):
        rows.setdefault((text.variant, text.length), []).append(i)
    return {key: np.array(of) for key, of in rows.items()}


def _by_limit(
    texts: Sequence[HaystackText], details: Mapping[str, Any]
) -> dict[str, tuple[bool, bool]] | None:
    """Of a system that tells no more than its limit: cut is what has more tokens than that.

    A needle is read where all of it stands before the limit, by its share of the characters. None
    for a model that tells no limit.
    """
    if "device" in details and "max_length" not in details:
        return None
    limit = details.get("max_length") or max(text.length for text in texts)
    return {
        text.doc_id: (text.length > limit, text.span[1] * text.length <= limit * len(text.text))
        for text in texts
    }


def _reached(
    groups: Sequence[QuestionTexts], reach: Mapping[str, tuple[bool, bool]] | None
) -> dict[tuple[HaystackVariant, int], HaystackCoverage]:
    texts: dict[tuple[HaystackVariant, int], list[HaystackText]] = {}
    for group in groups:
        for text in group.haystacks:
            texts.setdefault((text.variant, text.length), []).append(text)
    result = {}
    for key, of in texts.items():
        count = len(of) // len(groups)
        if reach is None:
            result[key] = HaystackCoverage(count, None, None)
        else:
            cut, seen = np.array([reach[text.doc_id] for text in of]).mean(axis=0).tolist()
            result[key] = HaystackCoverage(count, cut, seen)
    return result


def _cells(
    name: str,
    haystacks: HaystackSets,
    values: Mapping[CellKey, Array],
    reach: Mapping[tuple[HaystackVariant, int], HaystackCoverage],
    cut: Mapping[str, float],
) -> SystemCells:
    groups = haystacks.groups
    return SystemCells(
        [group.name for group in groups],
        [group.category for group in groups],
        values,
        reach,
        name,
        cut,
        haystacks.kinds,
        haystacks.makes(),
    )


def _rows(cells: SystemCells, groups: Sequence[QuestionTexts]) -> Iterator[Mapping[str, Any]]:
    """Each question's value in every cell that it has."""
    for number, group in enumerate(groups):
        rows = []
        for cell, values in cells.values.items():
            if not np.isnan(values[number]):
                around = cell.variant.around._asdict()
                rows.append(
                    {"measure": cell.measure, "query": cell.query, "needle": cell.variant.needle}
                    | around
                    | {"length": cell.length, "part": cell.part, "value": values[number]}
                )
        yield {
            "query-id": group.query_id,
            "group": group.name,
            "category": group.category,
            "values": rows,
        }
