"""Needles in haystacks as a data set holds them: questions, haystacks, and controls without needle.

All is read off the metadata of corpus and queries. A control has the filler of its haystacks, and
instead of the needle nothing, or a neutral sentence at the same place. All texts are held. Under
each question, and under each of its expansions, its haystacks and the controls of all questions are
scored: texts of the same lengths, none of which answers it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.errors import DatasetError, UsageError
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
from retgen.evaluation.tasks.task import (
    Measured,
    Scores,
    TaskData,
    noted_documents,
    noted_queries,
)
from retgen.results.rows import Cell, Results
from retgen.search.base import CandidateSet, System
from retgen.search.collection import Collection
from retgen.statistics import clustered

KINDS = ("none", "neutral")  # what stands instead of a needle in a control, the main one first
ORDERS = ("default", "inverted")
QUESTION = "question"
_EXPANSION = "expansion_"
_NEEDLES = "needles"  # the corpus of the bare needles, so that none counts among the haystacks
Reach = Mapping[str, tuple[bool, bool]]  # by document id whether it is cut, and its needle read


class HaystackVariant(NamedTuple):
    """Haystacks of one make: the needle, and what the text around it is like."""

    needle: str
    filler: str
    filtered: bool
    distractors: int


class HaystackText(NamedTuple):
    """A haystack or a control. `place`, `depth`: -1 without needle.

    `span`: the characters of the needle, or of the neutral sentence.
    """

    doc_id: str
    text: str
    variant: HaystackVariant
    group: str
    length: int
    order: str
    place: int
    depth: float
    number: int
    span: tuple[int, int]

    @property
    def around(self) -> tuple[Any, ...]:
        """What the text around the needle is like."""
        return self.variant[1:]

    @property
    def body(self) -> tuple[Any, ...]:
        """Equal for all texts of one filler."""
        return self.group, self.length, self.around, self.number


@dataclass
class QuestionTexts:
    """A question. `queries`: as it is asked, and expanded; `needles`: by kind and order.

    `controls`: for each of `haystacks` the index of its control in `Haystacks.controls`, by kind.
    """

    name: str
    query_id: str
    category: str
    queries: Mapping[str, str]
    needles: Mapping[tuple[str, str], str]
    haystacks: list[HaystackText] = field(default_factory=list)
    controls: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class HaystackSets:
    """`controls`: of all groups and of the kinds in `kinds`, the first of which is the main one."""

    groups: Sequence[QuestionTexts]
    controls: Sequence[HaystackText]
    kinds: Sequence[str]

    @cached_property
    def main_controls(self) -> dict[tuple[Any, ...], list[int]]:
        """The main ones by what their text is like, and their length."""
        places: dict[tuple[Any, ...], list[int]] = {}
        for i, text in enumerate(self.controls):
            if text.variant.needle == self.kinds[0]:
                places.setdefault((*text.around, text.length), []).append(i)
        return places


KEYS = frozenset({"group", "category", "needle"})  # of a query about a needle


def load_haystacks(collection: Collection) -> HaystackSets:
    """The questions of a data set in their order. Raises `DatasetError` for a missing control."""
    path = collection.path
    groups: dict[str, QuestionTexts] = {}
    for query, note in noted_queries(collection, KEYS):
        group = _group(query.query_id, query.text, note)
        if group.name in groups:
            raise DatasetError(f"{path}: group {group.name} has two questions; each has one")
        groups[group.name] = group
    relevant = {
        name: {doc for doc, score in collection.qrels[group.query_id].items() if score > 0}
        for name, group in groups.items()
    }
    controls: list[HaystackText] = []
    for doc_id, content, note in noted_documents(collection, "depth"):
        try:
            text = _text(doc_id, content, note)
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(
                f"{path}: the metadata of document {doc_id} is not that of a haystack: "
                f"{type(error).__name__} {error}; `gen validate` says what belongs there"
            ) from error
        if text.variant.needle in KINDS:
            controls.append(text)
        elif text.doc_id in relevant.get(text.group, ()):
            groups[text.group].haystacks.append(text)
    kept = [group for group in groups.values() if group.haystacks]
    if not kept:
        raise DatasetError(f"{path}: no relevant document is a haystack of its question")
    for group in kept:
        group.haystacks.sort(
            key=lambda t: (_rank(t), t.variant, t.length, t.number, t.order, t.place)
        )
    lengths = {text.length for group in kept for text in group.haystacks}
    controls = [text for text in controls if text.length in lengths]
    controls.sort(key=lambda t: (t.variant, t.length, t.group, t.number, t.place))
    kinds = [kind for kind in KINDS if any(text.variant.needle == kind for text in controls)]
    _pair(path, kept, controls, kinds)
    return HaystackSets(kept, controls, kinds)


def _rank(text: HaystackText) -> tuple[bool, bool, int, bool]:
    """The plainest make first: one-hop needles, shuffled and filtered filler, no near-answers."""
    needle, filler, filtered, distractors = text.variant
    return needle != "one_hop", not filtered, distractors, filler != "shuffled"


def _group(query_id: str, text: str, message: Mapping[str, Any]) -> QuestionTexts:
    queries = {QUESTION: text}
    expanded = [key for key in message if key.startswith(_EXPANSION) and message[key]]
    queries |= {key: str(message[key]) for key in sorted(expanded, key=terms)}
    keys = {
        (kind, order): key + ("_inverted" if order == "inverted" else "")
        for kind, key in (("one_hop", "needle"), ("literal", "literal"))
        for order in ORDERS
    }
    needles = {kind: str(message[key]) for kind, key in keys.items() if message.get(key)}
    return QuestionTexts(
        str(message["group"]), query_id, str(message["category"]), queries, needles
    )


def terms(query: str) -> int:
    """How many terms are added to a question, by the name of the query."""
    return int(query.removeprefix(_EXPANSION)) if query.startswith(_EXPANSION) else 0


def _text(doc_id: str, text: str, message: Mapping[str, Any]) -> HaystackText:
    variant = HaystackVariant(
        str(message["needle"]),
        str(message["filler"]),
        bool(message["filtered"]),
        int(message["distractors"]),
    )
    kinds = {"group": str, "length": int, "order": str, "place": int, "depth": float, "number": int}
    facts: dict[str, Any] = {name: kind(message[name]) for name, kind in kinds.items()}
    start, stop = message["span"]
    return HaystackText(doc_id, text, variant, **facts, span=(int(start), int(stop)))


def _pair(
    path: Path,
    groups: Sequence[QuestionTexts],
    controls: Sequence[HaystackText],
    kinds: Sequence[str],
) -> None:
    """Find each haystack's control: of the same filler, and with a neutral sentence, place."""
    places = {(text.variant.needle, text.body, text.place): i for i, text in enumerate(controls)}
    for group in groups:
        for kind in kinds or KINDS[:1]:
            group.controls[kind] = []
            for text in group.haystacks:
                at = places.get((kind, text.body, text.place if kind == "neutral" else -1))
                if at is None:
                    raise DatasetError(
                        f"{path}: haystack {text.doc_id} ({text.length} tokens, group "
                        f"{group.name}) has no control of the same filler, so nothing says what "
                        "its score would be without the needle; `gen validate` says what is missing"
                    )
                group.controls[kind].append(at)


