"""The proof: texts are read back, and every query is graded on every caption again.

Training pairs are read back and graded too, and none of them stands in the test set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.data import Dataset
from retgen.validators.album.reader import (
    LIKELY_FILE,
    Unreadable,
    lexicon,
    read_caption,
    read_query,
)
from retgen.validators.rows import RowFaults, TablesProof
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleState
from retgen.yaml_text import read_yaml

_SCENE = ("action", "object", "place", "moment", "topic", "month")
_MENTIONED = ("subject", "object", "place", "topic", "passing")
_COLOURS = ("white", "black", "brown", "grey", "red", "blue", "yellow", "green", "pink", "purple")


class Captions:
    """The facts of captions as columns of codes, a row a mention; -1 is nothing.

    A query is compared with whole columns. Grade 2: named so, and salient; 1: of that kind, or in
    passing.
    """

    def __init__(self, facts: Sequence[Sequence[str]]) -> None:
        self._codes = {meaning: i for i, meaning in enumerate(lexicon().above)}
        size = len(self._codes)
        # how well meaning [there] fits meaning [asked]; the last row is that of nothing
        self._fits = np.zeros((size + 1, size), np.int8)
        for meaning, above in lexicon().above.items():
            row = self._codes[meaning]
            self._fits[row, row] = 2
            self._fits[row, [self._codes[one] for one in above]] = 1
        self._scene = {key: np.full(len(facts), -1, np.int64) for key in _SCENE}
        rows: list[tuple[int, int, int, int, bool, bool]] = []
        for i, listed in enumerate(facts):
            rows += self._rows(i, listed)
        table = np.array(rows, np.int64).reshape(-1, 6)
        self._at, self._what, self._number, self._colour = table[:, :4].T
        self._salient, self._subject = table[:, 4:].T.astype(bool)
        self.count = len(facts)
        # what caption [row] makes likely; a fact of a kind counts for what is of it
        self._likely = np.zeros((self.count, size), bool)
        for key, table in read_yaml(LIKELY_FILE).items():
            for cause, effects in table.items():
                holds = self._fits[self._scene[key], self._codes[cause]] > 0
                for effect in effects:
                    codes = [self._codes[one] for one in (effect, *lexicon().above[effect])]
                    self._likely[np.ix_(holds, codes)] = True

    def _rows(self, i: int, listed: Iterable[str]) -> list[tuple[int, int, int, int, bool, bool]]:
        pairs = [(key, value) for key, _, value in (fact.partition("=") for fact in listed)]
        single = dict(pairs)
        rows = []
        for key, value in pairs:
            colour, number, what = "", -1, value
            if key in self._scene:
                self._scene[key][i] = self._codes[value]
            if key not in _MENTIONED:
                continue
            if key == "subject":
                colour, number = single.get("colour", ""), int(single["number"])
            elif key == "passing":
                if value not in self._codes:  # "red bicycle", but "red wine" is a meaning
                    colour, _, what = value.partition(" ")
                number = 1
            shade = _COLOURS.index(colour) if colour else -1
            rows.append((i, self._codes[what], number, shade, key != "passing", key == "subject"))
        return rows

    def grades(self, asked: Mapping[str, Any], expected: bool = False) -> NDArray[np.int8]:
        """0, 1 or 2 of every caption. `expected`: what is likely there counts as 1."""

        def there(key: str, worth: NDArray[np.int8], bound: bool = False) -> None:
            if expected and not bound:
                worth = np.maximum(worth, self._likely[:, self._codes[asked[key]]])
            np.minimum(result, worth, out=result)

        result = np.full(self.count, 2, np.int8)
        for key in _SCENE:
            if key in asked:
                code = self._codes[asked[key]]
                there(key, self._fits[self._scene[key], code], key not in ("place", "moment"))
        if "thing" in asked:
            fits = np.ones(len(self._at), bool)
            if "number" in asked:
                fits &= self._number == asked["number"]
            if "colour" in asked:
                fits &= self._colour == _COLOURS.index(asked["colour"])
            if {"action", "topic", "month"} & asked.keys():  # only a subject does, or is of a topic
                fits &= self._subject
            bound = bool({"number", "colour", "action", "topic", "month"} & asked.keys())
            there("thing", self._best(asked["thing"], fits), bound)
        if "other" in asked:
            there("other", self._best(asked["other"], np.True_))
        return result

    def near(self, asked: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Whether a caption has all that is asked for but one part."""
        result = np.zeros(self.count, bool)
        for key in asked.keys() - {"thing"}:
            result |= self.grades({k: v for k, v in asked.items() if k != key}) > 0
        return result

    def _best(self, meaning: str, allowed: Any) -> NDArray[np.int8]:
        """The best grade of a mention, of every caption."""
        worth = self._fits[self._what, self._codes[meaning]]
        worth = np.where(allowed, np.where(self._salient, worth, np.minimum(worth, 1)), 0)
        best = np.zeros(self.count, np.int8)
        np.maximum.at(best, self._at, worth.astype(np.int8))
        return best


