"""Triples and their records: three documents each, a query a wording, and qrels by execution.

A triple is an entity's facts, the same with one changed, and what is stated and asked of them.
Which of the two values is the base's is tossed, so that without the query nothing tells base from
twin.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from retgen.errors import RecipeError
from retgen.facts.asking import Asker, Wording
from retgen.facts.compose import ComposedDocument, Composer
from retgen.facts.domain import Domain, Slot, load_domain, month_ends, scalar
from retgen.facts.domain_file import SlotType
from retgen.facts.expressions import (
    And,
    Condition,
    Expression,
    Is,
    ValueRange,
    Within,
    dumps,
    holds,
)
from retgen.facts.facts import ABSENT, Codes, World
from retgen.facts.labels import LabelledQuery, Labels, QueryTables
from retgen.facts.reference import StatedFact
from retgen.facts.table import EntityTable
from retgen.generators.tables import Ids
from retgen.generators.world_twins.contrasts import ROUND, Contrast, expression_of
from retgen.generators.world_twins.params import TwinsParams
from retgen.streams import Permutation, Stream

ENTITIES = 12  # of a world for each triple: the first that fits is taken
_BLOCKS = 20  # triples whose entities are tried
_VALUES = 24  # other values that are drawn for an entity
_WIDTH = 8  # an entailed range of numbers is about this part of all of them
_FULL = 1 << 32
_TRIES = 100  # of another order
Role = Literal["base", "twin", "control"]
ROLES: tuple[Role, ...] = ("base", "twin", "control")


# --- triples --------------------------------------------------------------------------------------


class TripleCell(NamedTuple):
    """What triples are drawn alike."""

    slot_type: SlotType
    length: int


class Triple(NamedTuple):
    """`facts`: codes of the base by slot; `twin`: the code of `slot` in the twin.

    `stated`: the slots of the documents; what goes with only one of the two values is not among
    them. `asked`: those of the query in its order. `entailed`: whether
    it can ask one step up. `months`: then days are asked by their month, otherwise by their year.
    """

    cell: TripleCell
    entity: int
    slot: str
    facts: Mapping[str, int]
    twin: int
    stated: tuple[str, ...]
    asked: tuple[str, ...]
    entailed: bool
    months: bool


def changeable(params: TwinsParams, domain: Domain, slot_type: SlotType) -> list[Slot]:
    """The slots of a type whose fact is changed: those that can be entailed, where any can."""
    slots = [slot for slot in domain.slots.values() if slot.type == slot_type]
    can = [slot for slot in slots if entailable(slot)]
    return can if can and "entailed" in params.wordings else slots


def entailable(slot: Slot) -> bool:
    """Whether each of its values can be asked for one step up."""
    return slot.is_ordered or (slot.is_listed and all(value.parents for value in slot.values))


def triples(params: TwinsParams, seed: int) -> tuple[EntityTable, list[Triple]]:
    """A world, and the triples that are drawn of it: of every type of slot with every length.

    Raises `RecipeError` where it has too few.
    """
    domain = load_domain(params.domain)
    types = params.slot_types or tuple(dict.fromkeys(s.type for s in domain.slots.values()))
    cells = [TripleCell(slot_type, length) for slot_type in types for length in params.lengths]
    wanted = [cell for cell in cells for _ in range(params.triples_per_cell)]
    world = World(domain, seed, ENTITIES * len(wanted), "world_twins")
    table = EntityTable(world)
    draw = _Draw(params, table, seed, len(wanted))
    return table, [draw.triple(i, cell) for i, cell in enumerate(wanted)]


class _Draw:
    def __init__(self, params: TwinsParams, table: EntityTable, seed: int, triples: int) -> None:
        self._params, self._seed, self._triples = params, seed, triples
        self._table, self._world, self._slots = table, table.world, table.domain.slots
        self._taken: set[int] = set()  # entities

    def triple(self, number: int, cell: TripleCell) -> Triple:
        """The triple of a number: of the first entity that has one. Its own entities come first,
        then the next triples', then other slots of the type: some hardly change by themselves.
        """
        choices = changeable(self._params, self._world.domain, cell.slot_type)
        at = number % self._params.triples_per_cell % len(choices)
        stream = Stream(self._seed, f"world_twins/triples/{number}")
        count = self._triples
        tried = [(number + i) % count * ENTITIES for i in range(min(_BLOCKS, count))]
        for slot in choices[at:] + choices[:at]:
            for first in tried:
                columns = self._world.columns(first, first + ENTITIES)
                for i in range(ENTITIES):
                    if first + i in self._taken:
                        continue
                    facts = {name: int(codes[i]) for name, codes in columns.items()}
                    if (found := self._of(cell, first + i, slot, facts, stream)) is not None:
                        self._taken.add(first + i)
                        return found
        raise RecipeError(
            f"params.lengths: none of {ENTITIES * len(tried)} {self._world.domain.entity.plural} "
            f"of domain {self._world.domain.name} has {cell.length} facts of which a "
            f"{cell.slot_type} can be another one. Ask for shorter documents, or leave "
            f"{cell.slot_type} out of params.slot_types"
        )

    def _of(
        self, cell: TripleCell, entity: int, slot: Slot, facts: dict[str, int], stream: Stream
    ) -> Triple | None:
        has = [name for name, code in facts.items() if code != ABSENT]
        months = stream.below(2) == 1
        entailed = entailable(slot) and "entailed" in self._params.wordings
        if slot.name not in has or len(has) < cell.length:
            return None
        mine = facts[slot.name]
        for value, false in self._others(slot, facts, stream):
            if entailed and not apart(self._table, slot, mine, value, months=months):
                continue
            if not self._named_alike(slot, entity, mine, value):
                continue
            kept = [name for name in has if name not in false]
            if len(kept) >= cell.length:
                break
        else:
            return None
        base, twin = (mine, value) if stream.below(2) else (value, mine)
        most = self._params.conditions
        count = min(most[stream.below(len(most))], cell.length)
        rest = stream.shuffled([name for name in kept if name != slot.name])
        further = [name for name in rest if entailable(self._slots[name])][: count - 1]
        if len(further) < count - 1:
            return None
        asked = [slot.name, *further]
        stated = [*asked, *(name for name in rest if name not in further)][: cell.length]
        return Triple(
            cell,
            entity,
            slot.name,
            facts | {slot.name: base},
            twin,
            tuple(stated),
            tuple(stream.shuffled(asked)),
            entailed,
            months,
        )

    def _named_alike(self, slot: Slot, entity: int, first: int, second: int) -> bool:
        """Whether the entity is called by its short name next to both values, or by its full one.

        "Perry", whose doctor is Ann Perry, is called Helen Perry there, and in its twin is not.
        """
        if slot.type not in ("person", "relation"):
            return True
        _, short, _ = self._world.forms(np.array([entity]))[0]
        one, other = self._world.value_names(slot, [first, second])
        return (short in one) == (short in other)

    def _others(
        self, slot: Slot, facts: Mapping[str, int], stream: Stream
    ) -> Iterator[tuple[int, set[str]]]:
        """Other values, drawn as the entity's own was, each with the slots that it makes false."""
        draws = stream.integers(1 << 32, 3 * _VALUES).reshape(_VALUES, 3)
        columns: dict[str, Codes] = {
            name: np.full(_VALUES, code, np.int64) for name, code in facts.items()
        }
        columns[slot.name] = self._world.draw_values(slot, columns, draws)
        fits = self._world.coherent(columns)
        for i, value in enumerate(columns[slot.name].tolist()):
            if value not in (facts[slot.name], ABSENT):
                yield value, {name for name, one in fits.items() if not one[i]}


