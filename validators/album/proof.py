"""The proof: texts are read back, and every query is graded on every caption again.

Training pairs are read back and graded too, and none of them stands in the test set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.data import Query
from retgen.validators.album.reader import CaptionReader, Facts, Unreadable, caption_reader
from retgen.validators.facts.execute import FactTable
from retgen.validators.facts.proof import FactsProof, by_query, unlike
from retgen.validators.rows import RowFault, RowFaults, TablesProof
from retgen.validators.rule import Finding, Judgements

FILES = ("training/kw.parquet", "training/sm.parquet")
# of a query for one name, by the list in which that stands
_TYPES = {"topics": "concept", "moments": "concept", "places": "place", "landmarks": "place"}


class AlbumSpec(NamedTuple):
    """The domain file, and what the recipe asks for."""

    domain: Path
    language: str
    documents: int
    queries: int
    unanswerable: int = 0
    training: bool = False


class AlbumProof(FactsProof):
    """Reads captions and queries back into facts, and grades every pair anew."""

    name = "album-proof"
    spec: AlbumSpec

    def __init__(self, spec: AlbumSpec, judgements: Judgements) -> None:
        super().__init__(spec, judgements)
        self.reader = caption_reader(spec.domain, spec.language)
        self.definition = self.reader.definition
        self.values = self.definition.values

    def _held(self, title: str, text: str, noted: Any) -> tuple[dict[str, str], list[str]]:
        try:
            held = self.reader.caption(text)
        except Unreadable as reason:
            return {}, [f"its caption cannot be read: {reason}"]
        stated = [f"{slot}={value}" for slot, value in held.items()]
        problems = [f"its title is {title!r}, not empty"] if title else []
        return held, problems + ([unlike(stated, noted)] if noted != stated else [])

    def _asked(self, text: str) -> dict[str, str]:
        return self.reader.query(text)

    def _names(self, facts: FactTable) -> Iterator[Finding]:
        alike: dict[tuple[str, ...], str] = {}
        for doc_id, _, *held in self.rows():
            other = alike.setdefault(tuple(held), doc_id) if any(held) else doc_id
            if other != doc_id:
                yield self._error("names", [other, doc_id], f"{other} and {doc_id} say the same")

    def _labels(self, facts: FactTable, asked: Mapping[str, Any]) -> Iterator[Finding]:
        count, wanted = len(self.judgements.queries), self.spec.queries
        if count != wanted:
            yield self._error("queries", [], f"{count:,} queries, the recipe says {wanted:,}")
        rows, graded = by_query(self.judgements.qrels), self._graded()
        alike: dict[bytes, str] = {}
        unanswered = 0
        for query_id, parts in asked.items():
            other = alike.setdefault(orjson.dumps(parts), query_id)
            if other != query_id:
                message = f"{other} and {query_id} ask for the same"
                yield self._error("query", [other, query_id], message)
            right = self._right(facts, parts)
            answered = any(score for score, _ in right.values())
            unanswered += not answered
            own = rows.get(query_id, {})
            if not answered:
                yield from self._of_unanswered(query_id, right, own)
            yield from self._of_labels(query_id, right, own, graded.get(query_id))
        if unanswered != self.spec.unanswerable:
            message = f"{unanswered:,} queries have no answer, and {self.spec.unanswerable:,} in "
            yield self._error("queries", [], f"{message}the recipe")

    def _right(self, facts: FactTable, asked: Facts) -> dict[str, tuple[int, int]]:
        """The score and the grade of each caption that may have a row, by what the words say.

        2 and 1 for what is said, which is certain; 0 for what is likely, and, of a query without
        an answer, for captions that have all but one part.
        """
        meaning = self.definition.expression
        there = facts.answers(meaning(asked))
        right = dict.fromkeys(facts.answers(meaning(asked, likely=True)), (0, 1))
        right |= dict.fromkeys(there, (1, 2))
        right |= dict.fromkeys(facts.answers(meaning(asked, certain=True)), (2, 2))
        for part in asked if not there else ():
            rest = {one: value for one, value in asked.items() if one != part}
            if part != "thing" and rest:
                right = dict.fromkeys(facts.answers(meaning(rest)), (0, 0)) | right
        return right

    def _of_unanswered(
        self, query_id: str, right: Mapping[str, tuple[int, int]], rows: Mapping[str, float]
    ) -> Iterator[Finding]:
        """It has no likely caption, and rows of captions that nearly are an answer."""
        if (0, 1) in right.values():
            message = f"query {query_id} has no answer, and a likely one"
            yield self._error("query", [query_id], message)
        if right.keys().isdisjoint(rows):
            message = f"query {query_id} has no answer, and no row of a caption that nearly is one"
            yield self._error("query", [query_id], message)

    def _of_labels(
        self,
        query_id: str,
        right: Mapping[str, tuple[int, int]],
        rows: Mapping[str, float],
        graded: Mapping[str, float] | None,
    ) -> Iterator[Finding]:
        """Rows are what the words say, and all that is relevant or likely has one."""
        needed = {doc_id for doc_id, both in right.items() if any(both)}
        for doc_id in sorted(rows.keys() | needed):
            given, (score, grade) = rows.get(doc_id), right.get(doc_id, (0, 0))
            said = ""
            if (given or 0) != score:
                said = f"is graded {given or 0:g}, and by its words it is {score}"
            elif given is None:
                said = "is likely, and has no row"
            elif doc_id not in right:
                said = "is neither likely nor near, and has a row of 0"
            elif graded is not None and graded.get(doc_id) != grade:
                said = (
                    f"has the grade {graded.get(doc_id)} in qrels_graded, and by its words it is "
                    f"{grade}"
                )
            if said:
                yield self._error("qrels", [query_id, doc_id], f"query {query_id}: {doc_id} {said}")

    def _noted(self, query: Query, asked: Facts) -> Iterator[Finding]:
        """The metadata of a query are those of its words."""
        kind, granularity = self._described(asked)
        wanted = {
            "type": kind,
            "granularity": granularity,
            "level": "named" if self.definition.kinds.isdisjoint(asked.values()) else "hypernym",
            "expression": orjson.dumps(asked).decode(),
        }
        noted = query.facts
        for key in dict.fromkeys((*wanted, *noted)):
            if noted.get(key) != wanted.get(key):
                message = f"{key} is {noted.get(key)!r}, and by its words {wanted.get(key)!r}"
                yield self._of_query(query, message)

    def _described(self, asked: Facts) -> tuple[str, str]:
        """Type and granularity of what a query asks for."""
        conditions = len(asked.keys() - {"object"})
        if "other" in asked:
            return "conjunction", "middle"
        if conditions > 1:
            simple = conditions == 2
            return ("simple condition", "middle") if simple else ("complex condition", "coarse")
        if "action" in asked or "state" in asked:
            return "event", "fine"
        (name,) = asked.values()
        one = self.definition.meanings[name]
        person = "person" if "person" in (name, *one.above) else "object"
        return _TYPES.get(one.part, person), "fine"


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
        return dict.fromkeys(FILES if self._proof.spec.training else (), self._pair)

    def check_table(self, name: str, rows: Iterator[Any], faults: RowFaults) -> str:
        first = list(islice(rows, 1))
        message = super().check_table(name, chain(first, rows), faults)
        return message if first else "it holds no pairs"

    @cached_property
    def _tested(self) -> list[Facts]:
        """What the queries of the test set ask for."""
        asked: list[Facts] = []
        for query in self._proof.judgements.queries:
            with suppress(Unreadable):  # the proof names it
                asked.append(self._proof.reader.query(query.text))
        return asked

    @cached_property
    def _corpus(self) -> set[tuple[str, ...]]:
        """The facts of the captions of the corpus."""
        return {tuple(held) for _, _, *held in self._proof.rows()}

    def _pair(self, row: Any) -> None:
        reader: CaptionReader = self._proof.reader
        read: dict[str, dict[str, str]] = {}
        for key in ("anchor", "positive", "negative_1"):
            try:
                text = str(row.get(key) or "")
                read[key] = reader.query(text) if key == "anchor" else reader.caption(text)
            except Unreadable as reason:
                raise RowFault(key, f"its {key} cannot be read: {reason}") from None
        asked = read.pop("anchor")
        if asked in self._tested:
            raise RowFault("query", "it asks what a query of the test set does")
        for key, facts in read.items():
            if tuple(map(facts.get, self._proof.values)) in self._corpus:
                raise RowFault("caption", f"its {key} says what one of the corpus says")
        if not self._meets(read["positive"], asked):
            raise RowFault("positive", "its positive has the grade 0")
        if self._meets(read["negative_1"], asked, likely=True):
            raise RowFault("negative", "its negative has what is asked for, or likely has it")

    def _meets(self, facts: Facts, asked: Facts, *, likely: bool = False) -> bool:
        definition = self._proof.definition
        return definition.meets(facts, definition.expression(asked, likely=likely))