_PERSONS, _CONCEPTS, _PLACES = "person", ("topic", "moment"), ("place", "landmark")


class AlbumSpec(NamedTuple):
    """What the recipe asks for."""

    language: str
    captions: int
    queries: int
    unanswerable: int = 0
    training: bool = False


@dataclass
class CaptionState(RuleState):
    """What captions were read as: ids, facts, and what is wrong with which."""

    ids: list[str] = field(default_factory=list)
    facts: list[list[str]] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)


class AlbumProof(CorpusRule):
    """Reads captions and queries back into facts, and grades every pair anew."""

    name = "album-proof"
    severity = "error"
    state: CaptionState

    def __init__(self, spec: AlbumSpec, judgements: Judgements) -> None:
        self.spec = spec
        self.judgements = judgements
        self._graded: dict[tuple[str, str], float] | None = None
        self.start()

    def start(self) -> None:
        self.state = CaptionState()

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        rows = dataset.graded[split].read()[0] if split in dataset.graded else []
        self._graded = {(query_id, doc_id): grade for query_id, doc_id, grade in rows}

    def scan(self, batch: Batch) -> None:
        state = self.state
        rows = zip(batch.ids, batch.titles, batch.texts, batch.metadata, strict=True)
        for doc_id, title, text, metadata in rows:
            noted = metadata.get("facts") if isinstance(metadata, dict) else None
            if title:
                state.broken.append((doc_id, f"its title is {title!r}, not empty"))
            if text.isascii() != (self.spec.language == "en"):
                state.broken.append((doc_id, f"it is not in the language {self.spec.language}"))
            try:
                facts = read_caption(text)
            except Unreadable as reason:
                state.broken.append((doc_id, f"its caption cannot be read: {reason}"))
                continue
            if facts != noted:
                message = f"its caption says {facts}, and its metadata {noted}"
                state.broken.append((doc_id, message))
            state.ids.append(doc_id)
            state.facts.append(facts)

    def findings(self) -> Iterator[Finding]:
        for doc_id, reason in self.state.broken:
            yield self.finding([doc_id], f"{doc_id}: {reason}")
        seen = len(self.state.ids)
        unread = {doc_id for doc_id, _ in self.state.broken}
        whole = len(unread | set(self.state.ids))
        if whole != self.spec.captions:
            message = f"there are {whole:,} captions, and {self.spec.captions:,} in the recipe"
            yield self.finding([], message)
        queries = self.judgements.queries
        if len(queries) != self.spec.queries:
            message = f"there are {len(queries):,} queries, and {self.spec.queries:,} in the recipe"
            yield self.finding([], message)
        alike: dict[tuple[str, ...], str] = {}
        for doc_id, facts in zip(self.state.ids, self.state.facts, strict=True):
            other = alike.setdefault(tuple(facts), doc_id)
            if other != doc_id:
                yield self.finding([other, doc_id], f"{other} and {doc_id} say the same")
        given: dict[str, dict[str, float]] = {query.query_id: {} for query in queries}
        for query_id, doc_id, relevance in self.judgements.qrels:
            given.setdefault(query_id, {})[doc_id] = relevance
        captions = Captions(self.state.facts)
        place = {doc_id: i for i, doc_id in enumerate(self.state.ids)}
        read: dict[bytes, str] = {}
        unanswerable = 0
        for query in queries:
            query_id = query.query_id
            try:
                asked = read_query(query.text)
            except Unreadable as reason:
                yield self.finding([query_id], f"{query_id} cannot be read: {reason}")
                continue
            yield from self._metadata(query_id, query.metadata, asked)
            key = orjson.dumps(asked)
            if read.setdefault(key, query_id) != query_id:
                message = f"{read[key]} and {query_id} ask for the same"
                yield self.finding([read[key], query_id], message)
            grades = captions.grades(asked)
            unanswerable += not grades.any()
            rows = np.full(seen, -1, np.int64)
            for doc_id, relevance in given[query_id].items():
                if doc_id in place and relevance in (0, 1, 2):
                    rows[place[doc_id]] = relevance
                elif relevance not in (0, 1, 2):
                    message = f"{query_id}: {doc_id} has the grade {relevance:g}; rows are 0 to 2"
                    yield self.finding([query_id, doc_id], message)
            for i in np.flatnonzero(grades != np.maximum(rows, 0)).tolist():
                doc_id = self.state.ids[i]
                message = (
                    f"{query_id}: {doc_id} is graded {max(rows[i], 0)}, and by its words it is "
                )
                yield self.finding([query_id, doc_id], f"{message}{grades[i]}")
            likely = (captions.grades(asked, expected=True) > 0) & (grades == 0)
            yield from self._zeros(query_id, grades, likely, captions.near(asked), rows)
        if unanswerable != self.spec.unanswerable:
            message = f"{unanswerable:,} queries have no answer, and {self.spec.unanswerable:,} in "
            yield self.finding([], f"{message}the recipe")

    def _zeros(
        self,
        query_id: str,
        grades: NDArray[np.int8],
        likely: NDArray[np.bool_],
        near: NDArray[np.bool_],
        rows: NDArray[np.int64],
    ) -> Iterator[Finding]:
        """Rows of 0 are of likely captions, all of them, and of near ones where none answers.

        The grades beside the qrels are 2 for what is certain, 1 for what is likely.
        """
        if not grades.any():
            if likely.any():
                yield self.finding([query_id], f"{query_id} has no answer, and a likely one")
            if not ((rows == 0) & near).any():
                message = f"{query_id} has no answer, and no row of a caption that nearly is one"
                yield self.finding([query_id], message)
        else:
            near = np.zeros_like(near)
        wrong = likely & (rows < 0) | (rows == 0) & (grades == 0) & ~likely & ~near
        wanted = 2 * (grades > 0) + likely
        for i in np.flatnonzero(wrong | (rows >= 0)).tolist():
            doc_id = self.state.ids[i]
            if wrong[i]:
                message = f"{query_id}: {doc_id} is {'likely' if likely[i] else 'neither likely'}"
                message += ", and has no row" if likely[i] else " nor near, and has a row of 0"
                yield self.finding([query_id, doc_id], message)
            elif self._graded is not None:
                given = self._graded.get((query_id, doc_id))
                if given != wanted[i]:
                    message = f"{query_id}: {doc_id} has the grade {given} in qrels_graded, and by "
                    yield self.finding([query_id, doc_id], f"{message}its words it is {wanted[i]}")

    def _metadata(self, query_id: str, metadata: Any, asked: dict[str, Any]) -> Iterator[Finding]:
        """The metadata of a query are those of its words."""
        kind, granularity, level = _describe_query(asked)
        wanted = {
            "type": kind,
            "granularity": granularity,
            "level": level,
            "expression": orjson.dumps(asked).decode(),
        }
        noted = metadata if isinstance(metadata, dict) else {}
        for key in dict.fromkeys((*wanted, *noted)):
            if noted.get(key) != wanted.get(key):
                message = f"{key} is {noted.get(key)!r}, and by its words {wanted.get(key)!r}"
                yield self.finding([query_id], f"{query_id}: {message}")