# --- conditions -----------------------------------------------------------------------------------


def apart(table: EntityTable, slot: Slot, first: int, second: int, *, months: bool) -> bool:
    """Whether one step above each of two values does not hold the other."""
    codes = np.array([first, second])
    steps = (step_above(slot, code, months=months) for code in (first, second))
    return all(holds(step, codes, table).sum() == 1 for step in steps)


def conditions(table: EntityTable, triple: Triple, *, entailed: bool) -> Iterator[Condition]:
    """What a query asks of the base, in its order."""
    for name in triple.asked:
        slot, code = table.domain.slots[name], triple.facts[name]
        if entailed:
            yield step_above(slot, code, months=triple.months)
        else:
            yield Is(name, table.name(name, code))


def step_above(slot: Slot, code: int, *, months: bool) -> Condition:
    """One step above: the parent of a value, the decade of a year, month or year of a day, a round
    range of numbers.
    """
    if slot.is_listed:
        return Within(slot.name, slot.values[code].parents[0])
    match slot.type:
        case "year":
            low = code // 10 * 10
            high = low + 9
        case "date":
            day = datetime.date.fromordinal(code)
            low, high = month_ends(day.year, *((day.month, day.month) if months else (1, 12)))
        case _:
            about = (slot.high.offset - slot.low.offset) // _WIDTH
            width = max([2, *(one for one in ROUND if one <= about)])
            low = code // width * width
            high = low + width
    return ValueRange(slot.name, scalar(slot, low), scalar(slot, high))


