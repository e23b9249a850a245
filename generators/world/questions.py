"""The queries of a data set with their answers and hard negatives: drawn once, then handed out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.errors import RecipeError
from retgen.generators.ids import Ids
from retgen.generators.world.negatives import hard_negatives
from retgen.generators.world.params import WorldParams
from retgen.generators.world.queries import Cell, Search, window
from retgen.streams import Stream
from retgen.world.asking import Asker
from retgen.world.domain import Domain, load_domain
from retgen.world.expressions import Expression, dumps, execute, grades, slots
from retgen.world.facts import Selection, World
from retgen.world.table import EntityTable

Rows = NDArray[np.int64]


class Question(NamedTuple):
    """A query. `relevant`, `negatives`: entities; `graded`: conditions that each of them meets, in
    this order. `near`: how many hard negatives there are, of which `negatives` were drawn.
    """

    cell: Cell
    expression: Expression
    text: str
    relevant: Rows
    negatives: Rows
    graded: list[int]
    near: int

    def metadata(self) -> Mapping[str, Any]:
        """What stands beside its text."""
        return {
            "operator": self.cell.operator,
            "answers": self.cell.size,
            "wording": self.cell.wording,
            "n_answers": len(self.relevant),
            "hard_negatives": self.near,
            "slots": slots(self.expression),
            "expression": dumps(self.expression),
        }


class Questions:
    """All queries of a job, in the order of their file, and the rows of their qrels.

    `kept`: the entities of the documents, where these are not the first ones of the world.
    """

    def __init__(self, params: WorldParams, seed: int, kept: tuple[int, ...] | None = None) -> None:
        domain = load_domain(params.domain)
        world = World(domain, seed, params.documents)
        if kept is not None:
            world = Selection(domain, seed, params.documents, kept)
        self.table = EntityTable(world)
        found = _found(params, seed, self.table, exact=kept is None)
        order = Stream(seed, "world/query order").permutation(len(found)).tolist()
        self.all = [found[i] for i in order]
        self.ids = Ids(seed, "world/ids", "q", len(found)).texts(np.arange(len(found)))
        self._query = np.repeat(np.arange(len(found)), [len(one.graded) for one in self.all])
        self._document = np.concatenate([np.r_[one.relevant, one.negatives] for one in self.all])
        self.qrels = len(self._query)
        self._doc_ids = Ids(seed, "world/ids", "d", params.documents)
        self._scores = {
            "qrel": np.concatenate([_binary(one) for one in self.all]),
            "grade": np.concatenate([np.asarray(one.graded, np.int64) for one in self.all]),
        }

    def query(self, i: int) -> Mapping[str, Any]:
        """Row i of the queries."""
        one = self.all[i]
        return {"_id": self.ids[i], "text": one.text, "metadata": one.metadata()}

    def labels(self, table: str, start: int, stop: int) -> Iterator[Mapping[str, Any]]:
        """Rows start..stop-1 of the qrels (1 for an answer, 0 for a hard negative), or of the
        grades: how many conditions are met.
        """
        documents = self._doc_ids.texts(self._document[start:stop])
        scores = self._scores[table][start:stop].tolist()
        for query, document, score in zip(self._query[start:stop], documents, scores, strict=True):
            yield {"query-id": self.ids[query], "corpus-id": document, "score": score}


def _binary(one: Question) -> Rows:
    return np.repeat([1, 0], [len(one.relevant), len(one.negatives)])


def questions(params: WorldParams, seed: int, kept: tuple[int, ...] | None = None) -> Questions:
    """The queries of a job, drawn once in a process."""
    path = load_domain(params.domain).path
    return _drawn(params, seed, kept, path.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _drawn(
    params: WorldParams, seed: int, kept: tuple[int, ...] | None, _changed: int
) -> Questions:
    return Questions(params, seed, kept)


def cells(params: WorldParams) -> list[Cell]:
    """All of them: every operator with every number of answers and every wording."""
    return [
        Cell(operator, size, wording)
        for operator in params.operators
        for size in params.answer_sizes
        for wording in params.wordings
    ]


def _found(params: WorldParams, seed: int, table: EntityTable, *, exact: bool) -> list[Question]:
    """The queries of all cells; unless `exact`, those that there are."""
    search = Search(table, seed, params.slots)
    result = []
    for cell in cells(params):
        for number in range(params.queries_per_cell):
            expression = search.find(cell, number)
            if expression is None:
                if not exact:
                    break
                raise RecipeError(_none(cell, number, params, table))
            result.append(_question(cell, expression, table, seed, number, params.hard_negatives))
    return result


def asker(domain: Domain, cell: Cell, seed: int, number: int) -> Asker:
    """What puts query `number` of a cell into words."""
    words = Stream(seed, f"world/words/{_purpose(cell, number)}")
    return Asker(domain, cell.wording, lambda bound: int(words.integers(bound, 1)[0]))


def _purpose(cell: Cell, number: int) -> str:
    return f"{cell.operator}/{cell.size}/{cell.wording}/{number}"


def _question(
    cell: Cell, expression: Expression, table: EntityTable, seed: int, number: int, most: int
) -> Question:
    relevant = np.flatnonzero(execute(expression, table))
    near = np.flatnonzero(hard_negatives(expression, table))
    negatives = _some(near, most, Stream(seed, f"world/negatives/{_purpose(cell, number)}"))
    both = np.concatenate([relevant, negatives])
    graded = grades(expression, table)[both].tolist()
    text = asker(table.domain, cell, seed, number).ask(expression)
    return Question(cell, expression, text, relevant, negatives, graded, len(near))


def _some(rows: Rows, most: int, stream: Stream) -> Rows:
    """`most` rows at random, sorted; all where there are no more."""
    if len(rows) <= most:
        return rows
    chosen: dict[int, None] = {}
    while len(chosen) < most:
        chosen |= dict.fromkeys(stream.integers(len(rows), most).tolist())
    return rows[np.sort(np.array(list(chosen)[:most], np.int64))]


def _none(cell: Cell, number: int, params: WorldParams, table: EntityTable) -> str:
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


def _change(cell: Cell, params: WorldParams) -> str:
    if cell.size * 20 > params.documents:
        return f"Ask for more documents, for example params.documents={cell.size * 100}"
    fewer = "" if params.queries_per_cell == 1 else "lower params.queries_per_cell, "
    return f"Ask for other params.documents, {fewer}name more params.slots"