# --- what is scored of them -----------------------------------------------------------------------


def too_few(questions: int) -> str:
    """Why there are no intervals; "" where there are."""
    why = clustered.too_few(questions, f"{questions} question{'s' * (questions != 1)}")
    return why and f"{why}; no difference from chance is claimed"


class HaystackData(TaskData):
    """The haystacks of one data set, or those of its first questions: every question with all of
    its haystacks and all controls. `all_questions`: how many the data set has.
    """

    def __init__(self, name: str, haystacks: HaystackSets, all_questions: int = 0) -> None:
        self.name, self.domains, self.haystacks = name, [name], haystacks
        groups = haystacks.groups
        self._every = all_questions or len(groups)
        self.notes = list(filter(None, [too_few(self._every)]))
        self.described = f"{len(groups):,} of {self._every:,} questions"
        if not self.notes and (warning := too_few(len(groups))):
            self.described += f"; {warning}"
        without = tuple(text.text for text in haystacks.controls)
        self.sets = []
        for group in groups:
            texts = tuple(text.text for text in group.haystacks) + without
            self.sets += [CandidateSet(query, texts) for query in group.queries.values()]
        for group in groups:
            needles = tuple(group.needles.values())
            self.sets += [CandidateSet(q, needles, _NEEDLES) for q in group.queries.values()]

    def first(self, limit: int | None, *, paid: bool = False) -> HaystackData:
        if paid:
            raise UsageError(
                "a chat model orders documents, and haystacks are measured by scores: use an "
                "embedder, cross:MODEL or bm25"
            )
        chosen = replace(self.haystacks, groups=self.haystacks.groups[:limit])
        return HaystackData(self.name, chosen, self._every)

    def measure(self, scores: Scores, system: System) -> Measured:
        """Of each question its value in every cell that it has is kept."""
        groups, noise = self.haystacks.groups, system.scorer.noise
        each = iter(zip(scores[: len(scores) // 2], scores[len(scores) // 2 :], strict=True))

        def rows() -> Iterator[tuple[int, Cell, float]]:
            for number, group in enumerate(groups):
                for query in group.queries:
                    of_texts, of_needles = next(each)
                    bare = dict(zip(group.needles, of_needles, strict=True))
                    for cell, value in _values(self.haystacks, group, query, of_texts, bare, noise):
                        yield number, cell, value
            yield from _read_rows(self.haystacks, system)

        results = Results.of([f"{self.name}: {group.name}" for group in groups], rows())
        own = {measure.name for measure in (HAYSTACKS, CONTROLS, TRUNCATED, SEEN, CUT)}
        kept = []
        for number, group in enumerate(groups):
            values = []
            for cell, value in results.by_unit(number):
                if cell["measure"] not in own and "category" not in cell:
                    levels: dict[str, Any] = dict(cell)
                    variant = levels.pop("variant")._asdict()
                    values.append({**levels, **variant, "value": value})
            named = {"query-id": group.query_id, "group": group.name, "category": group.category}
            kept.append({**named, "values": values})
        return {self.name: results}, kept


def _values(
    haystacks: HaystackSets,
    group: QuestionTexts,
    query: str,
    scores: Array,
    bare: Mapping[tuple[str, str], float],
    noise: float,
) -> Iterator[tuple[Cell, float]]:
    """All measures under one query; further breakdowns only as the question is asked.

    `scores`: of its haystacks and of all controls; `bare`: of the needles.
    """
    own, controls = np.split(scores, [len(group.haystacks)])
    main = haystacks.kinds[0]
    for (variant, length), rows in _by_make(group).items():
        at: Cell = {"query": query, "variant": variant, "length": length}
        texts = [group.haystacks[i] for i in rows]
        without = controls[haystacks.main_controls[*texts[0].around, length]]
        needle = bare.get((variant.needle, ORDERS[0]), np.nan)
        levels = {"": [""] * len(texts)}
        if query == QUESTION:
            depths = np.array([text.depth for text in texts])
            for name, value in on_depth(depths, own[rows], noise)._asdict().items():
                yield {"measure": name, **at}, value
            levels["category"] = [group.category] * len(texts)
            levels["order"] = [text.order for text in texts]
            levels["place"] = [str(text.place) for text in texts]
        for by, each in levels.items():
            for level in dict.fromkeys(each):
                some = rows[[one == level for one in each]]
                for kind in [main] if by else haystacks.kinds:
                    paired = controls[np.array(group.controls[kind])[some]]
                    of = QuestionScores(own[some], paired, without, needle, noise)
                    for measure in MEASURES:
                        name = measure.of_kind(kind, main).name
                        if not by and (kind == main or measure.of_control):
                            yield {"measure": name, **at}, measure.of(of)
                        elif by in measure.by:
                            yield {"measure": f"{name} by {by}", **at, by: level}, measure.of(of)


def _by_make(group: QuestionTexts) -> dict[tuple[HaystackVariant, int], NDArray[np.int64]]:
    """The places of the haystacks of each variant and length."""
    rows: dict[tuple[HaystackVariant, int], list[int]] = {}
    for i, text in enumerate(group.haystacks):
        rows.setdefault((text.variant, text.length), []).append(i)
    return {make: np.array(of) for make, of in rows.items()}


def _read_rows(haystacks: HaystackSets, system: System) -> Iterator[tuple[int, Cell, float]]:
    """Of each haystack that it is one, whether it is cut, and whether its needle is read; of each
    query whether it is cut.
    """
    texts = [text for group in haystacks.groups for text in group.haystacks]
    if system.reads is None:
        reach = _by_limit(texts, system.details())
    else:
        read = system.reads([text.text for text in texts])
        reach = {
            text.doc_id: (end < len(text.text), text.span[1] <= end)
            for text, end in zip(texts, read, strict=True)
        }
        for number, group in enumerate(haystacks.groups):
            ends = system.reads([*group.queries.values()])
            for (name, query), end in zip(group.queries.items(), ends, strict=True):
                yield number, {"measure": CUT.name, "query": name}, end < len(query)
    for kind in haystacks.kinds:
        yield 0, {"measure": CONTROLS.name, "control": kind}, 1.0
    for number, group in enumerate(haystacks.groups):
        for text in group.haystacks:
            at = {"variant": text.variant, "length": text.length}
            yield number, {"measure": HAYSTACKS.name, **at}, 1.0
            if reach is not None:
                for measure, value in zip((TRUNCATED, SEEN), reach[text.doc_id], strict=True):
                    yield number, {"measure": measure.name, **at}, value


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
