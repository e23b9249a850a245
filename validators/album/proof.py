"""The proof: texts are read back, and every query is graded on every caption again.

Training pairs are read back and graded too, and none of them stands in the test set.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.data import Query
from retgen.validators.album.reader import (
    FACTS,
    LISTS,
    AlbumDefinition,
    Unreadable,
    album_definition,
    caption_reader,
)
from retgen.validators.facts.definitions import ValueDefinition
from retgen.validators.facts.execute import FactTable
from retgen.validators.facts.proof import FactsProof, by_query, unlike
from retgen.validators.rows import RowFaults, TablesProof
from retgen.validators.rule import Finding, Judgements

FILES = ("training/kw.parquet", "training/sm.parquet")
_SALIENT = ("subject", "object", "place", "topic")
_THERE = (*_SALIENT, "passing", "further", "mention")
_DEEDS = ("action", "state", "topic", "month")  # only a subject does, or is of a topic
_LOOSE = ("other", "place", "moment")  # may be likely, as a thing may of which no more is asked

Expression = list[Any]
Asked = Mapping[str, str]


def slot_values(definition: AlbumDefinition) -> dict[str, dict[str, ValueDefinition]]:
    """The values of each slot, and what they are kinds of."""
    return {
        slot: {
            name: ValueDefinition(name, (), tuple(one.above))
            for name, one in (definition.values(slot) if slot in LISTS else ())
        }
        for slot in FACTS
    }


class CaptionTable:
    """Which captions have what is asked for, by their facts in SQLite."""

    def __init__(self, definition: AlbumDefinition, facts: FactTable) -> None:
        self._definition, self._facts = definition, facts
        self._values = slot_values(definition)
        self._kinds = {
            slot: {kind for one in known.values() for kind in one.parents}
            for slot, known in self._values.items()
        }

    def grades(self, asked: Asked, among: Sequence[str] = ()) -> tuple[dict[str, int], set[str]]:
        """The captions that have all that is asked for, 2 in its terms and 1 else; and those that
        do not, and likely do. `among`: of some alone.
        """
        certain = self._having(asked, _SALIENT, among, kinds=False)
        there = self._having(asked, _THERE, among)
        likely = self._having(asked, _THERE, among, likely=True) - there
        return {one: 2 if one in certain else 1 for one in there}, likely

    def near(self, asked: Asked) -> set[str]:
        """The captions that have all but one part of it."""
        parts = [{k: v for k, v in asked.items() if k != one} for one in asked if one != "thing"]
        return set().union(*(self._having(one, _THERE) for one in parts if one))

    def _having(
        self,
        asked: Asked,
        slots: Sequence[str],
        among: Sequence[str] = (),
        *,
        kinds: bool = True,
        likely: bool = False,
    ) -> set[str]:
        """The captions that meet every part. `slots`: where a thing may be; `kinds`: as one too."""
        conditions = []
        bound = {"number", "colour"} & asked.keys() if "thing" in asked else set()
        for part, value in asked.items():
            if part in bound:
                continue
            ways: list[Expression] = []
            if part not in ("thing", "other"):
                ways += self._fits(part, value, kinds)
            for slot in slots if part in ("thing", "other") else ():
                more = [self._of(slot, one, asked[one]) for one in bound] if part == "thing" else []
                subject = slot == "subject" or not any(one in asked for one in _DEEDS)
                if None not in more and (subject or part == "other"):
                    ways += [
                        ["and", one, *filter(None, more)] for one in self._fits(slot, value, kinds)
                    ]
            alone = part == "thing" and not bound and not any(one in asked for one in _DEEDS)
            if likely and (alone or part in _LOOSE):
                ways += self._causes(value)
            if not ways:
                return set()
            conditions.append(["or", *ways])
        return self._facts.answers(["and", *conditions], among)

    def _of(self, slot: str, part: str, value: str) -> Expression | None:
        """The number or the colour of what a slot holds: [] where it is known, None for none."""
        if slot == "subject":
            return ["is", part, value]
        if slot not in ("passing", "further"):
            return None
        if part == "number":
            return [] if value == "1" else None
        return ["is", f"{slot}_colour", value]

    def _fits(self, slot: str, value: str, kinds: bool) -> list[Expression]:
        known = self._values[slot]
        result: list[Expression] = [["is", slot, value]] if value in known or not known else []
        if kinds and value in self._kinds[slot]:
            result.append(["within", slot, value])
        return result

    def _causes(self, value: str) -> list[Expression]:
        """What makes something likely."""
        meanings = self._definition.meanings
        return [
            one
            for slot, table in self._definition.tree["likely"].items()
            for cause, effects in table.items()
            if any(value in {effect, *meanings[effect].above} for effect in effects)
            for one in self._fits(slot, cause, True)
        ]


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
        self.definition = album_definition(spec.domain)
        self.reader = caption_reader(spec.domain, spec.language)
        self.values = slot_values(self.definition)

    def _held(self, title: str, text: str, noted: Any) -> tuple[dict[str, str], list[str]]:
        try:
            stated = self.reader.caption(text)
        except Unreadable as reason:
            return {}, [f"its caption cannot be read: {reason}"]
        problems = [f"its title is {title!r}, not empty"] if title else []
        problems += [unlike(stated, noted)] if noted != stated else []
        return dict(fact.split("=", 1) for fact in stated), problems

    def _asked(self, text: str) -> dict[str, str]:
        return self.reader.query(text)

    def _names(self, facts: FactTable) -> Iterator[Finding]:
        alike: dict[tuple[str, ...], str] = {}
        for doc_id, _, *held in self.rows():
            other = alike.setdefault(tuple(held), doc_id) if any(held) else doc_id
            if other != doc_id:
                yield self._error("names", [other, doc_id], f"{other} and {doc_id} say the same")

    def _labels(self, facts: FactTable, asked: Mapping[str, Any]) -> Iterator[Finding]:
        captions = CaptionTable(self.definition, facts)
        count, wanted = len(self.judgements.queries), self.spec.queries
        if count != wanted:
            yield self._error("queries", [], f"{count:,} queries, the recipe says {wanted:,}")
        rows = by_query(self.judgements.qrels)
        graded = self._graded()
        alike: dict[bytes, str] = {}
        unanswered = 0
        for query_id, parts in asked.items():
            other = alike.setdefault(orjson.dumps(parts), query_id)
            if other != query_id:
                message = f"{other} and {query_id} ask for the same"
                yield self._error("query", [other, query_id], message)
            grades, likely = captions.grades(parts)
            near = set() if grades else captions.near(parts)
            unanswered += not grades
            own = rows.get(query_id, {})
            yield from self._of_labels(query_id, grades, likely, near, own, graded.get(query_id))
        if unanswered != self.spec.unanswerable:
            message = f"{unanswered:,} queries have no answer, and {self.spec.unanswerable:,} in "
            yield self._error("queries", [], f"{message}the recipe")

    def _of_labels(
        self,
        query_id: str,
        grades: Mapping[str, int],
        likely: set[str],
        near: set[str],
        rows: Mapping[str, float],
        graded: Mapping[str, float] | None,
    ) -> Iterator[Finding]:
        """Rows are what the words say; those of 0 are of likely captions, all of them, and of near
        ones where none answers. The grades beside the qrels are 2 for what is certain, 1 for what
        is likely.
        """
        if not grades:
            if likely:
                message = f"query {query_id} has no answer, and a likely one"
                yield self._error("query", [query_id], message)
            if near.isdisjoint(rows):
                message = (
                    f"query {query_id} has no answer, and no row of a caption that nearly is one"
                )
                yield self._error("query", [query_id], message)
        for doc_id in sorted(rows.keys() | grades.keys() | likely):
            given, right = rows.get(doc_id), grades.get(doc_id, 0)
            said = ""
            if given is not None and given not in (0, 1, 2):
                said = f"has the grade {given:g}; rows are 0 to 2"
            elif (given or 0) != right:
                said = f"is graded {given or 0:g}, and by its words it is {right}"
            elif given is None and doc_id in likely:
                said = "is likely, and has no row"
            elif not right and doc_id not in likely and doc_id not in near:
                said = "is neither likely nor near, and has a row of 0"
            elif graded is not None:
                grade, wanted = (
                    graded.get(doc_id),
                    2 if right else doc_id in likely,
                )
                if grade != wanted:
                    said = (
                        f"has the grade {grade} in qrels_graded, and by its words it is {wanted:d}"
                    )
            if said:
                yield self._error("qrels", [query_id, doc_id], f"query {query_id}: {doc_id} {said}")

    def _noted(self, query: Query, asked: Asked) -> Iterator[Finding]:
        """The metadata of a query are those of its words."""
        kind, granularity, level = self._described(asked)
        wanted = {
            "type": kind,
            "granularity": granularity,
            "level": level,
            "expression": orjson.dumps(asked).decode(),
        }
        noted = query.facts
        for key in dict.fromkeys((*wanted, *noted)):
            if noted.get(key) != wanted.get(key):
                message = f"{key} is {noted.get(key)!r}, and by its words {wanted.get(key)!r}"
                yield self._of_query(query, message)

    def _described(self, asked: Asked) -> tuple[str, str, str]:
        """Type, granularity and level of what a query asks for."""
        level = "named" if self.definition.kinds.isdisjoint(asked.values()) else "hypernym"
        conditions = len(asked.keys() - {"object"})
        if "other" in asked:
            return "conjunction", "middle", level
        if conditions > 1:
            several = ("simple", "middle") if conditions == 2 else ("complex", "coarse")
            return f"{several[0]} condition", several[1], level
        if "action" in asked or "state" in asked:
            return "event", "fine", level
        (name,) = asked.values()
        one = self.definition.meanings[name]
        kind = {"topics": "concept", "moments": "concept", "places": "place", "landmarks": "place"}
        person = "person" if "person" in (name, *one.above) else "object"
        return kind.get(one.part, person), "fine", level


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
        proof = self._proof
        reader, tested = proof.reader, set[bytes]()
        for query in proof.judgements.queries:
            with suppress(Unreadable):  # the proof names it
                tested.add(orjson.dumps(reader.query(query.text)))
        corpus = {tuple(held) for _, _, *held in proof.rows()}
        pairs: list[tuple[int, Asked]] = []
        read: list[list[Any]] = []
        number = 0
        for number, row in enumerate(rows, start=1):
            found: list[Any] = []
            for key, how in (
                ("anchor", reader.query),
                ("positive", reader.caption),
                ("negative_1", reader.caption),
            ):
                try:
                    found.append(how(str(row.get(key) or "")))
                except Unreadable as reason:
                    faults.add(key, number, f"its {key} cannot be read: {reason}")
            if len(found) < 3:
                continue
            asked, *texts = found
            pairs.append((number, asked))
            if orjson.dumps(asked) in tested:
                faults.add("query", number, "it asks what a query of the test set does")
            for key, facts in zip(("positive", "negative_1"), texts, strict=True):
                held = [dict(one.split("=", 1) for one in facts).get(slot) for slot in FACTS]
                read.append([f"{key}/{number}", "", *held])
                if tuple(held) in corpus:
                    faults.add("caption", number, f"its {key} says what one of the corpus says")
        with tempfile.TemporaryDirectory(prefix="album-", dir=proof.scratch) as folder:
            table = FactTable(Path(folder) / "pairs.sqlite", proof.values)
            table.add(read)
            table.index(())
            captions = CaptionTable(proof.definition, table)
            for number, asked in pairs:
                positive, negative = f"positive/{number}", f"negative_1/{number}"
                grades, likely = captions.grades(asked, (positive, negative))
                if positive not in grades:
                    faults.add("positive", number, "its positive has the grade 0")
                if negative in grades or negative in likely:
                    grade = grades.get(negative, "of what is likely")
                    faults.add("negative", number, f"its negative has the grade {grade}")
            table.close()
        return "" if number else "it holds no pairs"
