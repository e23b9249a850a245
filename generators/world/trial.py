"""A domain tried out: some documents, a query of every operator, and what it cannot give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.facts.check import contradictions
from retgen.facts.compose import ComposedDocument, Composer
from retgen.facts.domain import Domain, load_domain
from retgen.facts.expressions import dumps
from retgen.facts.facts import World
from retgen.facts.table import EntityTable
from retgen.generators.world.params import WorldParams
from retgen.generators.world.queries import QueryCell, Search
from retgen.generators.world.tables import asker, cells
from retgen.validators.facts.definitions import BadDefinition
from retgen.validators.facts.queries import UnreadableQuery, domain_readers

_DOCUMENTS = 10_000  # among which queries are looked for
_SIZES = (1, 10, 100)
_READ = 200  # documents that the reader of the proof is given
_SHOWN = 5  # of what it cannot read


class TrialQuery(NamedTuple):
    """A query that was found."""

    cell: QueryCell
    text: str
    expression: str


class Trial(NamedTuple):
    """What came out. `entities`: how many have a name; `contradictions`: what the domain's rules
    forbid; `missing`: queries that cannot be had; `proof`: how many documents and queries its
    reader was given and read rightly, and what it says of some others.
    """

    domain: Domain
    entities: int
    tried: int
    contradictions: list[str]
    documents: list[ComposedDocument]
    queries: list[TrialQuery]
    missing: list[QueryCell]
    proof: dict[str, Any]

    @property
    def sound(self) -> bool:
        """Whether the domain contradicts itself nowhere, and the proof reads all it was given."""
        return not self.contradictions and not self.proof["problems"]

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "domain": self.domain.name,
            "file": str(self.domain.path),
            "slots": {name: slot.type for name, slot in self.domain.slots.items()},
            "names": self.entities,
            "tried_on": self.tried,
            "contradictions": self.contradictions,
            "documents": [one._asdict() for one in self.documents],
            "queries": [
                {**one.cell._asdict(), "text": one.text, "expression": one.expression}
                for one in self.queries
            ],
            "cannot_be_asked": [cell._asdict() for cell in self.missing],
            "proof": self.proof,
        }

    def lines(self) -> list[str]:
        """The same for a reader."""
        domain, slots = self.domain, list(self.domain.slots.values())
        entailed = [one for one in slots if one.is_ordered or any(v.parents for v in one.values)]
        always = [one for one in slots if one.share == 1]
        state = "is sound" if self.sound else "is not all read"
        if self.contradictions:
            state = "contradicts itself"
        lines = [
            f"{domain.path} {state}: domain {domain.name}",
            f"  slots   {len(slots)}; {len(always)} that every {domain.entity.singular} has; "
            f"{len(entailed)} that can be asked one step up",
            f"  names   {self.entities:,}",
        ]
        lines += [f"  never   {line}" for line in self.contradictions]
        for written in self.documents:
            lines += ["", written.name, f"  {written.text}"]
        lines.append("")
        lines += [f"{one.cell.operator}, {one.cell.wording}: {one.text}" for one in self.queries]
        (right, documents), (read, queries) = self.proof["documents"], self.proof["queries"]
        total = queries + len(self.missing)
        lines += [
            "",
            f"Among {self.tried:,} {domain.entity.plural}, {queries} of {total} "
            "combinations of operator, number of answers and wording can be asked.",
        ]
        lines += [
            f"  not: {cell.operator}, {cell.size} answers, {cell.wording}" for cell in self.missing
        ]
        lines.append(
            f"The proof reads {right} of {documents} documents and {read} of {queries} queries."
        )
        return lines + [f"  {problem}" for problem in self.proof["problems"]]


def trial(source: str | Path, seed: int, documents: int) -> Trial:
    """Try a domain out. Raises `UsageError` for a file that holds none."""
    domain = load_domain(source)
    entities = World(domain, seed, 1).names_count
    tried = min(_DOCUMENTS, entities)
    world = World(domain, seed, tried)
    search = Search(EntityTable(world), seed)
    shown, missing, asked = dict[str, TrialQuery](), list[QueryCell](), list[TrialQuery]()
    params = WorldParams.model_construct(documents=tried, answer_sizes=_SIZES)
    for cell in cells(params):
        found = search.find(cell, 0)
        if found is None:
            missing.append(cell)
            continue
        asked.append(TrialQuery(cell, asker(domain, cell, seed, 0).ask(found), dumps(found)))
        # one of each operator is shown, in the wordings by turns
        if cell.wording == params.wordings[len(shown) % len(params.wordings)]:
            shown.setdefault(cell.operator, asked[-1])
    written = Composer(world).documents(0, min(_READ, tried))
    return Trial(
        domain,
        entities,
        tried,
        contradictions(world),
        written[:documents],
        list(shown.values()),
        missing,
        _proof(domain.path, written, asked),
    )


def _proof(
    path: Path, written: Sequence[ComposedDocument], asked: Sequence[TrialQuery]
) -> dict[str, Any]:
    """What the proof makes of documents and queries."""
    problems: list[str] = []
    right = read = 0
    try:
        _, reader, queries = domain_readers(path)
    except BadDefinition as error:
        problems.append(str(error))
    else:
        for one in written:
            facts, said = reader.document(one.name, one.text)
            stated = [str(fact) for fact in facts]
            if not said and stated != one.facts:
                said = [f"reads as {', '.join(stated)}"]
            right += not said
            problems += [f"{one.name}: {said[0]}"] if said else []
        for query in asked:
            try:
                found = orjson.dumps(queries.query(query.text)).decode()
            except UnreadableQuery as error:
                problems.append(f"{query.text} {error}")
                continue
            read += found == query.expression
            if found != query.expression:
                problems.append(f"{query.text} Reads as {found}")
    return {
        "documents": [right, len(written)],
        "queries": [read, len(asked)],
        "problems": problems[:_SHOWN],
    }
