"""A domain tried out: some documents, a query of every operator, and what it cannot give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from retgen.facts.compose import ComposedDocument, Composer
from retgen.facts.domain import Domain, Slot, load_domain
from retgen.facts.expressions import dumps
from retgen.facts.facts import ABSENT, Codes, World
from retgen.facts.table import EntityTable
from retgen.generators.world.params import WorldParams
from retgen.generators.world.queries import Search
from retgen.generators.world.tables import asker, cells
from retgen.validators.facts.definitions import BadDefinition
from retgen.validators.facts.queries import UnreadableQuery, domain_readers

_DOCUMENTS = 10_000  # among which queries are looked for
_SIZES = (1, 10, 100)
_READ = 200  # documents that the reader of the proof is given
_SHOWN = 5  # of what it cannot read, and of values that are named


class Trial(NamedTuple):
    """What came out, for scripts and, in `lines`, for a reader."""

    domain: Domain
    content: dict[str, Any]

    @property
    def sound(self) -> bool:
        """Whether the domain contradicts itself nowhere, and the proof reads all it was given."""
        return not self.content["contradictions"] and not self.content["proof"]["problems"]

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        return self.content

    def lines(self) -> list[str]:
        """The same for a reader."""
        domain, slots, found = self.domain, [*self.domain.slots.values()], self.content
        entailed = [one for one in slots if one.is_ordered or any(v.parents for v in one.values)]
        always = [one for one in slots if one.share == 1]
        state = "is sound" if self.sound else "is not all read"
        if found["contradictions"]:
            state = "contradicts itself"
        (right, documents), (read, queries) = found["proof"]["documents"], found["proof"]["queries"]
        missing = found["cannot_be_asked"]
        return [
            f"{domain.path} {state}: domain {domain.name}",
            f"  slots   {len(slots)}; {len(always)} that every {domain.entity.singular} has; "
            f"{len(entailed)} that can be asked one step up",
            f"  names   {found['names']:,}",
            *(f"  never   {line}" for line in found["contradictions"]),
            *(x for one in found["documents"] for x in ("", one["name"], f"  {one['text']}")),
            "",
            *(f"{one['operator']}, {one['wording']}: {one['text']}" for one in found["queries"]),
            "",
            f"Among {found['tried_on']:,} {domain.entity.plural}, {queries} of "
            f"{queries + len(missing)} combinations of operator, number of answers and wording can "
            "be asked.",
            *(
                f"  not: {one['operator']}, {one['size']} answers, {one['wording']}"
                for one in missing
            ),
            f"The proof reads {right} of {documents} documents and {read} of {queries} queries.",
            *(f"  {problem}" for problem in found["proof"]["problems"]),
        ]


def trial(source: str | Path, seed: int, documents: int) -> Trial:
    """Try a domain out. Raises `UsageError` for a file that holds none."""
    domain = load_domain(source)
    names = World(domain, seed, 1).names_count
    tried = min(_DOCUMENTS, names)
    world = World(domain, seed, tried)
    search = Search(EntityTable(world), seed)
    params = WorldParams.model_construct(documents=tried, answer_sizes=_SIZES)
    shown: dict[str, dict[str, Any]] = {}
    missing, asked = list[dict[str, Any]](), list[dict[str, Any]]()
    for cell in cells(params):
        expression = search.find(cell, 0)
        if expression is None:
            missing.append(cell._asdict())
            continue
        text = asker(domain, cell, seed, 0).ask(expression)
        asked.append({**cell._asdict(), "text": text, "expression": dumps(expression)})
        # one of each operator is shown, in the wordings by turns
        if cell.wording == params.wordings[len(shown) % len(params.wordings)]:
            shown.setdefault(cell.operator, asked[-1])
    written = Composer(world).documents(0, min(_READ, tried))
    content = {
        "domain": domain.name,
        "file": str(domain.path),
        "slots": {name: slot.type for name, slot in domain.slots.items()},
        "names": names,
        "tried_on": tried,
        "contradictions": contradictions(world),
        "documents": [one._asdict() for one in written[:documents]],
        "queries": list(shown.values()),
        "cannot_be_asked": missing,
        "proof": _proof(domain.path, written, asked),
    }
    return Trial(domain, content)


def _proof(
    path: Path, written: Sequence[ComposedDocument], asked: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """How many documents and queries the proof reads rightly, and what it says of some others."""
    problems: list[str] = []
    right = read = 0
    try:
        _, reader, queries = domain_readers(path)
    except BadDefinition as error:
        problems.append(str(error))
        written, asked = [], []
    for one in written:
        facts, said = reader.document(one.name, one.text)
        stated = [str(fact) for fact in facts]
        if not said and stated != one.facts:
            said = [f"reads as {', '.join(stated)}"]
        right += not said
        problems += [f"{one.name}: {said[0]}"] if said else []
    for query in asked:
        try:
            found = f"Reads as {orjson.dumps(queries.query(query['text'])).decode()}"
        except UnreadableQuery as error:
            found = str(error)
        is_read = found == f"Reads as {query['expression']}"
        read += is_read
        problems += [] if is_read else [f"{query['text']} {found}"]
    return {
        "documents": [right, len(written)],
        "queries": [read, len(asked)],
        "problems": problems[:_SHOWN],
    }


def contradictions(world: World) -> list[str]:
    """A line for each slot whose rules leave entities of a world without a value, or values without
    an entity.
    """
    columns = world.columns(0, world.entities)
    return [line for slot in world.domain.slots.values() for line in _never(world, slot, columns)]


def _never(world: World, slot: Slot, columns: Mapping[str, Codes]) -> Iterator[str]:
    none = f"{world.entities:,} {world.domain.entity.plural}"
    if slot.type == "relation" and (columns[slot.name] == ABSENT).all():
        yield f"{slot.name}: no other entity is earlier by {slot.before}, for any of {none}"
    if not slot.is_listed and not slot.is_ordered:
        return
    if slot.is_listed:
        possible = world.possible(slot, columns, world.entities)
        without = np.flatnonzero(~possible.any(axis=1))
        names = [slot.values[i].name for i in np.flatnonzero(~possible.any(axis=0)).tolist()]
        if names:
            more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
            named = ", ".join(map(repr, names[:_SHOWN]))
            yield f"{slot.name}: {named}{more}: possible for none of {none}"
    else:
        low, high = world.ends(slot, columns, world.entities)
        without = np.flatnonzero(low > high)
    if len(without):
        of = {
            name: world.value_names(world.domain.slots[name], [int(columns[name][without[0]])])[0]
            for name in dict.fromkeys(slot.dependences)
        }
        named = ", ".join(f"{name}={value or 'nothing'}" for name, value in of.items())
        yield f"{slot.name}: no value goes with {named} ({len(without):,} of {none} have none)"
