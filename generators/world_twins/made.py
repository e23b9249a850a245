"""Triples into records: three documents each, a query a wording, and qrels by execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.generators.ids import Ids
from retgen.generators.world_twins.params import TwinsParams
from retgen.generators.world_twins.triples import Triple, conditions, triples
from retgen.streams import Permutation, Stream
from retgen.world.asking import Asker, Wording
from retgen.world.compose import ComposedDocument, Composer, Stated
from retgen.world.domain import load_domain
from retgen.world.expressions import And, Expression, Mask, Scalar, dumps, execute, grades
from retgen.world.facts import ABSENT
from retgen.world.table import EntityTable

Role = Literal["base", "twin", "control"]
ROLES: tuple[Role, ...] = ("base", "twin", "control")
_FULL = 1 << 32
_TRIES = 100  # of another order


class Documents:
    """What documents state: a column a slot, a row a document, three of them a triple."""

    def __init__(self, table: EntityTable, made: Sequence[Triple]) -> None:
        self._table, self.count = table, 3 * len(made)
        self._columns = {name: np.full(self.count, ABSENT, np.int32) for name in table.domain.slots}
        for i, triple in enumerate(made):
            for name in triple.stated:
                self._columns[name][3 * i : 3 * i + 3] = triple.facts[name]
            self._columns[triple.slot][3 * i + ROLES.index("twin")] = triple.twin

    def column(self, slot: str) -> NDArray[Any]:
        return self._columns[slot]

    def code(self, slot: str, value: Scalar) -> int:
        return self._table.code(slot, value)

    def under(self, slot: str, parent: str) -> Mask:
        return self._table.under(slot, parent)


class Question(NamedTuple):
    """A query about a triple. `judged`: (document, relevance, conditions met)."""

    triple: int
    wording: Wording
    expression: Expression
    text: str
    judged: list[tuple[int, int, int]]


class _Plan(NamedTuple):
    """How a document is worded: the order of its slots, a wording of each, a record's draws."""

    order: Sequence[str]
    wordings: Mapping[str, int]
    draws: Sequence[int]


