"""What is scored of haystacks, and the results that come of the scores.

Under each question, and under each of its expansions, stand its haystacks and the controls of all
questions: texts of the same lengths, none of which answers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
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
    CONTROLS,
    CUT,
    HAYSTACKS,
    MEASURES,
    SEEN,
    TRUNCATED,
    Array,
    QuestionScores,
    on_depth,
)
from retgen.evaluation.tasks.task import Comparison, Scores, TaskData, TaskMeasures
from retgen.results.rows import Cell, Results
from retgen.search.base import CandidateSet, System
from retgen.search.collection import Collection
from retgen.statistics import clustered

_NEEDLES = "needles"  # the corpus of the bare needles, so that none counts among the haystacks
Reach = Mapping[str, tuple[bool, bool]]  # by document id whether it is cut, and its needle read


def too_few(questions: int) -> str:
    """Why there are no intervals; "" where there are."""
    why = clustered.too_few(questions, f"{questions} question{'s' * (questions != 1)}")
    return why and f"{why}; no difference from chance is claimed"


class HaystackData(TaskData):
    """The haystacks of one data set."""

    def __init__(self, collection: Collection) -> None:
        self.name = collection.name
        self.haystacks = load_haystacks(collection)
        self.domains = [collection.name]
        self.notes = list(filter(None, [too_few(len(self.haystacks.groups))]))

    def comparison(self, limit: int | None = None, *, paid: bool = False) -> Comparison:
        if paid:
            raise UsageError(
                "a chat model orders documents, and haystacks are measured by scores: use an "
                "embedder, cross:MODEL or bm25"
            )
        every = self.haystacks.groups
        chosen = replace(self.haystacks, groups=every[:limit])
        described = f"{len(chosen.groups):,} of {len(every):,} questions"
        if not self.notes and (warning := too_few(len(chosen.groups))):
            described += f"; {warning}"
        return QuestionComparison(self.name, chosen, described)


class QuestionComparison(Comparison):
    """Every question with all of its haystacks and all controls.

    `reach`: what is read of each document, None where that is not known. `cut`: by wording, for
    each question whether its query is cut.
    """

    def __init__(
        self,
        name: str,
        haystacks: HaystackSets,
        described: str,
        reach: Reach | None = None,
        cut: Mapping[str, Sequence[bool]] | None = None,
    ) -> None:
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

    def for_system(self, system: System) -> QuestionComparison:
        """The same, with what the system reads of its texts."""
        texts = [text for group in self.haystacks.groups for text in group.haystacks]
        if system.reads is None:
            reach, cut = _by_limit(texts, system.details()), None
        else:
            read = system.reads([text.text for text in texts])
            reach = {
                text.doc_id: (end < len(text.text), text.span[1] <= end)
                for text, end in zip(texts, read, strict=True)
            }
            cut = self._cut_queries(system.reads)
        return QuestionComparison(self.name, self.haystacks, self.described, reach, cut)

    def _cut_queries(self, reads: Callable[[Sequence[str]], list[int]]) -> dict[str, list[bool]]:
        wordings: dict[str, list[str]] = {}
        for group in self.haystacks.groups:
            for name, query in group.queries.items():
                wordings.setdefault(name, []).append(query)
        return {
            name: [end < len(text) for text, end in zip(every, reads(every), strict=True)]
            for name, every in wordings.items()
        }

    def measure(self, scores: Scores, noise: float) -> TaskMeasures:
        groups = self.haystacks.groups
        of_texts = iter(scores[: len(scores) // 2])
        of_needles = iter(scores[len(scores) // 2 :])

        def rows() -> Iterator[tuple[int, Cell, float]]:
            for number, group in enumerate(groups):
                for query in group.queries:
                    bare = dict(zip(group.needles, next(of_needles), strict=True))
                    of = _OfQuestion(self.haystacks, group, next(of_texts), bare, noise)
                    for cell, value in of.values(query):
                        yield number, cell, value
            for query, each in self._cut.items():
                for number, is_cut in enumerate(each):
                    yield number, {"measure": CUT.name, "query": query}, is_cut
            yield from _read_rows(self.haystacks, self._reach)

        return _measures(self.name, groups, rows())


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
        places: dict[tuple[Any, int], list[int]] = {}
        for i, text in enumerate(haystacks.controls):
            if text.variant.needle == haystacks.kinds[0]:
                places.setdefault((text.around, text.length), []).append(i)
        self._without = {key: controls[at] for key, at in places.items()}

    def values(self, query: str) -> Iterator[tuple[Cell, float]]:
        """All measures under this query; further breakdowns only as the question is asked."""
        for factors, rows in _rows_of(self._group):
            texts = [self._group.haystacks[i] for i in rows]
            at: Cell = {"query": query, **factors}
            levels = {"": [""] * len(texts)}
            if query == QUESTION:
                depths = np.array([text.depth for text in texts])
                place = on_depth(depths, self._own[rows], self._noise)
                for name, value in place._asdict().items():
                    yield {"measure": name, **at}, value
                levels["category"] = [self._group.category] * len(texts)
                levels["order"] = [text.order for text in texts]
                levels["place"] = [str(text.place) for text in texts]
            for by, each in levels.items():
                for level in dict.fromkeys(each):
                    own = rows[[one == level for one in each]]
                    for name, value in self._measures(own, by):
                        yield {"measure": name, **at, **({by: level} if by else {})}, value

    def _measures(self, rows: NDArray[np.int64], by: str) -> Iterator[tuple[str, float]]:
        """Every measure of some haystacks; `by`: those that are broken down by it."""
        first, (main, *_) = self._group.haystacks[rows[0]], self._kinds
        bare = self._bare.get((first.variant.needle, ORDERS[0]), np.nan)
        controls = self._without[first.around, first.length]
        for kind in [main] if by else self._kinds:
            paired = self._paired[kind][rows]
            of = QuestionScores(self._own[rows], paired, controls, bare, self._noise)
            for measure in MEASURES:
                if by in measure.by if by else kind == main or measure.of_control:
                    name = measure.of_kind(kind, main).name
                    yield f"{name} by {by}" if by else name, measure.of(of)


def _rows_of(group: QuestionTexts) -> Iterator[tuple[dict[str, Any], NDArray[np.int64]]]:
    """The haystacks of each variant and length: the factors, and their places in the group."""
    rows: dict[tuple[HaystackVariant, int], list[int]] = {}
    for i, text in enumerate(group.haystacks):
        rows.setdefault((text.variant, text.length), []).append(i)
    for (variant, length), of in rows.items():
        yield {"variant": variant, "length": length}, np.array(of)


def _by_limit(texts: Sequence[HaystackText], details: Mapping[str, Any]) -> Reach | None:
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


def _read_rows(haystacks: HaystackSets, reach: Reach | None) -> Iterator[tuple[int, Cell, float]]:
    """Each haystack: that it is one, whether it is cut, and whether its needle is read."""
    for kind in haystacks.kinds:
        yield 0, {"measure": CONTROLS.name, "control": kind}, 1.0
    for number, group in enumerate(haystacks.groups):
        for text in group.haystacks:
            at = {"variant": text.variant, "length": text.length}
            yield number, {"measure": HAYSTACKS.name, **at}, 1.0
            if reach is not None:
                for measure, value in zip((TRUNCATED, SEEN), reach[text.doc_id], strict=True):
                    yield number, {"measure": measure.name, **at}, value


def _measures(
    name: str, groups: Sequence[QuestionTexts], rows: Iterable[tuple[int, Cell, float]]
) -> TaskMeasures:
    results = Results.of([f"{name}: {group.name}" for group in groups], rows)
    own = {measure.name for measure in (HAYSTACKS, CONTROLS, TRUNCATED, SEEN, CUT)}

    def of_question() -> Iterator[Mapping[str, Any]]:
        """Each question's value in every cell that it has."""
        for number, group in enumerate(groups):
            values = []
            for cell, value in results.by_unit(number):
                if cell["measure"] not in own and "category" not in cell:
                    variant = cell["variant"]
                    assert isinstance(variant, HaystackVariant)
                    rest = {key: one for key, one in cell.items() if key != "variant"}
                    values.append({**rest, **variant._asdict(), "value": value})
            yield {
                "query-id": group.query_id,
                "group": group.name,
                "category": group.category,
                "values": values,
            }

    return TaskMeasures({name: results}, of_question())