# --- records --------------------------------------------------------------------------------------


def stated_facts(table: EntityTable, made: Sequence[Triple]) -> EntityTable:
    """What documents state: a row a document, three of them a triple."""
    result = copy(table)
    result.count = 3 * len(made)
    result.columns = {name: np.full(result.count, ABSENT, np.int32) for name in table.domain.slots}
    for i, triple in enumerate(made):
        for name in triple.stated:
            result.columns[name][3 * i : 3 * i + 3] = triple.facts[name]
        result.columns[triple.slot][3 * i + ROLES.index("twin")] = triple.twin
    return result


class TwinTables:
    """All records of a job."""

    def __init__(self, params: TwinsParams, seed: int) -> None:
        self.seed = seed
        self.table, self.triples = triples(params, seed)
        self._composer = Composer(self.table.world)
        self.documents = 3 * len(self.triples)
        self._order = Permutation(seed, "world_twins/documents", self.documents)
        self._doc_ids, self.triple_ids = (
            Ids(seed, "world_twins/ids", letter, count).texts(np.arange(count))
            for letter, count in (("d", self.documents), ("t", len(self.triples)))
        )
        self._contrasts = params.contrasts
        facts = stated_facts(self.table, self.triples)
        asked = [
            self._question(i, wording, facts)
            for i, triple in enumerate(self.triples)
            for wording in params.wordings
            if wording != "entailed" or triple.entailed
        ]
        texts = {one.text for one in asked}
        for one in self._contrast_queries(facts):
            if one.text not in texts:  # round numbers: two triples may be asked the same
                texts.add(one.text)
                asked.append(one)
        query_ids = Ids(seed, "world_twins/ids", "q", len(asked)).texts(np.arange(len(asked)))
        self.questions = QueryTables(
            Stream(seed, "world_twins/queries").shuffled(asked),
            query_ids,
            lambda entities: [self._doc_ids[i] for i in entities],
        )

    # --- rows -----------------------------------------------------------------------------------

    def document(self, i: int) -> Mapping[str, Any]:
        """Row i of the corpus."""
        which = int(self._order(np.array([i]))[0])
        triple, role = self.triples[which // 3], ROLES[which % 3]
        written = self.composed_document(which // 3, role)
        return {
            "_id": self._doc_ids[which],
            "title": written.name,
            "text": written.text,
            "metadata": {
                "facts": written.facts,
                "triple": self.triple_ids[which // 3],
                "role": role,
                "changed": triple.slot,
            },
        }

    # --- texts ----------------------------------------------------------------------------------

    def composed_document(self, number: int, role: Role) -> ComposedDocument:
        """A document. The twin has the draws of the base: shape, order, wordings, subjects."""
        triple = self.triples[number]
        counts = {name: len(self._composer.wordings[name]) for name in triple.stated}
        draw = Stream(self.seed, f"world_twins/texts/{number}")
        wordings = {name: draw.below(count) for name, count in counts.items()}
        draws = draw.integers(_FULL, self._composer.draws).tolist()
        changed = {triple.slot: triple.twin} if role == "twin" else {}
        base = self._put(triple, wordings, draws, {**triple.facts, **changed})
        if role != "control":
            return base
        again = Stream(self.seed, f"world_twins/texts/{number}/control")
        for tried in range(_TRIES):
            others = {
                name: (first + 1 + again.below(counts[name] - 1)) % counts[name]
                for name, first in wordings.items()
            }
            draws = again.integers(_FULL, self._composer.draws).tolist()
            plain = tried >= _TRIES // 2  # no shape gives so few facts another order
            control = self._put(triple, others, draws, triple.facts, plain=plain)
            if control.facts != base.facts:
                break
        return control

    def _put(
        self,
        triple: Triple,
        wordings: Mapping[str, int],
        draws: Sequence[int],
        facts: Mapping[str, int],
        *,
        plain: bool = False,
    ) -> ComposedDocument:
        stated = []
        for name in triple.stated:
            slot = self.table.domain.slots[name]
            said = self._composer.wordings_of(slot, np.array([facts[name]]))[0]
            assert said is not None  # what is stated is there
            stated.append(StatedFact(name, said[0], said[1], wordings[name]))
        forms = self.table.world.forms(np.array([triple.entity]))[0]
        return self._composer.write(forms, stated, draws, plain=plain, as_given=True)

    def _question(self, number: int, wording: Wording, facts: EntityTable) -> LabelledQuery:
        parts = conditions(self.table, self.triples[number], entailed=wording == "entailed")
        return self._labelled(number, wording, "", And(tuple(parts)), facts)

    def _contrast_queries(self, facts: EntityTable) -> Iterator[LabelledQuery]:
        for number, triple in enumerate(self.triples) if self._contrasts else ():
            slot, base = self.table.domain.slots[triple.slot], triple.facts[triple.slot]
            asked = [Is(one, self.table.name(one, triple.facts[one])) for one in triple.asked]
            for contrast in self._contrasts:
                expression = expression_of(contrast, facts, asked, slot, base, triple.twin)
                if expression is not None:
                    yield self._labelled(number, "literal", contrast, expression, facts)

    def _labelled(
        self,
        number: int,
        wording: Wording,
        contrast: Contrast | Literal[""],
        expression: Expression,
        facts: EntityTable,
    ) -> LabelledQuery:
        """A query about a triple, judged for what meets it and for the others of the triple.

        `contrast`: "" for the facts of the base.
        """
        triple = self.triples[number]
        words = Stream(self.seed, f"world_twins/words/{number}/{contrast or wording}")
        text = Asker(self.table.domain, wording, words.below).ask(expression)
        metadata = {
            "triple": self.triple_ids[number],
            "changed": triple.slot,
            "slot_type": triple.cell.slot_type,
            "length": triple.cell.length,
            "wording": wording,
            "conditions": len(triple.asked),
            "expression": dumps(expression),
            **({"contrast": contrast} if self._contrasts else {}),
        }
        wrong = ("base", "control") if contrast == "include" else ("twin",)
        others = [3 * number + ROLES.index(role) for role in wrong]
        return LabelledQuery(text, metadata, Labels.of(expression, facts, others))


@lru_cache(maxsize=2)
def twin_tables(params: TwinsParams, seed: int, _domain: Domain) -> TwinTables:
    """The records of a job, drawn once in a process. `_domain`: that of the parameters."""
    return TwinTables(params, seed)