class Made:
    """All records of a job."""

    def __init__(self, params: TwinsParams, seed: int) -> None:
        self.seed = seed
        self.table, self.triples = triples(params, seed)
        self._composer = Composer(self.table.world)
        self.documents = 3 * len(self.triples)
        self._order = Permutation(seed, "world_twins/documents", self.documents)
        self._ids = Ids(seed, "world_twins/ids", "d", self.documents)
        self._names = Ids(seed, "world_twins/ids", "t", len(self.triples))
        facts = Documents(self.table, self.triples)
        asked = [
            self._question(i, wording, facts)
            for i, triple in enumerate(self.triples)
            for wording in params.wordings
            if wording != "entailed" or triple.entailed
        ]
        order = Stream(seed, "world_twins/queries").permutation(len(asked)).tolist()
        self.questions = [asked[i] for i in order]
        self._query_ids = Ids(seed, "world_twins/ids", "q", len(asked)).texts(np.arange(len(asked)))
        counts = [len(one.judged) for one in self.questions]
        self._pairs = [(query, k) for query, count in enumerate(counts) for k in range(count)]
        self.qrels = len(self._pairs)

    # --- rows -----------------------------------------------------------------------------------

    def document(self, i: int) -> Mapping[str, Any]:
        """Row i of the corpus."""
        which = int(self._order(np.array([i]))[0])
        triple, role = self.triples[which // 3], ROLES[which % 3]
        written = self.written(which // 3, role)
        return {
            "_id": self._doc_id(which),
            "title": written.name,
            "text": written.text,
            "metadata": {
                "facts": written.facts,
                "triple": self._triple_id(which // 3),
                "role": role,
                "changed": triple.slot,
            },
        }

    def query(self, i: int) -> Mapping[str, Any]:
        """Row i of the queries."""
        one = self.questions[i]
        triple = self.triples[one.triple]
        return {
            "_id": self._query_ids[i],
            "text": one.text,
            "metadata": {
                "triple": self._triple_id(one.triple),
                "changed": triple.slot,
                "slot_type": triple.cell.slot_type,
                "length": triple.cell.length,
                "wording": one.wording,
                "conditions": len(triple.asked),
                "expression": dumps(one.expression),
            },
        }

    def qrel(self, i: int) -> Mapping[str, Any]:
        """Row i of the qrels."""
        return self._judged(i, 1)

    def grade(self, i: int) -> Mapping[str, Any]:
        """Row i of the grades: how many conditions are met."""
        return self._judged(i, 2)

    def _judged(self, i: int, place: int) -> Mapping[str, Any]:
        query, k = self._pairs[i]
        judged = self.questions[query].judged[k]
        return {
            "query-id": self._query_ids[query],
            "corpus-id": self._doc_id(judged[0]),
            "score": judged[place],
        }

    def _doc_id(self, which: int) -> str:
        return self._ids.texts(np.array([which]))[0]

    def _triple_id(self, number: int) -> str:
        return self._names.texts(np.array([number]))[0]

    # --- texts ----------------------------------------------------------------------------------

    def written(self, number: int, role: Role) -> ComposedDocument:
        """A document. The twin has the plan of the base: wordings, order, subjects, fillers."""
        triple, composer = self.triples[number], self._composer
        draw = Stream(self.seed, f"world_twins/texts/{number}")
        counts = {name: len(composer.wordings[name]) for name in triple.stated}
        wordings = {name: int(draw.integers(count, 1)[0]) for name, count in counts.items()}
        size = 4 * len(self.table.domain.slots) + 3 * composer.fillers + 1
        draws = draw.integers(_FULL, size)
        plan = _Plan(triple.stated, wordings, draws.tolist())
        if role == "twin":
            return self._put(triple, plan, {**triple.facts, triple.slot: triple.twin})
        base = self._put(triple, plan, triple.facts)
        if role == "base":
            return base
        again = Stream(self.seed, f"world_twins/texts/{number}/control")
        for _ in range(_TRIES):
            others = {
                name: (first + 1 + int(again.integers(counts[name] - 1, 1)[0])) % counts[name]
                for name, first in wordings.items()
            }
            order = [triple.stated[i] for i in again.permutation(len(triple.stated)).tolist()]
            draws[:-1] = again.integers(_FULL, size - 1)  # the last: how many fillers there are
            control = self._put(triple, _Plan(order, others, draws.tolist()), triple.facts)
            if control.facts != base.facts:
                break
        return control

    def _put(self, triple: Triple, plan: _Plan, facts: Mapping[str, int]) -> ComposedDocument:
        stated = []
        for name in plan.order:
            slot = self.table.domain.slots[name]
            said = self._composer.wordings_of(slot, np.array([facts[name]]))[0]
            assert said is not None  # what is stated is there
            stated.append(Stated(name, said[0], said[1], plan.wordings[name]))
        forms = self.table.world.forms(np.array([triple.entity]))[0]
        return self._composer.write(forms, stated, plan.draws)

    def _question(self, number: int, wording: Wording, facts: Documents) -> Question:
        triple = self.triples[number]
        parts = conditions(self.table, triple, entailed=wording == "entailed")
        expression = And(tuple(parts))
        words = Stream(self.seed, f"world_twins/words/{number}/{wording}")
        asker = Asker(self.table.domain, wording, lambda bound: int(words.integers(bound, 1)[0]))
        meets, met = execute(expression, facts), grades(expression, facts)
        which = np.flatnonzero(meets).tolist()
        twin = 3 * number + ROLES.index("twin")
        judged = [(i, int(meets[i]), int(met[i])) for i in [*which, twin]]
        return Question(number, wording, expression, asker.ask(expression), judged)


def made(params: TwinsParams, seed: int) -> Made:
    """The records of a job, drawn once in a process."""
    return _made(params, seed, load_domain(params.domain).path.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _made(params: TwinsParams, seed: int, _changed: int) -> Made:
    return Made(params, seed)
