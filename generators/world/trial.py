"""A domain tried out: some documents, a query of every operator, and what it cannot give."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from retgen.generators.world.params import WorldParams
from retgen.generators.world.queries import Cell, Search
from retgen.generators.world.questions import asker, cells
from retgen.world.compose import Composer, Written
from retgen.world.domain import Domain, load_domain
from retgen.world.expressions import dumps
from retgen.world.facts import World
from retgen.world.table import Table

_DOCUMENTS = 10_000  # among which queries are looked for
_SIZES = (1, 10, 100)


class Asked(NamedTuple):
    """A query that was found."""

    cell: Cell
    text: str
    expression: str


class Trial(NamedTuple):
    """What came out. `entities`: how many have a name; `missing`: queries that cannot be had."""

    domain: Domain
    entities: int
    tried: int
    documents: list[Written]
    queries: list[Asked]
    missing: list[Cell]

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "domain": self.domain.name,
            "file": str(self.domain.path),
            "slots": {name: slot.type for name, slot in self.domain.slots.items()},
            "names": self.entities,
            "tried_on": self.tried,
            "documents": [one._asdict() for one in self.documents],
            "queries": [
                {**one.cell._asdict(), "text": one.text, "expression": one.expression}
                for one in self.queries
            ],
            "cannot_be_asked": [cell._asdict() for cell in self.missing],
        }

    def lines(self) -> list[str]:
        """The same for a reader."""
        domain, slots = self.domain, list(self.domain.slots.values())
        entailed = [one for one in slots if one.ordered or any(v.parents for v in one.values)]
        always = [one for one in slots if one.share == 1]
        lines = [
            f"{domain.path} is sound: domain {domain.name}",
            f"  slots   {len(slots)}; {len(always)} that every {domain.entity.singular} has; "
            f"{len(entailed)} that can be asked one step up",
            f"  names   {self.entities:,}",
        ]
        for written in self.documents:
            lines += ["", written.name, f"  {written.text}"]
        lines.append("")
        for operator in dict.fromkeys(one.cell.operator for one in self.queries):
            shown = [one for one in self.queries if one.cell.operator == operator]
            lines += [f"{one.cell.operator}, {one.cell.wording}: {one.text}" for one in shown]
        total = len(cells(_params(_DOCUMENTS)))
        lines += [
            "",
            f"Among {self.tried:,} {domain.entity.plural}, {total - len(self.missing)} of {total} "
            "combinations of operator, number of answers and wording can be asked.",
        ]
        lines += [
            f"  not: {cell.operator}, {cell.size} answers, {cell.wording}" for cell in self.missing
        ]
        return lines


def trial(source: str | Path, seed: int, documents: int) -> Trial:
    """Try a domain out. Raises `UsageError` for a file that holds none."""
    domain = load_domain(source)
    entities = World(domain, seed, 1).names_count
    tried = min(_DOCUMENTS, entities)
    world = World(domain, seed, tried)
    table = Table(world)
    search = Search(table, seed)
    queries, missing = list[Asked](), list[Cell]()
    shown: set[str] = set()
    wordings = ("literal", "paraphrase", "entailed")
    for cell in cells(_params(tried)):
        found = search.find(cell, 0)
        if found is None:
            missing.append(cell)
            continue
        turn = wordings[len(shown) % len(wordings)]
        if cell.operator not in shown and cell.wording == turn:
            shown.add(cell.operator)
            text = asker(table.domain, cell, seed, 0).ask(found)
            queries.append(Asked(cell, text, dumps(found)))
    written = Composer(world).documents(0, min(documents, tried))
    return Trial(domain, entities, tried, written, queries, missing)


def _params(documents: int) -> WorldParams:
    return WorldParams.model_construct(documents=documents, answer_sizes=_SIZES)