def _describe_query(asked: dict[str, Any]) -> tuple[str, str, str]:
    """Type, granularity and level of what a query asks for."""
    known = lexicon()
    conditions = len(asked.keys() - {"object"})
    names = [value for key, value in asked.items() if key not in ("number", "colour")]
    level = "hypernym" if any(name in known.kinds for name in names) else "named"
    if "other" in asked:
        return "conjunction", "middle", level
    if conditions == 2:
        return "simple condition", "middle", level
    if conditions > 2:
        return "complex condition", "coarse", level
    if "action" in asked:
        return "event", "fine", level
    what = names[0]
    if known.roles[what] in _CONCEPTS:
        kind = "concept"
    elif known.roles[what] in _PLACES:
        kind = "place"
    else:
        kind = "person" if _PERSONS in (what, *known.above[what]) else "object"
    return kind, "fine", level


FILES = ("training/kw.parquet", "training/sm.parquet")
_T = TypeVar("_T")


class AlbumTrainingPairs(TablesProof):
    """The positive of a pair has what its query asks for, the negative has not.

    No query of the test set is among them, and no caption that says what one of the corpus says.
    """

    name = "album-proof/training"
    severity = "error"

    def __init__(self, proof: AlbumProof) -> None:
        self._proof = proof
        super().__init__()

    def tables(self) -> dict[str, Callable[[Any], None]]:
        return dict.fromkeys(FILES if self._proof.spec.training else (), lambda row: None)

    def check_table(self, name: str, rows: Iterator[Any], faults: RowFaults) -> str:
        """All captions of a file are graded at once."""
        kept = list(rows)
        self._grade(kept, faults)
        return "" if kept else "it holds no pairs"

    def _grade(self, rows: Sequence[Mapping[str, Any]], faults: RowFaults) -> None:
        asked = [_read(read_query, row, "anchor", i, faults) for i, row in enumerate(rows)]
        texts = ("positive", "negative_1")
        facts = [
            _read(read_caption, row, key, i, faults) for i, row in enumerate(rows) for key in texts
        ]
        captions = Captions([one or [] for one in facts])
        tested = set(_keys(query.text for query in self._proof.judgements.queries))
        corpus = {tuple(one) for one in self._proof.state.facts}
        for i, wanted in enumerate(asked):
            both = facts[2 * i : 2 * i + 2]
            if wanted is None or None in both:
                continue
            positive = captions.grades(wanted)[2 * i]
            negative = captions.grades(wanted, expected=True)[2 * i + 1]
            if not positive:
                faults.add("positive", i + 1, "its positive has the grade 0")
            if negative:
                faults.add("negative", i + 1, f"its negative has the grade {negative}")
            if orjson.dumps(wanted) in tested:
                faults.add("query", i + 1, "it asks what a query of the test set does")
            for key, one in zip(texts, both, strict=True):
                if tuple(one or ()) in corpus:
                    faults.add("caption", i + 1, f"its {key} says what one of the corpus says")


def _keys(queries: Iterable[str]) -> Iterator[bytes]:
    """What is asked for, of queries that can be read; the proof names the others."""
    for text in queries:
        with suppress(Unreadable):
            yield orjson.dumps(read_query(text))


def _read(
    reader: Callable[[str], _T], row: Mapping[str, Any], key: str, i: int, faults: RowFaults
) -> _T | None:
    text = row.get(key)
    try:
        return reader(text if isinstance(text, str) else "")
    except Unreadable as reason:
        faults.add(key, i + 1, f"its {key} cannot be read: {reason}")
        return None
