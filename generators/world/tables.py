"""The tables of a world: composed documents, and queries with their answers and hard negatives.

Queries are drawn once in a process. Their tables ask for them when a row is first needed, so that
processes which only write parts of the corpus draw none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from retgen.errors import RecipeError
from retgen.facts.asking import Asker
from retgen.facts.compose import Composer
from retgen.facts.domain import Domain, load_domain, ordinal
from retgen.facts.expressions import (
    And,
    AndNot,
    AtLeast,
    Condition,
    Counts,
    Expression,
    Extreme,
    Is,
    Or,
    ValueRange,
    Via,
    Within,
    dumps,
    execute,
    grades,
    slots,
)
from retgen.facts.facts import Selection, World
from retgen.facts.labels import Entities, LabelledQuery, Labels, QueryTables
from retgen.facts.table import Column, EntityTable, Mask
from retgen.generators.records import BatchedRows, Row, Rows
from retgen.generators.tables import Ids
from retgen.generators.world.params import WorldParams
from retgen.generators.world.queries import QueryCell, Search, window
from retgen.streams import Stream

_OPEN = 1 << 40  # beyond every value
_NEAREST = 100  # entities whose value is nearest to a number or day that is asked for


def world_of(params: WorldParams, seed: int, kept: Sequence[int] | None = None) -> World:
    """The world of a job; of the entities `kept`, if any, alone."""
    domain = load_domain(params.domain)
    if kept is not None:
        return Selection(domain, seed, params.documents, kept, "world")
    return World(domain, seed, params.documents, "world")


def composed_corpus(params: WorldParams, seed: int) -> Rows:
    """Row i: the document of entity i, composed by rules."""
    composer = Composer(world_of(params, seed))
    ids = Ids(seed, "world/ids", "d", params.documents)

    def documents(start: int, stop: int) -> Iterator[Row]:
        names = ids.texts(np.arange(start, stop))
        for name, one in zip(names, composer.documents(start, stop), strict=True):
            note = {"facts": one.facts}
            yield {"_id": name, "title": one.name, "text": one.text, "metadata": note}

    return BatchedRows(params.documents, documents)


def query_tables(drawn: Callable[[], QueryTables]) -> tuple[Rows, Rows, Rows]:
    """Queries, qrels and grades. `drawn`: the queries, which are drawn once they are asked for."""

    def labels(score: Literal["relevant", "met"]) -> Rows:
        return BatchedRows(
            lambda: drawn().qrels, lambda start, stop: drawn().labels(score, start, stop)
        )

    queries = BatchedRows(
        lambda: len(drawn().queries), lambda start, stop: map(drawn().query, range(start, stop))
    )
    return queries, labels("relevant"), labels("met")


def job_queries(params: WorldParams, seed: int, kept: tuple[int, ...] | None = None) -> QueryTables:
    """The queries of a job in the order of their file, drawn once in a process.

    `kept`: the entities of the documents, where these are not the first ones of the world.
    """
    return _drawn(params, seed, kept, load_domain(params.domain))


@lru_cache(maxsize=2)
def _drawn(
    params: WorldParams, seed: int, kept: tuple[int, ...] | None, _domain: Domain
) -> QueryTables:
    table = EntityTable(world_of(params, seed, kept))
    found = _search_queries(params, seed, table, exact=kept is None)
    queries = Stream(seed, "world/query order").shuffled(found)
    ids = Ids(seed, "world/ids", "q", len(found)).texts(np.arange(len(found)))
    return QueryTables(queries, ids, Ids(seed, "world/ids", "d", params.documents).texts)


def cells(params: WorldParams) -> list[QueryCell]:
    """All of them: every operator with every number of answers and every wording."""
    return [
        QueryCell(operator, size, wording)
        for operator in params.operators
        for size in params.answer_sizes
        for wording in params.wordings
    ]


def _search_queries(
    params: WorldParams, seed: int, table: EntityTable, *, exact: bool
) -> list[LabelledQuery]:
    """The queries of all cells; unless `exact`, those that there are."""
    search = Search(table, seed)
    result = []
    for cell in cells(params):
        for number in range(params.queries_per_cell):
            expression = search.find(cell, number)
            if expression is None:
                if not exact:
                    break
                raise RecipeError(_none(cell, number, params, table))
            most = params.hard_negatives
            result.append(_labelled(cell, expression, table, seed, number, most))
    return result


def asker(domain: Domain, cell: QueryCell, seed: int, number: int) -> Asker:
    """What puts query `number` of a cell into words."""
    return Asker(domain, cell.wording, cell.stream(seed, "words", number).below)


def _labelled(
    cell: QueryCell, expression: Expression, table: EntityTable, seed: int, number: int, most: int
) -> LabelledQuery:
    """Query `number` of a cell with all of its answers, and `most` of its hard negatives."""
    near = np.flatnonzero(hard_negatives(expression, table))
    labels = Labels.of(expression, table, _some(near, most, cell.stream(seed, "negatives", number)))
    metadata = {
        "operator": cell.operator,
        "answers": cell.size,
        "wording": cell.wording,
        "n_answers": int(labels.relevant.sum()),
        "hard_negatives": len(near),
        "slots": slots(expression),
        "expression": dumps(expression),
    }
    text = asker(table.domain, cell, seed, number).ask(expression)
    return LabelledQuery(text, metadata, labels)


def _some(rows: Entities, most: int, stream: Stream) -> Entities:
    """`most` rows at random, sorted; all where there are no more."""
    if len(rows) <= most:
        return rows
    chosen: dict[int, None] = {}
    while len(chosen) < most:
        chosen |= dict.fromkeys(stream.integers(len(rows), most).tolist())
    return rows[np.sort(np.array(list(chosen)[:most], np.int64))]


def _none(cell: QueryCell, number: int, params: WorldParams, table: EntityTable) -> str:
    wanted, domain = window(cell.size), table.domain
    size = f"{wanted.low:,} to {wanted.high:,}" if wanted.low < wanted.high else f"{cell.size:,}"
    answers = "answer" if cell.size == 1 else "answers"
    again = "another" if number else "a"
    return (
        f"params.answer_sizes: among {params.documents:,} {domain.entity.plural} of domain "
        f"{domain.name} there is not {again} query with operator {cell.operator}, wording "
        f"{cell.wording} and {size} {answers} ({number:,} of {params.queries_per_cell:,} were "
        f"found). {_change(cell, params)}, or leave {cell.size} out of params.answer_sizes"
    )


def _change(cell: QueryCell, params: WorldParams) -> str:
    if cell.size * 20 > params.documents:
        return f"Ask for more documents, for example params.documents={cell.size * 100}"
    fewer = "" if params.queries_per_cell == 1 else ", lower params.queries_per_cell"
    return f"Ask for other params.documents{fewer}"


# --- hard negatives -------------------------------------------------------------------------------


def hard_negatives(expression: Expression, table: EntityTable) -> Mask:
    """Which entities are hard negatives of a query, (count,).

    After "and not": what meets both (the violators). Of a relation: what has it, and meets the
    conditions itself, in place of the other entity. Where one condition is all: those with a value
    close to it, as another city of its country. Otherwise: what misses one condition; of those that
    miss a range or a place among the first, the nearest, or values at an end would tell answers.
    """
    result: Mask
    match expression:
        case AndNot(kept, dropped):
            return execute(kept, table) & execute(dropped, table)
        case Via(slot, of):
            return execute(of, table) & ~execute(expression, table) & (table.columns[slot] >= 0)
        case Is() | Within() | ValueRange():
            return _near(expression, table)
        case Or(parts) if not any(isinstance(part, And) for part in parts):
            result = np.zeros(table.count, np.bool_)
            for part in parts:
                result |= hard_negatives(part, table)
            return result & ~execute(expression, table)
        case And(parts):
            result = _missing(expression, table) == 1
            for part in parts:
                if isinstance(part, ValueRange):
                    missed = result & ~execute(part, table)
                    low, high = _ends(part)
                    result ^= missed ^ _nearest(missed, table.columns[part.slot], low, high)
            return result
        case Extreme(slot=slot, of=of, most=most):
            column, answers = table.columns[slot], execute(expression, table)
            low, high = (column[answers].min(), _OPEN) if most else (0, column[answers].max())
            behind = execute(of, table) & ~answers
            beyond = (column >= low) & (column <= high)
            result = (_missing(of, table) + ~beyond == 1) & ~behind
            return result | _nearest(behind, column, int(low), int(high))
        case Or(parts):
            result = np.minimum.reduce([_missing(part, table) for part in parts]) == 1
            return result
        case AtLeast(k):
            result = grades(expression, table) == k - 1
            return result


def _missing(expression: Expression, table: EntityTable) -> Counts:
    """How many of conditions that are all to be met every entity does not meet, (count,)."""
    count = len(expression.parts) if isinstance(expression, And) else 1
    return count - grades(expression, table)


def _nearest(others: Mask, column: Column, low: int, high: int) -> Mask:
    """Those of `others` whose values are nearest to a range; they have one."""
    result = others & (column >= 0)
    values = column[result].astype(np.int64)
    distance = np.maximum(low - values, values - high)
    if len(distance) > _NEAREST:
        result[result] = distance <= np.partition(distance, _NEAREST - 1)[_NEAREST - 1]
    return result


def _near(condition: Condition, table: EntityTable) -> Mask:
    """Which entities do not meet a condition, with a value that is close to one that does."""
    slot = table.domain.slots[condition.slot]
    column = table.columns[slot.name]
    others = (column >= 0) & ~execute(condition, table)
    if isinstance(condition, ValueRange):
        return _nearest(others, column, *_ends(condition))
    if isinstance(condition, Is) and slot.is_ordered:
        point = ordinal(condition.value)
        return _nearest(others, column, point, point)
    held = condition.value if isinstance(condition, Is) else condition.parent
    for value in slot.values:
        if held in value.above[:-1]:
            parent = value.above[value.above.index(held) + 1]
            return others & table.under(slot.name, parent)[column]
    return others


def _ends(condition: ValueRange) -> tuple[int, int]:
    low, high = condition.low, condition.high
    return 0 if low is None else ordinal(low), _OPEN if high is None else ordinal(high)
